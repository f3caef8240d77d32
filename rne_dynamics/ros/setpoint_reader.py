"""Reader of serialised setpoints: sensor_msgs/JointState, and trajectory_msgs/JointTrajectory of one point.

As in `state_reader`, a message is first read by rclpy. If its bytes, read directly, give the same, later messages that
differ only in stamp and numbers are copied from known offsets into arrays that are made once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.control.streaming.limits import SetpointError, SetpointProblem
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.cdr import (
    LEAD,
    JointStateLayout,
    deserialised,
    joint_state_layout,
    one_point_layout,
    stamp_in,
    time_at,
)
from rne_dynamics.ros.joint_map import places_of

#: Number of message layouts that are kept.
_LAYOUTS = 4


class _Known(NamedTuple):
    """A known layout of messages; as in `state_reader`."""

    size: int
    kind: type
    pattern: NDArray[np.int64]
    places: NDArray[np.int64]
    words: NDArray[np.int64]
    values: Array
    octets: memoryview
    duration: int  # offset of the time from start; 0 for none


class SetpointReader:
    """Reads the controlled joints from setpoints.

    Parameters
    ----------
    joints
        Names, in the order of the vectors. Other joints of a message are ignored.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        n = len(joints)
        self._joints = tuple(joints)
        self._known: list[_Known] = []
        #: Position and velocity read last, NaN if not given; (n,).
        self.q, self.qd = np.full(n, np.nan), np.full(n, np.nan)
        #: Stamp, and time after it at which the setpoint is due; ns.
        self.stamp = self.ahead = 0
        gather_kernel(np.zeros(1, np.int64), self.q, np.zeros((2, 0), np.int64), np.zeros((2, n), np.int64), self.q,
                      self.qd)

    def read(self, data: bytes | memoryview, kind: type) -> None:
        """Read a serialised message of type `kind`.

        Raises
        ------
        SetpointError
            Not all joints, one named twice, lists of other lengths than the names, no position and no velocity, not one
            point, or bytes that are no such message.
        """
        size = len(data)
        for known in self._known:
            if known.size == size and known.kind is kind:
                known.octets[:] = data
                if gather_kernel(known.words, known.values, known.pattern, known.places, self.q, self.qd):
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
            self._known = [self._learned(layout, data, kind, places, duration), *self._known[: _LAYOUTS - 1]]

    def _learned(
        self, layout: JointStateLayout, data: bytes, kind: type, places: NDArray[np.intp], duration: int
    ) -> _Known:
        pattern = layout.pattern(data)
        memory, octets = layout.memory(pattern)
        rows = [
            places + (LEAD + span.start) // 8 if span.stop > span.start else np.full(len(places), -1)
            for span in (layout.position, layout.velocity)
        ]
        return _Known(
            layout.size, kind, pattern, np.array(rows, np.int64), memory.view(np.int64), memory, octets, duration
        )


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


@kernel
def gather_kernel(
    words: NDArray[np.int64], values: Array, pattern: NDArray[np.int64], places: NDArray[np.int64], q: Array, qd: Array
) -> bool:
    """Fill q and qd, (n,), from `values` at `places`, (2, n), -1 for NaN; False where `words` do not fit `pattern`."""
    for k in range(pattern.shape[1]):
        if (words[k] ^ pattern[0, k]) & pattern[1, k] != 0:
            return False
    for j in range(q.shape[0]):
        q[j] = values[places[0, j]] if places[0, j] >= 0 else np.nan
        qd[j] = values[places[1, j]] if places[1, j] >= 0 else np.nan
    return True
