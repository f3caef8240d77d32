"""The clock of a control loop: the steady clock of this computer, or simulated time from ``/clock``."""

from __future__ import annotations

import math
import time

from rclpy.clock import ClockType
from rclpy.node import Node
from rclpy.subscription import Subscription
from rclpy.time import Time
from rosgraph_msgs.msg import Clock

from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.ros.messages.cdr import ENCAPSULATION, stamp_in
from rne_dynamics.ros.messages.topic_wait import NEWEST, polled_subscription, take

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
        self.subscription: Subscription | None = None
        if self.simulated:
            end_time_source(node)
            self.subscription = polled_subscription(node, Clock, "/clock", NEWEST, raw=True)

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
        if self.subscription is None:
            return False
        taken = take(self.subscription, Clock, raw=True)
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
