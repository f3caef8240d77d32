"""What a simulation in lock-step waits for: acknowledgements and efforts, by real messages within one process.

Its clock is the test's: 5 ms pass with each poll.
"""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest
from rclpy.node import Node
from std_msgs.msg import Int64MultiArray

from rne_dynamics.ros.messages import answers
from rne_dynamics.ros.messages.answers import Answers, ClockSeen, Followers, number_of, seen_topic
from rne_dynamics.ros.messages.topic_wait import OFFERED
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import PATIENCE

DRIVE, GATE = "/arm/effort_controller/commands", "/arm/effort_gate/commands"
TIMEOUT, POLL = 0.4, 0.005
_numbers = itertools.count()


class Plain(Node):
    def keep(self, entity):
        return entity


class Side:
    """A simulator's answers, and followers that acknowledge what a test says."""

    def __init__(self, node: Plain) -> None:
        self.node, self.warnings, self.repeats, self.publishers = node, [], [], {}
        self.followers = Followers(node, DRIVE)
        self.answers = Answers(TIMEOUT, self.followers, self.warnings.append)
        self.stamp, self.now = 0, 100.0

    def follower(self, name: str):
        count = self.followers.count
        self.publishers[name] = self.node.create_publisher(Int64MultiArray, seen_topic(self.node), OFFERED)
        wait_until(lambda: self.followers.count > count, PATIENCE, "the follower to be matched")

    def publish(self):
        self.stamp += 1000
        self.answers.leave()
        self.answers.publish(self.stamp)

    def says(self, name, *, stamp=None, time=None, efforts=0, target=DRIVE, source="", commands=0):
        """Acknowledge, and see that it has come."""
        seen = ClockSeen(
            number_of(name), self.stamp if time is None else time, 0, efforts, 0,
            self.stamp if stamp is None else stamp, number_of(target), number_of(source) if source else 0, commands,
        )
        self.publishers[name].publish(Int64MultiArray(data=list(seen)))

        def come():
            self.followers.take()
            return self.followers._seen.get(seen.node) == seen

        wait_until(come, PATIENCE, "the acknowledgement")

    def waits(self, received=None) -> bool:
        self.now += POLL
        return self.answers.wait(received, self.repeats.append)


@pytest.fixture
def side(namespace, monkeypatch):
    node = Plain("side", namespace=f"{namespace}_{next(_numbers)}", cli_args=["--ros-args", "-r", "/clock:=clock"])
    side = Side(node)
    monkeypatch.setattr(answers, "time", SimpleNamespace(monotonic=lambda: side.now))
    yield side
    node.destroy_node()


def test_nobody_is_waited_for_where_nobody_follows(side):
    assert not side.waits()
    side.publish()
    assert not side.waits()


def test_a_follower_is_waited_for_from_its_first_state_on_and_silence_is_its_answer_while_it_is_inactive(side):
    side.publish()
    side.follower("controller")
    assert side.waits(), "whoever is matched may have taken the last state"
    side.says("controller", stamp=0)
    assert side.waits(), "it has only the time"
    side.says("controller")
    assert not side.waits(), "it has the state, and sends nothing"
    side.publish()
    assert side.waits()
    assert side.answers.missed == 0


def test_a_state_that_was_lost_goes_out_again_and_one_that_is_late_does_not(side):
    side.follower("controller")
    side.publish()
    side.says("controller", stamp=0)
    wait_until(lambda: side.waits() and side.repeats, PATIENCE, "the time to be repeated")
    assert not any(side.repeats)
    side.says("controller", stamp=0)
    wait_until(lambda: side.waits() and any(side.repeats), PATIENCE, "the state to be repeated")
    assert not side.warnings


def test_a_first_effort_that_is_lost_holds_nothing_up(side):
    side.follower("controller")
    side.publish()
    side.says("controller", efforts=1)
    assert not side.waits(received=None)
    side.publish()
    assert side.answers.missed == 0
    side.says("controller", efforts=2)
    assert side.answers.effort()
    assert not side.waits(received=2)


def test_an_effort_that_is_announced_is_waited_for_but_not_for_ever(side):
    side.follower("controller")
    side.publish()
    side.answers.effort()
    side.says("controller", efforts=1)
    side.publish()
    side.says("controller", efforts=2)
    assert side.waits(received=1)
    side.answers.effort()
    assert not side.waits(received=2)
    side.publish()
    side.says("controller", efforts=3)
    began = side.now
    wait_until(lambda: not side.waits(received=2), PATIENCE, "the end of the wait for a lost effort")
    assert side.now - began > 0.9 * TIMEOUT, "a computer that is busy delivers late"
    side.publish()
    assert side.answers.missed == 1
    assert len(side.warnings) == 1
    side.says("controller", efforts=4)
    assert not side.waits(received=2), "no further wait until one comes"
    side.answers.effort()
    side.publish()
    side.says("controller", efforts=5)
    assert side.waits(received=4)


def test_through_a_gate_an_effort_is_waited_for_wherever_it_is(side):
    for name in ("controller", "gate"):
        side.follower(name)
    side.publish()
    side.answers.effort()
    side.publish()
    side.says("controller", efforts=7, target=GATE)
    assert side.waits(received=20)
    side.says("gate", efforts=20, source=GATE, commands=6)
    assert side.waits(received=20), "from the controller to the gate"
    side.says("gate", efforts=21, source=GATE, commands=7)
    assert side.waits(received=20), "from the gate to the drives"
    assert not side.waits(received=21)


def test_a_first_effort_that_the_gate_never_got_is_no_missed_reply(side):
    for name in ("controller", "gate"):
        side.follower(name)
    side.publish()
    side.says("controller", efforts=1, target=GATE)
    side.says("gate", source=GATE)
    assert side.waits(), "it may be on the way"
    wait_until(lambda: not side.waits(), PATIENCE, "the end of the wait")
    side.publish()
    assert side.answers.missed == 0
    assert not side.warnings


def test_a_controller_that_acknowledges_nothing_is_waited_for_although_the_gate_does(side):
    side.follower("gate")
    side.publish()
    side.answers.effort()
    side.publish()
    side.says("gate", efforts=1, source=GATE, commands=1)
    assert side.waits(received=1)
    side.answers.effort()
    assert not side.waits(received=2)


def test_a_silent_node_is_given_up_after_the_timeout_and_waited_for_when_it_is_received_again(side):
    side.follower("controller")
    side.publish()
    wait_until(lambda: not side.waits(), PATIENCE, "the time-out")
    assert len(side.warnings) == 1
    assert f"{TIMEOUT:g} s (lockstep_timeout)" in side.warnings[0]
    for _ in range(3):
        side.publish()
        assert not side.waits(), "no further wait"
    side.says("controller")
    side.publish()
    assert side.waits()
    assert len(side.warnings) == 1


def test_those_who_stay_are_waited_for_after_one_that_was_given_up_has_left(side):
    for name in ("controller", "killed"):
        side.follower(name)
    side.publish()
    side.says("controller")
    wait_until(lambda: not side.waits(), PATIENCE, "the time-out")
    side.publish()
    assert side.waits()
    side.node.destroy_publisher(side.publishers.pop("killed"))
    wait_until(lambda: side.followers.count == 1, PATIENCE, "the end of one")
    assert side.waits()
    side.says("controller")
    assert not side.waits()
