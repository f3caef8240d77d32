"""Topics recorded to MCAP files: found by their names, taken as bytes, losses counted."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy

from rne_dynamics.recording.mcap_file import SUFFIX, McapFile
from rne_dynamics.ros.message_definition import definition, message_class
from rne_dynamics.ros.topic_recorder import TopicRecorder

#: Messages of a topic that may wait; at 1 kHz those of 4 s.
DEPTH = 4000
MEGABYTE = 1_000_000


@dataclass
class Stream:
    """One topic, and what was received of it.

    `lost` counts gaps in the sender's numbers, where all its messages came from one sender.
    """

    recorder: TopicRecorder
    kind: str
    definition: str
    channel: int
    received: int = 0
    lost: int = 0
    newest: int = 0
    senders: int = 1

    @property
    def report(self) -> str:
        """The counts in words."""
        return f"{self.received} received, " + (f"{self.lost} lost" if self.senders == 1 else "losses unknown")


class TopicRecording:
    """Recording of all topics whose names match, also of those that appear later.

    Parameters
    ----------
    node
        A node that no executor spins.
    path
        The first file. Those after it have numbers.
    topics
        Names, absolute or in the node's namespace; ``*`` stands for one part.
    file_size, total_size
        As the parameters, bytes.
    log
        Called with a level, "info" or "warning", and a text.

    Raises
    ------
    RecordingError
        The file exists or cannot be written, here and in `drain`, `flush` and `close`.
    """

    def __init__(
        self, node: Node, path: Path, topics: Sequence[str], file_size: float, total_size: float,
        log: Callable[[str, str], None],
    ) -> None:
        self._node, self._first, self._log = node, path, log
        self._patterns = re.compile("|".join(pattern(node.get_namespace(), topic) for topic in topics))
        self._file_size, self._total_size = file_size, total_size
        self._written, self._files, self._refused = 0, 1, set[str]()
        self._warned = 0
        self.streams: dict[str, Stream] = {}
        self.file = McapFile(path)

    @property
    def size(self) -> int:
        """Bytes in all files."""
        return self._written + self.file.size

    @property
    def full(self) -> bool:
        """Whether the recording has reached its total size."""
        return self.size >= self._total_size

    def discover(self) -> None:
        """Subscribe to the topics that have come up since the last call."""
        for topic, kinds in self._node.get_topic_names_and_types():
            if topic in self.streams or topic in self._refused or not self._patterns.fullmatch(topic):
                continue
            publishers = self._node.get_publishers_info_by_topic(topic)
            if not publishers:
                continue
            kind = message_class(kinds[0]) if len(kinds) == 1 else None
            if kind is None:
                self._refused.add(topic)
                why = f"type {kinds[0]} is not installed" if len(kinds) == 1 else f"it has the types {', '.join(kinds)}"
                self._log("warning", f"{topic} is not recorded: {why}")
                continue
            latched = any(p.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for p in publishers)
            text = definition(kinds[0])
            stream = Stream(
                TopicRecorder(self._node, kind, topic, DEPTH, latched=latched), kinds[0], text,
                self.file.channel(topic, kinds[0], text),
            )
            self.streams[topic] = stream
            self._log("info", f"records {topic} ({kinds[0]})")
        for topic, stream in self.streams.items():
            stream.senders = max(stream.senders, self._node.count_publishers(topic))

    def drain(self) -> None:
        """Write the waiting messages, and begin another file where this one is large enough."""
        for stream in self.streams.values():
            stream.recorder.drain()
            for sent, received, data, sequence in stream.recorder.samples:
                stream.lost += max(sequence - stream.newest - 1, 0) if stream.received else 0
                stream.newest = sequence
                stream.received += 1
                self.file.write(stream.channel, data, received, sent, sequence)
            stream.recorder.samples.clear()
        if self.file.size >= self._file_size and not self.full:
            self._next_file()

    def flush(self) -> None:
        """Make everything so far readable, and log new losses."""
        self.file.flush()
        lost = {topic: s.lost for topic, s in self.streams.items() if s.lost and s.senders == 1}
        if sum(lost.values()) > self._warned:
            self._warned = sum(lost.values())
            counts = ", ".join(f"{count} of {topic}" for topic, count in lost.items())
            self._log("warning", f"messages that were not recorded, so far: {counts}; the computer is too busy")

    def close(self) -> None:
        """Note the counts in the file, and close it."""
        self.file.note("messages", {topic: stream.report for topic, stream in self.streams.items()})
        self.file.close()

    def _next_file(self) -> None:
        self.close()
        self._written += self.file.size
        self._files += 1
        path = self._first.with_stem(f"{self._first.stem}_{self._files}")
        self.file = McapFile(path)
        for topic, stream in self.streams.items():
            stream.channel = self.file.channel(topic, stream.kind, stream.definition)
        self._log("info", f"goes on in {path}")


def pattern(namespace: str, topic: str) -> str:
    """A regular expression for the whole names of topics."""
    whole = topic if topic.startswith("/") else f"{namespace.rstrip('/')}/{topic}"
    return "[^/]*".join(map(re.escape, whole.split("*")))


def new_file(output: str) -> Path:
    """The file of the parameter `output`."""
    path = Path(output)
    return path if path.suffix == SUFFIX else path / f"{time.strftime('%Y-%m-%d_%H-%M-%S')}{SUFFIX}"
