"""Replies to a simulator's joint states, and acknowledgements of them; a simulation in lock-step waits for both.

All nodes that follow a clock publish them on one topic, named after that clock: ``/clock_seen`` for ``/clock``.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import Int64MultiArray

from rne_dynamics.control.gate_parts import GateMode
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.ros.loop.statistics import Histogram
from rne_dynamics.ros.messages.topic_wait import OFFERED, polled_subscription, take
from rne_dynamics.ros.node.lifecycle import ArmNode

if TYPE_CHECKING:
    from rne_dynamics.ros.loop.hot_loop import LoopClock
    from rne_dynamics.ros.messages.publishers import EffortPublisher

#: Modes of controllers and of the gate by their number in the message.
MODES = tuple(dict.fromkeys(mode.value for modes in (Mode, GateMode) for mode in modes))
#: Suffix of the control loop's node, after the controller's name.
LOOP = "_loop"


class ClockSeen(NamedTuple):
    """One acknowledgement; the message holds these numbers in this order."""

    #: The sender: `number_of` the node's full name.
    node: int
    #: The last simulated time that the node has acted on, ns.
    time: int
    #: Number of joint states, and of commands to the gate, processed since it was configured.
    states: int
    #: Number of efforts sent since then: the publication sequence number of the last one.
    efforts: int
    #: Its mode, as its place in `MODES`.
    mode: int
    #: Stamp of the last processed joint state, ns.
    stamp: int
    #: Where the efforts go: `number_of` the topic.
    target: int
    #: Of the gate, where its commands come from, likewise, and the publication sequence number of the last one; 0 of a
    #: controller.
    source: int = 0
    commands: int = 0
    #: Number of setpoints processed since it was configured, followed or not.
    setpoints: int = 0


def number_of(name: str) -> int:
    """A number that stands for the full name of a node or topic."""
    return zlib.crc32(name.encode())


def seen_topic(node: Node) -> str:
    """The topic of the acknowledgements, named after the clock that the node follows or publishes."""
    return str(node.resolve_topic_name("/clock")) + "_seen"


class SeenPublisher:
    """Publishes an acknowledgement after each message processed: refused states have no effort as an answer."""

    def __init__(self, node: ArmNode, topic: str, clock: LoopClock, efforts: EffortPublisher) -> None:
        self._node = number_of(node.get_fully_qualified_name().removesuffix(LOOP))
        self._target, self._clock, self._efforts = number_of(efforts.topic), clock, efforts
        self._publisher = node.keep(node.create_publisher(Int64MultiArray, topic, OFFERED))
        self._message = Int64MultiArray()

    def publish(self, mode: Enum, states: int, stamp: int, **more: int) -> None:
        """Send one, with as many `states` processed, the last of `stamp`, ns; `more` fields of `ClockSeen`."""
        self._message.data = list(ClockSeen(
            self._node, self._clock.stamp, states, self._efforts.count, MODES.index(mode.value), stamp, self._target,
            **more,
        ))
        self._publisher.publish(self._message)


# -- replies to a simulator's joint states, and acknowledgements of them; a simulation in lock-step waits for both -----


#: Period at which a time that is not acknowledged is published again, s of the steady clock.
AGAIN = 0.1
#: Longest wait for the first effort between two nodes after its sender has acknowledged that it was sent, s.
ON_THE_WAY = 1.0
#: No acknowledgement may be lost.
EVERYTHING = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)


class Answers:
    """Answers to the joint states of one simulation.

    In lock-step the next state has to wait:

    - until all `followers` have acknowledged the last one, from the first one on,
    - then for the effort that the last acknowledgements announce,
    - where efforts come from others, for an effort, from the first one on.

    `patience`: longest wait in lock-step, s of the steady clock; None where nothing waits. `followers`: who
    acknowledges; None where no clock is published. `warn`: logs a text.
    """

    def __init__(self, patience: float | None, followers: Followers | None, warn: Callable[[str], object]) -> None:
        self._patience, self._followers, self._warn = patience, followers, warn
        self.restart()

    def restart(self) -> None:
        """Reset to the state before the first joint state."""
        #: Whether an effort has come since the last joint state, and whether one has come at all.
        self.answered, self.commanded = True, False
        #: Time from a joint state to its effort, s; states whose due answer had not come when the simulation went on;
        #: periods for which it has waited.
        self.latency, self.missed, self.waits = Histogram(), 0, 0
        self._published = self._again_at = self._complete_at = 0.0
        self._waits, self._due = self._patience is not None, False

    def publish(self, stamp: int) -> None:
        """Note that the joint state with this stamp, ns, goes out now."""
        self._published = time.monotonic()
        self._again_at, self._complete_at = self._published + AGAIN, 0.0
        self.answered = False
        if self._followers is not None:
            self._followers.publish(stamp)

    def effort(self) -> bool:
        """Note an effort; whether it is the first one that answers the last joint state."""
        first, self.answered = not self.answered, True
        if first and self.commanded:
            self.latency.add(time.monotonic() - self._published)
        self.commanded, self._waits = True, self._patience is not None
        return first

    def wait(self, sequence: int | None, repeat: Callable[[bool], None]) -> bool:
        """Whether the next joint state has to wait, with the last effort's `sequence`; counts the waits."""
        # `repeat` publishes the time again, and with True the joint state too
        self._due = self.commanded and not self.answered
        waits = self._patience is not None and self._published > 0.0 and self._unanswered(
            self._patience, sequence, repeat
        )
        self.waits += waits
        return waits

    def leave(self) -> None:
        """Note that the simulation goes on from the last joint state."""
        self.missed += self._due and not self.answered
        self._due = False

    def resume(self) -> None:
        """Note that the simulation was paused until now: the pause does not count as a wait."""
        self._published = self._published and time.monotonic()

    def _unanswered(self, patience: float, sequence: int | None, repeat: Callable[[bool], None]) -> bool:
        now, followers = time.monotonic(), self._followers
        impatient = now - self._published >= patience
        if followers is not None:
            followers.take()
            if missing := followers.missing:
                if not impatient:
                    if now >= self._again_at:
                        self._again_at = now + AGAIN
                        repeat(followers.lost)
                    return True
                followers.give_up()
                self._give_up(f"{missing} of {followers.count} nodes in simulated time acknowledged no joint state")
                return False
            if followers.drive:
                awaited = followers.awaited(sequence)
                self._due = bool(awaited) and all(awaited)
                self._complete_at = self._complete_at or now
                if not all(awaited):  # it may have been lost, before DDS had matched the two
                    return now - self._complete_at < ON_THE_WAY
        if not (self._due and self._waits):
            return False
        if impatient:
            self._give_up("no command has come")
        return not impatient

    def _give_up(self, what: str) -> None:
        self._waits = False
        self._warn(
            f"lock-step: {what} for {self._patience:g} s (lockstep_timeout); the simulation goes on without waiting "
            "until that sender is received again"
        )


