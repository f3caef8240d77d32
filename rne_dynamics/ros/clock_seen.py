"""What the nodes in simulated time have dealt with: a simulation in lock-step waits for it.

All nodes that follow a clock publish it on one topic, which is named after that clock: ``/clock_seen`` for ``/clock``.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

from rclpy.node import Node
from std_msgs.msg import Int64MultiArray

from rne_dynamics.control.gate.settings import GateMode
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.ros.lifecycle import OFFERED, ArmNode

#: Modes of controllers and of the gate by their number in the message.
MODES = tuple(dict.fromkeys(mode.value for modes in (Mode, GateMode) for mode in modes))
#: What the name of the control loop's node has behind the controller's.
LOOP = "_loop"


class ClockSeen(NamedTuple):
    """One acknowledgement; the message holds these numbers in this order.

    Parameters
    ----------
    node
        Who sends it: `number_of` the node's full name.
    time
        The last simulated time that the node has acted on, ns.
    states
        Messages on joint_states, and commands to the gate, that it has dealt with since it was configured.
    efforts
        Efforts that it has sent since then: the publication sequence number of the last one.
    mode
        Its mode, as its place in `MODES`.
    stamp
        Stamp of the last joint state that it has dealt with, ns.
    target
        Where the efforts go: `number_of` the topic.
    source, commands
        Of the gate, where its commands come from, likewise, and the publication sequence number of the last one; 0 of
        a controller.
    setpoints
        Setpoints that it has dealt with since it was configured, followed or not.
    """

    node: int
    time: int
    states: int
    efforts: int
    mode: int
    stamp: int
    target: int
    source: int = 0
    commands: int = 0
    setpoints: int = 0


def number_of(name: str) -> int:
    """A number that stands for the full name of a node or topic."""
    return zlib.crc32(name.encode())


def seen_topic(node: Node) -> str:
    """The topic of the acknowledgements, named after the clock that the node follows or publishes."""
    return str(node.resolve_topic_name("/clock")) + "_seen"


class SeenPublisher:
    """Publishes what a controller has dealt with, after each message that it took.

    Efforts alone do not show it: a state that is refused, and a time at which nothing is due, are answered by none.

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
