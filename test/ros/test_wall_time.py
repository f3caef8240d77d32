"""Time of a simulation in real time, and of a move in simulated time."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from support.frozen import freeze, program, thaw

from rne_dynamics.ros.messages.publishers import stamp_of
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.move import StampClock
from rne_dynamics.ros.sessions.processes import wait_until
from rne_dynamics.ros.simulator_report import GAIN, WallTime

from .peer import PATIENCE, START, account

SECOND, PERIOD = 1_000_000_000, 0.01


def run(wall: WallTime, start: int, seconds: float, stall: float = 0.0) -> float:
    """Run a simulation that a computer stalls once and that is then as fast as its deadlines; its lag."""
    now = start
    for k in range(round(seconds / PERIOD)):
        sooner = wall.note(start + round(k * PERIOD * SECOND), now)
        assert 0.0 <= sooner <= GAIN * PERIOD
        now += round((PERIOD - sooner) * SECOND) + (round(stall * SECOND) if k == 50 else 0)
    return wall.lag


def test_a_stall_is_caught_up_as_fast_as_controllers_in_real_time_accept():
    assert run(WallTime(PERIOD), 5 * SECOND, 1.0) == 0.0
    lag = run(WallTime(PERIOD), 5 * SECOND, 5.0, stall=1.0)
    np.testing.assert_allclose(lag, 1.0 - GAIN * 4.48, atol=2 * PERIOD)
    assert run(WallTime(PERIOD), 5 * SECOND, 1.1 + 1.0 / GAIN, stall=1.0) < PERIOD


def test_the_time_of_a_pause_is_not_caught_up_and_a_lag_from_before_it_is():
    wall = WallTime(PERIOD)
    wall.note(10 * SECOND, 10 * SECOND + SECOND // 5)
    wall.resume(10 * SECOND, 60 * SECOND)
    wall.note(10 * SECOND, 60 * SECOND)
    assert wall.lag == pytest.approx(0.2)
    wall.note(11 * SECOND, 61 * SECOND)
    assert wall.lag == pytest.approx(0.2)


def test_a_move_takes_the_time_of_the_stamps_however_slowly_they_come():
    clock = StampClock()
    for k in range(11):
        clock.take(SECOND + k * SECOND // 10, 100.0 * k)
    assert clock.passed == pytest.approx(1.0)
    assert clock.received_at == 1000.0
    clock.take(500 * SECOND, 1001.0)  # another time base
    clock.take(3 * SECOND, 1002.0)
    assert clock.passed == pytest.approx(1.0)
    unstamped = StampClock()
    unstamped.take(0, 7.0)
    before = unstamped.passed
    unstamped.take(0, 7.5)
    assert unstamped.passed - before == pytest.approx(0.5)


@pytest.mark.slow
def test_a_simulator_that_was_frozen_says_how_far_it_is_behind_publishes_every_state_and_catches_up(start, make_peer):
    """In real time: the stamps follow the wall clock again."""
    simulator, peer = start(
        "simulator", script=program("simulator"), robot_description="planar2", rate=100.0, diagnostics_period=0.5,
    ), make_peer([])
    states = TopicRecorder(peer.node, JointState, "joint_states", depth=10_000)
    wait_until(lambda: states.latest() is not None, START, "the simulator", [simulator])
    freeze(simulator)
    time.sleep(0.5)
    thaw(simulator)
    wait_until(lambda: "behind the wall clock" in simulator.output(), PATIENCE, "the warning", [simulator])

    lags = []

    def catches_up() -> bool:
        """Between two reports: a computer that stalls more than 4 % of the time never lets it catch up in all."""
        lags.append(float(account(peer)["behind the wall clock (s)"]))
        return len(lags) > 1 and lags[-1] < lags[-2]

    wait_until(catches_up, PATIENCE, "a simulation that catches up", [simulator])
    states.drain()
    stamps = np.array([stamp_of(states.decode(sample)) for sample in states.samples])
    assert set(np.diff(stamps)) == {10_000_000}
    simulator.stop()
