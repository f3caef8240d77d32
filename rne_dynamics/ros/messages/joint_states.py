"""Readers of joint states by joint name: from messages, and from their bytes by one compiled call."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.control.guards.base_filter import BaseReading
from rne_dynamics.control.locked_joints import Measured
from rne_dynamics.errors import StateError, StateProblem
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.messages.cdr import (
    JointStateLayout,
    aligned_memory,
    deserialised,
    imu_numbers,
    joint_state_layout,
    stamp_in,
)
from rne_dynamics.ros.messages.publishers import stamp_of

#: What `gather` has found: positions and velocities, positions alone, another layout; and what readers have found where
#: a message has no controlled joint.
WHOLE, NO_VELOCITY, OTHER, OTHER_JOINTS = -1, -2, -3, -4

_NO_WORDS, _NO_PATTERN = np.empty(0, np.int64), np.empty((2, 0), np.int64)


class JointMap:
    """The controlled joints in messages, by their names; `StateReader` remembers where they are."""

    def __init__(self, joints: Sequence[str]) -> None:
        self.joints = tuple(joints)
        #: Where the joints are in the last message, (n,); empty if it has no controlled joint.
        self.places = np.empty(0, np.intp)
        n = len(self.joints)  # compiled before the first message
        places = np.arange(3 * n).reshape(3, n)
        gather(_NO_WORDS, np.zeros(3 * n), _NO_PATTERN, places, *np.zeros((3, n)))

    def read(self, message: JointState, q: Array, qd: Array, effort: Array) -> int:
        """Fill `q`, `qd` and `effort`, (n,), from a message, NaN for what it lacks; other joints are ignored.

        `WHOLE`, `NO_VELOCITY` or `OTHER_JOINTS`; velocities that are all NaN count as missing. StateError: only some of
        the joints, lists of other lengths than the names, values that are not finite; an effort may be missing.
        """
        count, ours = len(message.name), any(joint in message.name for joint in self.joints)
        self.places = places_of(
            self.joints, message.name, lambda why, problem: StateError(f"joint state: {why}", problem)
        ) if ours else np.empty(0, np.intp)
        if not ours and (count or not len(message.position)):
            return _no_joint(q, qd, effort)
        position, velocity = np.asarray(message.position, np.float64), np.asarray(message.velocity, np.float64)
        if len(position) != count or len(velocity) not in (0, count):
            label, values = ("position", position) if len(position) != count else ("velocity", velocity)
            raise StateError(
                f"joint state: {len(values)} values of {label} for {count} names; every joint needs one",
                StateProblem.UNEVEN_LISTS,
            )
        given = np.asarray(message.effort, np.float64)
        values = np.concatenate((position, velocity, given))
        places = rows_of(
            self.places, 0, count if len(velocity) else None, len(values) - count if len(given) == count else None
        )
        return self.verdict(gather(_NO_WORDS, values, _NO_PATTERN, places, q, qd, effort), q, qd)

    def verdict(self, code: int, q: Array, qd: Array) -> int:
        """The return value of `gather`, unless it is a number that is not finite; raises as `read`."""
        if code >= 0:
            j = code % len(q)
            label, value = ("position", q[j]) if code < len(q) else ("velocity", qd[j])
            raise StateError(
                f"joint state: {label} of joint {self.joints[j]!r} is {value}; it must be finite",
                StateProblem.NOT_FINITE,
            )
        return code


def rows_of(places: NDArray[np.intp], *starts: int | None) -> NDArray[np.int64]:
    """Index of each joint's number in each list, by where lists begin, (lists, n); -1 for lists that there are not."""
    return np.array([np.full(len(places), -1) if start is None else places + start for start in starts], np.int64)


def places_of(
    joints: Sequence[str], names: Sequence[str], refused: Callable[[str, StateProblem], Exception]
) -> NDArray[np.intp]:
    """Indices of all `joints` among `names`, (n,); the exception that `refused` makes where one is not there once."""
    missing = [joint for joint in joints if joint not in names]
    if missing:
        raise refused(
            f"no joint named {', '.join(map(repr, missing))}; it has {', '.join(names[:20]) or 'none'}. One message "
            "must have all joints", StateProblem.JOINT_MISSING,
        )
    twice = [joint for joint in joints if names.count(joint) > 1]
    if twice:
        raise refused(f"{', '.join(map(repr, twice))} is named twice; names must be unique", StateProblem.NAMED_TWICE)
    return np.array([names.index(joint) for joint in joints], np.intp)


