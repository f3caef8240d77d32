"""Whether a requested trajectory may be followed: looked at whole, from what the arm does, before it is accepted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rne_dynamics.control.motion.limits import MotionLimits
from rne_dynamics.control.motion.path import Path
from rne_dynamics.control.motion.path_rate import NANOSECONDS
from rne_dynamics.control.motion.points import Point, Points, Time, nanoseconds, read_points
from rne_dynamics.control.motion.rest import halt
from rne_dynamics.control.motion.takeover import in_path_time, takeover
from rne_dynamics.control.reference import Reference
from rne_dynamics.control.sampled import SampledTrajectory
from rne_dynamics.errors import TrajectoryError
from rne_dynamics.model.inertia import Array

#: Sizes within which a motion may pass a limit through rounding, rad or m (and per second).
ROUNDING = 1e-9
#: A header stamp further than this from the joint states' time means two clocks, s.
CLOCKS_APART = 600.0
#: Beyond this no arm goes, limits or none: rad or m, per s and per s². It keeps what follows in finite numbers.
ABSURD = 1e6
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
    """

    trajectory: SampledTrajectory
    start: int
    begin: float
    path: Path
    blend_time: float


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

    Raises
    ------
    UnknownJointsError, PastTrajectoryError
        As they say.
    TrajectoryError
        Everything else: see `read_points`; numbers that are not finite; times that do not increase; a start too far
        from the arm; positions or velocities beyond the limits at any time, while taking over too; a last point that
        moves.
    """
    with np.errstate(all="ignore"):  # hostile numbers overflow; what comes out is looked at
        start = nanoseconds(header, "the header's stamp") or stamp
        apart = (start - stamp) / NANOSECONDS
        if abs(apart) > CLOCKS_APART:
            raise TrajectoryError(
                f"its start is {apart:.0f} s away from the joint states' time; leave the header's stamp zero to start "
                "at once"
            )
        read = read_points(names, points, joints)
        at = max(start, stamp)
        begin = (at - start) / NANOSECONDS
        if begin > read.times[-1]:
            raise PastTrajectoryError(
                f"it has ended already: by its header's stamp it began {begin:.3f} s ago and takes {read.times[-1]:g} s"
            )
        now = followed(at)
        moving, _, _ = in_path_time(now, rate, slope)
        trajectory = _whole(read, begin, moving, limits, blend_time)
        _check_start(trajectory.sample(begin), now, read.columns, limits)
        _check_end(trajectory, limits)
        path = takeover(trajectory, begin, moving, blend_time)
        check_path(path, now, limits, blend_time)
    return Accepted(trajectory, start, begin, path, blend_time)


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


def _check_start(first: Reference, now: Reference, columns: Array, limits: MotionLimits) -> None:
    gap = np.zeros(len(limits.joints))
    gap[columns] = np.abs(first.q - now.q)[columns]
    j = int(np.argmax(gap))
    if not gap[j] <= limits.start:
        raise TrajectoryError(
            f"joint {limits.joints[j]!r}: the trajectory starts at {first.q[j]:.6g}, {gap[j]:.3g} away from where the "
            f"arm is held; it may differ by {limits.start:g} (constraints.start). Start where the arm is, or give the "
            "first point a time above 0"
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


def check_path(path: Path, now: Reference, limits: MotionLimits, blend_time: float) -> None:
    """`TrajectoryError` where a path leaves the limits, at the rate 1, between its knots too.

    Parameters
    ----------
    path
        From its `begin`, the blend included.
    now
        What the arm is asked to do there: a joint that is outside the limits may move, but not further out, nor faster.
    limits
        See `MotionLimits`.
    blend_time
        s; what leaves the limits within it is said to do so while the trajectory is taken over.
    """
    blended = path.begin + blend_time
    lower = np.minimum(np.maximum(limits.lower, -ABSURD), now.q) - ROUNDING
    upper = np.maximum(np.minimum(limits.upper, ABSURD), now.q) + ROUNDING
    velocity = np.maximum(np.minimum(limits.velocity, ABSURD), np.abs(now.qd)) + ROUNDING
    hint = (
        "; where the trajectory itself stays within, it is so while the arm is led onto the trajectory from what it "
        "does now: start where the arm is and as fast as it moves, or allow more time"
    )
    if outside := path.departure("position", lower, upper):
        j = outside.joint
        raise TrajectoryError(
            f"joint {limits.joints[j]!r} would be at {outside.value:.6g} at {outside.t:.3f} s; "
            f"allowed is [{limits.lower[j]:.6g}, {limits.upper[j]:.6g}]{hint if outside.t < blended else ''}"
        )
    if fast := path.departure("velocity", -velocity, velocity):
        j = fast.joint
        raise TrajectoryError(
            f"joint {limits.joints[j]!r} would move at {fast.value:.6g} per second at {fast.t:.3f} s; allowed is "
            f"{limits.velocity[j]:.6g}. Give the trajectory more time{hint if fast.t < blended else ''}"
        )
    bound = np.full(len(velocity), ABSURD)
    if wild := path.departure("acceleration", -bound, bound):
        raise TrajectoryError(
            f"joint {limits.joints[wild.joint]!r} would accelerate by {wild.value:.3g} per s² at {wild.t:.3f} s; no "
            "arm does. Look for points that nearly coincide in time"
        )
