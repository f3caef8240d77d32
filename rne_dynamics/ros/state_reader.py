"""Reader of serialised joint states, by one compiled call per message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from rne_dynamics.control.locked_joints import Measured
from rne_dynamics.errors import StateError, StateProblem
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.cdr import JointStateLayout, deserialised, joint_state_layout, stamp_in
from rne_dynamics.ros.joint_map import OTHER, WHOLE, JointMap, Reading, gather
from rne_dynamics.ros.messages import stamp_of

#: Number of message layouts that are kept: an arm, its gripper and others may share the topic.
_LAYOUTS = 8
# reading a member off its class is slow in Python 3.11
WHOLE_STATE = Reading.WHOLE


class Known(NamedTuple):
    """A known layout of messages of one type, with memory for one."""

    size: int
    kind: type
    pattern: NDArray[np.int64]
    places: NDArray[np.int64]  # as for `gather`; (3, 0) if it has no controlled joint
    words: NDArray[np.int64]  # the memory
    values: Array  # the same
    octets: memoryview  # the same, without the bytes before the message
    others: Mapping[str, int] = MappingProxyType({})  # indices of the positions of other joints among the values
    duration: int = 0  # offset of the time from start; 0 for none

    @classmethod
    def learned(
        cls, layout: JointStateLayout, data: bytes, kind: type, places: NDArray[np.int64], **more: Any
    ) -> Known:
        """The layout of a message, `data`, of type `kind`."""
        pattern = layout.pattern(data)
        memory, octets = layout.memory(pattern)
        return cls(layout.size, kind, pattern, places, memory.view(np.int64), memory, octets, **more)

    def read(self, data: bytes | memoryview, q: Array, qd: Array, effort: Array) -> int:
        """Copy the numbers of a message of this size, see `gather`."""
        self.octets[:] = data
        return gather(self.words, self.values, self.pattern, self.places, q, qd, effort)


class StateReader:
    """As `JointMap`, from serialised messages.

    A message is first read by rclpy and `JointMap.read`. If its bytes, read directly, give the same, their layout is
    kept, and later messages with the same bytes except for stamp and numbers are read by copying numbers from known
    offsets. Other messages are read by rclpy again, so that the result is always that of rclpy and `JointMap`.

    Parameters
    ----------
    joints
        Names of the controlled joints; the order of everything `read` fills.
    others
        Names of other joints whose positions `others` returns, in any message.
    """

    def __init__(self, joints: Sequence[str], others: Sequence[str] = ()) -> None:
        self._map, self._others = JointMap(joints), tuple(others)
        self._known: list[Known] = []
        #: Stamp of the last message, ns.
        self.stamp = 0

    def read(self, data: bytes, q: Array, qd: Array, effort: Array) -> Reading:
        """As `JointMap.read`, from a serialised sensor_msgs/JointState.

        Raises
        ------
        StateError
            As there, or the bytes are no joint state.
        """
        self.stamp = stamp_in(data)
        size = len(data)
        for known in self._known:
            if known.size == size:
                code, named = known.read(data, q, qd, effort), known.places.size
                if code == WHOLE and named:
                    return WHOLE_STATE
                if code != OTHER:
                    return self._map.verdict(code, q, qd) if named else _no_joint(q, qd, effort)
        return self._read_anew(data, q, qd, effort)

    def others(self) -> dict[str, Measured]:
        """The newest received position of each of the other joints.

        Costs nothing per message: the last one of each layout is still in its memory. So each sender's second message
        is the first to count, and messages that cannot be read by a layout never do.
        """
        found: dict[str, Measured] = {}
        for known in self._known:
            words, (expected, mask) = known.words[: known.pattern.shape[1]], known.pattern
            if not known.others or ((words ^ expected) & mask).any():
                continue  # none of these joints; or no message yet, or another one of that size
            stamp = stamp_in(bytes(known.octets))
            for name, place in known.others.items():
                if name not in found or stamp > found[name].stamp:
                    found[name] = Measured(float(known.values[place]), stamp)
        return found

    def _read_anew(self, data: bytes, q: Array, qd: Array, effort: Array) -> Reading:
        message = deserialised(
            data, JointState, lambda why: StateError(f"joint state: {why}", StateProblem.UNREADABLE)
        )
        reading = self._map.read(message, q, qd, effort)
        layout = joint_state_layout(data)
        if layout is not None and agrees(layout, data, message):
            known = [self._learned(layout, data), *self._known[: _LAYOUTS - 1]]
            # after those of the same size, so that their messages do not overwrite the memory that `others` reads
            self._known = sorted(known, key=lambda one: bool(one.others))
        return reading

    def _learned(self, layout: JointStateLayout, data: bytes) -> Known:
        position, velocity, effort = layout.starts()
        named = [name.decode() for name in layout.names]
        others = {
            name: position + named.index(name) for name in self._others if name in named and position is not None
        }
        return Known.learned(
            layout, data, JointState, self._map.places(position or 0, velocity, effort), others=others
        )


def agrees(layout: JointStateLayout, data: bytes, message: JointState) -> bool:
    """Whether the bytes, read by their layout, give what rclpy has read."""
    return stamp_in(data) == stamp_of(message) and layout.holds(
        data, message.name, message.position, message.velocity, message.effort
    )


def _no_joint(q: Array, qd: Array, effort: Array) -> Reading:
    for out in (q, qd, effort):
        out.fill(np.nan)
    return Reading.OTHER_JOINTS
