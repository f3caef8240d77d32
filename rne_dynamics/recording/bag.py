"""Serialised messages of MCAP files and ROS 2 bags, with the types that they have there."""

from __future__ import annotations

import contextlib
import sqlite3
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from yaml import YAMLError

from rne_dynamics.description.yaml_nodes import MOST_BYTES, plain
from rne_dynamics.errors import MissingDependencyError, RecordingError
from rne_dynamics.input_file import check_regular, read_limited
from rne_dynamics.recording.mcap_file import (
    CONTROLLER_STATE,
    FLOATS,
    INSTALL,
    JOINT_STATE,
    MESSAGE_ENCODING,
    deserialised,
    new_typestore,
)

if TYPE_CHECKING:
    from mcap.records import Chunk, McapRecord
    from rosbags.typesys.store import Typestore

#: What compressed parts of a file may have unpacked, bytes, and how many times the file's size; joint states unpack to
#: 3 times theirs.
_MOST_UNPACKED, _RATIO = 200_000_000, 20
#: Types that a recording is made of; others are not kept in memory.
READ = (JOINT_STATE, FLOATS, CONTROLLER_STATE)


class Stored(NamedTuple):
    """A serialised message, and when it was sent, ns since the epoch."""

    sent: int
    data: bytes


@dataclass
class Messages:
    """The messages of a file."""

    #: What deserialises them.
    types: Typestore
    #: Type of each topic.
    kinds: dict[str, str] = field(default_factory=dict)
    #: Messages of the types in `READ`, in the order of the file.
    by_topic: dict[str, list[Stored]] = field(default_factory=dict)
    #: What is wrong with the file.
    notes: list[str] = field(default_factory=list)

    def add_topic(self, topic: str, kind: str, text: str, encoding: str) -> None:
        """Note a topic, and the definition of its type if it is read and ROS's core packages lack it."""
        from rosbags.typesys import get_types_from_msg

        self.kinds[topic] = kind
        if kind in READ:
            self.by_topic.setdefault(topic, [])
            if kind not in self.types.fielddefs and encoding == "ros2msg":
                found = get_types_from_msg(text, kind)
                self.types.register({name: x for name, x in found.items() if name not in self.types.fielddefs})

    def decoded(self, topic: str, source: str) -> list[Any]:
        """The messages of a topic; `RecordingError` where one is not what its type says."""
        from rosbags.serde import SerdeError

        kind = self.kinds[topic]
        try:
            return deserialised(self.types, kind, [message.data for message in self.by_topic[topic]])
        except (SerdeError, struct.error, ValueError, LookupError, TypeError, AssertionError) as error:
            raise RecordingError(f"{source}: a message on {topic} is no {kind}: {error}") from None


def mcap_messages(path: Path) -> Messages:
    """The messages of an MCAP file, also of one whose writer was killed; `RecordingError` if it is none."""
    try:
        from mcap.exceptions import McapError
        from mcap.records import Channel, Message, Schema
        from mcap.stream_reader import StreamReader
    except ImportError:
        raise MissingDependencyError(f"{path}: MCAP files need mcap: {INSTALL}") from None
    found, schemas, channels = Messages(new_typestore()), {}, {}
    try:
        size = check_regular(path)
        with path.open("rb") as file:
            reader = StreamReader(file, record_size_limit=max(size, 1), emit_chunks=True)
            for record in _without_chunks(path, reader.records, max(_MOST_UNPACKED, _RATIO * size)):
                if isinstance(record, Schema):
                    schemas[record.id] = record
                elif isinstance(record, Channel) and record.message_encoding == MESSAGE_ENCODING:
                    schema = schemas[record.schema_id]
                    channels[record.id] = record.topic
                    if record.topic not in found.kinds:
                        text = schema.data.decode("utf-8", "replace")
                        found.add_topic(record.topic, schema.name, text, schema.encoding)
                elif isinstance(record, Message) and channels.get(record.channel_id) in found.by_topic:
                    found.by_topic[channels[record.channel_id]].append(
                        Stored(record.publish_time or record.log_time, record.data)
                    )
    except (McapError, OSError, struct.error, ValueError, KeyError, EOFError, RuntimeError) as error:
        if not found.kinds:
            raise RecordingError(f"{path} cannot be read as MCAP: {type(error).__name__} {error}") from None
        found.notes.append(
            f"{path} ends without index, as after a writer was killed: what comes before is read; `mcap recover` makes "
            "a whole file of it"
        )
    return found


