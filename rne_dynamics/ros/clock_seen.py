"""What a node in simulated time has dealt with, on ``~/clock_seen``: a simulation in lock-step waits for it."""

from __future__ import annotations

from typing import NamedTuple

from std_msgs.msg import Int64MultiArray

from rne_dynamics.control.gate_settings import GateMode
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.ros.lifecycle import OFFERED, ArmNode

#: Modes of controllers and of the gate by their number in the message.
MODES = tuple(dict.fromkeys(mode.value for modes in (Mode, GateMode) for mode in modes))


class ClockSeen(NamedTuple):
    """One acknowledgement; the message holds these numbers in this order.

    Parameters
    ----------
    time
        The last simulated time that the node has acted on, ns.
    states
        Messages on joint_states, and commands to the gate, that it has dealt with since it was configured.
    efforts
        Efforts that it has sent since then: the publication sequence number of the last one.
    mode
        Its mode, as its place in `MODES`.
    setpoints
        Setpoints that it has dealt with since it was configured, followed or not.
    """

    time: int
    states: int
    efforts: int
    mode: int
    setpoints: int = 0


class SeenPublisher:
    """Publishes what a controller has dealt with, after each message that it took.

    Efforts alone do not tell: a state that is refused and a time at which nothing is due are answered by none.

    Parameters
    ----------
    node
        The controller, its loop, or the gate.
    """

    def __init__(self, node: ArmNode) -> None:
        self._publisher = node.keep(node.create_publisher(Int64MultiArray, "~/clock_seen", OFFERED))
        self._message = Int64MultiArray()

    def publish(self, seen: ClockSeen) -> None:
        """Send one."""
        self._message.data = list(seen)
        self._publisher.publish(self._message)
