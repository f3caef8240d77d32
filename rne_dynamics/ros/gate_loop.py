"""The effort gate's wait: two topics and one deadline, and the executor's turn in the pauses.

As `HotLoop`, which waits for one topic. Commands are served first: what a controller sends must not wait for a joint
state.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from rclpy.node import Node
from sensor_msgs.msg import JointState

from rne_dynamics.ros.hot_loop import SERVICE_PERIOD
from rne_dynamics.ros.lifecycle import NEWEST
from rne_dynamics.ros.loop_clock import LoopClock
from rne_dynamics.ros.node_executor import NodeExecutor
from rne_dynamics.ros.topic_wait import TopicWait, polled_subscription, take


class GateLoop:
    """Waits for commands and joint states, both as bytes.

    Parameters
    ----------
    node
        The node.
    commands, states
        The topics.
    kind
        Type of the commands.
    on_command, on_state
        Called with each command or joint state, and the sender's running number of it.
    clock, on_time
        The clock, which is simulated or steady, and what is called with each simulated time.
    """

    def __init__(
        self, node: Node, commands: str, kind: type, states: str, on_command: Callable[[bytes, int], None],
        on_state: Callable[[bytes, int | None], None], clock: LoopClock, on_time: Callable[[], None],
    ) -> None:
        self.commands = polled_subscription(node, kind, commands, NEWEST, raw=True)
        self.states = polled_subscription(node, JointState, states, NEWEST, raw=True)
        self._kind, self._on_command, self._on_state = kind, on_command, on_state
        self.clock, self._on_time = clock, on_time
        ticks = () if clock.subscription is None else (clock.subscription,)
        self._messages = TopicWait(node, self.commands, self.states, *ticks)
        self._service_at = 0.0

    def turn(self, longest: float) -> bool:
        """Wait for a message, at most `longest` seconds, and serve what has come; whether a command has come."""
        self._messages.wait(longest)
        command = take(self.commands, self._kind, raw=True)
        if command is not None:
            self._on_command(command[0], command[1].get("publication_sequence_number", 0))
        state = take(self.states, JointState, raw=True)
        if state is not None:
            self._on_state(state[0], state[1].get("publication_sequence_number"))
        if self.clock.take():
            self._on_time()
        return command is not None

    def serve(self, executor: NodeExecutor, *, pause: bool) -> None:
        """Let the executor do one thing if it is due: in a pause after a command, or where none has come for long."""
        now = time.monotonic()
        if now < self._service_at or not (pause or now >= self._service_at + SERVICE_PERIOD):
            return
        if not executor.serve(now):
            self._service_at = now + SERVICE_PERIOD
