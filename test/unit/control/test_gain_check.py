"""Discrete poles of computed-torque gains against a loop with delay that is simulated cycle by cycle."""

from __future__ import annotations

import numpy as np
import pytest

from rne_dynamics.control.gains import (
    RATE_SAFETY,
    Gains,
    check_gains,
    damping_ratio,
    lowest_rate,
    sampled_poles,
)
from rne_dynamics.errors import ControlError


def growth(p: float, i: float, d: float, period: float) -> float:
    """Factor by which an error grows over 500 of 1000 cycles; the effort acts one period late and is held for one."""
    e, v, s, acting = 1.0, 0.0, 0.0, 0.0
    sizes = []
    for _ in range(1000):
        u = -(p * e + i * s + d * v)
        s += period * e
        e, v = e + period * v + 0.5 * period**2 * acting, v + period * acting
        acting = u
        sizes.append(abs(e) + abs(v) * period)
    return max(sizes[900:]) / max(sizes[400:500])


@pytest.mark.parametrize("gains", [(1600.0, 0.0, 80.0), (400.0, 0.0, 40.0), (400.0, 2000.0, 40.0), (100.0, 0.0, 40.0)])
def test_poles_say_at_which_period_the_loop_becomes_unstable(gains: tuple[float, float, float]) -> None:
    low, high = 1e-4, 1.0
    for _ in range(60):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if np.abs(sampled_poles(*gains, middle)).max() < 1.0 else (low, middle)
    assert growth(*gains, 0.98 * low) < 1.0
    assert growth(*gains, 1.02 * low) > 1.0
    # the rate that arms are stopped below is on the safe side of it, and not far away
    needed = lowest_rate(Gains(*(np.array([g]) for g in (gains[0], gains[1], gains[2]))))
    assert 1.1 < needed * low < 1.2 * RATE_SAFETY


def test_the_damping_ratio_is_that_of_slow_loops_without_delay() -> None:
    for ratio in (0.1, 0.3, 0.7):
        assert damping_ratio(100.0, 0.0, 20.0 * ratio, 1e-5) == pytest.approx(ratio, rel=0.01)
    assert damping_ratio(0.0, 0.0, 0.0, 1e-3) == 1.0


def test_unstable_gains_are_refused_by_joint_and_oscillating_ones_named() -> None:
    gains = Gains(np.array([400.0, 40000.0]), d=np.array([40.0, 400.0]))
    with pytest.raises(ControlError, match=r"not stable at 250 .*'b' \(p 40000, i 0, d 400\)") as caught:
        check_gains(gains, 250.0, ("a", "b"))
    assert "'a'" not in str(caught.value)
    assert check_gains(gains, 1000.0, ("a", "b")) == ()
    (text,) = check_gains(Gains(np.array([400.0, 400.0]), d=np.array([40.0, 8.0])), 250.0, ("a", "b"))
    assert "'b' (p 400, i 0, d 8: damping ratio 0.1" in text


def test_the_advised_bandwidth_needs_no_warning() -> None:
    for rate in (100.0, 250.0, 1000.0):
        assert check_gains(Gains.critically_damped(1, rate / 6.0), rate) == ()


def test_no_feedback_needs_no_rate_and_no_damping_needs_more_than_there_is() -> None:
    assert lowest_rate(Gains(np.zeros(2))) == 0.0
    assert check_gains(Gains(np.zeros(2)), 100.0) == ()
    with pytest.raises(ControlError):
        check_gains(Gains(np.array([100.0])), 1000.0)
