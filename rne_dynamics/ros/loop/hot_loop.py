"""A loop that waits for a topic, a clock and a deadline, without the cost of an executor for each message.

rclpy's executor makes a new wait set of all the node's entities for every message, which costs more than the control
law. Here the one topic is waited for with a wait set that is made once (`TopicWait`). Services, parameters, timers and
the other topics are polled periodically, in the pause after a message, and served by the executor (`NodeExecutor`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from rclpy.clock import ClockType
from rclpy.context import Context
from rclpy.event_handler import EventHandler
from rclpy.executors import ShutdownException, SingleThreadedExecutor, TimeoutException
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription
from rclpy.task import Task
from rclpy.time import Time
from rosgraph_msgs.msg import Clock

from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.ros.messages.cdr import ENCAPSULATION, stamp_in
from rne_dynamics.ros.messages.topic_wait import NEWEST, ManualCallbackGroup, TopicWait, polled_subscription, take
from rne_dynamics.ros.node.private_parts import WAIT_SET, handle_of, missing_from_implementation, wait_set

#: Period at which the executor itself polls, s: for what its own poll leaves out. That takes about half a period at
#: 1 kHz, so an effort may be late.
EXECUTOR_PERIOD = 0.5
#: Kinds of entities in the order of a wait set's sizes.
KINDS = ("subscription", "guard_condition", "timer", "client", "service", "event")


#: Whether the installed rclpy has the parts needed to poll entities without its executor.
POLLS = WAIT_SET not in missing_from_implementation()


class NodeExecutor(SingleThreadedExecutor):  # type: ignore[misc]  # rclpy is not typed the same everywhere
    """A single-threaded executor for the pauses of a control loop, with a poll that takes less than half a period."""
    # attributes with two underscores differ from those of any release of rclpy

    def __init__(self, *, context: Context | None = None) -> None:
        super().__init__(context=context)
        #: One with room for so many entities of each kind, made anew where these change.
        self.__wait_set = lru_cache(maxsize=1)(wait_set)
        self.__tasks: list[Task] = []
        self.__serving, self.__poll_at, self.__with_events = False, 0.0, True

    def create_task(self, callback: Callable[..., Any], *args: Any, **kwargs: Any) -> Task:
        """As rclpy's; `ready` is true at once."""
        task = super().create_task(callback, *args, **kwargs)
        self.__tasks.append(task)
        return task

    def serve(self, now: float) -> bool:
        """Do one thing, if anything waits at `now`, s; whether there was one. Once begun, all that waits is served."""
        if not self.__serving:
            due = now >= self.__poll_at
            if not due and not self.ready():
                return False
            self.__with_events = due or POLLS
        self.__serving = self.step()
        if not self.__serving and self.__with_events:
            self.__poll_at = now + EXECUTOR_PERIOD
        return self.__serving

    def can_execute(self, entity: object) -> bool:
        """As rclpy's, without events of the middleware in most polls, as in `ready`."""
        return (self.__with_events or not isinstance(entity, EventHandler)) and bool(super().can_execute(entity))

    def ready(self) -> bool:
        """Whether a message, request, answer, timer or coroutine waits."""
        self.__tasks = [task for task in self.__tasks if not (task.done() or task.cancelled())]
        return bool(self.__tasks) or not POLLS or any(map(self.__waits, self.get_nodes()))

    def __waits(self, node: Node) -> bool:
        """Poll all entities of a node with a wait set that is made once."""
        # without guard conditions, which polling resets, and events of the middleware, dozens that can wait
        entities = {
            "subscription": [x for x in node.subscriptions if not isinstance(x.callback_group, ManualCallbackGroup)],
            "timer": list(node.timers), "client": list(node.clients), "service": list(node.services),
        }
        waitables = [x for x in node.waitables if not isinstance(x, EventHandler)]
        counts = [waitable.get_num_entities() for waitable in waitables]
        prepared = self.__wait_set(node.context, *(
            len(entities.get(kind, ())) + sum(getattr(count, f"num_{kind}s") for count in counts) for kind in KINDS
        ))  # fmt: skip
        prepared.clear_entities()
        for kind, group in entities.items():
            add = getattr(prepared, f"add_{kind}")
            for entity in group:
                add(handle_of(entity))
        for waitable in waitables:
            waitable.add_to_wait_set(prepared)
        prepared.wait(0)
        return any(map(prepared.get_ready_entities, entities)) or any(x.is_ready(prepared) for x in waitables)

    def step(self) -> bool:
        """Do one thing of all that is ready, with one poll; False if there is none, which `spin_once` does not say."""
        try:
            task, _, _ = self.wait_for_ready_callbacks(timeout_sec=0.0)
        except (TimeoutException, ShutdownException):
            return False
        task()
        if task.done():
            task.result()  # raises the exception of the callback
        elif task not in self.__tasks:  # a coroutine that waits for something
            self.__tasks.append(task)
        return True


