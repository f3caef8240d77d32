"""The mode of a controller or gate: on the latched topic ``~/state``, and in the log."""

from __future__ import annotations

from enum import Enum

from rclpy.publisher import Publisher
from std_msgs.msg import String

from rne_dynamics.ros.lifecycle import ArmNode
from rne_dynamics.ros.qos import LATCHED


class ModeTopic:
    """Publishes and logs modes; before `open` and after `close` it only logs.

    Parameters
    ----------
    node
        The node.
    """

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
