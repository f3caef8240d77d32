"""Faults of trajectories, and of the arm while it follows one."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy

import numpy as np
from builtin_interfaces.msg import Duration
from faults.arm import ELBOW_LIMIT
from faults.fault import Faults
from faults.rig import HELD, Rig
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rne_dynamics.ros.messages.publishers import stamp_of, write_stamp
from rne_dynamics.ros.messages.trajectory_message import duration_message

FAULTS = Faults("trajectory")
fault = FAULTS.fault

REFUSED = "refused as a whole; the arm is held"
LIMP = 0.05
#: Time in which a law that lags in motion has caught up, s.
LAG = 1.5


def hostile(name: str, injected: str, spoil: Callable[[Rig, JointTrajectory], None]) -> None:
    """Add a fault: a trajectory that must be refused, while the arm is held."""

    def inject(rig: Rig) -> None:
        message = rig.trajectory()
        spoil(rig, message)
        rig.send(message)
        rig.run(0.12)
        rig.undisturbed()

    FAULTS.add(name, injected, REFUSED, inject)


def _spoil(change: Callable[[JointTrajectory], None]) -> Callable[[Rig, JointTrajectory], None]:
    return lambda rig, message: change(message)


def _position(number: float) -> Callable[[Rig, JointTrajectory], None]:
    def change(message: JointTrajectory) -> None:
        message.points[-1].positions[1] = number

    return _spoil(change)


def _velocity(message: JointTrajectory) -> None:
    message.points[0].velocities[0] = math.inf


def _same_time(message: JointTrajectory) -> None:
    message.points[-1].time_from_start = message.points[0].time_from_start


def _back_in_time(message: JointTrajectory) -> None:
    message.points = [*message.points, message.points[0]]


def _between(rig: Rig, message: JointTrajectory) -> None:
    """Both points are inside the limits, the path between them is not."""
    near = ELBOW_LIMIT - 0.3
    here = float(rig.driver.q[0])
    message.points = [
        JointTrajectoryPoint(positions=[here, near], velocities=[0.0, speed], time_from_start=duration_message(t))
        for t, speed in ((1.0, 3.0), (2.0, -3.0))
    ]


def _too_fast(message: JointTrajectory) -> None:
    message.points[-1].time_from_start = duration_message(0.05)


def _far_start(message: JointTrajectory) -> None:
    for point in message.points:
        point.positions[0] += 1.0


def _unknown(message: JointTrajectory) -> None:
    message.joint_names = [message.joint_names[0], "elbow"]


def _twice(message: JointTrajectory) -> None:
    message.joint_names = [message.joint_names[0]] * 2


def _uneven(message: JointTrajectory) -> None:
    message.points[-1].positions = message.points[-1].positions[:1]


def _huge(message: JointTrajectory) -> None:
    message.points = [copy(message.points[-1]) for _ in range(100_500)]
    for second, point in enumerate(message.points, 1):
        point.time_from_start = Duration(sec=second)


def _efforts(message: JointTrajectory) -> None:
    for point in message.points:
        point.effort = [1000.0, 1000.0]


def _starts(in_seconds: float) -> Callable[[Rig, JointTrajectory], None]:
    def change(rig: Rig, message: JointTrajectory) -> None:
        now = stamp_of(rig.driver.report())
        write_stamp(message.header, now + int(in_seconds * 1e9))

    return change


hostile("trajectory-nan", "a trajectory with a NaN position", _position(math.nan))
hostile("trajectory-infinite", "a trajectory with an infinite velocity", _spoil(_velocity))
hostile("trajectory-out-of-limits", "a trajectory that ends beyond a position limit", _position(ELBOW_LIMIT + 0.2))
hostile("trajectory-out-between-points", "both points inside the limits, the path between them outside", _between)
hostile("trajectory-too-fast", "a trajectory faster than the velocity limits", _spoil(_too_fast))
hostile("trajectory-far-start", "a trajectory that starts 1 rad away from the arm", _spoil(_far_start))
hostile("trajectory-times", "two points at the same time", _spoil(_same_time))
hostile("trajectory-back-in-time", "a last point earlier than the one before it", _spoil(_back_in_time))
hostile("trajectory-unknown-joint", "a trajectory for a joint that the arm does not have", _spoil(_unknown))
hostile("trajectory-joint-twice", "a trajectory that names a joint twice", _spoil(_twice))
hostile("trajectory-uneven", "a point with fewer positions than joints", _spoil(_uneven))
hostile("trajectory-huge", "a trajectory of 100 500 points", _spoil(_huge))
hostile("trajectory-efforts", "a trajectory with efforts of its own", _spoil(_efforts))
hostile("trajectory-past", "a trajectory that has ended before it comes", _starts(-60.0))
hostile("trajectory-far-future", "a trajectory that is to start in a year", _starts(3e7))


@fault("refused; the motion under way reaches its goal")
def hostile_in_motion(rig: Rig) -> None:
    """A hostile trajectory (NaN) in motion."""
    goal = rig.move()
    message = rig.trajectory()
    message.points[-1].positions[0] = math.nan
    rig.send(message)
    rig.arrive(goal)


@fault("each replaces the former one without a jump; the last goal is reached")
def replaced_in_motion(rig: Rig) -> None:
    """Another trajectory in motion, three times."""
    rig.change(constraints__start=1.0, constraints__blend_time=0.8)
    goal = rig.move(seconds=1.5)
    for to in ((0.6, 0.4), (0.1, 1.2), (0.5, 0.7)):
        rig.run(0.15)
        goal = np.array(to)
        rig.check(rig.send(rig.trajectory(goal, 2.0)), "a good trajectory is refused")
    rig.arrive(goal)


@fault("comes to rest, is held")
def empty_trajectory_in_motion(rig: Rig) -> None:
    """A trajectory without points in motion."""
    goal = rig.move()
    rig.send(JointTrajectory(joint_names=list(rig.robot.joint_names)))
    rig.reach("holding")
    rig.run(0.2)
    rig.stays(0.2)
    rig.check(np.abs(goal - rig.driver.q).max() > HELD, "the motion went on")


@fault("the motion is aborted, the arm comes to rest and is held", constraints__joint2__trajectory=0.03)
def pushed_off_the_path(rig: Rig) -> None:
    """A push moves the arm off its path by more than constraints.<joint>.trajectory."""
    rig.move()
    rig.driver.wrenches = {"tool0": np.array([0.0, 0.0, 0.0, 0.0, 0.0, 20.0])}
    rig.reach("holding")
    rig.driver.wrenches = {}
    rig.run(0.5)
    rig.stays(0.2)


@fault("refused; the motion reaches its goal")
def speed_that_is_none(rig: Rig) -> None:
    """Speed scaling NaN, infinite, negative and 7, in motion."""
    goal = rig.move()
    for fraction in (math.nan, math.inf, -1.0, 7.0):
        rig.speed(fraction)
        rig.run(0.03)
    rig.arrive(goal)


@fault("pauses on the path, then reaches the goal")
def speed_zero_in_motion(rig: Rig) -> None:
    """Speed scaling 0 in motion, 1 again half a second later."""
    goal = rig.move(seconds=1.2)
    rig.speed(0.0)
    rig.run(0.5 if getattr(rig.law, "feedforward", True) else LAG)
    rig.check(np.abs(rig.driver.qd).max() < LIMP, f"the arm moves at {np.abs(rig.driver.qd).max():.3f} rad/s")
    rig.speed(1.0)
    rig.arrive(goal)