class Followers:
    """Controllers and gates in simulated time, by their acknowledgements; see `ClockSeen`.

    A follower counts as soon as DDS has matched it, so it is waited for from its first joint state on, also without an
    effort: a controller that is inactive, refuses a state or has released the arm acknowledges that state too.

    `node`: the simulator; `commands`: full name of the topic on which efforts reach it.
    """

    def __init__(self, node: ArmNode, commands: str) -> None:
        self._subscription = node.keep(polled_subscription(node, Int64MultiArray, seen_topic(node), EVERYTHING))
        self._commands = number_of(commands)
        self._seen: dict[int, ClockSeen] = {}
        self._unseen: dict[int, int] = {}  # acknowledgements of the time without its state
        self._stamp, self._count, self._absent = 0, 0, 0  # of the last state; followers, and those given up
        self._present: set[int] = set()  # who had processed the state for which the others were given up

    def publish(self, stamp: int) -> None:
        """Note that the time and the joint state with this stamp, ns, are published now."""
        self._stamp = stamp
        self._unseen.clear()

    def take(self) -> None:
        """Take the acknowledgements received."""
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
        """Number of followers."""
        return int(self._subscription.get_publisher_count())

    @property
    def missing(self) -> int:
        """Number of followers that have not processed the last state, without those given up."""
        count = self.count
        self._absent = max(self._absent - max(self._count - count, 0), 0)  # followers that leave were absent before
        self._count = count
        return max(count - self._absent - len(self._done), 0)

    def give_up(self) -> None:
        """Wait no more for the missing ones, until they acknowledge again."""
        self._absent += self.missing
        self._present = {s.node for s in self._done}

    @property
    def lost(self) -> bool:
        """Whether a follower has acknowledged the time twice without its state, which is lost then."""
        return any(count >= 2 for count in self._unseen.values())

    @property
    def drive(self) -> bool:
        """Whether a follower commands the arm, through a gate or not."""
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
        """For each effort sent and not received: publication number of the last received there, 0 for none."""
        last = {s.source: s.commands for s in self._done if s.source}
        if received is not None:
            last[self._commands] = received
        return [last[s.target] for s in self._done if s.efforts > last.get(s.target, s.efforts)]

    @property
    def _done(self) -> list[ClockSeen]:
        return [s for s in self._seen.values() if s.stamp == self._stamp == s.time]
