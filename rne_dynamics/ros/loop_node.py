"""The node of a control loop: it has topics alone, named as the controller's own node names them."""

from __future__ import annotations

from typing import Any, TypeVar

from rclpy.node import Node
from rclpy.parameter import Parameter

from rne_dynamics.ros.loop_clock import USE_SIM_TIME
from rne_dynamics.ros.loop_messages import Setup

#: Names in `Setup.topics` of the topic that reports whether the drives act, of the one that measures the motion of the
#: base, and of the one of `SeenPublisher`.
DRIVES, BASE, CLOCK_SEEN = "drives", "base", "clock_seen"
#: Topic of setpoints.
SETPOINTS = "~/setpoints"

Entity = TypeVar("Entity")


class LoopNode(Node):  # type: ignore[misc]  # rclpy may be absent where types are checked
    """A node without parameters and services."""

    def __init__(self, setup: Setup) -> None:
        self._topics = setup.topics
        super().__init__(
            setup.name, namespace=setup.namespace, use_global_arguments=False, enable_rosout=False,
            start_parameter_services=False,
            parameter_overrides=[
                Parameter("start_type_description_service", value=False),
                Parameter(USE_SIM_TIME, value=setup.simulated),
            ],
        )

    def keep(self, entity: Entity) -> Entity:
        """Return the entity: all last as long as the node."""
        return entity

    def create_publisher(self, kind: type, topic: str, *arguments: Any, **options: Any) -> Any:
        """As `Node`, with the topic's full name."""
        return super().create_publisher(kind, self._topics.get(topic, topic), *arguments, **options)

    def create_subscription(self, kind: type, topic: str, *arguments: Any, **options: Any) -> Any:
        """As `Node`, with the topic's full name."""
        return super().create_subscription(kind, self._topics.get(topic, topic), *arguments, **options)
