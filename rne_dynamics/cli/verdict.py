"""The verdict on a motion: whether the arm moved as asked and tracked, and if not, why and what to do."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from rne_dynamics.cli.answer import Verdict
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.tracking_verdict import Cause, Outcome, Run, TrackingVerdict, judge
from rne_dynamics.figures.tracking import joint_units
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot

#: Largest RMS error of an arm that tracks, rad or m. With flexible links the control law uses a rigid model, so only
#: feedback acts against their vibration.
TOLERANCE, FLEXIBLE_TOLERANCE = 1e-3, 1e-2


def motion_verdict(
    robot: RigidRobot, gains: Gains, run: Run, tolerance: float | None, *, flexible: bool, **options: Any
) -> Verdict:
    """Whether an arm moved as asked and tracked; a `tolerance` of None is the default; other options as of `judge`."""
    default = FLEXIBLE_TOLERANCE if flexible else TOLERANCE
    found = judge(robot, gains, run, tolerance or default, relative=tolerance is None, **options)
    return tracking_verdict(robot, found, flexible=flexible)


def tracking_verdict(robot: RigidRobot, found: TrackingVerdict, *, flexible: bool = False) -> Verdict:
    """The verdict on a motion from what `judge` found; the controller's model lacks links that are `flexible`."""
    cause = found.cause.name.lower() if found.cause else None
    figures = {
        "tracked": found.tracked, "outcome": found.outcome.name.lower(), "joint": robot.joint_names[found.joint],
        "travel_asked": found.asked, "travel_made": found.made, "rms_error": found.error,
        "error_of_travel": found.error / found.asked if found.asked else None, "tolerance": found.tolerance,
        "cause": cause, "reported": found.reported, "effort": found.effort, "reach": found.reach,
        "speed_scaling": found.speed,
    }  # fmt: skip
    return Verdict(found.tracked, _line(robot, found, flexible=flexible), figures)


def _line(robot: RigidRobot, found: TrackingVerdict, *, flexible: bool) -> str:
    j, name = found.joint, robot.joint_names[found.joint]
    of_travel = f" ({found.error / found.asked:.2%} of its travel)" if found.asked else ""
    error = f"RMS error {_length(robot, j, found.error)}{of_travel}, allowed is {_length(robot, j, found.tolerance)}"
    if found.tracked:
        slow = "" if found.speed == 1.0 else f" at {found.speed:.3g} of full speed (speed_scaling)"
        said = f"; the controller reports {found.reported}" if found.reported else ""
        return f"tracked{slow}: the largest error is of joint {name!r}, {error}{_at_limit(robot, found)}{said}"
    reason = _reason(robot, found, flexible=flexible)
    if found.outcome is Outcome.NOT_TRACKED:
        return f"did not track: joint {name!r}, {error}: {reason}"
    travel = f"{_length(robot, j, found.made)} of the {_length(robot, j, found.asked)} asked"
    return f"{found.outcome.value}: joint {name!r} travelled {travel}: {reason}"


def _at_limit(robot: RigidRobot, found: TrackingVerdict) -> str:
    """Which joint's effort was at its limit, and how long; empty for none."""
    if found.saturated < 0:
        return ""
    return f"; joint {robot.joint_names[found.saturated]!r} was at its effort limit for {found.share:.1%} of the time"


