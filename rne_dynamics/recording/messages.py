"""ROS 2 messages without ROS: definitions, and the bytes of whole series of messages; needs rosbags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.advice import extra
from rne_dynamics.errors import MissingDependencyError
from rne_dynamics.model.inertia import Array

if TYPE_CHECKING:
    from rosbags.typesys.store import Typestore

JOINT_STATE, FLOATS = "sensor_msgs/msg/JointState", "std_msgs/msg/Float64MultiArray"
CONTROLLER_STATE = "control_msgs/msg/JointTrajectoryControllerState"
#: Lists of numbers, the last fields of the messages of these types.
LISTS = {JOINT_STATE: ("position", "velocity", "effort"), FLOATS: ("data",)}
#: Most words of 4 bytes that are left behind a message.
MOST_SPARE = 8
NANOSECONDS = 1_000_000_000
INSTALL = extra("record")


@cache
def typestore() -> Typestore:
    """The message types of ROS 2; raises `MissingDependencyError` without rosbags."""
    try:
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise MissingDependencyError(f"recordings of ROS messages need rosbags: {INSTALL}") from None
    return get_typestore(Stores.ROS2_JAZZY)


def definition(kind: str) -> str:
    """The definition of a message type with all types that it contains, as MCAP's schema encoding ``ros2msg``."""
    return typestore().generate_msgdef(kind, ros_version=2)[0]


def joint_states(names: Sequence[str], stamps: NDArray[np.int64], **lists: Array) -> list[bytes]:
    """Serialised JointState messages at stamps in ns, (rows,), with `position`, `velocity`, `effort`, (rows, n)."""
    types = typestore().types
    header, time, message = (
        types[name] for name in ("std_msgs/msg/Header", "builtin_interfaces/msg/Time", JOINT_STATE)
    )
    filled = {name: np.zeros(len(names) if name in lists else 0) for name in LISTS[JOINT_STATE]}
    pattern = Pattern(typestore(), message(header=header(time(0, 0), ""), name=list(names), **filled), JOINT_STATE)
    seconds, rest = np.divmod(stamps, NANOSECONDS)
    stamped = [seconds.astype("<i4")[:, None], rest.astype("<u4")[:, None]]
    return pattern.filled([*stamped, *(lists[name].astype("<f8") for name in LISTS[JOINT_STATE] if name in lists)])


def float_arrays(names: Sequence[str], values: Array) -> list[bytes]:
    """Serialised std_msgs/Float64MultiArray messages, (rows, n), with the names as the label of their dimension."""
    types = typestore().types
    layout, dimension, message = (
        types[f"std_msgs/msg/{name}"] for name in ("MultiArrayLayout", "MultiArrayDimension", "Float64MultiArray")
    )
    n = len(names)
    place = layout(dim=[dimension(label=",".join(names), size=n, stride=n)], data_offset=0)
    pattern = Pattern(typestore(), message(layout=place, data=np.zeros(n)), FLOATS)
    return pattern.filled([values.astype("<f8")])


class Pattern:
    """The bytes of messages of one `kind` that differ in stamps and numbers only, not in names and lengths of lists.

    Found by serialising `message` twice, with all bits of these 0, and 1. Series of messages are written and read so
    some 50 times faster than one by one.
    """

    def __init__(self, types: Typestore, message: Any, kind: str) -> None:
        self._message, self._lists = message, LISTS[kind]
        self._stamped = hasattr(message, "header")
        self._others = {field.name: getattr(message, field.name) for field in fields(message)}

        def octets(seconds: int, nanoseconds: int, number: float) -> NDArray[np.uint8]:
            rows = [np.full(len(getattr(message, name)), number) for name in self._lists]
            marked = self._with((seconds, nanoseconds), rows)
            return np.frombuffer(bytes(types.serialize_cdr(marked, kind)), np.uint8)

        self._zero = octets(0, 0, 0.0)
        numbers = self._zero != octets(-1, 2**32 - 1, np.frombuffer(b"\xff" * 8).item())
        self._numbers, self._fixed = np.flatnonzero(numbers), np.flatnonzero(~numbers)

    def _with(self, stamp: tuple[int, int], rows: Sequence[Array]) -> Any:
        """The message with another stamp and other numbers."""
        message = self._message
        others: dict[str, Any] = dict(zip(self._lists, rows, strict=True))
        if self._stamped:
            header = message.header
            others["header"] = type(header)(type(header.stamp)(*stamp), header.frame_id)
        return type(message)(**{**self._others, **others})

    @property
    def size(self) -> int:
        """Bytes of a message."""
        return len(self._zero)

    def filled(self, values: Sequence[NDArray[Any]]) -> list[bytes]:
        """One message a row of the values: seconds and nanoseconds if it has a header, then the lists that it has."""
        octets = np.concatenate([np.ascontiguousarray(part).view(np.uint8) for part in values], axis=1)
        table = np.tile(self._zero, (len(octets), 1))
        table[:, self._numbers] = octets
        return [row.tobytes() for row in table]

    def read(self, table: NDArray[np.uint8]) -> list[Any]:
        """The messages of the rows of `table`, each of as many bytes as this; None for those of another pattern."""
        same = (table[:, self._fixed] == self._zero[self._fixed]).all(axis=1)
        octets = np.ascontiguousarray(table[:, self._numbers])
        begin = 8 if self._stamped else 0
        seconds, nanoseconds = (
            (octets[:, :4].copy().view("<i4"), octets[:, 4:8].copy().view("<u4"))
            if begin else ([[0]] * len(table), [[0]] * len(table))
        )
        numbers = np.ascontiguousarray(octets[:, begin:]).view("<f8")
        ends = np.cumsum([len(getattr(self._message, name)) for name in self._lists])[:-1]
        lists = zip(*np.split(numbers, ends, axis=1), strict=True)
        return [
            self._with((int(sec[0]), int(rest[0])), rows) if good else None
            for good, sec, rest, rows in zip(same.tolist(), seconds, nanoseconds, lists, strict=True)
        ]


def deserialised(types: Typestore, kind: str, data: Sequence[bytes]) -> list[Any]:
    """The messages of a topic, in order; raises what rosbags raises for bytes that are no such message."""
    found: list[Any] = [None] * len(data)
    by_size: dict[int, list[int]] = {}
    for k, message in enumerate(data):
        by_size.setdefault(len(message), []).append(k)
    for size, places in by_size.items() if kind in LISTS else ():
        if len(places) > 1:
            pattern = Pattern(types, _deserialised(types, kind, data[places[0]]), kind)
            table = np.frombuffer(b"".join(data[k] for k in places), np.uint8).reshape(-1, size)
            if pattern.size == size:
                for k, message in zip(places, pattern.read(table), strict=True):
                    found[k] = message
    return [
        _deserialised(types, kind, octets) if message is None else message
        for octets, message in zip(data, found, strict=True)
    ]


def _deserialised(types: Typestore, kind: str, octets: bytes) -> Any:
    """One message, also with the bytes behind it that rclpy's `serialize_message` leaves for empty lists."""
    from rosbags.serde import SerdeError

    for _ in range(MOST_SPARE):
        try:
            return types.deserialize_cdr(octets, kind)
        except SerdeError as error:
            if "size mismatch" not in str(error):
                raise
            octets = octets[:-4]
    return types.deserialize_cdr(octets, kind)
