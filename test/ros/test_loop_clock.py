"""The clock of a control loop: steady, or simulated time from /clock, paused, set back, set ahead, gone."""

from __future__ import annotations

import time

import pytest

from rne_dynamics.ros.loop.hot_loop import LEAP

pytest.importorskip("rclpy", reason="ROS 2's client library is not installed: pip install '.[ros]'")

import rclpy
from rclpy.parameter import Parameter
from rclpy.time import Time
from rosgraph_msgs.msg import Clock

from rne_dynamics.ros.loop import hot_loop as clock_module
from rne_dynamics.ros.loop.hot_loop import LoopClock
from rne_dynamics.ros.messages.topic_wait import OFFERED
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import PATIENCE

START = 1_700_000_000_000_000_000
MS = 1_000_000


@pytest.fixture
def make_node():
    nodes = []

    def make(simulated):
        override = [Parameter("use_sim_time", value=simulated)]
        nodes.append(rclpy.create_node(f"clock{len(nodes)}", namespace="/loop_clock", parameter_overrides=override,
                                       cli_args=["--ros-args", "-r", "/clock:=/loop_clock/clock"]))
        return nodes[-1]

    yield make
    for node in nodes:
        node.destroy_node()


@pytest.fixture
def clock(make_node):
    clock = LoopClock(make_node(True))
    assert not clock.started
    clock.set(START)
    return clock


def test_without_use_sim_time_it_is_the_steady_clock(make_node):
    clock = LoopClock(make_node(False))
    assert clock.subscriptions == ()
    assert clock.started
    assert not clock.take()
    before = time.monotonic()
    assert before <= clock.now() <= time.monotonic()


def test_it_takes_the_newest_time_itself_and_rclpy_does_not(make_node):
    node = make_node(True)
    publisher = node.create_publisher(Clock, "/clock", OFFERED)
    clock = LoopClock(node)
    assert len(list(node.subscriptions)) == 1, "rclpy's own is gone"
    wait_until(lambda: publisher.get_subscription_count() == 1, PATIENCE, "the subscription")
    assert not clock.take()
    assert not clock.started
    message = Clock()

    def come(stamp):
        message.clock.sec, message.clock.nanosec = divmod(stamp, 1_000_000_000)
        publisher.publish(message)
        return clock.take()

    wait_until(lambda: come(START), PATIENCE, "the first time")
    assert clock.started
    first = clock.now()
    wait_until(lambda: come(START + 3 * MS), PATIENCE, "the second time")
    assert clock.stamp == START + 3 * MS
    assert clock.now() - first == pytest.approx(0.003)
    assert node.get_clock().now() == Time(nanoseconds=START + 3 * MS, clock_type=node.get_clock().clock_type)


def test_it_stops_while_the_simulation_is_paused(clock, monkeypatch):
    now = clock.now()
    later = time.monotonic() + 1000.0
    monkeypatch.setattr(clock_module.time, "monotonic", lambda: later)
    assert clock.now() == now
    clock.set(START)  # the same time again
    assert clock.now() == now
    clock.set(START + MS)
    assert clock.now() - now == pytest.approx(0.001)
    assert clock.jumps == 0


@pytest.mark.parametrize("by", [-10**10, -MS, 10**10, -START])
def test_a_jump_is_a_new_time_base_in_which_no_time_has_passed(clock, by):
    clock.set(START + 5 * MS)
    now = clock.now()
    clock.set(START + 5 * MS + by)
    assert clock.now() == now
    assert clock.jumps == 1
    clock.set(START + 7 * MS + by)
    assert clock.now() - now == pytest.approx(0.002)
    assert clock.jumps == 1


def test_a_gap_that_is_no_jump_is_time_that_has_passed(clock):
    now = clock.now()
    clock.set(START + round(LEAP * 1e9))
    assert clock.now() - now == pytest.approx(LEAP)
    assert clock.jumps == 0


@pytest.mark.parametrize("by", [0.05, 0.2, 0.6, 1.0])
def test_a_step_ahead_from_one_message_to_the_next_is_a_jump(clock, by):
    for k in range(1, 5):
        clock.set(START + k * MS, following=True)
    now = clock.now()
    clock.set(START + 5 * MS + round(by * 1e9), following=True)
    assert clock.now() == now
    assert clock.jumps == 1
    clock.set(START + 6 * MS + round(by * 1e9), following=True)
    assert clock.now() - now == pytest.approx(0.001)


def test_a_clock_that_takes_longer_steps_from_now_on_is_time_that_passes(clock):
    for k in range(1, 5):
        clock.set(START + k * MS, following=True)
    now = clock.now()
    for k in range(1, 11):
        clock.set(START + 4 * MS + 100 * k * MS, following=True)
    assert clock.jumps == 1
    assert clock.now() - now == pytest.approx(0.9)


def test_time_goes_on_by_the_steady_clock_if_the_controller_ends_while_the_simulation_is_paused(clock, monkeypatch):
    now, steady = clock.now(), [time.monotonic()]
    monkeypatch.setattr(clock_module.time, "monotonic", lambda: steady[0])
    clock.set(START + MS)
    clock.patience = clock_module.STANDSTILL
    steady[0] += clock_module.STANDSTILL + 0.5
    assert clock.running_on
    assert clock.now() - now == pytest.approx(0.501)
    clock.set(START + 2 * MS)  # it goes on after all: never back
    assert clock.now() - now == pytest.approx(0.501)
    assert not clock.running_on


def test_a_second_signal_does_not_wait_for_a_simulation_that_is_paused(clock, monkeypatch):
    steady = [time.monotonic()]
    monkeypatch.setattr(clock_module.time, "monotonic", lambda: steady[0])
    clock.set(START)
    clock.patience, now = clock_module.STANDSTILL, clock.now()
    steady[0] += 1.0
    clock.hurry()
    assert clock.now() == now
    steady[0] += 0.2
    assert clock.running_on
    assert clock.now() - now == pytest.approx(0.2)
