"""Simulated time that goes on only as far as a controller has followed it: a pause of any process changes nothing."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Int64MultiArray

from rne_dynamics.faults.fault import ReactionError
from rne_dynamics.ros.cdr import NANOSECONDS
from rne_dynamics.ros.clock_seen import MODES, ClockSeen, number_of
from rne_dynamics.ros.lifecycle import OFFERED
from rne_dynamics.ros.messages import EFFORT_TOPIC
from rne_dynamics.ros.topic_wait import TakenByHand, TopicWait, take

#: Where the simulated time begins, ns: far from zero, which is no stamp.
BEGIN = 1_000_000 * NANOSECONDS
#: Longest wait for a controller that is alive, s: a machine may be busy, but not for ever.
LONGEST_WAIT = 60.0
#: How often a time is published again that nobody has acknowledged, s.
AGAIN = 0.5
#: Every effort must be heard, so that every step between two is known.
EVERYTHING = QoSProfile(depth=5000, reliability=ReliabilityPolicy.RELIABLE)
#: Before the first acknowledgement.
NOTHING = ClockSeen(0, 0, 0, 0, 0, 0, 0)


class Lockstep:
    """Publishes times and joint states; waits with each until the controller has dealt with it, see `ros.clock_seen`.

    All efforts that it has sent until then have been heard by then.

    Parameters
    ----------
    node
        Where it publishes and listens; no executor may spin it.
    controller
        Name of the controller's node.
    """

    def __init__(self, node: Node, controller: str) -> None:
        self.node = node
        self.states = node.create_publisher(JointState, "joint_states", OFFERED)
        self._clock = node.create_publisher(Clock, "clock", OFFERED)
        self._commands: Subscription | None = None
        self.start_listening()
        self._acknowledgements = node.create_subscription(
            Int64MultiArray, f"{self._clock.topic_name}_seen", lambda message: None, EVERYTHING,
            callback_group=TakenByHand(node.context),
        )
        self._controller = number_of(node.resolve_topic_name(controller))
        self._news = TopicWait(node, self._acknowledgements)
        #: Whether there is a controller that acknowledges, so that it is waited for.
        self.linked = False
        #: Asked while it is waited for; it may raise, or end the wait by unlinking.
        self.watch: Callable[[], None] = lambda: None
        #: Told each acknowledgement: the controller's mode.
        self.on_mode: Callable[[str], None] = lambda mode: None
        #: Told each effort: its number since the controller was configured, and the command.
        self.on_effort: Callable[[int, list[float]], None] = lambda number, effort: None
        #: What the clock says, ns.
        self.stamp = BEGIN
        self._last_effort = 0
        self._seen = NOTHING

    def start_listening(self) -> None:
        """Listen to efforts; none is waited for before the first one has come."""
        self._hears = False
        self._commands = self.node.create_subscription(
            Float64MultiArray, EFFORT_TOPIC, lambda message: None, EVERYTHING,
            callback_group=TakenByHand(self.node.context),
        )

    def stop_listening(self) -> None:
        """Take no efforts any more."""
        self.node.destroy_subscription(self._commands)
        self._commands, self._hears = None, False

    def link(self, *, anew: bool = True) -> None:
        """Wait until the controller acknowledges the present time, and from now on for each message.

        `anew` where it has been configured since it was waited for last, so that it counts from zero.
        """
        self.linked = True
        self._seen = NOTHING
        if anew:
            self._last_effort, self._hears = 0, False
        self.tell_time()
        self._seen = self._seen._replace(time=0)
        self.tell_time()  # the second answer comes after all messages that waited before the first

    def unlink(self) -> None:
        """From now on time goes on without the controller: it is gone, or cannot act."""
        self.linked = False

    def tell_time(self) -> None:
        """Publish the present time, and wait until it is acknowledged."""
        self._take_acknowledgements()
        self._seen = self._seen._replace(time=-1)
        self._publish_time()
        self._await(lambda: self._seen.time == self.stamp, "the time")

    def publish(self, publisher: Publisher, message: JointState | Float64MultiArray) -> None:
        """Publish a joint state or a command, and wait until it is acknowledged; again where it was lost on the way.

        It is taken right after a time if it waits then. Two times that are acknowledged without it show that there is
        none.
        """
        before = self._seen.states
        while self.linked and self._seen.states == before:
            publisher.publish(message)
            self._await(lambda: self._seen.states > before, "a message", AGAIN)
            for _ in range(2):
                if self._seen.states == before:
                    self.tell_time()

    def _publish_time(self) -> None:
        message = Clock()
        message.clock.sec, message.clock.nanosec = divmod(self.stamp, NANOSECONDS)
        self._clock.publish(message)

    def _await(self, done: Callable[[], bool], what: str, seconds: float = np.inf) -> None:
        """Wait for an acknowledgement and for the efforts that were sent before it, `seconds` at most."""
        began = told = time.monotonic()
        while self.linked:
            self._take_acknowledgements()
            self.listen()
            if done() and not (self._hears and self._last_effort < self._seen.efforts):
                return
            self.watch()
            now = time.monotonic()
            if now - began > seconds:
                return
            if now - told > AGAIN:  # the same time again changes nothing and is acknowledged again
                self._publish_time()
                told = now
            if now - began > LONGEST_WAIT:
                raise ReactionError(f"the controller has not acknowledged {what} within {LONGEST_WAIT:g} s")
            self._news.wait(0.01)

    def _take_acknowledgements(self) -> None:
        while (taken := take(self._acknowledgements, Int64MultiArray)) is not None:
            seen = ClockSeen(*taken[0].data)
            if seen.node == self._controller:
                self._seen = seen
                self.on_mode(MODES[seen.mode])

    def listen(self) -> None:
        """Take the commands that have come."""
        while self._commands is not None and (taken := take(self._commands, Float64MultiArray)) is not None:
            message, info = taken
            self._last_effort, self._hears = info["publication_sequence_number"], True
            self.on_effort(self._last_effort, list(message.data))

    @property
    def setpoints(self) -> int:
        """Setpoints that the controller has dealt with."""
        return self._seen.setpoints

    @property
    def publishers(self) -> int:
        """How many nodes publish efforts."""
        return int(self.node.count_publishers(EFFORT_TOPIC))
