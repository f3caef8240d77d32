"""MCAP files of ROS 2 messages and of simulations' logs, readable up to a killed writer's last flush; needs mcap."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from functools import cache
from importlib.util import find_spec
from io import IOBase
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.advice import extra
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.errors import MissingDependencyError, RecordingError, refuse
from rne_dynamics.figures.style import output_file
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot

if TYPE_CHECKING:
    from rosbags.typesys.store import Typestore

    from rne_dynamics.simulation.runs.log import Log


JOINT_STATE, FLOATS = "sensor_msgs/msg/JointState", "std_msgs/msg/Float64MultiArray"
CONTROLLER_STATE = "control_msgs/msg/JointTrajectoryControllerState"
#: Lists of numbers, the last fields of the messages of these types.
LISTS = {JOINT_STATE: ("position", "velocity", "effort"), FLOATS: ("data",)}
#: Most words of 4 bytes that are left behind a message.
MOST_SPARE = 8
INSTALL = extra("record")


def new_typestore() -> Typestore:
    """The message types of ROS 2, to which others can be added; raises `MissingDependencyError` without rosbags."""
    try:
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise MissingDependencyError(f"recordings of ROS messages need rosbags: {INSTALL}") from None
    return get_typestore(Stores.ROS2_JAZZY)


#: The same, one for all.
typestore = cache(new_typestore)


def definition(kind: str) -> str:
    """The definition of a message type with all types that it contains, as MCAP's schema encoding ``ros2msg``."""
    return typestore().generate_msgdef(kind, ros_version=2)[0]


def joint_states(names: Sequence[str], stamps: NDArray[np.int64], **lists: Array) -> list[bytes]:
    """Serialised JointState messages at stamps in ns, (rows,), with `position`, `velocity`, `effort`, (rows, n)."""
    header, time, message = (
        typestore().types[name] for name in ("std_msgs/msg/Header", "builtin_interfaces/msg/Time", JOINT_STATE)
    )
    filled = {name: np.zeros(len(names) if name in lists else 0) for name in LISTS[JOINT_STATE]}
    pattern = Pattern(typestore(), message(header=header(time(0, 0), ""), name=list(names), **filled), JOINT_STATE)
    seconds, rest = np.divmod(stamps, NANOSECONDS)
    stamped = [seconds.astype("<i4")[:, None], rest.astype("<u4")[:, None]]
    return pattern.filled([*stamped, *(lists[name].astype("<f8") for name in LISTS[JOINT_STATE] if name in lists)])


