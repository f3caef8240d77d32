"""Whether a requested trajectory may be followed: looked at whole, from what the arm does, before it is accepted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rne_dynamics.control.motion.effort_demand import EffortDemand
from rne_dynamics.control.motion.limited_path import limited_path
from rne_dynamics.control.motion.limits import MotionLimits
from rne_dynamics.control.motion.loop_path import Leading
from rne_dynamics.control.motion.motion import Motion
from rne_dynamics.control.motion.path_check import PathCheck, check_start
from rne_dynamics.control.motion.path_rate import NANOSECONDS
from rne_dynamics.control.motion.points import Point, Points, Time, nanoseconds, read_points
from rne_dynamics.control.motion.rest import halt
from rne_dynamics.control.motion.takeover import BlendedPath, in_path_time, takeover
from rne_dynamics.control.motion.tolerances import Tolerances
from rne_dynamics.control.reference import Reference
from rne_dynamics.control.sampled import SampledTrajectory
from rne_dynamics.errors import TrajectoryError
from rne_dynamics.model.inertia import Array

#: A header stamp further than this from the joint states' time means two clocks, s.
CLOCKS_APART = 600.0
#: Largest speed of a last point, where the reference comes to rest at once, rad/s or m/s.
END_VELOCITY = 1e-3


class PastTrajectoryError(TrajectoryError):
    """A trajectory that has ended before it came."""


@dataclass(frozen=True, eq=False)
class Accepted:
    """A trajectory that may be followed.

    Parameters
    ----------
    trajectory
        For all joints, in the controller's order.
    start
        Stamp at which its time is 0, ns.
    begin
        Its time at which it is to be taken over, s; above 0 where the start has passed already.
    path
        What will be followed then, the blend from the motion before included; a `Trajectory` from `begin` on.
    blend_time
        With which that was made, s.
    limits
        To be checked again when it begins. `start` is of each joint: those that are not named may be on the way to
        rest.
    warning
        Where it asks for more effort than there is, but not for much more; see `EffortDemand`. Empty where not.
    """

    trajectory: SampledTrajectory
    start: int
    begin: float
    path: BlendedPath
    blend_time: float
    limits: MotionLimits
    warning: str = ""

    def motion(self, tolerances: Tolerances) -> Motion:
        """The motion that follows it; it is judged by `tolerances`."""
        return Motion(self.path.base, self.start, tolerances, blend_time=self.blend_time, limits=self.limits)


def accept_points(
    names: Sequence[str],
    points: Sequence[Point],
    header: Time,
    joints: tuple[str, ...],
    stamp: int,
    followed: Callable[[int], Reference],
    limits: MotionLimits,
    *,
    blend_time: float,
    rate: float = 1.0,
    slope: float = 0.0,
    demand: EffortDemand | None = None,
    leading: Leading | None = None,
) -> Accepted:
    """The trajectory through `points`, if it may be followed.

    Joints that it does not name come to rest from what they do, and hold. Where its first point lies in the future, the
    way there begins with what the arm does now.

    Parameters
    ----------
    names, points
        At least one point.
    header
        When it starts; zero for at once. A time in the past: it is joined where it would be by now.
    joints
        The controller's, in the order of all vectors.
    stamp
        Time of the last joint state, ns.
    followed
        What the arm is asked to do at a stamp from now on if this trajectory were refused.
    limits
        A joint that is outside them now may move, but not further out, nor faster.
    blend_time
        As for `Motion`, s.
    rate, slope
        As for `Motion.begin`. The path is checked for the rate 1; at a lower one it is slower everywhere.
    demand
        Checks the efforts that it asks for; None does not.
    leading
        Leads joints that depend on others along the loops, see `leading_path`; None where all are independent.

    Raises
    ------
    UnknownJointsError, PastTrajectoryError
        As they say.
    TrajectoryError
        Everything else: see `read_points`; numbers that are not finite; times that do not increase; a start too far
        from the arm; positions or velocities beyond the limits at any time, while taking over too; a last point that
        moves; far more effort than the limits allow, or one that changes faster.
    """
    start = nanoseconds(header, "the header's stamp") or stamp
    with np.errstate(all="ignore"):  # hostile numbers overflow; what comes out is looked at
        _check_clock(start, stamp)
        read = read_points(names, points, joints)
    return accept_table(
        read, start, stamp, followed, limits, blend_time=blend_time, rate=rate, slope=slope, demand=demand,
        leading=leading,
    )


def accept_table(
    read: Points,
    start: int,
    stamp: int,
    followed: Callable[[int], Reference],
    limits: MotionLimits,
    *,
    blend_time: float,
    rate: float = 1.0,
    slope: float = 0.0,
    demand: EffortDemand | None = None,
    leading: Leading | None = None,
) -> Accepted:
    """As `accept_points`, for points that are tables already.

    Parameters
    ----------
    read
        At least one point.
    start
        Stamp at which it starts, ns; `stamp` for at once.
    stamp, followed, limits, blend_time, rate, slope, demand, leading
        As for `accept_points`; so are the errors.
    """
    with np.errstate(all="ignore"):
        _check_clock(start, stamp)
        at = max(start, stamp)
        begin = (at - start) / NANOSECONDS
        if begin > read.times[-1]:
            raise PastTrajectoryError(
                f"it has ended already: by its header's stamp it began {begin:.3f} s ago and takes {read.times[-1]:g} s"
            )
        now = followed(at)
        moving, _, _ = in_path_time(now, rate, slope)
        trajectory = _whole(read, begin, moving, limits, blend_time)
        base = limited_path(trajectory.path if leading is None else leading(trajectory.path, read.columns, begin), limits)
        first = base.sample(begin).q
        allowed = np.abs(first - now.q) + limits.start
        allowed[read.columns] = np.broadcast_to(limits.start, allowed.shape)[read.columns]
        limits = replace(limits, start=allowed)
        check_start(first, now.q, limits)
        _check_end(trajectory, limits)
        path = takeover(base, begin, moving, blend_time)
        PathCheck(path, now, limits, blend_time).all()
        warning = "" if demand is None else demand.check(path)
    return Accepted(trajectory, start, begin, path, blend_time, limits, warning)


def _check_clock(start: int, stamp: int) -> None:
    apart = (start - stamp) / NANOSECONDS
    if abs(apart) > CLOCKS_APART:
        raise TrajectoryError(
            f"its start is {apart:.0f} s away from the joint states' time; leave the header's stamp zero to start "
            "at once"
        )


def _whole(points: Points, begin: float, now: Reference, limits: MotionLimits, blend_time: float) -> SampledTrajectory:
    """The points for all joints; where the first is yet to come, the present motion is put in front of it."""
    halted = halt(now.q, now.qd, blend_time, limits.lower, limits.upper)
    front = int(points.times[0] > begin)
    times = np.append(begin, points.times) if front else points.times

    def table(rows: Array | None, present: Array, others: Array | float) -> Array | None:
        if rows is None:
            return None
        whole = np.empty((len(times), len(limits.joints)))
        whole[:] = others
        if front:
            whole[0, points.columns] = present[points.columns]
        whole[front:, points.columns] = rows
        return whole

    positions = table(points.positions, now.q, halted)
    assert positions is not None  # there is no request without
    return SampledTrajectory(
        times, positions, table(points.velocities, now.qd, 0.0), table(points.accelerations, now.qdd, 0.0),
        limits.joints,
    )


def _check_end(trajectory: SampledTrajectory, limits: MotionLimits) -> None:
    if trajectory.velocities is None:
        return
    last = trajectory.velocities[-1]
    j = int(np.argmax(np.abs(last)))
    if abs(last[j]) > END_VELOCITY:
        raise TrajectoryError(
            f"joint {limits.joints[j]!r} has velocity {last[j]:.6g} in the last point, where the arm is to stand; "
            f"it must be 0 (at most {END_VELOCITY:g})"
        )
