"""Trajectories and setpoints from their messages; a trajectory is accepted by `control/motion/acceptance.py`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration, Time
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rne_dynamics.control.motion.acceptance import MOST_POINTS
from rne_dynamics.control.streaming.limits import SetpointError, SetpointProblem
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.control.trajectory import SampledTrajectory, Trajectory
from rne_dynamics.errors import TrajectoryError
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.messages.cdr import (
    deserialised,
    joint_state_layout,
    one_point_layout,
    stamp_in,
    time_at,
    trajectory_points,
)
from rne_dynamics.ros.messages.joint_states import OTHER, Known, gather, places_of, rows_of
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


def trajectory_message(trajectory: SampledTrajectory, lead: float) -> JointTrajectory:
    """The points of a trajectory, all later by `lead`, s: the controller plans the way to the first one."""
    parts = {name: rows for name in ("positions", "velocities", "accelerations")
             if (rows := getattr(trajectory, name)) is not None}  # fmt: skip
    points = [
        JointTrajectoryPoint(
            time_from_start=duration_message(lead + t), **{name: rows[k].tolist() for name, rows in parts.items()}
        )
        for k, t in enumerate(trajectory.times.tolist())
    ]
    return JointTrajectory(joint_names=list(trajectory.joint_names or ()), points=points)


def read_trajectory(data: bytes) -> JointTrajectory:
    """Deserialise a message if it has no more points than are accepted; `TrajectoryError` otherwise."""
    points = trajectory_points(data)
    if points is not None and points > MOST_POINTS:
        raise TrajectoryError(f"it has {points} points; at most {MOST_POINTS} are accepted")
    return deserialised(data, JointTrajectory, TrajectoryError)


def last_setpoint(message: JointTrajectory, now: int, within: float) -> JointTrajectory | None:
    """The last point of a sliding window, due `within`, s, of `now`, ns, as a setpoint; None for others."""
    # newer versions of MoveIt Servo send such windows: stamped, with several points, some of which are past
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


# -- setpoints ---------------------------------------------------------------------------------------------------------


#: Number of message layouts that are kept.
_LAYOUTS = 4


class SetpointReader:
    """Reads the controlled joints, in the order of the vectors, from setpoints; others are ignored."""

    def __init__(self, joints: Sequence[str]) -> None:
        n = len(joints)
        self._joints = tuple(joints)
        self._known: list[Known] = []
        #: Position and velocity read last, NaN if not given; (n,).
        self.q, self.qd = np.full(n, np.nan), np.full(n, np.nan)
        #: Stamp, and time after it at which the setpoint is due; ns.
        self.stamp = self.ahead = 0
        self._unread = np.empty(n)
        absent = np.full((3, n), -1)
        gather(np.zeros(0, np.int64), self.q, np.zeros((2, 0), np.int64), absent, self.q, self.qd, self._unread)

    def read(self, data: bytes | memoryview, kind: type) -> None:
        """Read a serialised message of type `kind`; `SetpointError` where it is no setpoint for all joints."""
        size = len(data)
        for known in self._known:
            if known.size == size and known.kind is kind and known.read(data, self.q, self.qd, self._unread) != OTHER:
                self.stamp = stamp_in(known.octets)
                self.ahead = time_at(known.octets, known.duration) if known.duration else 0
                return
        self._read_anew(bytes(data), kind)

    def _read_anew(self, data: bytes, kind: type) -> None:
        message = deserialised(data, kind, lambda why: SetpointError(f"setpoint: {why}", SetpointProblem.UNREADABLE))
        names, q, qd, ahead = _content(message)
        places = places_of(
            self._joints, names, lambda why, _: SetpointError(f"setpoint: {why}", SetpointProblem.WRONG_JOINTS)
        )
        for what, values in (("positions", q), ("velocities", qd)):
            if len(values) not in (0, len(names)):
                raise SetpointError(
                    f"setpoint: {len(values)} {what} for {len(names)} joints; each joint needs one, or none has one",
                    SetpointProblem.WRONG_JOINTS,
                )
        if not (len(q) or len(qd)):
            raise SetpointError("setpoint: it has neither positions nor velocities", SetpointProblem.WRONG_JOINTS)
        self.q[:] = q[places] if len(q) else np.nan
        self.qd[:] = qd[places] if len(qd) else np.nan
        self.stamp, self.ahead = stamp_in(data), ahead
        layout, duration = (
            (joint_state_layout(data), 0) if kind is JointState else one_point_layout(data) or (None, 0)
        )
        if layout is not None and layout.holds(data, names, q, qd) and (
            not duration or time_at(data, duration) == ahead
        ):
            self._known = [
                Known.learned(layout, data, kind, rows_of(places, *layout.starts()), duration=duration),
                *self._known[: _LAYOUTS - 1],
            ]


def _content(message: Any) -> tuple[list[str], Array, Array, int]:
    """Names, positions, velocities and the time from start, ns, of a message."""
    if isinstance(message, JointTrajectory):
        if len(message.points) != 1:
            raise SetpointError(
                f"setpoint: a trajectory of {len(message.points)} points; it must have one",
                SetpointProblem.WRONG_JOINTS,
            )
        (point,) = message.points
        ahead = point.time_from_start
        return (
            list(message.joint_names), np.array(point.positions, np.float64), np.array(point.velocities, np.float64),
            ahead.sec * NANOSECONDS + ahead.nanosec,
        )
    return list(message.name), np.array(message.position, np.float64), np.array(message.velocity, np.float64), 0