def _reason(robot: RigidRobot, found: TrackingVerdict, *, flexible: bool) -> str:
    """Cause and remedy."""
    j, cause = found.joint, found.cause
    effort, reach = (_effort(robot, j, value) for value in (found.effort, found.reach))
    time = f"{found.share:.1%} of the time"
    if cause in REPORTED:
        return f"{REPORTED[cause]}{found.reported}{_at_limit(robot, found)}"
    if found.reported and cause is not Cause.LIMITED:
        why = _reason(robot, replace(found, reported=""), flexible=flexible)
        return f"{REPORTED[Cause.GOAL_MISSED]}{found.reported}; {why}"
    if cause in (Cause.SATURATED, Cause.OTHER_SATURATED):
        busy = found.saturated if cause is Cause.OTHER_SATURATED else j
        limit, resting = (_effort(robot, busy, value) for value in (found.effort, found.resting))
        remedy = "take more time, less load, or a stronger drive"
        if found.resting > found.effort:
            remedy = (
                f"friction and gravity alone take {resting}, so more time does not help: check masses, <dynamics> and "
                "<limit>, or take a stronger drive"
            )
        if cause is Cause.SATURATED:
            return f"its effort was at its limit of {limit} for {time}; {remedy}"
        other = robot.joint_names[busy]
        return f"joint {other!r} was at its effort limit of {limit} for {time}, which moves the others; {remedy}"
    plain = {
        Cause.POSITION_LIMIT: f"it was at its position limit, {found.at:.4g} {joint_units(robot)[j].position}; choose "
        "another goal or correct <limit>",
        Cause.LIMITED: f"the controller limited {found.share:.1%} of its efforts: {found.reported}",
        Cause.NO_FEEDFORWARD: "PD plus gravity has no feedforward; take computed torque",
        Cause.LATE: f"{found.share:.1%} of the replies were missed; lower the rate, or free the computer of other work",
        Cause.UNKNOWN: "the cause is not known: no effort was at a limit, no load that the model lacks was measured, "
        "nothing was refused and no stop was reported",
    }  # fmt: skip
    if cause in plain:
        return plain[cause]
    if cause is Cause.FRICTION:
        model = "make the description's friction that of the arm"
        if found.compensated < 1.0:
            model = f"compensate more of it (friction_compensation is {found.compensated:g})"
        return f"its friction ({effort}) against the gain's reach {reach}; {model}{_gain(found.effort / found.reach)}"
    if flexible:
        return "links bend, which the controller's rigid model lacks; take more time, or --shaper zv"
    return (
        f"the arm took {effort} that its model does not explain, against the gain's reach {reach}; correct payload, "
        f"masses or friction in the model{_gain(found.error / found.tolerance)}"
    )


#: Usual gains (w = 40 rad/s) times this much are stable at 1.5 kHz, where w may be a sixth of the rate.
HIGHEST_GAIN = 39.0
#: What comes before the controller's own words, where they are the cause.
REPORTED: dict[Cause | None, str] = {
    Cause.STOPPED: "the controller reports ", Cause.ABORTED: "the controller reports ",
    Cause.GOAL_MISSED: "the controller reports ", Cause.REFUSED: "the controller refused the trajectory: ",
    Cause.MISMATCH: "the arm differs from its model on purpose, and tracks where it does not (`rne compare` shows "
    "which law tolerates that): ",
    Cause.PAUSED: "the speed scaling is 0, so the controller waits; set speed_scaling above 0",
}


def without_effort_limit(robot: RigidRobot) -> tuple[str, ...]:
    """Joints whose effort limit the description does not give; many have ``effort="0"`` for an unknown one."""
    limit: Array = robot.effort_limit
    missing = ~np.isfinite(limit) | (limit <= 0.0)
    return tuple(name for name, none in zip(robot.joint_names, missing, strict=True) if none)


def _gain(factor: float) -> str:
    """The advice of a higher gain, by a factor rounded up; none beyond `HIGHEST_GAIN`."""
    times = f"{math.ceil(factor)}" if factor >= 10.0 else f"{math.ceil(10.0 * factor) / 10.0:g}"
    return f", or take a gain {times} times as high" if factor <= HIGHEST_GAIN else ""


def _length(robot: RigidRobot, j: int, value: float) -> str:
    return f"{1e3 * value:.3g} {joint_units(robot)[j].error}"


def _effort(robot: RigidRobot, j: int, value: float) -> str:
    return f"{value:.3g} {joint_units(robot)[j].effort}"
