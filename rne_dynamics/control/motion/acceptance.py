"""Acceptance of a requested trajectory: its points and all checks, before any of it is followed."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.motion.effort_demand import EffortDemand
from rne_dynamics.control.motion.limited_path import Leading, limited_path
from rne_dynamics.control.motion.limits import MotionLimits, Tolerances
from rne_dynamics.control.motion.motion import Motion, halt, rest
from rne_dynamics.control.motion.path import Path
from rne_dynamics.control.motion.takeover import BlendedPath, PathCheck, away, check_start, in_path_time, takeover
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.control.trajectory import ACCELERATIONS_ALONE, SampledTrajectory
from rne_dynamics.errors import TrajectoryError, refuse
from rne_dynamics.model.inertia import Array

#: Largest number of points. To accept so many for seven joints takes 0.4 s on the test machine and 50 MB, with
#: velocities and accelerations; what is longer is refused by its count.
MOST_POINTS = 100_000
#: Largest number of points times joints of the controller.
MOST_POSITIONS = 1_000_000
#: Longest trajectory, s: a day. Beyond, path time would lose its microseconds.
LONGEST_TRAJECTORY = 86_400.0


#: Tables of a request, in the order of `Points.rows`.
TABLES = ("positions", "velocities", "accelerations")


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
    """Points of a request, for the joints that it names."""

    #: Which of the controller's joints they are, in the order of the request; shape (m,).
    columns: Array
    #: s; shape (points,).
    times: Array
    #: Positions, and what the request has of velocities, and of accelerations; shape (1 to 3, points, m).
    rows: Array


def nanoseconds(time: Time, what: str) -> int:
    """A time or duration in ns; `TrajectoryError` where it is negative or its nanoseconds make a second."""
    whole, rest = int(time.sec), int(time.nanosec)
    if whole < 0 or not 0 <= rest < NANOSECONDS:
        raise TrajectoryError(
            f"{what} is {whole} s and {rest} ns; it must not be negative, and the nanoseconds must be below a second"
        )
    return whole * NANOSECONDS + rest


def read_points(names: Sequence[str], points: Sequence[Point], joints: tuple[str, ...]) -> Points:
    """The points of a request for some of `joints`, or all; `TrajectoryError` with the point, where they are none."""
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
    tables = [_table(points, what, len(names)) for what in TABLES]
    refuse(
        TrajectoryError,
        (tables[0] is None, f"point 0 has 0 positions for {len(names)} joints; every joint needs one"),
        (tables[1] is None and tables[2] is not None, ACCELERATIONS_ALONE),
    )
    return Points(columns, times / NANOSECONDS, np.array([table for table in tables if table is not None]))


def check_count(points: int, joints: int) -> None:
    """`TrajectoryError` where a trajectory of so many points is not taken by a controller of so many joints."""
    most = min(MOST_POINTS, MOST_POSITIONS // max(joints, 1))
    if not 0 < points <= most:
        raise TrajectoryError(f"it has {points or 'no'} points; 1 to {most} are taken. Send it in parts")


def _columns(names: Sequence[str], joints: tuple[str, ...]) -> Array:
    known = {joint: j for j, joint in enumerate(joints)}
    unknown = [n for n in names if n not in known]
    shown = ", ".join(repr(n[:60]) for n in unknown[:5]) + (", ..." if len(unknown) > 5 else "")
    twice = next((n for n in joints if list(names).count(n) > 1), None)
    refuse(
        TrajectoryError,
        (unknown, f"it names unknown joints: {shown}; the controller has {', '.join(joints)}"),
        (not names, f"it has points but names no joints; the controller has {', '.join(joints)}"),
        (twice is not None, f"it names joint {twice!r} more than once; name each joint once"),
    )
    return np.array([known[n] for n in names], dtype=np.intp)


def _table(points: Sequence[Point], what: str, m: int) -> Array | None:
    rows: list[Sequence[float]] = [getattr(point, what) for point in points]
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


# -- acceptance of a requested trajectory: all checks, before any of it is followed ------------------------------------


#: A header stamp further than this from the joint states' time means two clocks, s.
CLOCKS_APART = 600.0
#: Largest speed of a last point, where the reference comes to rest at once, rad/s or m/s.
END_VELOCITY = 1e-3
#: Blend times that are tried, in turn, of the one that is set: next to a motion at the limits another one may fit.
BLENDS = (1.0, 0.5, 2.0, 0.25)


@dataclass(frozen=True, eq=False)
class Accepted:
    """A trajectory that may be followed."""

    #: For all joints, in the controller's order.
    trajectory: SampledTrajectory
    #: Stamp at which its time is 0, ns.
    start: int
    #: Its time at which it is to be taken over, s; above 0 where the start has passed already.
    begin: float
    #: What will be followed then, the blend from the motion before included; a `Trajectory` from `begin` on.
    path: BlendedPath
    #: With which that was made, s.
    blend_time: float
    #: To be checked again when it begins. `start` is of each joint: those that are not named may be on the way to rest.
    limits: MotionLimits
    #: Where it needs more effort than allowed, but not much more; see `EffortDemand`. Empty otherwise.
    warning: str = ""

    def motion(self, tolerances: Tolerances) -> Motion:
        """The motion that follows it; it is judged by `tolerances`."""
        return Motion(self.path.base, self.start, tolerances, blend_time=self.blend_time, limits=self.limits)


class CurrentMotion(NamedTuple):
    """Motion of the arm when a trajectory is requested."""

    #: Time of the last joint state, ns.
    stamp: int
    #: The reference at a stamp from now on if the trajectory were refused.
    followed: Callable[[int], Reference]
    #: As for `Motion.begin`. The path is checked for the rate 1; at a lower one it is slower everywhere.
    rate: float = 1.0
    slope: float = 0.0


class Rules(NamedTuple):
    """Limits that a trajectory must keep to be accepted."""

    #: A joint that is outside them now may move, but not further out, nor faster. Its joints are the controller's.
    limits: MotionLimits
    #: As for `Motion`, s. Where the way onto the trajectory leaves the limits, others are tried; see `BLENDS`.
    blend_time: float
    #: Checks the efforts that the trajectory needs; None does not.
    demand: EffortDemand | None = None
    #: Leads joints that depend on others along the loops, see `leading_path`; None where all are independent.
    leading: Leading | None = None
    #: Whether the last point may have a velocity. The arm then comes to rest behind it within `blend_time`.
    moving_end: bool = False


def accept_points(
    names: Sequence[str], points: Sequence[Point], header: Time, motion: CurrentMotion, rules: Rules
) -> Accepted:
    """The trajectory through `points`, if it may be followed; `TrajectoryError` with the reason where it may not.

    Other joints come to rest, and hold. A `header` in the past joins it where it would be by now, or at its next point.
    """
    start = nanoseconds(header, "the header's stamp") or motion.stamp
    apart = (start - motion.stamp) / NANOSECONDS
    if abs(apart) > CLOCKS_APART:
        raise TrajectoryError(
            f"its start is {apart:.0f} s away from the joint states' time; leave the header's stamp zero to start "
            "at once"
        )
    return accept_table(read_points(names, points, rules.limits.joints), start, motion, rules)


def accept_table(read: Points, start: int, motion: CurrentMotion, rules: Rules) -> Accepted:
    """As `accept_points`, for points that are tables already; `start`: stamp, ns."""
    limits, blend_time = rules.limits, rules.blend_time
    with np.errstate(all="ignore"):  # hostile numbers overflow; the results are checked
        at = max(start, motion.stamp)
        begin = (at - start) / NANOSECONDS
        if begin > read.times[-1]:
            raise TrajectoryError(
                f"it has ended already: by its header's stamp it began {begin:.3f} s ago and takes {read.times[-1]:g} s"
            )
        now = motion.followed(at)
        moving, _, _ = in_path_time(now, motion.rate, motion.slope)
        read, turns = _nearest(_ended(read, limits, blend_time, rules.moving_end), begin, now.q, limits)
        trajectory = _whole(read, begin, moving, limits, blend_time)
        if begin > 0.0 and away(trajectory.path.sample(begin).q, now.q, limits)[read.columns].any():
            later = read.times > begin
            read = replace(read, times=read.times[later], rows=read.rows[:, later])
            read, more = _nearest(read, begin, now.q, limits)
            turns = turns + more
            trajectory = _whole(read, begin, moving, limits, blend_time)
        base = trajectory.path if rules.leading is None else rules.leading(trajectory.path, read.columns, begin)
        base = limited_path(base, limits)
        first = base.sample(begin).q
        allowed = np.abs(first - now.q) + limits.start
        allowed[read.columns] = np.broadcast_to(limits.start, allowed.shape)[read.columns]
        limits = replace(limits, start=allowed)
        check_start(first, now.q, limits, turns)
        path, blend_time = _taken_over(base, begin, moving, now, limits, blend_time)
        PathCheck(path, now, limits, blend_time).all()
        warning = "" if rules.demand is None else rules.demand.check(path)
    return Accepted(trajectory, start, begin, path, blend_time, limits, warning)



def _nearest(points: Points, begin: float, now: Array, limits: MotionLimits) -> tuple[Points, Array]:
    """The points of continuous joints by whole turns nearer to the arm at `begin`; those taken off them, (n,), rad."""
    off, columns = np.zeros_like(now), points.columns
    if limits.continuous is None or not limits.continuous[columns].any():
        return points, off
    first, rows = points.rows[0, 0], points.rows.copy()
    if points.times[0] < begin:  # joined on the way
        first = _sampled(points.times, rows, [limits.joints[j] for j in columns]).path.sample(begin).q
    off[columns] = 2.0 * np.pi * limits.turns_off(first, now[columns], columns)
    rows[0] -= off[columns]
    return replace(points, rows=rows), off


def _whole(points: Points, begin: float, now: Reference, limits: MotionLimits, blend_time: float) -> SampledTrajectory:
    """The points for all joints, behind the present motion where the first is yet to come."""
    front = int(points.times[0] > begin)
    times = np.append(begin, points.times) if front else points.times
    rows = np.zeros((len(points.rows), len(times), len(limits.joints)))
    rows[0] = halt(now.q, now.qd, blend_time, limits.lower, limits.upper)
    if front:
        rows[:, 0, points.columns] = np.array(now)[: len(rows), points.columns]
    rows[:, front:, points.columns] = points.rows
    return _sampled(times, rows, limits.joints)


def _sampled(times: Array, rows: Array, names: Sequence[str]) -> SampledTrajectory:
    return SampledTrajectory(times, **dict(zip(TABLES, rows, strict=False)), joint_names=names)


def _ended(points: Points, limits: MotionLimits, blend_time: float, moving_end: bool) -> Points:
    """The points, and behind a last one that moves the way to rest."""
    if len(points.rows) < 2:
        return points
    last = points.rows[1, -1]
    j = int(np.argmax(np.abs(last)))
    if not END_VELOCITY < abs(last[j]) < np.inf:  # what is not a number is refused with the others
        return points
    if not moving_end:
        raise TrajectoryError(
            f"joint {limits.joints[points.columns[j]]!r} has velocity {last[j]:.6g} in the last point, where the arm "
            f"is to rest; it must be 0 (at most {END_VELOCITY:g}). Where the arm may come to rest behind it, set the "
            "parameter allow_nonzero_velocity_at_trajectory_end"
        )
    acceleration = points.rows[2, -1] if len(points.rows) > 2 else np.zeros_like(last)
    allowed = (row[points.columns] for row in (limits.lower, limits.upper, limits.velocity))
    end = rest(Reference(points.rows[0, -1], last, acceleration), blend_time, *allowed)
    behind = np.array([end.positions, end.velocities, end.accelerations])[: len(points.rows), 1:]
    return Points(
        points.columns, np.append(points.times, points.times[-1] + end.times[1:]),
        np.concatenate([points.rows, behind], axis=1),
    )


def _taken_over(
    base: Path, begin: float, moving: Reference, now: Reference, limits: MotionLimits, blend_time: float
) -> tuple[BlendedPath, float]:
    """The path from what the arm does now, and the blend time with which the way onto it keeps the limits."""
    for factor in BLENDS:
        path = takeover(base, begin, moving, factor * blend_time)
        try:
            PathCheck(path, now, limits, factor * blend_time, rest_known=True).all()
        except TrajectoryError:
            continue
        return path, factor * blend_time
    return takeover(base, begin, moving, blend_time), blend_time