def ordered(names: Sequence[str], values: Sequence[float], joints: Sequence[str]) -> Array:
    """The values of `names` in the order of the joints, (n,); NaN for a joint that has none."""
    found = dict(zip(names, values, strict=False))
    return np.array([found.get(joint, np.nan) for joint in joints], dtype=np.float64)


@kernel
def gather(
    words: NDArray[np.int64], values: Array, pattern: NDArray[np.int64], places: NDArray[np.int64], q: Array, qd: Array,
    reported: Array,
) -> int:
    """Fill q, qd and reported, (n,), from `values` at `places`, (3, n), if `words` fit `pattern`, (2, words)."""
    # WHOLE or NO_VELOCITY; OTHER if they do not fit, and nothing is written; else the value that is not finite: j, n +
    # j
    for k in range(pattern.shape[1]):
        if (words[k] ^ pattern[0, k]) & pattern[1, k] != 0:
            return OTHER
    n: int = places.shape[1]
    bad, unknown = -1, 0
    for j in range(n):
        q[j] = values[places[0, j]] if places[0, j] >= 0 else np.nan
        qd[j] = values[places[1, j]] if places[1, j] >= 0 else np.nan
        value = values[places[2, j]] if places[2, j] >= 0 else np.nan
        reported[j] = value if np.isfinite(value) else np.nan
        unknown += np.isnan(qd[j])
        if not np.isfinite(q[j]):
            bad = j
    if bad >= 0:
        return bad
    if unknown == n:
        return NO_VELOCITY
    for j in range(n):
        if not np.isfinite(qd[j]):
            return n + j
    return WHOLE


# -- reader of serialised joint states, by one compiled call per message -----------------------------------------------


#: Number of message layouts that are kept: an arm, its gripper and others may share the topic.
_LAYOUTS = 8


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
        memory, octets = aligned_memory(layout.size, least=pattern.shape[1])
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

    `joints`: names of the controlled joints; the order of everything `read` fills. `others`: names of other joints
    whose positions `others` returns, in any message.
    """

    def __init__(self, joints: Sequence[str], others: Sequence[str] = ()) -> None:
        self._map, self._others = JointMap(joints), tuple(others)
        self._known: list[Known] = []
        #: Stamp of the last message, ns.
        self.stamp = 0

    def read(self, data: bytes, q: Array, qd: Array, effort: Array) -> int:
        """As `JointMap.read`, from a serialised message; `StateError` also for bytes that are none."""
        self.stamp = stamp_in(data)
        size = len(data)
        for known in self._known:
            if known.size == size:
                code, named = known.read(data, q, qd, effort), known.places.size
                if code == WHOLE and named:
                    return code
                if code != OTHER:
                    return self._map.verdict(code, q, qd) if named else _no_joint(q, qd, effort)
        return self._read_anew(data, q, qd, effort)

    def others(self) -> dict[str, Measured]:
        """The newest received position of each of the other joints."""
        # Costs nothing per message: the last one of each layout is still in its memory. So each sender's second message
        # is the first to count, and messages that cannot be read by a layout never do.
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

    def _read_anew(self, data: bytes, q: Array, qd: Array, effort: Array) -> int:
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
        places = rows_of(self._map.places, position or 0, velocity, effort)
        return Known.learned(layout, data, JointState, places, others=others)


def agrees(layout: JointStateLayout, data: bytes, message: JointState) -> bool:
    """Whether the bytes, read by their layout, give what rclpy has read."""
    return stamp_in(data) == stamp_of(message) and layout.holds(
        data, message.name, message.position, message.velocity, message.effort
    )


def _no_joint(q: Array, qd: Array, effort: Array) -> int:
    q[:] = qd[:] = effort[:] = np.nan
    return OTHER_JOINTS


# REP 145: the linear acceleration is what an accelerometer measures, v̇ − g; a covariance that begins with −1 says that
# its quantity is not given.

def read_imu(data: bytes) -> BaseReading:
    """Read a serialised message. Raises StateError: bytes that are no sensor_msgs/Imu."""
    try:
        numbers = imu_numbers(data)
    except struct.error:
        why = f"base motion: {len(data)} bytes that are no sensor_msgs/Imu"
        raise StateError(why, StateProblem.UNREADABLE) from None
    orientation, angular_velocity, acceleration = numbers[0:4], numbers[13:16], numbers[25:28]
    return BaseReading(
        stamp_in(data),
        None if numbers[4] == -1.0 else orientation,
        None if numbers[16] == -1.0 else angular_velocity,
        None if numbers[28] == -1.0 else acceleration,
    )
