"""MCAP files of ROS 2 messages and of simulations' logs, readable up to a killed writer's last flush; needs mcap."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from io import IOBase
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, cast

import numpy as np

from rne_dynamics.errors import MissingDependencyError, RecordingError
from rne_dynamics.figures.style import output_file
from rne_dynamics.model.protocol import Robot
from rne_dynamics.recording.messages import (
    FLOATS,
    INSTALL,
    JOINT_STATE,
    NANOSECONDS,
    definition,
    float_arrays,
    joint_states,
    typestore,
)

if TYPE_CHECKING:
    from rne_dynamics.simulation.runs.log import Log

#: As rosbag2 writes them; Foxglove and PlotJuggler read these.
PROFILE, SCHEMA_ENCODING, MESSAGE_ENCODING = "ros2", "ros2msg", "cdr"
LIBRARY = "rne_dynamics"
SUFFIX = ".mcap"
#: Uncompressed size of a chunk, bytes: what a reader decompresses to find one message.
CHUNK_SIZE = 512 * 1024


class McapFile:
    """Writer of one MCAP file in a folder that is created; `RecordingError` if it exists and is not to be replaced."""

    def __init__(self, path: Path, *, replace: bool = False) -> None:
        check_installed()
        from mcap.writer import CompressionType, Writer

        self.path = path
        self._stream = _WholeRecords(path, replace=replace)
        self._schemas: dict[str, int] = {}
        stream = cast("IO[bytes]", self._stream)  # the writer needs no more of it
        self._writer = Writer(stream, chunk_size=CHUNK_SIZE, compression=CompressionType.LZ4)
        self._writer.start(PROFILE, LIBRARY)

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._stream.size

    def channel(self, topic: str, kind: str, definition: str) -> int:
        """Add a topic with a message type and its `definition`; return the number of its channel."""
        if kind not in self._schemas:
            self._schemas[kind] = self._writer.register_schema(kind, SCHEMA_ENCODING, definition.encode())
        return self._writer.register_channel(topic, MESSAGE_ENCODING, self._schemas[kind], {})

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

    def __enter__(self) -> McapFile:
        return self

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

    def flush(self) -> None:
        """Nothing: everything is passed on at once."""

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
    if path.suffix != SUFFIX:
        raise RecordingError(f"{path} cannot be recorded: its ending must be {SUFFIX}")
    if path.exists():
        raise RecordingError(f"{path} exists; name a new file, or delete this one")
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
