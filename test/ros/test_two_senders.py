"""Two publishers of the same joints on a real topic: the middleware's numbers give them away."""

from __future__ import annotations

import time

import numpy as np
import pytest
import rclpy
from sensor_msgs.msg import JointState

from rne_dynamics.control.guards.state_filter import StateFilter
from rne_dynamics.control.guards.state_limits import StateLimits
from rne_dynamics.errors import StateError, StateProblem
from rne_dynamics.ros.messages.joint_states import JointMap, Reading
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import PATIENCE

MS = 1_000_000


def take(subscription):
    """The message that waits and its sender's number, as the hot loop takes them."""
    deadline = time.monotonic() + 5.0
    while time.monotonic() < deadline:
        with subscription.handle:
            taken = subscription.handle.take_message(JointState, False)
        if taken is not None:
            return taken[0], taken[1]["publication_sequence_number"]
        time.sleep(0.001)
    raise AssertionError("no message came")


@pytest.fixture
def node():
    node = rclpy.create_node("two_senders")
    yield node
    node.destroy_node()


def test_the_second_publisher_is_refused_and_the_first_goes_on(node):
    senders = [node.create_publisher(JointState, "two_senders_states", 1) for _ in range(2)]
    gripper = node.create_publisher(JointState, "two_senders_states", 1)
    subscription = node.create_subscription(JointState, "two_senders_states", lambda _: None, 1)
    wait_until(lambda: all(p.get_subscription_count() for p in (*senders, gripper)), PATIENCE, "the topic's discovery")
    joint_map = JointMap(["a"])
    guard = StateFilter(StateLimits(np.ones(1), np.zeros(1, dtype=bool), 0.1, 50.0, ("a",)))
    q, qd = np.zeros(1), np.zeros(1)
    ms = 0

    def send(publisher, name="a"):
        nonlocal ms
        ms += 1
        publisher.publish(JointState(name=[name], position=[0.0], velocity=[0.0]))
        message, number = take(subscription)
        if joint_map.read(message, q, qd) is Reading.OTHER_JOINTS:
            return None
        try:
            return guard.accept(1 + ms * MS, 0.001 * ms, q, qd, sequence=number)
        except StateError as error:
            return error.problem

    assert [send(senders[0]) for _ in range(50)] == [True, *[False] * 49]
    ms += 1000  # alone for a second
    assert send(senders[0]) is False
    for k in range(20):
        assert send(senders[1]) is (StateProblem.TWO_SENDERS if k else StateProblem.OUT_OF_ORDER), "one proves nothing"
        assert send(gripper, "finger") is None
        assert send(senders[0]) is False
