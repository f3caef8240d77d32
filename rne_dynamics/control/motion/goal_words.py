"""Positions as typed: JOINT=VALUE for some joints or VALUE for all, rad or m or with a unit."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Sequence

from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.tree import JointKind

#: Units of positions and their size in SI units, of prismatic joints and of all others.
_METRES, _RADIANS = {"m": 1.0, "mm": 1e-3}, {"rad": 1.0, "deg": math.pi / 180.0}
_QUANTITY = re.compile(r"(.*?\d\.?)\s*([a-z]*)")


def parse_goal(words: Sequence[str], robot: RigidRobot, lower: Array, upper: Array) -> dict[str, float]:
    """Position of each joint that the words name, rad or m.

    `words`: all with a name, or none: then one for each joint in order. `robot`: has the joints. `lower`, `upper`: what
    is allowed, rad or m; (n,). Raises ArgumentError: no words, words with and without names, another number than
    joints, no finite number, a unit that does not fit the joint, a joint named twice, a position outside the limits;
    ModelError: an unknown joint.
    """
    named = ["=" in word for word in words]
    if not words:
        raise ArgumentError("no goal is given; write JOINT=VALUE, or a VALUE for each joint, as in joint1=30deg")
    if any(named) and not all(named):
        raise ArgumentError("give either JOINT=VALUE for some joints or a VALUE for every joint, not both")
    if not any(named) and len(words) != robot.n:
        raise ArgumentError(f"{len(words)} values for {robot.n} joints ({', '.join(robot.joint_names)})")
    slides = sliding_joints(robot)
    goal: dict[str, float] = {}
    for word, default in zip(words, robot.joint_names, strict=False):
        name, _, text = word.rpartition("=") if any(named) else (default, "", word)
        j = robot.joint_index(name)
        if name in goal:
            raise ArgumentError(f"joint {name!r} is given twice")
        value = joint_position(text, name, slides)
        if not lower[j] <= value <= upper[j]:
            raise ArgumentError(
                f"goal {value:.6g} of joint {name!r} is outside its limits [{lower[j]:.6g}, {upper[j]:.6g}]"
            )
        goal[name] = value
    return goal


def joint_position(text: str, joint: str, sliding: Container[str]) -> float:
    """A position as typed, with a unit (deg, mm) or in rad and m; rad or m.

    `text`: such as 30deg, 0.5 or 20mm; `joint`: its name; `sliding`: names of the prismatic joints. Raises
    ArgumentError: no finite number, a unit that does not fit the joint.
    """
    parts = _QUANTITY.fullmatch(text.strip())
    number, unit = parts.groups() if parts else ("", "")
    units, kind, example = (_METRES, "prismatic", "20mm") if joint in sliding else (_RADIANS, "revolute", "30deg")
    if unit and unit not in units:
        raise ArgumentError(f"{text!r}: joint {joint!r} is {kind}, and its unit is {' or '.join(units)}, not {unit!r}")
    try:
        value = float(number) * units.get(unit, 1.0)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ArgumentError(f"{text!r} of joint {joint!r} is no position; write a number, as 0.5 or {example}")
    return value


def sliding_joints(robot: RigidRobot) -> frozenset[str]:
    """Names of the prismatic joints, passive ones of a mechanism among them."""
    return frozenset(j.name for j in robot.open_tree.tree.joints if j.kind is JointKind.PRISMATIC)
