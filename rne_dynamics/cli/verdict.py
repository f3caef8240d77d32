"""The last line of `rne simulate` and `rne demo`: tracked or not, why, and what to do."""

from __future__ import annotations

from typing import Any

import numpy as np

from rne_dynamics.control.tracking_verdict import Cause, TrackingVerdict
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.tree import JointKind


def verdict_line(robot: RigidRobot, verdict: TrackingVerdict, *, flexible: bool = False) -> str:
    """The verdict as one sentence for a person.

    Parameters
    ----------
    robot
        For names and kinds of joints.
    verdict
        What `judge` found.
    flexible
        Whether the arm has flexible links, which the controller's model lacks.
    """
    j, name = verdict.joint, robot.joint_names[verdict.joint]
    if verdict.tracked:
        busiest = robot.joint_names[verdict.saturated]
        at_limit = f"; joint {busiest!r} was at its effort limit for {verdict.share:.1%} of the time"
        met = at_limit if verdict.saturated >= 0 else ""
        return (
            f"tracked: the largest RMS error is {_length(robot, j, verdict.error)}, joint {name!r}; allowed is "
            f"{_length(robot, j, verdict.tolerance)}{met}"
        )
    return (
        f"did not track: joint {name!r}, RMS error {_length(robot, j, verdict.error)}, allowed is "
        f"{_length(robot, j, verdict.tolerance)}: {_reason(robot, verdict, flexible=flexible)}"
    )


def _reason(robot: RigidRobot, verdict: TrackingVerdict, *, flexible: bool) -> str:
    """Cause and remedy."""
    j, cause = verdict.joint, verdict.cause
    effort, reach = (_effort(robot, j, value) for value in (verdict.effort, verdict.reach))
    time = f"{verdict.share:.1%} of the time"
    if cause is Cause.SATURATED:
        return f"its effort was at its limit of {effort} for {time}; take more time, less load, or a stronger drive"
    if cause is Cause.OTHER_SATURATED:
        other = robot.joint_names[verdict.saturated]
        limit = _effort(robot, verdict.saturated, verdict.effort)
        return (
            f"joint {other!r} was at its effort limit of {limit} for {time}, which moves the others; take more time, "
            "less load, or a stronger drive"
        )
    if cause is Cause.POSITION_LIMIT:
        unit = "m" if _slides(robot, j) else "rad"
        return f"it was at its position limit, {verdict.at:.4g} {unit}; choose another goal or correct <limit>"
    if cause is Cause.FRICTION:
        return f"its friction ({effort}) against the gain's reach {reach}; try friction_compensation or a higher gain"
    if cause is Cause.NO_FEEDFORWARD:
        return "PD plus gravity has no feedforward; take computed torque, more time, or a higher gain"
    if cause is Cause.LATE:
        return f"{verdict.share:.1%} of the replies were missed; lower the rate, or free the computer of other work"
    if flexible:
        return "links bend, which the controller's rigid model lacks; take more time, or --shaper zv"
    return (
        f"about {effort} that its model lacks, against the gain's reach {reach}; correct payload, masses or friction "
        "in the model, or try a higher or an integral gain"
    )


def as_plain(robot: RigidRobot, verdict: TrackingVerdict, line: str) -> dict[str, Any]:
    """The verdict as plain values, SI units."""
    return {
        "tracked": verdict.tracked, "joint": robot.joint_names[verdict.joint], "rms_error": verdict.error,
        "tolerance": verdict.tolerance, "cause": verdict.cause.name.lower() if verdict.cause else None,
        "effort": verdict.effort, "reach": verdict.reach, "text": line,
    }  # fmt: skip


def without_effort_limit(robot: RigidRobot) -> tuple[str, ...]:
    """Joints whose effort limit the description does not give; many have ``effort="0"`` for an unknown one."""
    limit: Array = robot.effort_limit
    missing = ~np.isfinite(limit) | (limit <= 0.0)
    return tuple(name for name, none in zip(robot.joint_names, missing, strict=True) if none)


def _slides(robot: RigidRobot, j: int) -> bool:
    kinds = {joint.name: joint.kind for joint in robot.tree.joints}
    return kinds.get(robot.joint_names[j]) is JointKind.PRISMATIC


def _length(robot: RigidRobot, j: int, value: float) -> str:
    return f"{1e3 * value:.3g} {'mm' if _slides(robot, j) else 'mrad'}"


def _effort(robot: RigidRobot, j: int, value: float) -> str:
    return f"{value:.3g} {'N' if _slides(robot, j) else 'N m'}"
