"""Topics recorded to MCAP files: found by their names, taken as bytes, losses counted."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message

from rne_dynamics.recording.mcap_file import SUFFIX, McapFile
from rne_dynamics.ros.messages.cdr import installed_type
from rne_dynamics.ros.messages.topic_wait import polled_subscription, take


class Sample(NamedTuple):
    """One recorded message, the middleware's times, ns since the epoch, and the sender's count of its messages."""

    sent: int
    received: int
    data: bytes
    sequence: int


class TopicRecorder:
    """Records the serialised messages of a topic; `drain` must be called before `depth` messages wait."""
    # of a node that no executor spins; `latched`: also the last one before; `reliable`: a sender waits for it at its
    # end

    def __init__(
        self, node: Node, kind: type, topic: str, depth: int = 2000, *, latched: bool = False, reliable: bool = False
    ) -> None:
        self.kind = kind
        profile = QoSProfile(
            depth=depth,
            reliability=ReliabilityPolicy.RELIABLE if reliable or latched else ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
        )
        self._subscription = polled_subscription(node, kind, topic, profile, raw=True)
        self.topic = self._subscription.topic_name
        self.samples: list[Sample] = []

    def drain(self) -> None:
        """Take the waiting messages."""
        while (taken := take(self._subscription, self.kind, True)) is not None:
            data, info = taken
            self.samples.append(Sample(
                info["source_timestamp"], info["received_timestamp"], data, info["publication_sequence_number"] or 0
            ))

    def decode(self, sample: Sample) -> Any:
        """The message of a sample."""
        return deserialize_message(sample.data, self.kind)

    def latest(self) -> Any | None:
        """The newest message, or None."""
        self.drain()
        return self.decode(self.samples[-1]) if self.samples else None


#: Messages of a topic that may wait; at 1 kHz those of 4 s.
DEPTH = 4000
#: Forms of types in rosidl's Python classes, and those of .msg files, where they differ.
_FORMS = (
    (r"^sequence<(.+), (\d+)>$", r"\1[<=\2]"), (r"^sequence<(.+)>$", r"\1[]"), (r"^(w?string)<(\d+)>", r"\1<=\2"),
    (r"^double\b", "float64"), (r"^float\b", "float32"), (r"^boolean\b", "bool"), (r"^octet\b", "byte"),
)  # fmt: skip
_SEPARATOR = "=" * 80


@dataclass
class Stream:
    """One topic, and what was received of it; `lost` counts gaps in the numbers of a single sender."""

    recorder: TopicRecorder
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
    """Recording of all topics whose names match, also of those that appear later."""
    # RecordingError: the file exists or cannot be written, here and in `drain` and `close`

    def __init__(self, node: Node, path: Path, topics: Sequence[str], log: Callable[[str, str], None]) -> None:
        self._node, self._log = node, log
        self._patterns = re.compile("|".join(pattern(node.get_namespace(), topic) for topic in topics))
        self._refused = set[str]()
        self.streams: dict[str, Stream] = {}
        self.file = McapFile(path)

    def discover(self) -> None:
        """Subscribe to the topics that have come up since the last call."""
        for topic, kinds in self._node.get_topic_names_and_types():
            if topic in self.streams or topic in self._refused or not self._patterns.fullmatch(topic):
                continue
            publishers = self._node.get_publishers_info_by_topic(topic)
            if not publishers:
                continue
            kind = installed_type(kinds[0]) if len(kinds) == 1 else None
            if kind is None:
                self._refused.add(topic)
                why = f"type {kinds[0]} is not installed" if len(kinds) == 1 else f"it has the types {', '.join(kinds)}"
                self._log("warning", f"{topic} is not recorded: {why}")
                continue
            latched = any(p.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for p in publishers)
            self.streams[topic] = Stream(
                TopicRecorder(self._node, kind, topic, DEPTH, latched=latched),
                self.file.channel(topic, kinds[0], definition(kinds[0])),
            )
            self._log("info", f"records {topic} ({kinds[0]})")
        for topic, stream in self.streams.items():
            stream.senders = max(stream.senders, self._node.count_publishers(topic))

    def drain(self) -> None:
        """Write the waiting messages."""
        for stream in self.streams.values():
            stream.recorder.drain()
            for sent, received, data, sequence in stream.recorder.samples:
                stream.lost += max(sequence - stream.newest - 1, 0) if stream.received else 0
                stream.newest = sequence
                stream.received += 1
                self.file.write(stream.channel, data, received, sent, sequence)
            stream.recorder.samples.clear()

    def close(self) -> None:
        """Note the counts in the file, and close it."""
        self.file.note("messages", {topic: stream.report for topic, stream in self.streams.items()})
        self.file.close()


def pattern(namespace: str, topic: str) -> str:
    """A regular expression for the whole names of topics."""
    whole = topic if topic.startswith("/") else f"{namespace.rstrip('/')}/{topic}"
    return "[^/]*".join(map(re.escape, whole.split("*")))


def new_file(output: str) -> Path:
    """The file of the parameter `output`."""
    path = Path(output)
    return path if path.suffix == SUFFIX else path / f"{time.strftime('%Y-%m-%d_%H-%M-%S')}{SUFFIX}"


def definition(kind: str) -> str:
    """The definition of a type and all that it contains, as MCAP's encoding ``ros2msg``; LookupError."""
    # from the Python class, which has fields only, as the package of the type may have no files
    parts: dict[str, str] = {}
    waiting = [kind]
    while waiting:
        name = waiting.pop(0)
        if name in parts:
            continue
        found = installed_type(name)
        if found is None:
            raise LookupError(f"message type {name} is not installed")
        lines = []
        for field, text in found.get_fields_and_field_types().items():
            written = _as_in_files(text)
            element = written.partition("[")[0]
            if "/" in element:
                waiting.append("/msg/".join(element.split("/")))
            lines.append(f"{written} {field}")
        parts[name] = "\n".join(lines)
    first, *others = parts.items()
    sections = [first[1], *(f"{_SEPARATOR}\nMSG: {name.replace('/msg/', '/')}\n{text}" for name, text in others)]
    return "\n".join(sections) + "\n"


def _as_in_files(text: str) -> str:
    """The type of a field as .msg files have it, from rosidl's text."""
    for form, written in _FORMS:
        text = re.sub(form, written, text)
    return text
