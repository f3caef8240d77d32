"""Reader of serialised setpoints: sensor_msgs/JointState, and trajectory_msgs/JointTrajectory of one point.

As in `joint_states`, a message is first read by rclpy. If its bytes, read directly, give the same, later messages that
differ only in stamp and numbers are copied from known offsets into arrays that are made once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from rne_dynamics.control.streaming.limits import SetpointError, SetpointProblem
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.messages.cdr import deserialised, joint_state_layout, one_point_layout, stamp_in, time_at
from rne_dynamics.ros.messages.joint_states import OTHER, Known, gather, places_of, rows_of

#: Number of message layouts that are kept.
_LAYOUTS = 4


class SetpointReader:
    """Reads the controlled joints from setpoints.

    `joints`: names, in the order of the vectors. Other joints of a message are ignored.
    """

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
        """Read a serialised message of type `kind`.

        Raises SetpointError: not all joints, one named twice, lists of other lengths than the names, no position and no
        velocity, not one point, or bytes that are no such message.
        """
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
            rows = rows_of(places, *layout.starts())
            self._known = [
                Known.learned(layout, data, kind, rows, duration=duration), *self._known[: _LAYOUTS - 1]
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
