"""The clock of a control loop: the steady clock of this computer, or simulated time from ``/clock``."""

from __future__ import annotations

import time

from rclpy.clock import ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from rclpy.time import Time
from rosgraph_msgs.msg import Clock

from rne_dynamics.ros.cdr import ENCAPSULATION, NANOSECONDS, stamp_in
from rne_dynamics.ros.topic_wait import polled_subscription, take

#: The parameter that every ROS node has.
USE_SIM_TIME = "use_sim_time"
#: Only the newest time matters.
PROFILE = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
#: Two times further apart than this are a jump of the clock and not time that has passed, s.
LEAP = 1.0
#: Simulated time that stands still for so long no longer delays a controller that is ending, s of the steady clock.
STANDSTILL = 3.0
#: Bytes of a serialised rosgraph_msgs/Clock.
_SIZE = ENCAPSULATION + 8


class LoopClock:
    """Seconds that never run backwards, for whoever calls a `Supervisor`.

    With ``use_sim_time`` they come from ``/clock``: they stand still while the simulation is paused and begin with its
    first message. A ``/clock`` that goes back, or ahead by more than `LEAP`, is a new time base: no time has passed
    then. The messages are taken by the loop itself, as bytes; rclpy's own subscription, which an executor would have to
    serve as often, is ended, and the node's clock is set from here.

    Parameters
    ----------
    node
        Whose parameter ``use_sim_time`` decides; it is read once.
    """

    def __init__(self, node: Node) -> None:
        self._clock = node.get_clock()
        self.simulated = bool(node.get_parameter(USE_SIM_TIME).value)
        #: Jumps of the simulated clock so far.
        self.jumps = 0
        #: Simulated time as it was published last, ns.
        self.stamp = 0
        #: Whether the controller is ending, so that a clock that stands still must not delay it for ever.
        self.ending = False
        self._elapsed, self._started = 0, False
        self._heard = time.monotonic()
        self.subscription: Subscription | None = None
        if self.simulated:
            end_time_source(node)
            self.subscription = polled_subscription(node, Clock, "/clock", PROFILE, raw=True)

    @property
    def started(self) -> bool:
        """Whether there is a time: a simulated one begins with its first message."""
        return self._started or not self.simulated

    @property
    def silence(self) -> float:
        """Time since the last message on ``/clock``, s of the steady clock; 0 where time is not simulated."""
        return time.monotonic() - self._heard if self.simulated else 0.0

    @property
    def running_on(self) -> bool:
        """Whether the steady clock has taken over: the controller is ending and simulated time stands still."""
        return self.ending and self.silence > STANDSTILL

    def now(self) -> float:
        """The present time, s."""
        if not self.simulated:
            return time.monotonic()
        extra = self.silence - STANDSTILL if self.ending else 0.0
        return self._elapsed / NANOSECONDS + max(extra, 0.0)

    def take(self) -> bool:
        """Take the newest message on ``/clock``; whether there was one."""
        if self.subscription is None:
            return False
        taken = take(self.subscription, Clock, raw=True)
        if taken is None or len(taken[0]) < _SIZE:
            return False
        self.set(stamp_in(taken[0]))
        return True

    def set(self, stamp: int) -> None:
        """Take `stamp`, ns, for the present simulated time."""
        present = self.now()
        passed = stamp - self.stamp
        if not self._started or not 0 <= passed <= LEAP * NANOSECONDS:
            self.jumps += self._started
            passed = 0
        self._started, self.stamp = True, stamp
        self._elapsed = max(self._elapsed + passed, round(present * NANOSECONDS))
        self._heard = time.monotonic()
        self._clock.set_ros_time_override(Time(nanoseconds=max(stamp, 0), clock_type=ClockType.ROS_TIME))


def end_time_source(node: Node) -> None:
    """Destroy the subscription to ``/clock`` that rclpy made with the node; its executor would serve every message."""
    for subscription in list(node.subscriptions):
        if subscription.msg_type is Clock:
            node.destroy_subscription(subscription)
