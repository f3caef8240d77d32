"""The effort gate's wait: two topics and one deadline, and the executor's turn in the pauses.

As `HotLoop`, which waits for one topic. Commands are served first: what a controller sends must not wait for a joint
state.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from rclpy.executors import Executor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from rne_dynamics.ros.glance import Glance, TakenByHand
from rne_dynamics.ros.hot_loop import EXECUTOR_PERIOD, SERVICE_PERIOD, step, take
from rne_dynamics.ros.lifecycle import NEWEST
from rne_dynamics.ros.loop_clock import LoopClock


class GateLoop:
    """Waits for commands and joint states, both as bytes.

    Parameters
    ----------
    node
        The node.
    commands, states
        The topics.
    on_command, on_state
        Called with each command or joint state, and the sender's running number of it.
    clock, on_time
        The clock, which is simulated or steady, and what is called with each simulated time.
    """

    def __init__(
        self, node: Node, commands: str, states: str, on_command: Callable[[bytes, int], None],
        on_state: Callable[[bytes, int | None], None], clock: LoopClock, on_time: Callable[[], None],
    ) -> None:
        def subscribe(kind: type, topic: str) -> Subscription:
            return node.create_subscription(kind, topic, lambda _: None, NEWEST, callback_group=TakenByHand(), raw=True)

        self.commands, self.states = subscribe(Float64MultiArray, commands), subscribe(JointState, states)
        self._on_command, self._on_state = on_command, on_state
        self.clock, self._on_time = clock, on_time
        self._wait_set = rclpy_implementation.WaitSet(3, 0, 0, 0, 0, 0, node.context.handle)
        self._glance, self._serving = Glance(node), False
        self._service_at = self._executor_at = 0.0

    def turn(self, longest: float) -> bool:
        """Wait for a message, at most `longest` seconds, and serve what has come; whether a command has come."""
        commands, states = self.commands.handle, self.states.handle
        with commands, states:
            self._wait_set.clear_entities()
            self._wait_set.add_subscription(commands)
            self._wait_set.add_subscription(states)
            if self.clock.subscription is not None:
                self._wait_set.add_subscription(self.clock.subscription.handle)
            self._wait_set.wait(max(int(longest * 1e9), 0))
        command = take(self.commands, Float64MultiArray, raw=True)
        if command is not None:
            self._on_command(command[0], command[1]["publication_sequence_number"])
        state = take(self.states, JointState, raw=True)
        if state is not None:
            self._on_state(state[0], state[1]["publication_sequence_number"])
        if self.clock.take():
            self._on_time()
        return command is not None

    def serve(self, executor: Executor, *, pause: bool) -> None:
        """Let the executor do one thing if it is due: in a pause after a command, or where none has come for long."""
        now = time.monotonic()
        if now < self._service_at or not (pause or now >= self._service_at + SERVICE_PERIOD):
            return
        if self._serving or now >= self._executor_at or self._glance.anything(executor):
            self._serving = step(executor)
            if not self._serving:
                self._executor_at = now + EXECUTOR_PERIOD
        if not self._serving:
            self._service_at = now + SERVICE_PERIOD
