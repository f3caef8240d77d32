"""Reader of serialised joint states, by one compiled call per message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from rne_dynamics.control.locked_joints import Measured
from rne_dynamics.errors import StateError, StateProblem
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.cdr import LEAD, JointStateLayout, deserialised, joint_state_layout, stamp_in
from rne_dynamics.ros.joint_map import OTHER, WHOLE, JointMap, Reading, gather
from rne_dynamics.ros.messages import stamp_of

#: Number of message layouts that are kept: an arm, its gripper and others may share the topic.
_LAYOUTS = 8
# reading a member off its class is slow in Python 3.11
WHOLE_STATE = Reading.WHOLE


class _Known(NamedTuple):
    """A known layout of messages."""

    size: int
    pattern: NDArray[np.int64]
    places: NDArray[np.int64]
    words: NDArray[np.int64]  # memory for such a message
    values: Array  # the same memory
    octets: memoryview  # the same, without the bytes before the message
    others: dict[str, int]  # indices of the positions of other joints among the values
    named: bool  # whether it has controlled joints


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
        self._known: list[_Known] = []
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
                known.octets[:] = data
                code = gather(known.words, known.values, known.pattern, known.places, q, qd, effort)
                if code == WHOLE and known.named:
                    return WHOLE_STATE
                if code != OTHER:
                    return self._map.verdict(code, q, qd) if known.named else _no_joint(q, qd, effort)
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

    def _learned(self, layout: JointStateLayout, data: bytes) -> _Known:
        pattern = layout.pattern(data)
        memory, octets = layout.memory(pattern)
        count = len(layout.names)
        starts = [
            (LEAD + span.start) // 8 if span.stop - span.start == 8 * count else None
            for span in (layout.position, layout.velocity, layout.effort)
        ]
        places = self._map.places(starts[0] or 0, starts[1], starts[2])
        named = [name.decode() for name in layout.names]
        others = {
            name: starts[0] + named.index(name) for name in self._others if name in named and starts[0] is not None
        }
        return _Known(layout.size, pattern, places, memory.view(np.int64), memory, octets, others, places.shape[1] > 0)


def agrees(layout: JointStateLayout, data: bytes, message: JointState) -> bool:
    """Whether the bytes, read by their layout, give what rclpy has read."""
    return stamp_in(data) == stamp_of(message) and layout.holds(
        data, message.name, message.position, message.velocity, message.effort
    )


def _no_joint(q: Array, qd: Array, effort: Array) -> Reading:
    for out in (q, qd, effort):
        out.fill(np.nan)
    return Reading.OTHER_JOINTS
