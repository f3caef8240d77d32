"""Base of nodes that send efforts to an arm: mode, status, requests to stop and recover, joints not controlled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from rclpy.publisher import Publisher
from std_msgs.msg import String
from std_srvs.srv import Trigger

from rne_dynamics.control.locked_joints import LockedJoints
from rne_dynamics.control.motion.limits import endless
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.control.thresholds import LOCK_PERIOD
from rne_dynamics.ros.messages.topic_wait import LATCHED
from rne_dynamics.ros.node.diagnostics import Diagnostics
from rne_dynamics.ros.node.lifecycle import ArmNode
from rne_dynamics.ros.parameters.files import Values


class DrivingNode(ArmNode):
    """A node between joint states and efforts. Its mode is on ``~/state`` while it is configured."""

    _modes: Publisher | None = None

    def open(
        self, mode: Callable[[], Enum], requests: Mapping[str, Callable[[Any], object]], *, report: Callable[[], None],
        changed: Callable[[Values], Callable[[], None]], follow_locked: Callable[[], None],
    ) -> None:
        """Make the topic of the mode, the services of the `requests` by name, whose response it is, and the timers."""
        self.others = LockedJoints(self.locked, endless(self.found.free))
        self._modes = self.keep(self.create_publisher(String, "~/state", LATCHED))
        self.diagnostics = Diagnostics(self)
        for name, action in requests.items():
            self.offer(Trigger, f"~/{name}", action, lambda: str(mode().value))
        if self.locked:
            self.every(LOCK_PERIOD, follow_locked)
        self.every(self.parameters["diagnostics_period"], report)
        self.parameters.prepare = changed
        self.publish_mode(mode())

    def publish_mode(self, mode: Enum) -> None:
        """Publish a mode, while the node is configured."""
        if self._modes is not None:
            self._modes.publish(String(data=mode.value))

    def enter(self, mode: Enum, cause: str, *, error: bool, warning: bool) -> None:
        """Log and publish a mode that was entered, or a cause to stay in it, as an error or a warning if it is one."""
        level = "error" if error else "warning" if warning else "info"
        self.log(level, f"{mode.value}: {cause}" if cause else mode.value)
        self.publish_mode(mode)

    def release(self) -> None:
        """As the base; the last mode is that of a node without a robot."""
        self.publish_mode(Mode.UNCONFIGURED)
        self._modes = None
        super().release()
