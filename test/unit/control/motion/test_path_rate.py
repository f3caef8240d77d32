"""The rate of path time: bounded, smooth, without overshoot, and path time its integral."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rne_dynamics.control.motion.path import PathRate

MS = 1_000_000
speeds = st.lists(st.tuples(st.integers(1, 400), st.floats(0.0, 1.0) | st.sampled_from([0.0, 1.0])), max_size=8)


@settings(max_examples=50, derandomize=True)
@given(speeds, st.floats(0.0, 1.0), st.floats(0.05, 1.0))
def test_whatever_is_asked_the_rate_stays_within_bounds_and_is_the_derivative(asked, first, ramp):
    rate, stamp = PathRate(0, 0.0, first, ramp=ramp), 0
    s, before = 0.0, first
    for wait, target in asked:
        rate.follow(stamp, target)
        for _ in range(0, wait, 20):
            stamp += 20 * MS
            now, r, slope = rate.at(stamp)
            low, high = sorted((before, target))
            assert 0.0 <= r <= high + 1e-12
            if rate._cubic[1] >= 0.0 or target < rate._cubic[0]:  # no fall was called off
                assert low - 1e-12 <= r  # straight from one to the other
            assert abs(slope) <= 1.0 / ramp * (1.0 + 1e-9)
            assert now >= s
            assert now - s <= 2e-2 * max(before, r) + 1e-12
            middle = rate.at(stamp - 10 * MS)
            simpson = (rate.at(stamp - 20 * MS)[1] + 4.0 * middle[1] + r) * 2e-2 / 6.0
            if rate._duration == 0.0 or stamp - rate._stamp <= rate._duration * 1e9:
                np.testing.assert_allclose(now - s, simpson, atol=1e-12)
            s, before = now, r


def test_a_change_takes_its_time_and_then_the_rate_is_exactly_the_target():
    rate = PathRate(0, 0.0, 1.0, ramp=0.3)
    rate.follow(0, 0.2)
    done = round(1.5 * 0.3 * 0.8 * 1e9)
    assert rate.at(done - MS)[1] > 0.2
    assert rate.at(done + 1)[1:] == (0.2, 0.0)
    peak = max(abs(rate.at(k * MS)[2]) for k in range(360))
    np.testing.assert_allclose(peak, 1.0 / 0.3, rtol=1e-4)


def test_a_change_of_mind_keeps_the_slope_where_the_direction_stays():
    rate = PathRate(0, 0.0, 0.0)
    rate.follow(0, 0.5)
    before = rate.at(80 * MS)
    rate.follow(80 * MS, 1.0)
    np.testing.assert_allclose(rate.at(80 * MS), before, rtol=1e-12)
    rate.follow(90 * MS, 0.0)
    assert rate.at(90 * MS)[2] == 0.0  # less is asked for: no more of it first


def test_a_fall_that_is_called_off_goes_on_for_a_moment():
    rate = PathRate(0, 0.0, 1.0)
    rate.brake(0, 0.3)
    before = rate.at(150 * MS)
    rate.follow(150 * MS, 1.0)
    np.testing.assert_allclose(rate.at(150 * MS), before, rtol=1e-12)
    rates = [rate.at(k * MS)[1] for k in range(150, 800)]
    assert 0.0 < min(rates) < before[1]
    assert rates[-1] == max(rates) == 1.0
    late = PathRate(0, 0.0, 1.0)
    late.brake(0, 0.3)
    late.follow(280 * MS, 1.0)
    assert min(late.at(k * MS)[1] for k in range(280, 900)) >= 0.0


def test_a_brake_is_never_longer_than_asked_and_stops_dead():
    for slope in (0.0, -3.0, 3.0):
        rate = PathRate(0, 0.0, 0.7, slope)
        rate.brake(0, 0.25)
        assert rate.at(250 * MS)[1:] == (0.0, 0.0)
        rates = [rate.at(k * MS)[1] for k in range(260)]
        assert max(rates) == 0.7
        assert (np.diff(rates) <= 0.0).all()
        assert min(rates) >= 0.0
