"""Serialised messages, read and written in place without a Python message.

ROS 2 sends messages as plain CDR (OMG DDS-XTypes 1.3, 7.4.1): four bytes of encapsulation, then the fields in order,
each aligned to its size from there. From one message of a stream to the next only numbers change, at the same offsets.
So the rest is checked, or written, once; see `joint_state_layout`, `PreparedMessage`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from importlib import import_module
from operator import attrgetter
from struct import Struct, error
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rclpy.publisher import Publisher
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Float64MultiArray

from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array

#: The first four bytes of a message, its encapsulation; fields are aligned to what follows.
ENCAPSULATION = 4
#: Plain CDR of the first version, least significant byte first: the only one that is read or written here.
PLAIN = b"\x00\x01"
#: Bytes before a message in memory, so that its aligned fields are aligned in memory.
LEAD = 8 - ENCAPSULATION

#: Orientation, angular velocity and linear acceleration of a sensor_msgs/Imu, each with its covariance.
IMU_NUMBERS = 4 + 9 + 3 + 9 + 3 + 9

_STAMP, _COUNT = Struct("<iI"), Struct("<I")
#: Bytes of a header's time.
STAMP_SIZE = _STAMP.size


def installed_type(kind: str) -> Any:
    """The class of a message or action, as ``sensor_msgs/msg/JointState``; None if its package does not have it."""
    # wheels on PyPI lack some packages that are part of every ROS 2 installation
    package, part, name = kind.split("/")
    try:
        return getattr(import_module(f"{package}.{part}"), name, None)
    except ImportError:
        return None


def stamp_in(data: bytes | memoryview) -> int:
    """The time of a message that begins with a header, ns; 0 where the bytes are too few for one."""
    return time_at(data, ENCAPSULATION) if len(data) >= ENCAPSULATION + _STAMP.size else 0


def time_at(data: bytes | memoryview, place: int) -> int:
    """A time or duration whose fields begin at a place, ns."""
    seconds, nanoseconds = _STAMP.unpack_from(data, place)
    return int(seconds) * NANOSECONDS + int(nanoseconds)


def deserialised(data: bytes, kind: type, refused: Callable[[str], Exception]) -> Any:
    """The message of type `kind` in the bytes, by rclpy; where they are none, the exception that `refused` makes."""
    try:
        return deserialize_message(data, kind)
    except (RuntimeError, UnicodeDecodeError) as error:  # rclpy's RMWError is a RuntimeError
        name = f"{kind.__module__.partition('.')[0]}/{kind.__name__}"
        raise refused(f"{len(data)} bytes that are no {name}: {error}") from None


def aligned_memory(size: int, least: int = 0) -> tuple[Array, memoryview]:
    """Memory for messages of `size` bytes, as `least` numbers or more, and as the bytes behind the first `LEAD`."""
    numbers = np.zeros(max(least, -(-(LEAD + size) // 8)))
    return numbers, numbers.data.cast("B")[LEAD : LEAD + size]


class JointStateLayout(NamedTuple):
    """Offsets of the fields in a serialised sensor_msgs/JointState."""

    #: Size of the message, bytes.
    size: int
    #: Bytes that another message must have too, to have this layout: all but stamp, numbers and padding.
    fixed: tuple[slice, ...]
    #: Of the joints.
    names: tuple[bytes, ...]
    #: The lists of numbers.
    position: slice
    velocity: slice
    effort: slice

    def pattern(self, data: bytes) -> NDArray[np.int64]:
        """Fixed bits of a message with `LEAD` bytes before it, as 64-bit words: values and mask; (2, words)."""
        octets = np.zeros((2, LEAD + max(span.stop for span in self.fixed)), np.uint8)
        for span in self.fixed:
            octets[0, LEAD + span.start : LEAD + span.stop] = np.frombuffer(data[span], np.uint8)
            octets[1, LEAD + span.start : LEAD + span.stop] = 0xFF
        missing = -octets.shape[1] % 8
        return np.pad(octets, ((0, 0), (0, missing))).view(np.int64)

    def starts(self) -> list[int | None]:
        """Index of each list's first number in `aligned_memory`; None for lists without a number for each name."""
        return [
            (LEAD + span.start) // 8 if span.stop - span.start == 8 * len(self.names) else None
            for span in (self.position, self.velocity, self.effort)
        ]

    def holds(self, data: bytes, names: Iterable[str], *lists: ArrayLike) -> bool:
        """Whether a message read by this layout has these names and these first of its lists of numbers."""
        spans = (self.position, self.velocity, self.effort)
        return list(self.names) == [name.encode() for name in names] and all(
            data[span] == np.asarray(values, np.float64).tobytes()
            for span, values in zip(spans, lists, strict=False)
        )


