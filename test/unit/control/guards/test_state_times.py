"""Stamps of joint states: jitter, delays, clocks that are set, simulations at any pace."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.filtered import Stream, limits

from rne_dynamics.errors import StateProblem


@pytest.mark.parametrize("back", [1e-9, 3600.0])
def test_a_small_step_back_is_out_of_order_and_the_next_good_state_goes_on(back):
    stream = Stream()
    stream.run(0.0, 0.6)
    assert stream.refused(0.6, stamp=0.599 - back) is StateProblem.OUT_OF_ORDER
    assert stream.state(0.6) is False


def set_back(stream, begin, step):
    """Four states are refused; the fifth in a row of the new time begins it."""
    for k in range(4):
        assert stream.refused(begin + 1e-3 * k, stamp=begin + 1e-3 * k + step) is StateProblem.OUT_OF_ORDER
    assert stream.state(begin + 4e-3, stamp=begin + 4e-3 + step) is True


@pytest.mark.parametrize(("step", "early"), [(-3600.0, True), (-0.03, False), (0.12, False), (1e5, True)])
def test_a_clock_that_is_set_makes_a_new_time_base(step, early):
    stream = Stream()
    stream.run(0.0, 0.01 if early else 2.5)
    assert stream.state(3.0, stamp=3.0) is False  # a pause on the way is none
    if step < 0.0:  # four states are refused; the fifth in a row of the new time begins it
        for k in range(1, 5):
            assert stream.refused(3.0 + 1e-3 * k, stamp=3.0 + 1e-3 * k + step) is StateProblem.OUT_OF_ORDER
    assert stream.state(3.005, stamp=3.005 + step) is True
    assert stream.state(3.006, stamp=3.006 + step) is False


@pytest.mark.parametrize(("stamp", "new"), [(2.025, False), (2.035, True)])
def test_a_stamp_a_little_ahead_is_jitter_and_one_further_ahead_would_make_the_reference_leap(stamp, new):
    stream = Stream()
    stream.run(0.0, 2.0)
    assert stream.state(2.0, stamp=stamp) is new


def test_a_delay_that_stays_is_known_for_good():
    delay = 0.048
    stream = Stream()
    stream.run(0.0, 2.0)
    for k in range(6000):
        assert stream.state(2.0 + delay + 1e-3 * k, stamp=2.0 + 1e-3 * k) is False
    assert stream.filter.late == pytest.approx(delay, rel=0.4)


def test_a_broken_message_is_not_taken_for_a_new_time():
    stream = Stream()
    stream.run(0.0, 0.1)
    assert stream.refused(0.1, (0.5, 0.0), stamp=99.0) is StateProblem.POSITION_JUMP
    assert stream.state(0.101) is False


K = np.arange(1, 8000)
#: Times of arrival, s, and stamps, s, of simulations whose time is not that of the clock.
PACES = {
    **{f"at {rate} of real time": (at := np.arange(0.01, 6.0, 0.001 / min(rate, 1.0)), rate * at)
       for rate in (0.01, 1.03)},
    "at changing speed": (np.cumsum(0.001 / (0.5 + 0.4 * np.sin(K / 500.0))), 1e-3 * K),
    "with a delay of 80 ms at the start that goes away, and another one later":
        (at := np.arange(0.0, 6.0, 1e-3), 1.0 + at - np.interp(at, [0, 0.4, 2.8, 2.9, 3.4], [0.08, 0, 0, 0.08, 0])),
}  # fmt: skip


@pytest.mark.parametrize("pace", PACES)
def test_a_simulation_runs_as_it_likes(pace):
    stream = Stream()
    assert sum(stream.state(at, stamp=stamp) for at, stamp in zip(*PACES[pace], strict=True)) == 1


def test_a_clock_that_is_slow_for_good_is_no_growing_delay():
    stream = Stream()
    for k in range(4_000):
        stream.state(2e-3 * k, stamp=1e-3 * k)
    assert stream.filter.late < 0.01


def test_a_clock_faster_than_real_time_is_refused_until_restart():
    stream, fates = Stream(), []
    for at in np.arange(0.0, 6.0, 1e-3):
        fates.append(stream.fate(at, stamp=1.1 * at + 1e-3))
        if len(fates) == 5000:
            stream.filter.reset()
    first = fates.index(StateProblem.CLOCK_TOO_FAST)
    assert 1e-3 * first <= 3.0
    assert set(fates[first:]) == {StateProblem.CLOCK_TOO_FAST}
    stream.filter.restart()
    assert stream.state(50.0) is True
    assert stream.run(50.001, 53.0) == 0


def test_a_simulation_that_slows_down_all_at_once_is_late_until_restart():
    """It cannot be distinguished from a queue that fills; a restart takes it as it is."""
    stream, stamp = Stream(), 0.0
    for k in range(1, 3000):
        stamp += 0.001
        stream.state(0.001 * k, stamp=stamp)
    fates = []
    for k in range(3000, 8000):
        stamp += 0.0005
        if k % 1000 == 0:
            stream.filter.reset()  # as a controller does with a stale stream
        fates.append(stream.fate(0.001 * k, stamp=stamp))
    assert set(fates[500:]) == {StateProblem.DELAYED}
    stream.filter.restart()
    assert stream.state(8.0, stamp=stamp + 0.0005) is True
    assert sum(stream.state(8.0 + 0.001 * k, stamp=stamp + 0.0005 * (k + 1)) for k in range(1, 3000)) == 0


def test_what_returns_late_after_a_reset_is_refused_until_it_is_in_time():
    stream = Stream()
    stream.run(0.0, 2.0)
    back = 2.3
    stream.filter.reset()
    late = 0.15
    for k in range(1000):
        assert stream.refused(back + 0.001 * k, stamp=back + 0.001 * k - late) is StateProblem.DELAYED
        if k == 500:
            stream.filter.reset()
    assert stream.state(back + 1.0, stamp=back + 0.999) is True
    assert stream.state(back + 1.001, stamp=back + 1.0) is False


def test_a_delay_in_the_first_second_is_not_the_baseline():
    stream = Stream()
    stream.run(0.0, 0.4)
    stream.filter.reset()
    assert stream.refused(0.55, stamp=0.4) is StateProblem.DELAYED


def test_the_delay_that_the_gains_tolerate_counts_where_it_is_shorter():
    stream = Stream()
    stream.filter.change(replace(limits(), lateness=0.02))
    stream.run(0.0, 1.0)
    assert stream.refused(1.03, stamp=1.005) is StateProblem.DELAYED
    assert stream.state(1.031, stamp=1.015) is False


def test_a_clock_set_back_is_a_new_time_after_a_reset_too():
    stream = Stream()
    stream.run(0.0, 2.0)
    stream.filter.reset()
    set_back(stream, 2.2, -100.0)
    assert stream.run(2.205, 4.0, stamp=None) == 1, "and back: once"


def test_a_state_later_than_the_others_is_refused_and_those_that_catch_up_are_not():
    stream = Stream()
    stream.run(0.0, 2.0)
    # a queue that fills: 0.2 ms more stamp each ms
    fates = [stream.fate(2.0 + 0.001 * k, stamp=2.0 + 0.0002 * k) for k in range(150)]
    first = next(k for k, fate in enumerate(fates) if fate)
    assert fates[first] is StateProblem.DELAYED
    assert 0.0008 * first == pytest.approx(0.1, abs=0.005)
    assert stream.refused(2.2, stamp=2.05) is StateProblem.DELAYED
    assert "state_timeout" in stream.text
    assert stream.state(2.2) is False


def test_without_a_timeout_nothing_is_late():
    stream = Stream(timeout=0.0)
    stream.run(0.0, 2.0)
    assert stream.run(2.0, 2.4, stamp=None) == 0
    assert stream.state(2.8, stamp=2.41) is False


def test_where_no_state_has_a_stamp_the_arrival_is_its_time():
    stream = Stream()
    assert [stream.state(at, stamp=0) for at in (0.5, 0.501, 0.501, 0.5011, 1.4)] == [True, *[False] * 4]
    assert stream.filter.stamp == 1_400_000_000
    assert stream.state(1.401) is True, "stamps come later than the first state: a new time base, once"
    assert stream.state(1.402) is False


def test_a_stamp_missing_once_is_refused():
    stream = Stream()
    stream.run(0.0, 0.1)
    assert stream.refused(0.1, stamp=0) is StateProblem.NO_STAMP
    assert stream.state(0.101) is False
