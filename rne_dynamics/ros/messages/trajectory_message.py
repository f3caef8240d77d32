"""From trajectory_msgs/JointTrajectory to an accepted trajectory; see `control/motion/acceptance.py`."""

from __future__ import annotations

from collections.abc import Iterable

from builtin_interfaces.msg import Duration, Time
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rne_dynamics.control.motion.acceptance import MOST_POINTS, Accepted, CurrentMotion, Rules, accept_points
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.control.trajectory import Trajectory
from rne_dynamics.errors import TrajectoryError
from rne_dynamics.ros.messages.cdr import deserialised, trajectory_points
from rne_dynamics.ros.messages.publishers import write_stamp


def duration_message(seconds: float) -> Duration:
    """A builtin_interfaces Duration, to the nearest nanosecond."""
    whole, rest = divmod(round(seconds * 1e9), 1_000_000_000)
    return Duration(sec=whole, nanosec=rest)


def sampled_message(joints: Iterable[str], motion: Trajectory, times: Iterable[float]) -> JointTrajectory:
    """A motion at some of its times, s, as points with accelerations: a controller interpolates a quintic exactly."""
    points = [
        JointTrajectoryPoint(
            positions=there.q.tolist(), velocities=there.qd.tolist(), accelerations=there.qdd.tolist(),
            time_from_start=duration_message(t),
        )
        for t, there in ((t, motion.sample(t)) for t in times)
    ]
    return JointTrajectory(joint_names=list(joints), points=points)


def read_trajectory(data: bytes) -> JointTrajectory:
    """Deserialise a message if it has no more points than are accepted.

    Raises TrajectoryError: too many points, or bytes that are no trajectory.
    """
    points = trajectory_points(data)
    if points is not None and points > MOST_POINTS:
        raise TrajectoryError(f"it has {points} points; at most {MOST_POINTS} are accepted")
    return deserialised(data, JointTrajectory, TrajectoryError)


def last_setpoint(message: JointTrajectory, now: int, within: float) -> JointTrajectory | None:
    """The last point of a sliding window as a setpoint that is due at its stamp; None for another trajectory.

    Newer versions of MoveIt Servo send such windows: stamped, with several points, some of which are past.

    `now`: time of the joint states, ns; `within`: largest distance of the last point's time from now, s.
    """
    if len(message.points) < 2 or message.header.stamp == Time():
        return None
    stamp, last = message.header.stamp, message.points[-1]
    ahead = last.time_from_start
    due = (stamp.sec + ahead.sec) * NANOSECONDS + stamp.nanosec + ahead.nanosec
    if abs(due - now) > within * NANOSECONDS:
        return None
    setpoint = JointTrajectory(
        joint_names=message.joint_names,
        points=[JointTrajectoryPoint(positions=last.positions, velocities=last.velocities)],
    )
    write_stamp(setpoint.header, due)
    return setpoint


def accept(message: JointTrajectory, motion: CurrentMotion, rules: Rules) -> Accepted:
    """The trajectory of a message with at least one point, if it may be followed; see `accept_points`."""
    return accept_points(message.joint_names, message.points, message.header.stamp, motion, rules)
