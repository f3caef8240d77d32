"""The part of a URDF that dynamics needs, written anew for urdf_parser_py.

urdf_parser_py refuses whole robots for a material without colour, a texture or a transmission it does not know, and
prints every tag it does not know. Here only what the dynamics reads goes to it, checked before, so that it has nothing
to refuse or to print. Both its lines (PyPI's 0.0.4 on ElementTree, ROS 2's 1.2 on lxml) take this text.
"""

from __future__ import annotations

from collections.abc import Iterator

from rne_dynamics.description.lint_joints import LIMITED
from rne_dynamics.description.lint_structure import mimic_holds
from rne_dynamics.description.markup import Element, quoted
from rne_dynamics.description.outline import INERTIAL_ELEMENTS, JOINT_ELEMENTS, JointOutline, Outline
from rne_dynamics.model.tree import JointKind


def clean_text(outline: Outline) -> str:
    """XML text with the links' inertials and the joints of a checked outline, in its order."""
    return "".join(_lines(outline))


def _lines(outline: Outline) -> Iterator[str]:
    yield f"<robot name={quoted(outline.name)}>\n"
    for link in outline.links.values():
        yield f"<link name={quoted(link.name)}>"
        inertial = link.element.first("inertial")
        if inertial is not None:
            yield "<inertial>"
            for tag, attributes in INERTIAL_ELEMENTS.items():
                yield from _element(inertial.first(tag), attributes)
            yield "</inertial>"
        yield "</link>\n"
    for joint in outline.joints.values():
        yield f"<joint name={quoted(joint.name)} type={quoted(joint.kind.value)}>"
        for tag, attributes in JOINT_ELEMENTS.items():
            if not _wanted(outline, joint, tag):
                continue
            if tag == "limit":
                # urdf_parser_py insists on effort and velocity; without them there is no bound
                known = attributes if joint.kind in LIMITED else ("effort", "velocity")
                yield from _element(joint.element.first(tag), known, {"effort": "inf", "velocity": "inf"})
            else:
                yield from _element(joint.element.first(tag), attributes)
        yield "</joint>\n"
    yield "</robot>\n"


def _wanted(outline: Outline, joint: JointOutline, tag: str) -> bool:
    """Whether an element means something for the joint's kind; what does not has not been checked either."""
    if tag in ("origin", "parent", "child"):
        return True
    if tag == "mimic":
        return mimic_holds(outline, joint)
    return joint.kind not in (JointKind.FIXED, JointKind.FLOATING)


def _element(
    element: Element | None, attributes: tuple[str, ...], extra: dict[str, str] | None = None
) -> Iterator[str]:
    if element is None:
        return
    values = dict(extra or {})
    values.update({name: element.attributes[name] for name in attributes if name in element.attributes})
    yield f"<{element.tag}{''.join(f' {name}={quoted(value)}' for name, value in values.items())}/>"
