"""Points of a request as tables; all checks that do not need the arm's position."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.errors import TrajectoryError
from rne_dynamics.model.inertia import Array

#: Largest number of points. To accept so many for seven joints takes 0.4 s on the test machine and 50 MB, with
#: velocities and accelerations; what is longer is refused by its count.
MOST_POINTS = 100_000
#: Largest number of points times joints of the controller.
MOST_POSITIONS = 1_000_000
#: Longest trajectory, s: a day. Beyond, path time would lose its microseconds.
LONGEST_TRAJECTORY = 86_400.0


class Time(Protocol):
    """A time or duration as builtin_interfaces has it: any sign of `sec`, `nanosec` from 0."""

    sec: int
    nanosec: int


class Point(Protocol):
    """A point as trajectory_msgs/JointTrajectoryPoint has it."""

    positions: Sequence[float]
    velocities: Sequence[float]
    accelerations: Sequence[float]
    effort: Sequence[float]
    time_from_start: Time


@dataclass(frozen=True, eq=False)
class Points:
    """What a request asks of the joints it names."""

    #: Which of the controller's joints they are, in the order of the request; shape (m,).
    columns: Array
    #: s; shape (points,).
    times: Array
    #: Shape (points, m); None where the request has none.
    positions: Array
    velocities: Array | None
    accelerations: Array | None

    def after(self, t: float) -> Points:
        """Those that are later than `t`, s."""
        later = self.times > t
        velocities = None if self.velocities is None else self.velocities[later]
        accelerations = None if self.accelerations is None else self.accelerations[later]
        return Points(self.columns, self.times[later], self.positions[later], velocities, accelerations)


def nanoseconds(time: Time, what: str) -> int:
    """A time or duration in ns; `TrajectoryError` where it is negative or its nanoseconds make a second."""
    whole, rest = int(time.sec), int(time.nanosec)
    if whole < 0 or not 0 <= rest < NANOSECONDS:
        raise TrajectoryError(
            f"{what} is {whole} s and {rest} ns; it must not be negative, and the nanoseconds must be below a second"
        )
    return whole * NANOSECONDS + rest


def read_points(names: Sequence[str], points: Sequence[Point], joints: tuple[str, ...]) -> Points:
    """The points of a request for some of `joints`, or all.

    Raises TrajectoryError: a joint that is not one of `joints`, no joints, one named twice, too many points, efforts
    other than zero, lists of another length than there are names, velocities or accelerations in some points only,
    times that are negative or longer than `LONGEST_TRAJECTORY`. (Numbers that are not finite and times that do not
    increase are left to `SampledTrajectory`.).
    """
    columns = _columns(names, joints)
    check_count(len(points), len(joints))
    times = np.array([nanoseconds(p.time_from_start, f"point {k}: its time") for k, p in enumerate(points)])
    if times.max() > LONGEST_TRAJECTORY * NANOSECONDS:
        k = int(np.argmax(times))
        raise TrajectoryError(
            f"point {k}: its time is {times[k] / NANOSECONDS:g} s; at most {LONGEST_TRAJECTORY:g} s are taken"
        )
    for k, point in enumerate(points):
        if len(point.effort) and np.any(point.effort):  # planners fill what they do not use with zeros
            raise TrajectoryError(
                f"point {k} has efforts other than 0; this controller computes them itself, leave them out"
            )
    positions = _table([p.positions for p in points], len(names), "positions")
    if positions is None:
        raise TrajectoryError(f"point 0 has 0 positions for {len(names)} joints; every joint needs one")
    return Points(
        columns, times / NANOSECONDS, positions,
        _table([p.velocities for p in points], len(names), "velocities"),
        _table([p.accelerations for p in points], len(names), "accelerations"),
    )


def check_count(points: int, joints: int) -> None:
    """`TrajectoryError` where a trajectory of so many points is not taken by a controller of so many joints."""
    most = min(MOST_POINTS, MOST_POSITIONS // max(joints, 1))
    if not 0 < points <= most:
        raise TrajectoryError(f"it has {points or 'no'} points; 1 to {most} are taken. Send it in parts")


def _columns(names: Sequence[str], joints: tuple[str, ...]) -> Array:
    known = {joint: j for j, joint in enumerate(joints)}
    unknown = [n for n in names if n not in known]
    if unknown:
        shown = ", ".join(repr(n[:60]) for n in unknown[:5]) + (", ..." if len(unknown) > 5 else "")
        raise TrajectoryError(f"it names unknown joints: {shown}; the controller has {', '.join(joints)}")
    if not names:
        raise TrajectoryError(f"it has points but names no joints; the controller has {', '.join(joints)}")
    twice = next((n for n in joints if list(names).count(n) > 1), None)
    if twice is not None:
        raise TrajectoryError(f"it names joint {twice!r} more than once; name each joint once")
    return np.array([known[n] for n in names], dtype=np.intp)


def _table(rows: list[Sequence[float]], m: int, what: str) -> Array | None:
    lengths = [len(row) for row in rows]
    for k, length in enumerate(lengths):
        if length not in (0, m):
            raise TrajectoryError(f"point {k} has {length} {what} for {m} joints; every joint needs one")
    with_some = len(lengths) - lengths.count(0)
    if not with_some:
        return None
    if with_some < len(rows):
        raise TrajectoryError(f"{with_some} of {len(rows)} points have {what}; give all or none")
    if all(isinstance(row, array) and row.typecode == "d" for row in rows):  # as messages hold them: ten times faster
        return np.frombuffer(b"".join(rows)).reshape(len(rows), m)  # type: ignore[arg-type]  # arrays are buffers
    return np.array(rows, dtype=np.float64)
