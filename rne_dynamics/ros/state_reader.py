"""Joint states read from the bytes that travel, by one compiled call a message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from rne_dynamics.control.locked_joints import Measured
from rne_dynamics.errors import StateError, StateProblem
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.cdr import LEAD, JointStateLayout, Span, joint_state_layout, stamp_in
from rne_dynamics.ros.joint_map import OTHER, JointMap, Reading, gather

#: How many layouts of messages are kept: an arm, its gripper and others may share the topic.
_LAYOUTS = 8


class _Known(NamedTuple):
    """Messages of a layout that was met before."""

    size: int
    pattern: NDArray[np.int64]
    places: NDArray[np.int64]
    words: NDArray[np.int64]  # memory for such a message
    values: Array  # the same memory
    octets: memoryview  # the same, where the message lies
    others: dict[str, int]  # where the positions of other joints stand among the values


class StateReader:
    """What a `JointMap` reads, without a message of Python objects.

    A message is first read by rclpy and by `JointMap.read`. Where its bytes, read on their own, say the very same,
    their layout is remembered, and later messages that have all its bytes but the stamp and the numbers are read by
    copying numbers from known places. Any other message takes the first way again, so that nothing is read that rclpy
    and `JointMap` would read differently.

    Parameters
    ----------
    joints
        Names of the controlled joints; the order of everything `read` fills.
    others
        Names of other joints whose positions are wanted now and then, in whatever message they come.
    """

    def __init__(self, joints: Sequence[str], others: Sequence[str] = ()) -> None:
        self._map, self._others = JointMap(joints), tuple(others)
        self._known: list[_Known] = []
        #: Of the message last read, ns.
        self.stamp = 0

    def read(self, data: bytes, q: Array, qd: Array, effort: Array) -> Reading:
        """As `JointMap.read`, from a serialised sensor_msgs/JointState.

        Raises
        ------
        StateError
            As there, or because the bytes are no joint state.
        """
        self.stamp = stamp_in(data)
        size = len(data)
        for known in self._known:
            if known.size == size:
                known.octets[:] = data
                code = gather(known.words, known.values, known.pattern, known.places, q, qd, effort)
                if code != OTHER:
                    return self._map.verdict(code, q, qd) if known.places.shape[1] else _foreign(q, qd, effort)
        return self._read_anew(data, q, qd, effort)

    def others(self) -> dict[str, Measured]:
        """The newest position of each of the other joints that was received.

        Costs nothing when a message comes: the last one of each layout is still in its memory. So each sender's second
        message is the first to count, and one that cannot be read by its layout never does.
        """
        found: dict[str, Measured] = {}
        for known in self._known:
            words, (expected, mask) = known.words[: known.pattern.shape[1]], known.pattern
            if not known.others or ((words ^ expected) & mask).any():
                continue  # nothing of theirs; or nothing yet, or another message of that size
            stamp = stamp_in(bytes(known.octets))
            for name, place in known.others.items():
                if name not in found or stamp > found[name].stamp:
                    found[name] = Measured(float(known.values[place]), stamp)
        return found

    def _read_anew(self, data: bytes, q: Array, qd: Array, effort: Array) -> Reading:
        try:
            message = deserialize_message(data, JointState)
        except (RuntimeError, UnicodeDecodeError) as error:  # rclpy's RMWError is a RuntimeError
            raise StateError(
                f"joint state: its {len(data)} bytes are no sensor_msgs/JointState: {error}", StateProblem.UNREADABLE
            ) from None
        reading = self._map.read(message, q, qd, effort)
        layout = joint_state_layout(data)
        if layout is not None and says(layout, data, message):
            known = [self._learned(layout, data), *self._known[: _LAYOUTS - 1]]
            # behind those of the same size, whose messages then do not overwrite the memory that `others` reads
            self._known = sorted(known, key=lambda one: bool(one.others))
        return reading

    def _learned(self, layout: JointStateLayout, data: bytes) -> _Known:
        pattern = layout.pattern(data)
        memory = np.zeros(max(pattern.shape[1], -(-(LEAD + layout.size) // 8)))
        count = len(layout.names)
        starts = [
            (LEAD + span.start) // 8 if span.stop - span.start == 8 * count else None
            for span in (layout.position, layout.velocity, layout.effort)
        ]
        places = self._map.places(starts[0] or 0, starts[1], starts[2])
        octets = memory.data.cast("B")[LEAD : LEAD + layout.size]
        named = [name.decode() for name in layout.names]
        others = {
            name: starts[0] + named.index(name) for name in self._others if name in named and starts[0] is not None
        }
        return _Known(layout.size, pattern, places, memory.view(np.int64), memory, octets, others)


def says(layout: JointStateLayout, data: bytes, message: JointState) -> bool:
    """Whether bytes, read by their layout, say what rclpy has made of them."""

    def same(span: Span, values: Sequence[float]) -> bool:
        return data[span.start : span.stop] == np.asarray(values, np.float64).tobytes()

    stamp = message.header.stamp
    return (
        list(layout.names) == [name.encode() for name in message.name]
        and stamp_in(data) == stamp.sec * 1_000_000_000 + stamp.nanosec
        and same(layout.position, message.position)
        and same(layout.velocity, message.velocity)
        and same(layout.effort, message.effort)
    )


def _foreign(q: Array, qd: Array, effort: Array) -> Reading:
    for out in (q, qd, effort):
        out.fill(np.nan)
    return Reading.FOREIGN