def _without_chunks(path: Path, records: Iterable[McapRecord], most: int) -> Iterator[McapRecord]:
    """The records, also those in chunks, which are unpacked if all of them together have at most `most` bytes."""
    from mcap.exceptions import McapError
    from mcap.records import Chunk
    from mcap.stream_reader import breakup_chunk

    for record in records:
        if not isinstance(record, Chunk):
            yield record
            continue
        if (unpacks := _unpacked_size(record)) > record.uncompressed_size:
            raise McapError(f"a chunk says that it has {record.uncompressed_size} bytes, and has {unpacks} or more")
        most -= record.uncompressed_size
        if most < 0:
            raise RecordingError(
                f"{path} unpacks to more than {_MOST_UNPACKED // 1_000_000} MB and {_RATIO} times its size; record it "
                "with another compression if it is a recording"
            )
        try:
            unpacked = breakup_chunk(record)
        except Exception as error:  # noqa: BLE001 - each compression raises its own
            raise McapError(f"a chunk cannot be unpacked: {' '.join(str(error).split())}") from None
        yield from unpacked


def _unpacked_size(chunk: Chunk) -> int:
    """Size of the unpacked data, bytes, or one more than the chunk says; 0 for no compression."""
    if chunk.compression == "zstd":
        import zstandard

        return max(int(zstandard.frame_content_size(chunk.data)), 0)
    if chunk.compression == "lz4":
        from lz4.frame import LZ4FrameDecompressor  # type: ignore[import-untyped, unused-ignore]

        return len(LZ4FrameDecompressor().decompress(chunk.data, max_length=chunk.uncompressed_size + 1))
    return 0


def bag_messages(path: Path) -> Messages:
    """The messages of a bag: a folder with metadata.yaml, or a .db3; `RecordingError` if it is none."""
    try:
        from rosbags.interfaces import MessageDefinitionFormat
        from rosbags.rosbag2 import Reader, ReaderError
    except ImportError:
        raise MissingDependencyError(f"{path}: bags need rosbags: {INSTALL}") from None
    found = Messages(new_typestore())
    try:
        for file in path.iterdir() if path.is_dir() else (path,):
            _check_bag_file(file)
        with Reader(path) as reader:
            for connection in reader.connections:
                encoding = "ros2msg" if connection.msgdef.format == MessageDefinitionFormat.MSG else ""
                found.add_topic(connection.topic, connection.msgtype, connection.msgdef.data, encoding)
            wanted = [c for c in reader.connections if c.topic in found.by_topic]
            for connection, logged, data in reader.messages(wanted) if wanted else ():
                found.by_topic[connection.topic].append(Stored(logged, bytes(data)))
    except (ReaderError, OSError, sqlite3.Error) as error:
        raise RecordingError(f"{path} cannot be read as a ROS 2 bag: {error}") from None
    return found


def _check_bag_file(file: Path) -> None:
    """`RecordingError` for a file of a bag whose reader would never end or take all memory."""
    size = check_regular(file)
    if file.name == "metadata.yaml":
        try:
            plain(read_limited(file, MOST_BYTES))
        except (YAMLError, ValueError, RecursionError) as error:
            raise RecordingError(f"{file} does not describe a bag: {' '.join(str(error).split())}") from None
    elif file.suffix == ".zstd":
        import zstandard

        with file.open("rb") as stream:
            unpacked = zstandard.frame_content_size(stream.read(64))
        if not 0 <= unpacked <= max(_MOST_UNPACKED, _RATIO * size):
            raise RecordingError(f"{file} unpacks to {unpacked if unpacked >= 0 else 'any number of'} bytes; unpack it")
    elif file.suffix == ".db3":
        where = f"file:{quote(str(file.absolute()))}?mode=ro"
        with contextlib.closing(sqlite3.connect(where, uri=True)) as database:
            for name, kind in database.execute("SELECT name, type FROM sqlite_master"):
                if kind in ("view", "trigger"):
                    raise RecordingError(f"{file} has the {kind} {name!r}, which no bag has")


def topics_of(messages: Messages, kinds: Iterable[str]) -> list[str]:
    """Topics of these types that have messages."""
    return [topic for topic, kept in messages.by_topic.items() if kept and messages.kinds[topic] in kinds]
