"""Reports of a node: its status on /diagnostics, its mode on ``~/state``, other publishers of its efforts."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from enum import Enum

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.publisher import Publisher
from std_msgs.msg import String

from rne_dynamics.ros.messages.topic_wait import LATCHED
from rne_dynamics.ros.node.lifecycle import ArmNode

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR

#: Shortest time between two lines of log with the same warning, whatever its numbers, s.
LOG_PERIOD = 10.0
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?")
#: Counts in a row after which a finding is reported: discovery takes time, also for a publisher that has ended.
BELIEVED = 2


def first_finding(*findings: tuple[object, bytes, str]) -> tuple[bytes, str]:
    """Level and message of the first finding that is there, the most important ones first; the last always is."""
    return next((level, message) for found, level, message in findings if found)


class Diagnostics:
    """Publishes one status of one node, whose full name is the status's name and hardware id."""

    def __init__(self, node: ArmNode) -> None:
        self._node = node
        self._name = node.get_fully_qualified_name()
        self._publisher = node.keep(node.create_publisher(DiagnosticArray, "/diagnostics", 1))
        self._warned: dict[str, float] = {}

    def publish(self, level: bytes, message: str, values: Mapping[str, object]) -> None:
        """Send one status; numbers are written with six digits."""
        array = DiagnosticArray()
        array.header.stamp = self._node.get_clock().now().to_msg()
        array.status = [
            DiagnosticStatus(
                level=level, name=self._name, message=message, hardware_id=self._name,
                values=[KeyValue(key=k, value=f"{v:.6g}" if isinstance(v, float) else str(v))
                        for k, v in values.items()],
            )
        ]
        self._publisher.publish(array)

    def warn(self, message: str) -> None:
        """Log a warning: a new one at once, the same one at most every `LOG_PERIOD`."""
        kind, now = _NUMBER.sub("#", message), time.monotonic()
        if now - self._warned.get(kind, -LOG_PERIOD) >= LOG_PERIOD:
            self._warned[kind] = now
            self._node.get_logger().warning(message)


class TopicPeers:
    """Counts the publishers and subscribers of the topic of efforts in a node's graph."""

    def __init__(self, node: ArmNode, topic: str) -> None:
        self._node, self._topic = node, node.resolve_topic_name(topic)
        self._others = self._nobody = 0
        self.publishers = self.subscribers = 0

    def count(self) -> None:
        """Count, by the discovery of this process."""
        self.publishers = self._node.count_publishers(self._topic)
        self.subscribers = self._node.count_subscribers(self._topic)
        self._others = self._others + 1 if self.publishers > 1 else 0
        self._nobody = self._nobody + 1 if not self.subscribers else 0

    def finding(self) -> tuple[bytes, str]:
        """Level and text of a warning; empty for none."""
        return first_finding(
            (self._others >= BELIEVED, ERROR,
             f"{self.publishers} nodes publish efforts on {self._topic}: the arm follows the last message. Stop all "
             "but one of them"),
            (self._nobody >= BELIEVED, WARN,
             f"no node subscribes to the efforts on {self._topic}: start the arm's driver, or remap the topic"),
            (True, OK, ""),
        )

    def values(self) -> dict[str, object]:
        """For the diagnostics."""
        return {"publishers of efforts": self.publishers, "listeners to efforts": self.subscribers}


class ModeTopic:
    """Publishes and logs modes; before `open` and after `close` it only logs."""

    def __init__(self, node: ArmNode) -> None:
        self._node = node
        self._publisher: Publisher | None = None

    def open(self) -> None:
        """Make the topic."""
        self._publisher = self._node.keep(self._node.create_publisher(String, "~/state", LATCHED))

    def close(self, mode: Enum) -> None:
        """Publish the last mode; the node then destroys the topic."""
        self.publish(mode)
        self._publisher = None

    def publish(self, mode: Enum) -> None:
        """Publish a mode."""
        if self._publisher is not None:
            self._publisher.publish(String(data=mode.value))

    def enter(self, mode: Enum, cause: str, *, error: bool, warning: bool) -> None:
        """Log and publish a mode that was entered, or a cause to stay in it, as an error or a warning if it is one."""
        level = "error" if error else "warning" if warning else "info"
        self._node.log(level, f"{mode.value}: {cause}" if cause else mode.value)
        self.publish(mode)
