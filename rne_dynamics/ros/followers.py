"""The nodes that follow a simulator's clock, and what they have dealt with so far."""

from __future__ import annotations

from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import Int64MultiArray

from rne_dynamics.ros.clock_seen import ClockSeen, number_of, seen_topic
from rne_dynamics.ros.lifecycle import ArmNode
from rne_dynamics.ros.topic_wait import polled_subscription, take

#: No acknowledgement may be lost.
EVERYTHING = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)


class Followers:
    """Controllers and gates in simulated time, by their acknowledgements; see `clock_seen`.

    A follower is known as soon as DDS has matched it, so it is waited for from its first joint state on, whatever it
    answers: a controller that is inactive, refuses a state or has released the arm acknowledges that state too.

    Parameters
    ----------
    node
        The simulator.
    commands
        Full name of the topic on which efforts reach it.
    """

    def __init__(self, node: ArmNode, commands: str) -> None:
        self._subscription = node.keep(polled_subscription(node, Int64MultiArray, seen_topic(node), EVERYTHING))
        self._commands = number_of(commands)
        self._seen: dict[int, ClockSeen] = {}
        self._unseen: dict[int, int] = {}  # acknowledgements of the time without the state that belongs to it
        self._stamp, self._count, self._absent = 0, 0, 0  # of the last state; how many there are; how many given up
        self._present: set[int] = set()  # who had dealt with the state for which the others were given up

    def publish(self, stamp: int) -> None:
        """Note that the time and the joint state with this stamp, ns, go out now."""
        self._stamp = stamp
        self._unseen.clear()

    def take(self) -> None:
        """Take the acknowledgements that have come."""
        while (taken := take(self._subscription, Int64MultiArray)) is not None:
            seen = ClockSeen(*taken[0].data)
            self._seen[seen.node] = seen
            if self._absent and seen.node not in self._present:  # it is back
                self._present.add(seen.node)
                self._absent -= 1
            if seen.time == self._stamp != seen.stamp:
                self._unseen[seen.node] = self._unseen.get(seen.node, 0) + 1

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self._subscription.get_publisher_count())

    @property
    def missing(self) -> int:
        """How many have not dealt with the last state, without those that were given up."""
        count = self.count
        self._absent = max(self._absent - max(self._count - count, 0), 0)  # who leaves was absent before
        self._count = count
        return max(count - self._absent - len(self._done), 0)

    def give_up(self) -> None:
        """Wait no more for those that are missing, until they acknowledge something again."""
        self._absent += self.missing
        self._present = {s.node for s in self._done}

    @property
    def lost(self) -> bool:
        """Whether one has twice acknowledged the time without its state: it waits no longer on the way, it is lost."""
        return any(count >= 2 for count in self._unseen.values())

    @property
    def drive(self) -> bool:
        """Whether a follower commands the arm, through a gate or not: where it sends nothing, no effort is to come."""
        topic, done = self._commands, self._done
        for _ in done:
            sources = [s.source for s in done if s.target == topic]
            if not sources:
                return False
            if 0 in sources:
                return True
            topic = sources[0]
        return False

    def awaited(self, received: int | None) -> list[int]:
        """Of each effort that was sent and has not come where it goes: the last one that has come there, 0 for none.

        They are publication sequence numbers.

        Parameters
        ----------
        received
            That of the last effort that the simulator has received; None if there is none.
        """
        last = {s.source: s.commands for s in self._done if s.source}
        if received is not None:
            last[self._commands] = received
        return [last[s.target] for s in self._done if s.efforts > last.get(s.target, s.efforts)]

    @property
    def _done(self) -> list[ClockSeen]:
        return [s for s in self._seen.values() if s.stamp == self._stamp == s.time]
