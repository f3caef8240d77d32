"""URDF text of any kinematic tree, the inverse of `load_urdf`; a URDF's own text with other inertias.

In the latter everything else, visuals and comments too, stays as it was written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np

from rne_dynamics.description.markup import Element, read_markup
from rne_dynamics.description.outline import UNBOUNDED
from rne_dynamics.description.repairs import repair
from rne_dynamics.description.sources import Source
from rne_dynamics.description.urdf_tree import rpy_of
from rne_dynamics.errors import ModelError, check_loaded, refuse
from rne_dynamics.model.inertia import Array, Inertia
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint

_BOUNDED = (JointKind.REVOLUTE, JointKind.PRISMATIC)


def to_urdf(robot: RobotModel | KinematicTree) -> str:
    """The URDF of a robot, for other tools.

    Parameters
    ----------
    robot
        A model, written with its payload and locked joints, or a tree.

    Returns
    -------
    str
        Links with their inertia, joints with placement, axis, limits, friction and mimic, and a <transmission> with the
        reflected rotor inertia (ratio 1) for every joint that has one. `load_urdf` reads the same numbers back, except
        that rotations pass through roll, pitch and yaw (round-off). A revolute joint without position limits is written
        as continuous, other missing bounds as ±1e9, which `load_urdf` reads as none.

    Raises
    ------
    ModelError
        Friction that URDF cannot describe: Coulomb's that differs by direction, Stribeck's (thresholds are left out). A
        mechanism with closed loops or an
        arm with flexible links, which URDF cannot describe.

    Notes
    -----
    URDF has neither gravity nor a floating base: set both where the file is read. Shapes, materials and other content
    of the original description are not part of the model and are not written. Most tools do not read rotor inertias:
    set them there (``armature`` in MuJoCo, ``model.armature`` in Pinocchio).
    """
    tree = robot.tree if isinstance(robot, RobotModel) else robot
    if not isinstance(tree, KinematicTree):
        check_loaded(tree)
        raise ModelError(
            f"{tree.name!r} is a {type(tree).__name__}; URDF describes trees of rigid links; write its `.robot` instead"
        )
    lines = ['<?xml version="1.0"?>', f"<robot name={quoteattr(tree.name)}>"]
    for link in tree.links:
        if link.inertia is None:
            lines.append(f"  <link name={quoteattr(link.name)}/>")
        else:
            body = inertial_xml(link.inertia, indent="    ")
            lines += [f"  <link name={quoteattr(link.name)}>", body, "  </link>"]
    for joint in tree.joints:
        lines += _joint(joint)
    lines += [_transmission(joint) for joint in tree.joints
              if joint.rotor_inertia > 0.0 and joint.kind is not JointKind.FIXED]  # fmt: skip
    return "\n".join([*lines, "</robot>", ""])


def _joint(joint: TreeJoint) -> Iterator[str]:
    kind = joint.kind
    if kind is JointKind.REVOLUTE and math.isinf(joint.limits.lower) and math.isinf(joint.limits.upper):
        kind = JointKind.CONTINUOUS
    yield f'  <joint name={quoteattr(joint.name)} type="{kind.value}">'
    yield f'    <origin xyz="{_numbers(joint.position)}" rpy="{_numbers(rpy_of(joint.rotation))}"/>'
    yield f"    <parent link={quoteattr(joint.parent)}/>"
    yield f"    <child link={quoteattr(joint.child)}/>"
    if kind not in (JointKind.FIXED, JointKind.FLOATING):
        yield f'    <axis xyz="{_numbers(joint.axis)}"/>'
        limit = _limits(joint, bounded=kind in _BOUNDED)
        if limit:
            yield f"    <limit {limit}/>"
        yield from _dynamics(joint)
    if joint.mimic is not None:
        m = joint.mimic
        ratio = f'multiplier="{number(m.multiplier)}" offset="{number(m.offset)}"'
        yield f"    <mimic joint={quoteattr(m.joint)} {ratio}/>"
    yield "  </joint>"


def _limits(joint: TreeJoint, *, bounded: bool) -> str:
    """The attributes of <limit>; empty if nothing is bounded and this kind of joint needs no bounds."""
    values = vars(joint.limits)
    if not bounded and math.isinf(values["effort"]) and math.isinf(values["velocity"]):
        return ""
    names = ("lower", "upper", "effort", "velocity") if bounded else ("effort", "velocity")
    return " ".join(f'{name}="{number(min(max(values[name], -UNBOUNDED), UNBOUNDED))}"' for name in names)


def _dynamics(joint: TreeJoint) -> Iterator[str]:
    friction = joint.friction
    refuse(
        ModelError,
        (friction.coulomb_forward != friction.coulomb_backward,
         f"joint {joint.name!r}: Coulomb friction is {friction.coulomb_forward:g} forward and "
         f"{friction.coulomb_backward:g} backward; URDF has one number for both directions; set both to one value "
         "before writing, and keep the two in a model file"),
        (friction.stribeck > 0.0,
         f"joint {joint.name!r}: Stribeck friction is {friction.stribeck:g}; URDF has no place for it; set it to 0 "
         "before writing, and keep it in a model file"),
    )  # fmt: skip
    if friction.viscous > 0.0 or friction.coulomb_forward > 0.0:
        yield f'    <dynamics damping="{number(friction.viscous)}" friction="{number(friction.coulomb_forward)}"/>'


def _transmission(joint: TreeJoint) -> str:
    name = quoteattr(joint.name)
    return f"""\
  <transmission name={quoteattr(joint.name + "_drive")}>
    <type>transmission_interface/SimpleTransmission</type>
    <joint name={name}><hardwareInterface>hardware_interface/EffortJointInterface</hardwareInterface></joint>
    <actuator name={quoteattr(joint.name + "_motor")}>
      <mechanicalReduction>1</mechanicalReduction>
      <motorInertia>{number(joint.rotor_inertia)}</motorInertia>
    </actuator>
  </transmission>"""


def _numbers(values: Iterable[float]) -> str:
    return " ".join(number(value) for value in np.asarray(list(values)))


#: Numbers smaller than this part of the largest are round-off and written as 0.
_ROUND_OFF = 1e-15


def inertial_xml(body: Inertia, *, digits: int = 17, indent: str = "") -> str:
    """The element to paste into a <link>, for a body in that link's frame; its rpy is zero.

    17 significant `digits` write the shortest text that reads back as the same number. URDF's ixy, ixz and iyz are
    entries of the inertia matrix, the negative product integrals: signs stay.
    """

    def written(value: float) -> str:
        return number(float(f"{value:.{digits}g}"))

    tensor = _cleared(body.inertia, float(np.abs(body.inertia).max()))
    reach = float(np.sqrt(np.abs(body.about_origin).max() / body.mass)) if body.mass > 0.0 else 0.0
    com = " ".join(written(x) for x in _cleared(body.com, reach))
    moments = (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2))
    values = " ".join(f'{name}="{written(tensor[i, j])}"' for name, i, j in moments)
    lines = (
        "<inertial>",
        f'  <origin xyz="{com}" rpy="0 0 0"/>',
        f'  <mass value="{written(body.mass)}"/>',
        f"  <inertia {values}/>",
        "</inertial>",
    )
    return "\n".join(indent + line for line in lines)


def number(value: float) -> str:
    """Shortest text that reads back as the same number."""
    x = float(value) + 0.0  # no −0
    return str(int(x)) if x.is_integer() and abs(x) < 1e15 else repr(x)


def _cleared(values: Array, size: float) -> Array:
    return np.where(np.abs(values) <= _ROUND_OFF * size, 0.0, values)


_TAG = re.compile(rb"<(?:[^\"'>]|\"[^\"]*\"|'[^']*')*>")
#: Significant digits of inertias.
_DIGITS = 10
_ENCODING = re.compile(r"^(<\?xml[^>]*?encoding\s*=\s*[\"'])([\w.-]+)")


class _Edit(NamedTuple):
    """Text in place of a part of the document."""

    start: int
    stop: int
    text: str


def with_inertias(source: Source, inertias: Mapping[str, Inertia]) -> str:
    """The text of a URDF in which some links, by name, have other inertias, in UTF-8; a lenient source is repaired."""
    data = _text(source).encode()
    root = read_markup(data, source.name, "utf-8")
    before = {id(x): (x, dict(x.attributes)) for x in _all(root)}
    if source.lenient:
        list(repair(root))  # its findings have been reported when the source was loaded
    edits = [_inertial(link, data, inertias[link.attributes["name"]]) for link in root.all("link")
             if link.attributes.get("name") in inertias]  # fmt: skip
    kept = {id(x) for x in _all(root)}
    for key, (element, attributes) in before.items():
        if key not in kept:
            edits.append(_Edit(element.start, _end(element, data), ""))
        elif attributes != element.attributes:
            tag = _tag(element, data)
            close = "/>" if tag.endswith(b"/>") else ">"
            words = "".join(f" {name}={quoteattr(value)}" for name, value in element.attributes.items())
            edits.append(_Edit(element.start, element.start + len(tag), f"<{element.tag}{words}{close}"))
    return _edited(data, edits).decode()


def _text(source: Source) -> str:
    """The document as text that declares no other encoding than UTF-8."""
    data = source.data
    declared = re.match(rb"\s*<\?xml[^>]*?encoding\s*=\s*[\"']([\w.-]+)", data)
    encoding = source.encoding or (declared[1].decode() if declared else "utf-8")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    text = data.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    return _ENCODING.sub(r"\1utf-8", text.lstrip())


def _all(element: Element) -> Iterator[Element]:
    yield element
    for child in element.children:
        yield from _all(child)


def _tag(element: Element, data: bytes) -> bytes:
    """An element's start tag."""
    found = _TAG.match(data, element.start)
    assert found is not None, "it has been parsed"
    return found[0]


