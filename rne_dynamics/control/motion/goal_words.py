"""A goal as typed: JOINT=VALUE for some joints or VALUE for all, rad or m, degrees with the suffix deg."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.tree import JointKind

DEGREES = "deg"


def parse_goal(words: Sequence[str], robot: RigidRobot, lower: Array, upper: Array) -> dict[str, float]:
    """Position of each joint that the words name, rad or m.

    Parameters
    ----------
    words
        All with a name, or none: then one for each joint in order.
    robot
        Has the joints.
    lower, upper
        What is allowed, rad or m; (n,).

    Raises
    ------
    ArgumentError
        No words, words with and without names, another number than joints, no finite number, degrees for a prismatic
        joint, a joint named twice, a position outside the limits.
    ModelError
        An unknown joint.
    """
    named = ["=" in word for word in words]
    if not words:
        raise ArgumentError("no goal is given; write JOINT=VALUE, or a VALUE for each joint, as in joint1=30deg")
    if any(named) and not all(named):
        raise ArgumentError("give either JOINT=VALUE for some joints or a VALUE for every joint, not both")
    if not any(named) and len(words) != robot.n:
        raise ArgumentError(f"{len(words)} values for {robot.n} joints ({', '.join(robot.joint_names)})")
    slides = {joint.name for joint in robot.open_tree.tree.joints if joint.kind is JointKind.PRISMATIC}
    goal: dict[str, float] = {}
    for word, default in zip(words, robot.joint_names, strict=False):
        name, _, text = word.rpartition("=") if any(named) else (default, "", word)
        j = robot.joint_index(name)
        if name in goal:
            raise ArgumentError(f"joint {name!r} is given twice")
        value = _number(text, name)
        if text.endswith(DEGREES):
            if name in slides:
                raise ArgumentError(f"{word!r}: joint {name!r} is prismatic; give its position in m")
            value = math.radians(value)
        if not lower[j] <= value <= upper[j]:
            raise ArgumentError(
                f"goal {value:.6g} of joint {name!r} is outside its limits [{lower[j]:.6g}, {upper[j]:.6g}]"
            )
        goal[name] = value
    return goal


def _number(text: str, joint: str) -> float:
    try:
        value = float(text.removesuffix(DEGREES))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ArgumentError(f"{text!r} of joint {joint!r} is no position; write a number of rad or m, or 30deg")
    return value
