"""The part of ros2_control between controllers and topics, which is not installed in these tests.

Written after the C++ of ros-controls/topic_based_hardware_interfaces (July 2026) and PickNikRobotics'
topic_based_ros2_control, whose behaviour towards the simulator it has: QoS, which lists a message holds, NaN for
interfaces that no controller has claimed, and silence while commands and states agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import JointState

INTERFACES = ("position", "velocity", "effort")


class TopicBasedSystem:
    """The hardware component: `read`, then controllers set `commands`, then `write`.

    Parameters
    ----------
    node
        Spun by whoever made it.
    interfaces
        Command interfaces of each joint of the `ros2_control` tag.
    threshold
        `trigger_joint_command_threshold`.
    """

    def __init__(
        self, node: Node, interfaces: Mapping[str, Sequence[str]], threshold: float = 1e-5
    ) -> None:
        self._node, self._interfaces, self._threshold = node, interfaces, threshold
        self.states = {(joint, kind): np.nan for joint in interfaces for kind in INTERFACES}
        self.commands = {(joint, kind): np.nan for joint, kinds in interfaces.items() for kind in kinds}
        self.written = 0
        self._latest: JointState | None = None
        self._publisher = node.create_publisher(JointState, "robot_joint_commands", QoSProfile(depth=1))
        node.create_subscription(JointState, "robot_joint_states", self._on_state, qos_profile_sensor_data)

    def _on_state(self, message: JointState) -> None:
        self._latest = message

    @property
    def ready(self) -> bool:
        """Whether states come and somebody takes commands."""
        self.read()
        return self._latest is not None and self._publisher.get_subscription_count() > 0

    def read(self) -> None:
        """States from the topic."""
        if self._latest is None:
            return
        for i, joint in enumerate(self._latest.name):
            for kind in INTERFACES:
                values = getattr(self._latest, kind)
                if (joint, kind) in self.states and len(values) and np.isfinite(values[i]):
                    self.states[joint, kind] = values[i]

    def write(self) -> None:
        """Commands to the topic, unless they are what the states are already."""
        difference = sum(abs(self.states[key] - command) for key, command in self.commands.items())
        if difference <= self._threshold:  # NaN, an interface that nobody has claimed, is not
            return
        message = JointState(name=list(self._interfaces))
        message.header.stamp = self._node.get_clock().now().to_msg()
        for kind in INTERFACES:
            values = [self.commands[joint, kind] for joint, kinds in self._interfaces.items() if kind in kinds]
            getattr(message, kind).extend(values)
        self._publisher.publish(message)
        self.written += 1