def float_arrays(names: Sequence[str], values: Array) -> list[bytes]:
    """Serialised std_msgs/Float64MultiArray messages, (rows, n), with the names as the label of their dimension."""
    layout, dimension, message = (
        typestore().types[f"std_msgs/msg/{name}"]
        for name in ("MultiArrayLayout", "MultiArrayDimension", "Float64MultiArray")
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
            return np.frombuffer(bytes(types.serialize_cdr(self._with((seconds, nanoseconds), rows), kind)), np.uint8)

        self._zero = octets(0, 0, 0.0)
        numbers = self._zero != octets(-1, 2**32 - 1, np.frombuffer(b"\xff" * 8).item())
        self._numbers, self._fixed = np.flatnonzero(numbers), np.flatnonzero(~numbers)
        #: Bytes of a message.
        self.size = len(self._zero)

    def _with(self, stamp: tuple[int, int], rows: Sequence[Array]) -> Any:
        """The message with another stamp and other numbers."""
        message = self._message
        others: dict[str, Any] = dict(zip(self._lists, rows, strict=True))
        if self._stamped:
            header = message.header
            others["header"] = type(header)(type(header.stamp)(*stamp), header.frame_id)
        return type(message)(**{**self._others, **others})

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


#: As rosbag2 writes them; Foxglove and PlotJuggler read these.
PROFILE, SCHEMA_ENCODING, MESSAGE_ENCODING = "ros2", "ros2msg", "cdr"
LIBRARY = "rne_dynamics"
SUFFIX = ".mcap"
#: Uncompressed size of a chunk, bytes: what a reader decompresses to find one message.
CHUNK_SIZE = 512 * 1024


class McapFile(AbstractContextManager["McapFile"]):
    """Writer of one MCAP file in a folder that is created; `RecordingError` if it exists and is not to be replaced."""

    def __init__(self, path: Path, *, replace: bool = False) -> None:
        check_installed()
        from mcap.writer import CompressionType, Writer

        self.path = path
        self._stream = _WholeRecords(path, replace=replace)
        self._writer = Writer(  # which needs no more of a stream than ours has
            cast("IO[bytes]", self._stream), chunk_size=CHUNK_SIZE, compression=CompressionType.LZ4
        )
        self._writer.start(PROFILE, LIBRARY)
        #: Number of the schema of a message type with its definition, which is written once.
        self._schema = cache(lambda kind, text: self._writer.register_schema(kind, SCHEMA_ENCODING, text.encode()))

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._stream.size

    def channel(self, topic: str, kind: str, definition: str) -> int:
        """Add a topic with a message type and its `definition`; return the number of its channel."""
        return self._writer.register_channel(topic, MESSAGE_ENCODING, self._schema(kind, definition), {})

    def write(self, channel: int, data: bytes, received: int, sent: int, sequence: int = 0) -> None:
        """Add a message, CDR with its encapsulation; times in ns since the epoch, and the sender's count."""
        self._writer.add_message(channel, received, data, sent, sequence & 0xFFFFFFFF)

    def flush(self) -> None:
        """Write what is in memory, so that it can be read even if this process is killed."""
        self._writer.flush()  # type: ignore[no-untyped-call]  # as its library has it

    def note(self, name: str, values: Mapping[str, str]) -> None:
        """Add a metadata record."""
        self._writer.add_metadata(name, dict(values))

    def close(self) -> None:
        """Write the index and close the file."""
        try:
            self._writer.finish()  # type: ignore[no-untyped-call]
        finally:
            self._stream.close()

    def abandon(self) -> None:
        """Close the file as it is, without index; for a disk that is full."""
        self._stream.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()


class _WholeRecords(IOBase):
    """The stream below the writer, which writes whole records: a record is in the file as a whole or not at all."""

    def __init__(self, path: Path, *, replace: bool) -> None:
        self._path, self.size, self._file = path, 0, -1
        mode = os.O_TRUNC if replace else os.O_EXCL
        try:
            path.parent.mkdir(parents=True, exist_ok=True)  # of the recorder node; commands check it before
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | mode | os.O_CLOEXEC, 0o644)
        except FileExistsError:
            raise RecordingError(f"{path} exists; name a new file, or delete this one") from None
        except OSError as error:
            raise RecordingError(f"{path} cannot be written: {error.strerror}") from None

    def write(self, data: bytes) -> int:
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._file, left) :]
        except OSError as error:
            os.ftruncate(self._file, self.size)
            raise RecordingError(
                f"{self._path} cannot be continued after {self.size} bytes: {error.strerror}; what is in it can be read"
            ) from None
        self.size += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = 0) -> int:
        """The position, at the end in any case."""
        return self.size

    def close(self) -> None:
        if self._file >= 0 and not self.closed:
            os.close(self._file)
        super().close()


def check_installed() -> None:
    """Raise `MissingDependencyError` if mcap is not installed."""
    if find_spec("mcap") is None:
        raise MissingDependencyError(f"MCAP files need mcap: {INSTALL}")


def new_mcap(path: Path) -> str:
    """The absolute path of a file to be recorded; raises where it could not be, before a long run."""
    check_installed()
    refuse(
        RecordingError,
        (path.suffix != SUFFIX, f"{path} cannot be recorded: its ending must be {SUFFIX}"),
        (path.exists(), f"{path} exists; name a new file, or delete this one"),
    )
    output_file(path, (), "--record")
    return str(path.resolve())


STATES, COMMANDS, CONTROLLER = "/joint_states", "/effort_controller/commands", "/computed_torque_controller"
FLOATING = "an .mcap has one position for each joint, and a floating base has 7 for 6 velocities; give .npz or .csv"


def needs_joint_positions(robot: Robot) -> None:
    """Raise `RecordingError` if logs of the robot cannot be written, and `MissingDependencyError` as `save_mcap`."""
    if robot.nq != robot.n:
        raise RecordingError(FLOATING)
    typestore()
    check_installed()


def save_mcap(log: Log, path: Path) -> None:
    """Write a log, stamps from 0, over an existing file; `RecordingError`: a floating base, or no place to write."""
    names = log.joint_names
    if log.q.shape[1] != len(names):
        raise RecordingError(FLOATING)
    stamps = np.rint(log.time * NANOSECONDS).astype(np.int64)
    series = [
        (STATES, JOINT_STATE, joint_states(names, stamps, position=log.q, velocity=log.qd, effort=log.effort)),
        (COMMANDS, FLOATS, float_arrays(names, log.effort)),
    ]
    if log.reference_q is not None and log.reference_qd is not None:
        messages = joint_states(names, stamps, position=log.reference_q, velocity=log.reference_qd)
        series.append((f"{CONTROLLER}/reference", JOINT_STATE, messages))
    for term, values in log.terms.items():
        series.append((f"{CONTROLLER}/torque/{term}", JOINT_STATE, joint_states(names, stamps, effort=values)))
    with McapFile(path, replace=True) as file:
        channels = [file.channel(topic, kind, definition(kind)) for topic, kind, _ in series]
        for k, stamp in enumerate(stamps.tolist()):
            for channel, (_, _, messages) in zip(channels, series, strict=True):
                file.write(channel, messages[k], stamp, stamp, k)
