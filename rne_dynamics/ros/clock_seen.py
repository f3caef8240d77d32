"""Acknowledgements of the nodes in simulated time, for which a simulation in lock-step waits.

All nodes that follow a clock publish them on one topic, named after that clock: ``/clock_seen`` for ``/clock``.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

from rclpy.node import Node
from std_msgs.msg import Int64MultiArray

from rne_dynamics.control.gate.settings import GateMode
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.ros.lifecycle import ArmNode
from rne_dynamics.ros.qos import OFFERED

#: Modes of controllers and of the gate by their number in the message.
MODES = tuple(dict.fromkeys(mode.value for modes in (Mode, GateMode) for mode in modes))
#: Suffix of the control loop's node, after the controller's name.
LOOP = "_loop"


class ClockSeen(NamedTuple):
    """One acknowledgement; the message holds these numbers in this order."""

    #: The sender: `number_of` the node's full name.
    node: int
    #: The last simulated time that the node has acted on, ns.
    time: int
    #: Number of joint states, and of commands to the gate, processed since it was configured.
    states: int
    #: Number of efforts sent since then: the publication sequence number of the last one.
    efforts: int
    #: Its mode, as its place in `MODES`.
    mode: int
    #: Stamp of the last processed joint state, ns.
    stamp: int
    #: Where the efforts go: `number_of` the topic.
    target: int
    #: Of the gate, where its commands come from, likewise, and the publication sequence number of the last one; 0 of a
    #: controller.
    source: int = 0
    commands: int = 0
    #: Number of setpoints processed since it was configured, followed or not.
    setpoints: int = 0


def number_of(name: str) -> int:
    """A number that stands for the full name of a node or topic."""
    return zlib.crc32(name.encode())


def seen_topic(node: Node) -> str:
    """The topic of the acknowledgements, named after the clock that the node follows or publishes."""
    return str(node.resolve_topic_name("/clock")) + "_seen"


class SeenPublisher:
    """Publishes acknowledgements, after each message that a controller or gate has processed.

    Efforts are no acknowledgements: a refused state, and a time at which nothing is due, are answered by none.

    Parameters
    ----------
    node
        The controller's loop, or the gate.
    topic
        As by `seen_topic`.
    """

    def __init__(self, node: ArmNode, topic: str) -> None:
        self.node = number_of(node.get_fully_qualified_name().removesuffix(LOOP))
        self._publisher = node.keep(node.create_publisher(Int64MultiArray, topic, OFFERED))
        self._message = Int64MultiArray()

    def publish(self, seen: ClockSeen) -> None:
        """Send one."""
        self._message.data = list(seen)
        self._publisher.publish(self._message)
