"""The control loop's own wait: one subscription and one deadline, without the executor's work a message.

rclpy's executor builds a new wait set of all the node's entities for every message, which costs more than the
control law. Here the one message that matters is waited for with a wait set that is made once (`TopicWait`); services,
parameters, timers and the other topics are polled every now and then, in the pause after a message, and served by the
executor (`NodeExecutor`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from rne_dynamics.ros.node_executor import NodeExecutor
from rne_dynamics.ros.topic_wait import TopicWait, polled_subscription, take

if TYPE_CHECKING:
    from rne_dynamics.ros.loop_clock import LoopClock

#: How often the executor is asked, s; bounds how late services, parameters and trajectories are noticed.
SERVICE_PERIOD = 0.05
#: Longest wait for a message, s; bounds how late signals and a silent stream are noticed.
LONGEST_WAIT = 0.01
#: Round-off of times that are compared, s: a simulated clock may step by just the period.
ROUNDING = 1e-7


class HotLoop:
    """Waits for messages of one topic and for deadlines.

    Parameters
    ----------
    node
        The node.
    kind, topic, profile
        Of the topic.
    on_message
        Called with each message.
    raw
        Whether with its bytes: making Python objects of them costs more than all else that is done with them.
    period
        Time between two deadlines, s; None for none.
    on_deadline
        Called at each deadline with whether it is late by more than half a period.
    clock, on_time
        Whose time the deadlines are of, the steady clock by default; and what is called with each simulated time.
    """

    def __init__(
        self,
        node: Node,
        kind: type,
        topic: str,
        profile: QoSProfile,
        on_message: Callable[[Any], None],
        period: float | None = None,
        on_deadline: Callable[[bool], None] | None = None,
        *,
        raw: bool = False,
        clock: LoopClock | None = None,
        on_time: Callable[[], None] = lambda: None,
    ) -> None:
        self.subscription = polled_subscription(node, kind, topic, profile, raw=raw)
        self._kind, self._on_message, self._raw = kind, on_message, raw
        self._period, self._on_deadline = period, on_deadline
        self._clock, self._on_time = clock, on_time
        self._now: Callable[[], float] = time.monotonic if clock is None else clock.now
        self._deadline = self._now()
        self._service_at = 0.0
        #: Of the last message, as its sender counts what it publishes; None where the middleware does not say.
        self.sequence: int | None = None
        self._beside: list[tuple[Subscription, type, Callable[[Any], None]]] = []
        ticks = None if clock is None else clock.subscription
        self._ticking = ticks is not None
        self._messages = TopicWait(node, *((self.subscription, ticks) if self._ticking else (self.subscription,)))

    def beside(self, node: Node, kind: type, topic: str, depth: int, on_message: Callable[[Any], None]) -> Subscription:
        """Listen to a further topic, all of whose messages are served when the executor would have its turn.

        For streams: the executor serves one message a turn, so that a stream of more than 20 Hz would lag behind.
        """
        subscription = polled_subscription(node, kind, topic, depth)
        self._beside.append((subscription, kind, on_message))
        return subscription

    def turn(self, executor: NodeExecutor | None = None, longest: float = LONGEST_WAIT) -> None:
        """Wait for one message or deadline, at most `longest` seconds, and serve it.

        Then give `executor` its turn if that is due; None where a transition runs, which is inside the executor.
        """
        now = self._meet_deadline()
        if self._period is not None and not self._ticking:
            longest = min(longest, max(self._deadline - now, 0.0))
        self._messages.wait(longest)
        if self._clock is not None and self._clock.take():
            self._meet_deadline()  # so that a simulation that waits for `on_time` has the effort of this time by then
            self._on_time()
        self._take()
        if executor is not None and now >= self._service_at and not executor.serve(now):
            self._service_at = now + SERVICE_PERIOD
            for subscription, kind, on_message in self._beside:
                for _ in range(subscription.qos_profile.depth):  # no endless loop where they come as fast as taken
                    taken = take(subscription, kind)
                    if taken is None:
                        break
                    on_message(taken[0])

    def hasten(self, seconds: float) -> None:
        """Have the next deadline come sooner; for `on_deadline`, and lost where a whole period is late."""
        self._deadline -= seconds

    def _meet_deadline(self) -> float:
        """Do what is due at this time; the steady clock's time afterwards, s."""
        at = self._now()
        if self._period is None or self._on_deadline is None or at < self._deadline - ROUNDING:
            return time.monotonic()
        self._take()  # what has come in time is served first
        late = at - self._deadline
        self._on_deadline(late > 0.5 * self._period)
        # deadlines are absolute; only a whole lost period moves them, so that nothing is ever caught up
        self._deadline = self._deadline + self._period if late < self._period - ROUNDING else at + self._period
        return time.monotonic()

    def _take(self) -> None:
        taken = take(self.subscription, self._kind, self._raw)
        if taken is not None:
            self.sequence = taken[1].get("publication_sequence_number")
            self._on_message(taken[0])

