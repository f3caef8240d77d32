"""All checks of a robot description, for `load_urdf` and `rne check`.

Rotor inertias and gear ratios from <transmission> elements are read leniently. Other content of a transmission belongs
to controller frameworks and never prevents loading. Two numbers are read, with or without a prefix such as ``drake:``,
as text or as a ``value`` attribute, in <actuator>, <joint> or <transmission>:

- the rotor inertia, kg·m²: ``rotor_inertia``, ``rotorInertia``, ``motor_inertia``, ``motorInertia``;
- the gear ratio, motor over joint: ``mechanicalReduction``, ``mechanical_reduction``, ``gear_ratio``, ``gearRatio``.

The reflected inertia is rotor inertia times ratio². The ratio is the actuator's times the joint's, as in ros_control;
if neither has one, it is the transmission's, as in the PR2's format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath

from rne_dynamics.description.lint.bodies import lint_bodies, lint_link
from rne_dynamics.description.lint.findings import (
    FaultyDescriptionError,
    Finding,
    Reading,
    Report,
    Severity,
    collect,
    error,
    first_of,
    warning,
)
from rne_dynamics.description.lint.joints import lint_joint
from rne_dynamics.description.lint.structure import lint_structure
from rne_dynamics.description.markup import LARGEST, Element, parse_number, read_markup
from rne_dynamics.description.outline import Outline, read_outline
from rne_dynamics.description.repairs import repair
from rne_dynamics.description.sources import Source, SourceLike, read_source
from rne_dynamics.description.urdf_tree import build_tree
from rne_dynamics.errors import ModelError
from rne_dynamics.model.tree import ONE_FREEDOM, KinematicTree

_INERTIA = frozenset({"rotor_inertia", "rotorInertia", "motor_inertia", "motorInertia"})
_RATIO = frozenset({"mechanicalReduction", "mechanical_reduction", "gear_ratio", "gearRatio"})


def read_rotors(outline: Outline) -> Reading[dict[str, float]]:
    """Yield what is wrong with transmissions; return the reflected rotor inertia by joint name, kg·m² or kg."""
    reflected: dict[str, float] = {}
    robot = outline.element
    in_control = (x for control in robot.all("ros2_control") for x in control.all("transmission"))
    for transmission in (*robot.all("transmission"), *in_control):
        where = f"transmission {transmission.attributes.get('name', '')!r}"
        joints = [x for x in transmission.children if _local(x) == "joint"]
        actuators = [x for x in transmission.children if _local(x) == "actuator"]
        places = [*actuators, *joints, transmission]
        inertia_at = [place for place in places if _find(place, _INERTIA) is not None]
        if not inertia_at:
            continue
        if len(joints) != 1 or len(actuators) > 1 or len(inertia_at) > 1:
            yield warning(
                transmission.line, where, "its rotor inertia is left out: it needs one actuator and one joint",
                "write one transmission for each joint, with its reflected inertia",
            )
            continue
        inertia = yield from _value(inertia_at[0], _INERTIA, where)
        ratio = yield from _ratio(transmission, actuators, joints[0], where)
        name = joints[0].attributes.get("name", "")
        joint = outline.joints.get(name)
        if joint is None or joint.kind not in ONE_FREEDOM:
            what = "which does not exist" if joint is None else f"which is {joint.kind.value}"
            yield warning(
                joints[0].line, where, f"drives joint {name!r}, {what}; its rotor inertia is left out",
                "name a joint that moves",
            )
        elif inertia is not None and ratio is not None:
            usable = 0.0 <= inertia * ratio * ratio <= LARGEST
            yield from first_of(
                inertia_at[0].line, where,
                (not usable, warning,
                 f"rotor inertia {inertia:g} kg m^2 with gear ratio {ratio:g} is left out: negative or vast",
                 "write the rotor's own inertia in kg m^2"),
                (name in reflected, warning,
                 f"is a second drive with rotor inertia on joint {name!r}; both are added", "check both"),
            )  # fmt: skip
            reflected[name] = reflected.get(name, 0.0) + usable * inertia * ratio * ratio
    return reflected


def _local(element: Element) -> str:
    return element.tag.rpartition(":")[2]


def _find(place: Element, names: frozenset[str]) -> Element | None:
    return next((child for child in place.children if _local(child) in names), None)


def _ratio(transmission: Element, actuators: list[Element], joint: Element, where: str) -> Reading[float | None]:
    places = [place for place in (*actuators, joint) if _find(place, _RATIO) is not None]
    if not places and _find(transmission, _RATIO) is not None:
        places = [transmission]
    ratio = 1.0
    for place in places:
        value = yield from _value(place, _RATIO, where)
        if value is None:
            return None
        ratio *= value
    return ratio


def _value(place: Element, names: frozenset[str], where: str) -> Reading[float | None]:
    element = _find(place, names)
    assert element is not None  # the callers checked it
    text = element.attributes.get("value", element.text)
    value = parse_number(text)
    if value is None or abs(value) > LARGEST:
        yield warning(
            element.line, f"{where} <{element.tag}>", f"is {text[:40]!r}, not a number; the rotor inertia is left out",
            "write a number such as 62.5",
        )
        return None
    return value


#: Most coordinates of all joints: `rne check` takes 10 s and 1 GB for twice as many. A joint has one, but:
MOST_COORDINATES = 5000
_COORDINATES = {"planar": 3, "floating": 6}


@dataclass(frozen=True, eq=False)
class Examination:
    """A description with its findings, and its tree if there are no errors."""

    #: All findings.
    report: Report
    #: `None` where there are errors.
    tree: KinematicTree | None
    #: The elements that the tree was made of, for their lines.
    outline: Outline | None = None


def lint(source: SourceLike, *, mappings: Mapping[str, str] | None = None, lenient: bool = False) -> Report:
    """All findings on a description.

    Faults that prevent further reading (invalid XML) are findings too; others are searched as far as possible.

    Parameters
    ----------
    source, mappings, lenient
        As for `load_urdf`.

    Raises
    ------
    DescriptionError
        There is no such file or robot.
    """
    return examine(read_source(source, mappings, lenient=lenient)).report


def examine(source: Source) -> Examination:
    """Read and check a description; see `lint`."""
    found: list[Finding] = []
    try:
        root = read_markup(source.data, source.name, source.encoding, found if source.lenient else None)
    except FaultyDescriptionError as fault:
        return _refused(source, (fault.finding,))
    large = _too_large(root)
    if large is not None:
        return Examination(Report(source.name, (large,)), None)
    if source.lenient:
        found.extend(repair(root))
    repairs = tuple(found)
    stem = "robot" if source.name.startswith("<") else PurePath(source.name).name.partition(".")[0] or "robot"
    outline = collect(read_outline(root, stem), found)
    if outline.element.tag == "robot":
        found.extend(_lint_parts(outline))
    rotors = collect(read_rotors(outline), found)
    tree = None
    if not any(f.severity is Severity.ERROR for f in found):
        try:
            tree = build_tree(outline, rotors)
        except ModelError as fault:  # a fault that the checks above do not find
            found.append(error(root.line, "<robot>", str(fault), "correct the description"))
        else:
            found.extend(lint_bodies(outline, tree))
    findings = tuple(sorted(found, key=lambda f: f.line))
    if any(f.severity is Severity.ERROR for f in findings):
        return _refused(source, findings)
    findings = _with_lines(source, findings)
    return Examination(Report(source.name, findings, repairs), tree, outline)


def _too_large(root: Element) -> Finding | None:
    """The finding on a robot of more than `MOST_COORDINATES`, which commands could not check in a few seconds."""
    count = sum(_COORDINATES.get(joint.attributes.get("type", ""), 1) for joint in root.all("joint"))
    if count <= MOST_COORDINATES:
        return None
    message = f"has joints with {count} coordinates; at most {MOST_COORDINATES} are allowed"
    return error(root.line, "<robot>", message, "split it into several robots, or build it by `rne_dynamics.model`")


def _refused(source: Source, findings: tuple[Finding, ...]) -> Examination:
    """Examination of a description with errors; reports whether it loads with repairs."""
    repairable = not source.lenient and examine(replace(source, lenient=True)).report.ok
    return Examination(Report(source.name, _with_lines(source, findings), (), repairable), None)


def _with_lines(source: Source, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings with their lines, if those are of a text that the user has."""
    return findings if source.lines else tuple(replace(finding, line=0) for finding in findings)


def _lint_parts(outline: Outline) -> Iterator[Finding]:
    if outline.links:
        yield from lint_structure(outline)
    for link in outline.links.values():
        yield from lint_link(link)
    for joint in outline.joints.values():
        yield from lint_joint(outline, joint)
