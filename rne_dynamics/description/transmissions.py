"""Rotor inertias and gear ratios from <transmission> elements, read leniently.

Other content of a transmission belongs to controller frameworks and never prevents loading. Two numbers are read, with
or without a prefix such as ``drake:``, as text or as a ``value`` attribute, in <actuator>, <joint> or <transmission>:

- the rotor inertia, kg·m²: ``rotor_inertia``, ``rotorInertia``, ``motor_inertia``, ``motorInertia``;
- the gear ratio, motor over joint: ``mechanicalReduction``, ``mechanical_reduction``, ``gear_ratio``, ``gearRatio``.

The reflected inertia is rotor inertia times ratio². The ratio is the actuator's times the joint's, as in ros_control;
if neither has one, it is the transmission's, as in the PR2's format.
"""

from __future__ import annotations

from collections.abc import Iterator

from rne_dynamics.description.lint.findings import Reading, warning
from rne_dynamics.description.markup import Element
from rne_dynamics.description.outline import Outline
from rne_dynamics.description.strict_numbers import LARGEST, parse_number
from rne_dynamics.model.tree import ONE_FREEDOM

_INERTIA = frozenset({"rotor_inertia", "rotorInertia", "motor_inertia", "motorInertia"})
_RATIO = frozenset({"mechanicalReduction", "mechanical_reduction", "gear_ratio", "gearRatio"})


def read_rotors(outline: Outline) -> Reading[dict[str, float]]:
    """Yield what is wrong with transmissions; return the reflected rotor inertia by joint name, kg·m² or kg."""
    reflected: dict[str, float] = {}
    for transmission in _transmissions(outline.element):
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
        name = joints[0].attributes.get("name", "")
        joint = outline.joints.get(name)
        if joint is None or joint.kind not in ONE_FREEDOM:
            what = "which does not exist" if joint is None else f"which is {joint.kind.value}"
            yield warning(
                joints[0].line, where, f"drives joint {name!r}, {what}; its rotor inertia is left out",
                "name a joint that moves",
            )
            continue
        ratio = yield from _ratio(transmission, actuators, joints[0], where)
        if inertia is None or ratio is None:
            continue
        if inertia < 0.0 or inertia * ratio * ratio > LARGEST:
            yield warning(
                inertia_at[0].line, where,
                f"rotor inertia {inertia:g} kg m^2 with gear ratio {ratio:g} is left out: negative or vast",
                "write the rotor's own inertia in kg m^2",
            )
            continue
        if name in reflected:
            yield warning(
                transmission.line, where, f"is a second drive with rotor inertia on joint {name!r}; both are added",
                "check both",
            )
        reflected[name] = reflected.get(name, 0.0) + inertia * ratio * ratio
    return reflected


def _transmissions(robot: Element) -> Iterator[Element]:
    yield from robot.all("transmission")
    for control in robot.all("ros2_control"):
        yield from control.all("transmission")


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