class CdrCursor:
    """Cursor over the fields of a message; raises `struct.error` where the bytes end too early."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at
        self.fixed: list[slice] = []

    def align(self, size: int) -> None:
        """Advance to the alignment of a value of `size` bytes."""
        self.at += (ENCAPSULATION - self.at) % size

    def take(self, count: int) -> slice:
        """The next `count` bytes."""
        span = slice(self.at, self.at + count)
        if span.stop > len(self.data):
            raise error(f"{span.stop} bytes needed, {len(self.data)} there")
        self.at = span.stop
        return span

    def count(self) -> int:
        """The next list's or text's length."""
        self.align(_COUNT.size)
        self.fixed.append(self.take(_COUNT.size))
        return int(_COUNT.unpack_from(self.data, self.fixed[-1].start)[0])

    def text(self) -> bytes:
        """The next text."""
        span = self.take(self.count())
        self.fixed.append(span)
        return self.data[span].removesuffix(b"\0")

    def numbers(self) -> slice:
        """The bytes of the next list of float64."""
        count = self.count()
        if count:
            self.align(8)
        return self.take(8 * count)


def after_header(data: bytes) -> CdrCursor:
    """The place behind the header of a message that begins with one; `struct.error`."""
    if data[:2] != PLAIN:
        raise error("not plain CDR, least significant byte first")
    walk = CdrCursor(data, ENCAPSULATION + _STAMP.size)
    walk.text()  # frame_id
    return walk


def stamped_names(data: bytes) -> tuple[CdrCursor, tuple[bytes, ...]]:
    """Names of the joints of a message that begins with a header and them, and the place behind; `struct.error`."""
    walk = after_header(data)
    # a wrong count ends with the bytes, not with the memory: every name takes some of them
    return walk, tuple(walk.text() for _ in range(walk.count()))


def joint_state_layout(data: bytes) -> JointStateLayout | None:
    """The layout of a joint state, to be compared with what rclpy reads; None where it cannot be read here."""
    try:
        walk, names = stamped_names(data)
        position, velocity, effort = walk.numbers(), walk.numbers(), walk.numbers()
    except error:
        return None
    return JointStateLayout(
        len(data), (slice(0, ENCAPSULATION), *walk.fixed), names, position, velocity, effort
    )


def trajectory_points(data: bytes) -> int | None:
    """Number of points of a serialised trajectory_msgs/JointTrajectory; None where that cannot be read here."""
    try:
        return stamped_names(data)[0].count()
    except error:
        return None


def one_point_layout(data: bytes) -> tuple[JointStateLayout, int] | None:
    """The layout of a JointTrajectory of one point, and the place of its time from start; None for other bytes."""
    # the span of the effort is that of all numbers that are not read
    try:
        walk, names = stamped_names(data)
        if walk.count() != 1:
            return None
        position, velocity, acceleration, effort = (walk.numbers() for _ in range(4))
        walk.align(4)
        duration = walk.take(_STAMP.size).start
    except error:
        return None
    fixed = (slice(0, ENCAPSULATION), *walk.fixed)
    unread = slice(acceleration.start, effort.stop)
    return JointStateLayout(len(data), fixed, names, position, velocity, unread), duration


def imu_numbers(data: bytes) -> Array:
    """The 37 numbers of a sensor_msgs/Imu in their order; `struct.error` where they cannot be read here."""
    walk = after_header(data)
    walk.align(8)
    span = walk.take(8 * IMU_NUMBERS)
    return np.array(np.frombuffer(data, np.float64, IMU_NUMBERS, span.start))


class NumbersReader:
    """Reads std_msgs/Float64MultiArray messages, from the offsets of the message before."""

    #: Such messages have no stamp.
    stamp = 0

    def __init__(self) -> None:
        self._head, self._size = b"", -1

    def read(self, data: bytes) -> Array:
        """The numbers of a message, shape (n,); `ControlError` where the bytes are no such message."""
        head = self._head
        if len(data) == self._size and data.startswith(head):
            return np.array(np.frombuffer(data, np.float64, offset=len(head)))
        numbers: Array = np.array(deserialised(data, Float64MultiArray, ControlError).data, np.float64)
        begin = len(data) - numbers.nbytes
        # its list is its last field: a count, at most four bytes to align, the numbers
        counted = any(data[begin - k : begin - k + 4] == _COUNT.pack(numbers.size) for k in (4, 8))
        aligned = data[:2] == PLAIN and begin % 8 == ENCAPSULATION
        if numbers.size and aligned and counted and data[begin:] == numbers.tobytes():
            self._head, self._size = data[:begin], len(data)
        return numbers


class PreparedMessage:
    """A message that is serialised once; its numbers, lists of float64 at `fields`, are then written in place."""

    def __init__(self, message: Any, *fields: str) -> None:
        lists = [np.frombuffer(attrgetter(field)(message)) for field in fields]  # the message's own memory
        given = [values.copy() for values in lists]
        # found by unique numbers, independently of the message type
        marks = math.pi * np.arange(1, 1 + sum(map(len, lists)))
        for values, mark in zip(lists, np.split(marks, np.cumsum([len(x) for x in lists])[:-1]), strict=True):
            values[:] = mark
        data = serialize_message(message)
        if fields[-1:] == tuple(message.get_fields_and_field_types())[-1:] and len(lists[-1]):
            # rclpy leaves 4 bytes for each empty list before; other readers of recordings refuse them
            data = data[: data.rfind(lists[-1].tobytes()) + lists[-1].nbytes]
        self._memory, self._octets = aligned_memory(len(data))
        self._octets[:] = data
        #: The numbers of each field, in the bytes; write here.
        self.numbers = tuple(self._find(data, values) for values in lists)
        for view, values in zip(self.numbers, given, strict=True):
            view[:] = values

    def _find(self, data: bytes, values: Array) -> Array:
        mark = values.tobytes()
        place = LEAD + data.find(mark)
        assert data.count(mark) == 1, "a field is found once"
        assert place % 8 == 0, "as CDR aligns it"
        return self._memory[place // 8 : place // 8 + len(values)]

    def stamp(self, time: int) -> None:
        """Set the header's time, ns."""
        _STAMP.pack_into(self._octets, ENCAPSULATION, *divmod(time, NANOSECONDS))

    def publish(self, publisher: Publisher) -> None:
        """Publish the message with its present numbers."""
        publisher.publish(self._octets.tobytes())
