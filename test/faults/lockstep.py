"""Simulated time in lock-step with a controller: a pause of any process changes nothing."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from faults.reaction import ReactionError
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Int64MultiArray

from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.ros.messages.answers import MODES, ClockSeen, number_of
from rne_dynamics.ros.messages.publishers import EFFORT_TOPIC
from rne_dynamics.ros.messages.topic_wait import OFFERED, TopicWait, polled_subscription, take

#: Where the simulated time begins, ns: far from zero, which is no stamp.
BEGIN = 1_000_000 * NANOSECONDS
#: Longest wait for a controller that is alive, s: the computer may be busy.
LONGEST_WAIT = 60.0
#: Period at which a time that is not acknowledged is published again, s.
AGAIN = 0.5
#: No effort may be lost, so that every step between two is known.
EVERYTHING = QoSProfile(depth=5000, reliability=ReliabilityPolicy.RELIABLE)
#: Before the first acknowledgement.
NOTHING = ClockSeen(0, 0, 0, 0, 0, 0, 0)


class Lockstep:
    """Publishes times and joint states; waits with each until the controller has dealt with it, see `ros.clock_seen`.

    All efforts that it has sent until then have been received by then.

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
        seen = f"{self._clock.topic_name}_seen"
        self._acknowledgements = polled_subscription(node, Int64MultiArray, seen, EVERYTHING)
        self._controller = number_of(node.resolve_topic_name(controller))
        self._acknowledged = TopicWait(node, self._acknowledgements)
        #: Whether a controller acknowledges and is waited for.
        self.linked = False
        #: Called while it is waited for; may raise, or end the wait by unlinking.
        self.watch: Callable[[], None] = lambda: None
        #: Called with the controller's mode at each acknowledgement.
        self.on_mode: Callable[[str], None] = lambda mode: None
        #: Called with each effort: its number since the controller was configured, and the command.
        self.on_effort: Callable[[int, list[float]], None] = lambda number, effort: None
        #: Simulated time, ns.
        self.stamp = BEGIN
        self._last_effort = 0
        self._seen = NOTHING

    def start_listening(self) -> None:
        """Subscribe to efforts; none is waited for before the first one has come."""
        self._effort_received = False
        self._commands = polled_subscription(self.node, Float64MultiArray, EFFORT_TOPIC, EVERYTHING)

    def stop_listening(self) -> None:
        """Unsubscribe from efforts."""
        self.node.destroy_subscription(self._commands)
        self._commands, self._effort_received = None, False

    def link(self, *, anew: bool = True) -> None:
        """Wait until the controller acknowledges the present time, and from now on after each message.

        `anew` if it has been configured since then, so that it counts from zero.
        """
        self.linked = True
        self._seen = NOTHING
        if anew:
            self._last_effort, self._effort_received = 0, False
        self.publish_time()
        self._seen = self._seen._replace(time=0)
        self.publish_time()  # the second acknowledgement comes after all messages that waited before the first

    def unlink(self) -> None:
        """Advance time without the controller from now on: it has ended, or cannot act."""
        self.linked = False

    def publish_time(self) -> None:
        """Publish the present time, and wait until it is acknowledged."""
        self._take_acknowledgements()
        self._seen = self._seen._replace(time=-1)
        self._publish_time()
        self._await(lambda: self._seen.time == self.stamp, "the time")

    def publish(self, publisher: Publisher, message: JointState | Float64MultiArray) -> None:
        """Publish a joint state or a command, and wait until it is acknowledged; again where it was lost on the way.

        A waiting message is taken right after a time. If two times are acknowledged without it, it was lost.
        """
        before = self._seen.states
        while self.linked and self._seen.states == before:
            publisher.publish(message)
            self._await(lambda: self._seen.states > before, "a message", AGAIN)
            for _ in range(2):
                if self._seen.states == before:
                    self.publish_time()

    def _publish_time(self) -> None:
        message = Clock()
        message.clock.sec, message.clock.nanosec = divmod(self.stamp, NANOSECONDS)
        self._clock.publish(message)

    def _await(self, done: Callable[[], bool], what: str, seconds: float = np.inf) -> None:
        """Wait for an acknowledgement and for the efforts that were sent before it, `seconds` at most."""
        began = published = time.monotonic()
        while self.linked:
            self._take_acknowledgements()
            if done():
                self.listen()
                if not (self._effort_received and self._last_effort < self._seen.efforts):
                    return
            self.watch()
            now = time.monotonic()
            if now - began > seconds:
                return
            if now - published > AGAIN:  # the same time again changes nothing and is acknowledged again
                self._publish_time()
                published = now
            if now - began > LONGEST_WAIT:
                raise ReactionError(f"the controller has not acknowledged {what} within {LONGEST_WAIT:g} s")
            self._acknowledged.wait(0.01)

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
            self._last_effort, self._effort_received = info["publication_sequence_number"], True
            self.on_effort(self._last_effort, list(message.data))

    @property
    def setpoints(self) -> int:
        """Setpoints that the controller has dealt with."""
        return self._seen.setpoints

    @property
    def publishers(self) -> int:
        """How many nodes publish efforts."""
        return int(self.node.count_publishers(EFFORT_TOPIC))