#: The parameter that every ROS node has.
USE_SIM_TIME = "use_sim_time"
#: Larger steps of the clock are jumps, not time that has passed, s; so are those from one message to the very next one
#: that are longer than the second, s, and than so many steps before.
LEAP, NEXT_LEAP, USUAL_STEPS = 1.0, 0.03, 4
#: Simulated time that stands still for so long no longer delays a controller that is ending, s of the steady clock;
#: the second is for one that is to end at once.
STANDSTILL, HURRIED = 3.0, 0.1
#: Bytes of a serialised rosgraph_msgs/Clock.
_SIZE = ENCAPSULATION + 8


class LoopClock:
    """Monotonic time, s, for calls of a `Supervisor`.

    With ``use_sim_time`` it comes from ``/clock``: it begins with the first message and stops while the simulation is
    paused. A ``/clock`` that goes back, or ahead by more than `LEAP` allows, is a new time base: no time has passed
    then. The loop takes the messages itself, serialised, and sets the node's clock; rclpy's own subscription, which an
    executor would have to serve for each message, is destroyed.

    `node`: the node; its parameter ``use_sim_time`` is read once.
    """

    def __init__(self, node: Node) -> None:
        self._clock = node.get_clock()
        self.simulated = bool(node.get_parameter(USE_SIM_TIME).value)
        #: Jumps of the simulated clock so far.
        self.jumps = 0
        #: Last published simulated time, ns.
        self.stamp = 0
        #: How long simulated time may stand still before the steady clock goes on, s; finite where a controller ends.
        self.patience = math.inf
        self._elapsed, self._started = 0, False
        self._sequence, self._step = -1, NANOSECONDS  # number of the last message, and its step, ns
        self._received_at = time.monotonic()
        #: To ``/clock``, one or none.
        self.subscriptions: tuple[Subscription, ...] = ()
        if self.simulated:
            end_time_source(node)
            self.subscriptions = (polled_subscription(node, Clock, "/clock", NEWEST, raw=True),)

    @property
    def started(self) -> bool:
        """Whether there is a time yet: simulated time begins with its first message."""
        return self._started or not self.simulated

    @property
    def silence(self) -> float:
        """Time since the last message on ``/clock``, s of the steady clock; 0 where time is not simulated."""
        return time.monotonic() - self._received_at if self.simulated else 0.0

    @property
    def running_on(self) -> bool:
        """Whether the steady clock is used instead: the controller is ending and simulated time stands still."""
        return self.silence > self.patience

    def hurry(self) -> None:
        """The controller is to end at once."""
        self.patience = min(self.patience, max(self.silence, HURRIED))

    def now(self) -> float:
        """The present time, s."""
        if not self.simulated:
            return time.monotonic()
        return self._elapsed / NANOSECONDS + max(self.silence - self.patience, 0.0)

    def take(self) -> bool:
        """Take the newest message on ``/clock``; whether there was one."""
        if not self.subscriptions:
            return False
        taken = take(self.subscriptions[0], Clock, raw=True)
        if taken is None or len(taken[0]) < _SIZE:
            return False
        before, self._sequence = self._sequence, taken[1].get("publication_sequence_number") or -1
        self.set(stamp_in(taken[0]), following=0 < self._sequence == before + 1)
        return True

    def set(self, stamp: int, *, following: bool = False) -> None:
        """Set the present simulated time to `stamp`, ns; `following` if no message was lost before this one."""
        present = self.now()
        passed = stamp - self.stamp
        usual = max(NEXT_LEAP * NANOSECONDS, USUAL_STEPS * self._step)
        longest = min(usual, LEAP * NANOSECONDS) if following else LEAP * NANOSECONDS
        self._step = passed if passed > 0 else self._step
        if not self._started or not 0 <= passed <= longest:
            self.jumps += self._started
            passed = 0
        self._started, self.stamp = True, stamp
        self._elapsed = max(self._elapsed + passed, round(present * NANOSECONDS))
        self._received_at = time.monotonic()
        self._clock.set_ros_time_override(Time(nanoseconds=max(stamp, 0), clock_type=ClockType.ROS_TIME))


def end_time_source(node: Node) -> None:
    """Destroy rclpy's own subscription to ``/clock``, since the executor would serve every message."""
    for subscription in list(node.subscriptions):
        if subscription.msg_type is Clock:
            node.destroy_subscription(subscription)


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
        self._messages = TopicWait(node, self.subscription, *(() if clock is None else clock.subscriptions))

    def turn(self, executor: NodeExecutor | None = None, longest: float = LONGEST_WAIT) -> None:
        """Wait for one message or deadline, at most `longest`, s, and serve it; then the executor, if that is due."""
        now = self._meet_deadline()
        if self._period is not None and (self._clock is None or not self._clock.simulated):
            longest = min(longest, max(self._deadline - now, 0.0))
        self._messages.wait(longest)
        if self._clock is not None and self._clock.take():
            self._meet_deadline()  # before `on_time`: a simulation in lock-step expects the effort first
            self._on_time()
        self._take()
        if executor is not None and now >= self._service_at and not executor.serve(now):
            self._service_at = now + SERVICE_PERIOD

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