def _end(element: Element, data: bytes) -> int:
    """Place behind an element."""
    tag = _tag(element, data)
    return element.start + len(tag) if tag.endswith(b"/>") else data.index(b">", element.stop) + 1


def _inertial(link: Element, data: bytes, inertia: Inertia) -> _Edit:
    """A link's new <inertial>, indented as the link is."""
    before = data[data.rfind(b"\n", 0, link.start) + 1 : link.start].decode()
    outer = before if not before.strip() else ""
    xml = inertial_xml(inertia, digits=_DIGITS, indent=f"{outer}  ")
    old, tag = link.first("inertial"), _tag(link, data)
    if old is not None:
        return _Edit(old.start, _end(old, data), xml.lstrip())
    opened = link.start + len(tag)
    if not tag.endswith(b"/>"):
        return _Edit(opened, opened, f"\n{xml}")
    return _Edit(link.start, opened, f"{tag[:-2].decode().rstrip()}>\n{xml}\n{outer}</{link.tag}>")


def _edited(data: bytes, edits: list[_Edit]) -> bytes:
    """Data with edits applied; those inside a part that another edit replaces are left out."""
    parts, place = list[bytes](), 0
    for edit in sorted(edits, key=lambda e: (e.start, -e.stop)):
        if edit.start >= place:
            parts += [data[place : edit.start], edit.text.encode()]
            place = edit.stop
    return b"".join([*parts, data[place:]])
