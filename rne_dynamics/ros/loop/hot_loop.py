"""Loops that wait for one or two topics and one deadline, without the cost of an executor for each message.

rclpy's executor makes a new wait set of all the node's entities for every message, which costs more than the control
law. Here the one topic is waited for with a wait set that is made once (`TopicWait`). Services, parameters, timers and
the other topics are polled periodically, in the pause after a message, and served by the executor (`NodeExecutor`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from rne_dynamics.ros.loop.clock import LoopClock
from rne_dynamics.ros.messages.topic_wait import NEWEST, TopicWait, polled_subscription, take
from rne_dynamics.ros.node.executor import NodeExecutor

#: Period at which the executor is polled, s; bounds the delay of services, parameters and trajectories.
SERVICE_PERIOD = 0.05
#: Longest wait for a message, s; bounds the delay of signals and of the watchdog.
LONGEST_WAIT = 0.01
#: Round-off of times that are compared, s: a simulated clock may step by just the period.
TIME_ROUNDING = 1e-7


class HotLoop:
    """Waits for messages of one topic, `raw` as bytes, and for deadlines, of which it says whether each is late."""
    # making Python objects of messages costs more than all other processing

    def __init__(
        self, node: Node, kind: type, topic: str, profile: QoSProfile, on_message: Callable[[Any], None],
        period: float | None = None, on_deadline: Callable[[bool], None] | None = None, *, raw: bool = False,
        clock: LoopClock | None = None, on_time: Callable[[], None] = lambda: None,
    ) -> None:
        self.subscription = polled_subscription(node, kind, topic, profile, raw=raw)
        self._kind, self._on_message, self._raw = kind, on_message, raw
        self._period, self._on_deadline = period, on_deadline
        self._clock, self._on_time = clock, on_time
        self._now: Callable[[], float] = time.monotonic if clock is None else clock.now
        self._deadline = self._now()
        self._service_at = 0.0
        #: Publication sequence number of the last message; None where the middleware has none.
        self.sequence: int | None = None
        self._further: list[tuple[Subscription, type, Callable[[Any], None]]] = []
        ticks = None if clock is None else clock.subscription
        self._ticking = ticks is not None
        self._messages = TopicWait(node, *((self.subscription, ticks) if self._ticking else (self.subscription,)))

    def add_topic(
        self, node: Node, kind: type, topic: str, depth: int, on_message: Callable[[Any], None]
    ) -> Subscription:
        """Subscribe to a topic whose waiting messages are all served when the executor is."""
        subscription = polled_subscription(node, kind, topic, depth)
        self._further.append((subscription, kind, on_message))
        return subscription

    def turn(self, executor: NodeExecutor | None = None, longest: float = LONGEST_WAIT) -> None:
        """Wait for one message or deadline, at most `longest`, s, and serve it; then the executor, if that is due."""
        now = self._meet_deadline()
        if self._period is not None and not self._ticking:
            longest = min(longest, max(self._deadline - now, 0.0))
        self._messages.wait(longest)
        if self._clock is not None and self._clock.take():
            self._meet_deadline()  # before `on_time`: a simulation in lock-step expects the effort first
            self._on_time()
        self._take()
        if executor is not None and now >= self._service_at and not executor.serve(now):
            self._service_at = now + SERVICE_PERIOD
            for subscription, kind, on_message in self._further:
                for _ in range(subscription.qos_profile.depth):  # not endless if they come as fast as they are taken
                    taken = take(subscription, kind)
                    if taken is None:
                        break
                    on_message(taken[0])

    def hasten(self, seconds: float) -> None:
        """Move the next deadline ahead; for `on_deadline`, no effect where a whole period is late."""
        self._deadline -= seconds

    def _meet_deadline(self) -> float:
        """Call `on_deadline` if it is due; returns the steady clock's time afterwards, s."""
        at = self._now()
        if self._period is None or self._on_deadline is None or at < self._deadline - TIME_ROUNDING:
            return time.monotonic()
        self._take()  # messages that came in time are served first
        late = at - self._deadline
        self._on_deadline(late > 0.5 * self._period)
        # deadlines are absolute; a whole lost period moves them and is not caught up
        self._deadline = self._deadline + self._period if late < self._period - TIME_ROUNDING else at + self._period
        return time.monotonic()

    def _take(self) -> None:
        taken = take(self.subscription, self._kind, self._raw)
        if taken is not None:
            self.sequence = taken[1].get("publication_sequence_number")
            self._on_message(taken[0])


class GateLoop:
    """Waits for commands and joint states, both serialised. Commands first: they must not wait for a joint state."""

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
        """Wait for a message, at most `longest` seconds, and serve all that came; whether a command was among them."""
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
        """Let the executor do one thing if it is due: in a pause after a command, or if none has come for long."""
        now = time.monotonic()
        if now < self._service_at or not (pause or now >= self._service_at + SERVICE_PERIOD):
            return
        if not executor.serve(now):
            self._service_at = now + SERVICE_PERIOD
