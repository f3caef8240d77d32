"""Recorder of a topic at full rate: messages are taken serialised, in batches, and decoded afterwards."""

from __future__ import annotations

from typing import Any, NamedTuple

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message

from rne_dynamics.ros.messages.topic_wait import polled_subscription, take


class Sample(NamedTuple):
    """One recorded message, the middleware's times, ns since the epoch, and the sender's count of its messages."""

    sent: int
    received: int
    data: bytes
    sequence: int


class TopicRecorder:
    """Records the serialised messages of a topic.

    DDS threads receive in the background; `drain` must be called before `depth` messages wait.

    `node`: a node that no executor spins. `kind`, `topic`: message class and name. `depth`: largest number of waiting
    messages. `latched`: whether to receive the last message from before the subscription too, of a latched topic.
    `reliable`: whether a sender that ends waits until its last message was received; it must offer that.
    """

    def __init__(
        self, node: Node, kind: type, topic: str, depth: int = 2000, *, latched: bool = False, reliable: bool = False
    ) -> None:
        self.kind = kind
        profile = QoSProfile(depth=depth, reliability=ReliabilityPolicy.BEST_EFFORT)
        if reliable or latched:
            profile.reliability = ReliabilityPolicy.RELIABLE
        if latched:
            profile.durability = DurabilityPolicy.TRANSIENT_LOCAL
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
