"""trajectory_msgs/JointTrajectory to a trajectory, validated whole before anything is accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from builtin_interfaces.msg import Duration
from trajectory_msgs.msg import JointTrajectory

from rne_dynamics.control.reference import Reference
from rne_dynamics.control.trajectory import SampledTrajectory
from rne_dynamics.errors import TrajectoryError
from rne_dynamics.model.inertia import Array

#: Sizes within which a point may pass a limit through rounding, rad or m (and per second).
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Where trajectory points may lie.

    Parameters
    ----------
    joints
        Names, in the order of the vectors.
    lower, upper
        Positions, rad or m; shape (n,); infinite where there is no limit.
    velocity
        Largest speed, rad/s or m/s; shape (n,).
    start
        How far the first point may lie from where the arm is asked to be now, rad or m.
    """

    joints: tuple[str, ...]
    lower: Array
    upper: Array
    velocity: Array
    start: float


def seconds(duration: object) -> float:
    """A builtin_interfaces Duration or Time in seconds."""
    return float(duration.sec) + 1e-9 * float(duration.nanosec)  # type: ignore[attr-defined]  # generated class


def duration_message(seconds: float) -> Duration:
    """A builtin_interfaces Duration, to the nearest nanosecond."""
    whole, rest = divmod(round(seconds * 1e9), 1_000_000_000)
    return Duration(sec=whole, nanosec=rest)


def read_trajectory(message: JointTrajectory, joints: tuple[str, ...]) -> SampledTrajectory:
    """The trajectory of a message with at least one point, its joints brought into our order.

    Raises
    ------
    TrajectoryError
        Unknown, missing or repeated joints (a trajectory for some of the joints only is refused: it would leave open
        what the others do), efforts, uneven lists, numbers that are not finite, times that do not increase.
    """
    order = _order(message.joint_names, joints)
    rows: dict[str, list[Sequence[float]]] = {"positions": [], "velocities": [], "accelerations": []}
    for k, point in enumerate(message.points):
        for label, row in rows.items():
            values = getattr(point, label)
            if len(values) not in (0, len(order)) or (label == "positions" and not len(values)):
                raise TrajectoryError(
                    f"point {k} has {len(values)} {label} for {len(order)} joints; every joint needs one"
                )
            if len(values):
                row.append(values)
        if len(point.effort):
            raise TrajectoryError(f"point {k} has efforts; this controller computes them itself, leave them out")
    for label, row in rows.items():
        if len(row) not in (0, len(message.points)):
            raise TrajectoryError(f"{len(row)} of {len(message.points)} points have {label}; give all or none")
    table = {label: np.array(row, dtype=np.float64)[:, order] if row else None for label, row in rows.items()}
    positions = table["positions"]
    assert positions is not None  # each point has been seen to have them
    return SampledTrajectory(
        np.array([seconds(p.time_from_start) for p in message.points]),
        positions, table["velocities"], table["accelerations"], joints,
    )


def check_start(first: Reference, now: Reference, limits: MotionLimits) -> None:
    """`TrajectoryError` if a trajectory's first reference lies too far from the one the arm follows now."""
    gap = np.abs(first.q - now.q)
    j = int(np.argmax(gap))
    if gap[j] > limits.start:
        raise TrajectoryError(
            f"joint {limits.joints[j]!r}: the trajectory starts at {first.q[j]:.6g}, {gap[j]:.3g} away from where the "
            f"arm is held; it may differ by {limits.start:g} (constraints.start). Start where the arm is, or give the "
            "first point a time above 0"
        )


def check_limits(trajectory: SampledTrajectory, now: Reference, limits: MotionLimits) -> None:
    """`TrajectoryError` where positions or velocities leave the limits, between the points too.

    An arm that stands outside its limits `now` may move, but not further out.
    """
    lower, upper = np.minimum(limits.lower, now.q) - ROUNDING, np.maximum(limits.upper, now.q) + ROUNDING
    velocity = np.maximum(limits.velocity, np.abs(now.qd)) + ROUNDING
    if outside := trajectory.departure("position", lower, upper):
        j = outside.joint
        raise TrajectoryError(
            f"joint {limits.joints[j]!r} would be at {outside.value:.6g} at {outside.t:.3f} s; "
            f"allowed is [{limits.lower[j]:.6g}, {limits.upper[j]:.6g}]"
        )
    if fast := trajectory.departure("velocity", -velocity, velocity):
        j = fast.joint
        raise TrajectoryError(
            f"joint {limits.joints[j]!r} would move at {fast.value:.6g} per second at {fast.t:.3f} s; allowed is "
            f"{limits.velocity[j]:.6g}. Give the trajectory more time"
        )


def _order(names: Sequence[str], joints: Sequence[str]) -> list[int]:
    unknown = [n for n in names if n not in joints]
    missing = [j for j in joints if j not in names]
    if unknown or missing or len(names) != len(joints):
        parts = [
            f"{what}: {', '.join(which)}" for what, which in (("unknown", unknown), ("missing", missing)) if which
        ]
        fault = "; ".join(parts) or "a joint is named twice"
        raise TrajectoryError(f"its joints are not the controller's ({fault}); it needs {', '.join(joints)}")
    return [list(names).index(j) for j in joints]
