"""Time of a simulation in real time, and of a move in simulated time."""

from __future__ import annotations

import numpy as np
import pytest

from rne_dynamics.ros.move import StampClock
from rne_dynamics.ros.simulator_report import GAIN, WallTime

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
