"""The reactions of the input guard's table, each on a stream of states."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.guards.state_filter import StateFilter
from rne_dynamics.control.guards.state_limits import StateLimits
from rne_dynamics.errors import ControlError, StateError, StateProblem

JOINTS = ("a", "b")
NOW = 1_795_313_092_640_983_600  # ns, a stamp of today
MS = 1_000_000


def limits(velocity=(2.0, 2.0), continuous=(False, True), timeout=0.1, frequency=50.0):
    return StateLimits(np.array(velocity), np.array(continuous), timeout, frequency, JOINTS)


class Stream:
    """Hands states to a filter; times in s since the start."""

    def __init__(self, **given):
        self.filter = StateFilter(limits(**given))
        self.q, self.qd = np.zeros(2), np.zeros(2)

    def state(self, at, q=(0.0, 0.0), qd=(0.0, 0.0), *, stamp=None, missing=False, sequence=None):
        """True for a new time base; `stamp` in s too, that of `at` where None; 0 for none."""
        self.q[:], self.qd[:] = q, qd
        ns = NOW + round((at if stamp is None else stamp) * 1e9) if stamp != 0 else 0
        return self.filter.accept(ns, at, self.q, self.qd, velocity_missing=missing, sequence=sequence)

    def refused(self, *given, **named):
        with pytest.raises(StateError) as caught:
            self.state(*given, **named)
        self.text = str(caught.value)
        return caught.value.problem

    def fate(self, *given, **named):
        """As `state`, or the problem for which it was refused."""
        try:
            return self.state(*given, **named)
        except StateError as error:
            return error.problem

    def alone(self, first, count, step=1e-3):
        """One sender's states with numbers from `first` on, the first one at 0 s."""
        for k in range(count):
            self.state(step * k, sequence=first + k)

    def run(self, begin, end, step=1e-3, **named):
        """States at rest from `begin` on; how many new time bases."""
        return sum(self.state(at, **named) for at in np.arange(begin, end - 1e-9, step))


def test_after_a_reset_the_arm_is_wherever_the_next_state_finds_it():
    stream = Stream()
    stream.state(0.0, qd=(1.0, 1.0))
    stream.filter.reset()
    assert stream.state(0.5, (3.0, -9.0), (7.0, 7.0), missing=True) is True
    assert stream.q.tolist() == [3.0, -9.0]
    assert stream.qd.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused_with_the_joint(value, first):
    stream = Stream()
    if not first:
        stream.state(0.0)
    assert stream.refused(0.001, (0.0, value)) is StateProblem.NOT_FINITE
    assert "joint 'b'" in stream.text
    assert stream.refused(0.001, qd=(value, 0.0)) is StateProblem.NOT_FINITE
    assert "joint 'a'" in stream.text
    assert stream.state(0.001, qd=(value, value), missing=True) is first
    assert stream.qd.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("stamp", "arrival", "problem"), [
    (NOW, math.nan, StateProblem.NOT_FINITE),
    *((stamp, 0.0, StateProblem.NO_STAMP) for stamp in (-1, -(2**63), 2**62, 2**200)),
])  # fmt: skip
def test_a_time_that_is_none_is_refused(stamp, arrival, problem):
    stream = Stream()
    with pytest.raises(StateError) as caught:
        stream.filter.accept(stamp, arrival, stream.q, stream.qd)
    assert caught.value.problem is problem


@pytest.mark.parametrize("given", [{"q": (1.1e6, 0.0)}, {"qd": (0.0, -1e300)}])
def test_what_no_arm_can_reach_is_refused(given):
    assert Stream(velocity=(np.inf, np.inf)).refused(0.0, **given) is StateProblem.OUT_OF_RANGE


@pytest.mark.parametrize("back", [1e-9, 0.49, 3600.0])
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


@pytest.mark.parametrize("step", [-3600.0, -0.51, -0.3, -0.03, 0.12, 0.6, 1e5])
@pytest.mark.parametrize("early", [True, False])
def test_a_clock_that_is_set_makes_a_new_time_base(step, early):
    stream = Stream()
    stream.run(0.0, 0.01 if early else 2.5)
    assert stream.state(3.0, stamp=3.0) is False  # a pause on the way is none
    if step < 0.0:
        set_back(stream, 3.001, step)
    else:
        assert stream.state(3.001, stamp=3.001 + step) is True
    assert stream.state(3.006, stamp=3.006 + step) is False


@pytest.mark.parametrize(("stamp", "new"), [(2.025, False), (2.035, True)])
def test_a_stamp_a_little_ahead_is_jitter_and_one_further_ahead_would_make_the_reference_leap(stamp, new):
    stream = Stream()
    stream.run(0.0, 2.0)
    assert stream.state(2.0, stamp=stamp) is new


@pytest.mark.parametrize("delay", [0.015, 0.048])
def test_a_delay_that_stays_is_known_for_good(delay):
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
       for rate in (0.01, 0.5, 0.97, 1.03)},
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


@pytest.mark.parametrize(("rate", "within", "begin"), [(1.1, 3.0, 0.0), (1.5, 1.0, 3.0), (3.0, 0.5, 0.0)])
def test_a_clock_faster_than_real_time_is_refused_until_restart(rate, within, begin):
    stream = Stream()
    stream.run(0.0, begin)
    fates = []
    for at in np.arange(begin, begin + 6.0, 1e-3):
        fates.append(stream.fate(at, stamp=begin + rate * (at - begin) + 1e-3))
        if len(fates) == 5000:
            stream.filter.reset()
    first = fates.index(StateProblem.CLOCK_TOO_FAST)
    assert 1e-3 * first <= within + (1.0 if begin else 0.0)
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


@pytest.mark.parametrize("gap", [0.2, 0.3, 2.0])
def test_what_returns_late_after_a_reset_is_refused_until_it_is_in_time(gap):
    stream = Stream()
    stream.run(0.0, 2.0)
    back = 2.0 + gap
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
    stream.filter.change(StateLimits(np.array([2.0, 2.0]), np.array([False, True]), 0.1, 50.0, JOINTS, lateness=0.02))
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


def test_a_position_may_move_as_far_as_twice_the_velocity_limit_takes_it():
    furthest, near, far = 2.0 * 2.0 * (0.01 + 0.002) + 0.002, Stream(), Stream()
    for stream in (near, far):
        stream.state(0.0)
    assert near.state(0.01, (1e-9 - furthest, 0.0)) is False
    assert far.refused(0.01, (-1e-9 - furthest, 0.0)) is StateProblem.POSITION_JUMP
    assert "joint 'a' is -0.05 from its last good place after 0.010000 s" in far.text


def test_a_stream_that_stays_where_it_jumped_to_is_refused_until_reset():
    stream = Stream()
    stream.state(0.0)
    place = 0.5
    for k in range(1, 3000):
        place += 1e-4  # it moves on as an arm would; twice the velocity limit would be there after 0.13 s
        assert stream.refused(0.001 * k, (place, 0.0)) is StateProblem.POSITION_JUMP
    assert "joint 'a' has jumped, and stays 0.7999 from its last good place: the first state there" in stream.text
    assert "possible" not in stream.text, "an arm can be there by now"
    stream.filter.reset()
    assert stream.state(3.0, (place, 0.0)) is True
    assert stream.state(3.001, (place, 0.0)) is False


def test_an_arm_that_moves_on_after_a_broken_message_is_taken():
    stream = Stream()
    stream.state(0.0)
    stream.refused(0.001, (0.02, 0.0))
    for k in range(2, 20):
        assert stream.state(0.001 * k, (0.002 * k, 0.0)) is False, "as fast as its limit, through where the jump led to"


def test_a_second_sender_without_numbers_shows_in_its_jumps():
    stream = Stream()
    stream.state(0.0)
    for k in range(1, 500):
        assert stream.state(0.001 * k, (0.001 * k, 0.0)) is False
        assert stream.refused(0.001 * k + 0.0005, (1.0, 1.0)) is StateProblem.POSITION_JUMP


def test_without_a_velocity_limit_places_and_velocities_are_not_judged():
    stream = Stream(velocity=(np.inf, 2.0))
    stream.state(0.0)
    assert stream.state(0.001, (300.0, 0.0), (9e4, 0.0)) is False


@pytest.mark.parametrize("low", [-math.pi, 0.0])
@pytest.mark.parametrize("speed", [1.9, -1.9])
def test_a_continuous_joint_is_unwrapped_over_many_turns(low, speed):
    stream = Stream()
    begin = low + 1.0
    for k in range(3000):
        place = begin + speed * 0.01 * k
        stream.state(0.01 * k, (0.0, (place - low) % (2.0 * math.pi) + low), missing=True)
        assert stream.q[1] == pytest.approx(place, rel=1e-12, abs=1e-12)
    assert stream.qd[1] == pytest.approx(speed, rel=1e-9)


def test_a_joint_with_stops_does_not_wrap():
    stream = Stream()
    stream.state(0.0, (3.14, 0.0))
    assert stream.refused(0.001, (-3.14, 0.0)) is StateProblem.POSITION_JUMP


def test_a_velocity_far_beyond_its_limit_is_refused():
    stream = Stream()
    assert stream.refused(0.0, qd=(0.0, -10.1)) is StateProblem.TOO_FAST
    assert stream.state(0.0, qd=(0.0, -9.9)) is True
    assert stream.refused(0.001, qd=(10.1, 0.0)) is StateProblem.TOO_FAST
    assert stream.state(0.001, qd=(9.9, 0.0)) is False


# -- two senders ------------------------------------------------------------------------------------------------------


def both(stream, times, numbers, other):
    """Two senders in turn: what became of the states of each."""
    fates = ([], [])
    for at, mine, theirs in zip(times, numbers, other, strict=True):
        for fate, when, number in ((fates[0], at, mine), (fates[1], at + 0.0005, theirs)):
            fate.append(stream.fate(when, sequence=number))
    return fates


@pytest.mark.parametrize("first", [1, 700_000])
def test_a_sender_that_joins_late_is_refused_and_the_first_goes_on(first):
    stream = Stream()
    stream.alone(300_000, 1100)
    times = 1.1 + 0.001 * np.arange(3000)
    mine, other = both(stream, times, range(301_100, 304_100), range(first, first + 3000))
    assert mine == [False] * 3000
    assert other == [StateProblem.OUT_OF_ORDER, *[StateProblem.TWO_SENDERS] * 2999], "one alone proves nothing"


@pytest.mark.parametrize("ahead", [0.2, 0.6, 2.0, 1e4])
def test_a_second_sender_with_a_clock_of_its_own_is_refused_from_its_first_message_on(ahead):
    stream = Stream()
    stream.alone(300_000, 1100)
    for k in range(50):
        stream.refused(1.1 + 0.01 * k, stamp=1.1 + 0.01 * k + ahead, sequence=7 + k)
        assert stream.state(1.1 + 0.01 * k, sequence=301_100 + k) is False


@pytest.mark.parametrize("ahead", [-5000, -1, 0, 90])
def test_of_two_senders_from_the_start_none_is_followed(ahead):
    stream = Stream()
    assert stream.state(0.0, sequence=9000) is True
    mine, other = both(stream, 0.001 * np.arange(1, 3000), range(9001, 12000), range(9001 + ahead, 12000 + ahead))
    assert set(mine[2:] + other[2:]) == {StateProblem.TWO_SENDERS}
    stream.filter.reset()
    for k in range(499):
        assert stream.refused(3.0 + 0.01 * k, sequence=17000 + k) is StateProblem.TWO_SENDERS, "not yet alone for 5 s"
    assert stream.state(8.02, sequence=18010) is True
    assert stream.state(8.03, sequence=18020) is False


def test_the_other_sender_is_not_taken_for_the_arm_when_its_own_falls_silent():
    stream = Stream()
    stream.alone(0, 1100)
    both(stream, 1.1 + 0.001 * np.arange(100), range(1100, 1200), range(5000, 5100))
    fates = set()
    for k in range(450):  # the other goes on
        if k == 10:
            stream.filter.reset()
        fates.add(stream.refused(1.2 + 0.01 * k, (1.0, 1.0), sequence=5100 + k))
    assert fates == {StateProblem.TWO_SENDERS}


def test_two_senders_at_once_are_both_refused_after_a_reset_too():
    stream = Stream()
    stream.run(0.0, 1.1)
    both(stream, 1.1 + 0.001 * np.arange(100), range(500, 600), range(9000, 9100))
    stream.filter.reset()
    mine, other = both(stream, 1.2 + 0.001 * np.arange(100), range(600, 700), range(9100, 9200))
    assert set(mine + other) == {StateProblem.TWO_SENDERS}


def test_messages_may_be_lost():
    stream = Stream()
    assert stream.state(0.0, sequence=1) is True
    assert stream.state(0.001, sequence=90) is False
    assert stream.state(0.08, sequence=500) is False


def test_a_driver_that_starts_again_is_followed_after_a_reset():
    stream = Stream()
    stream.alone(1, 1500)
    stream.filter.reset()
    assert stream.state(3.0, sequence=1) is True
    assert stream.state(3.001, sequence=2) is False


def test_a_driver_that_starts_again_unnoticed_is_followed_when_it_was_alone_for_long():
    stream = Stream(timeout=0.0)
    stream.alone(1, 1500)
    fates = [stream.fate(1.6 + 0.001 * k, sequence=k + 1) for k in range(7000)]
    assert fates.count(True) == 1
    assert set(fates[: fates.index(True)]) == {StateProblem.OUT_OF_ORDER}, "there was never more than one"
    assert fates.index(True) <= 1000


#: Publication numbers and stamps (ms) as they were taken at starts, three on a busy machine (2 cores, Fast DDS): the
#: first message, then an old one that had waited during a stall, then the newest.
STARTS = {
    "stalled": [(0.0, 867, 0), (333.9, 1008, 141), (334.8, 1201, 334), (336.7, 1202, 335), (336.8, 1203, 336)],
    "stalled longer": [(0.0, 1171, 0), (334.2, 1271, 100), (334.5, 1418, 247), (334.8, 1505, 334), (335.1, 1506, 335)],
    "stalled later": [(0.0, 2393, 0), (5.4, 2394, 10), (6.6, 2395, 11), (6.9, 2541, 157), (7.2, 2571, 187)],
    "delivered twice": [(0.0, 5, 0), (0.2, 5, 0), (1.0, 6, 1), (1.2, 6, 1), (2.0, 7, 2), (2.2, 7, 2), (3.0, 8, 3)],
    "out of order": [(0.0, 6, 1), (0.2, 5, 0), (1.0, 8, 3), (1.2, 7, 2), (2.0, 9, 4), (3.0, 10, 5)],
    "an old publisher's last": [(0.0, 9000, 0), *[(k, k, k) for k in range(1, 12)]],
    "a step ahead": [(0.0, 1, 0), *[(k, 5000 + k, k) for k in range(1, 12)]],
}


@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize("stamped", [True, False])
def test_a_stream_that_just_began_does_not_look_like_two(name, stamped):
    stream, messages = Stream(timeout=0.0), STARTS[name]
    at, number, stamp = messages[-1]
    messages = messages + [(at + k, number + k, stamp + k) for k in range(1, 100)]
    fates = [
        stream.fate(1e-3 * arrival, stamp=1.0 + 1e-3 * stamp if stamped else 0, sequence=sequence)
        for arrival, sequence, stamp in messages
    ]
    assert fates[0] is True
    if stamped or name not in ("delivered twice", "out of order"):  # without stamps just as of two that began together
        assert StateProblem.TWO_SENDERS not in fates
        assert fates[-95:] == [False] * 95


@pytest.mark.parametrize("number", [None, 2**64 - 1, 2**62, -7])
def test_a_middleware_without_numbers_is_no_reason_to_refuse(number):
    stream = Stream()
    assert [stream.state(0.001 * k, sequence=number) for k in range(5)] == [True, *[False] * 4]


# -- as a whole -------------------------------------------------------------------------------------------------------

BAD = st.sampled_from(["nan", "far", "jump", "fast", "twin", "back", "none"])


@settings(max_examples=80, derandomize=True)
@given(st.lists(
    st.tuples(
        st.floats(1e-4, 0.02), st.floats(-1.0, 1.0), st.lists(BAD, max_size=3).filter(lambda x: x.count("fast") < 3),
    ),
    max_size=40,
))
def test_refused_states_leave_nothing_behind_that_a_good_one_needs(steps):
    """A stream with bad states in it, and the same without them, come out alike to the last bit."""
    clean, dirty = Stream(), Stream()
    at, q = 0.0, np.zeros(2)
    for stream in (clean, dirty):
        stream.state(0.0, missing=True)
    for dt, speed, bad in steps:
        last, at = at, at + dt
        for kind in bad:
            given = {
                "nan": {"q": (q[0], math.nan)}, "far": {"q": (1e7, q[1])}, "jump": {"q": (q[0] + 1.0, q[1])},
                "fast": {"q": q, "qd": (99.0, 0.0)}, "twin": {"q": q, "stamp": last or 1e-12},
                "back": {"q": q, "stamp": last - 0.1}, "none": {"q": q, "stamp": 0},
            }[kind]  # fmt: skip
            dirty.refused(at, missing=kind != "fast", **given)
        q = q + speed * dt
        assert clean.state(at, q, missing=True) is dirty.state(at, q, missing=True) is False
        assert clean.qd.tolist() == dirty.qd.tolist()
    assert clean.filter.stamp == dirty.filter.stamp


NUMBERS = st.one_of(st.floats(), st.floats(-4.0, 4.0), st.floats(-20.0, 20.0))
STAMPS = st.one_of(st.integers(), st.integers(NOW - 10**10, NOW + 10**10), st.just(0))


@settings(max_examples=100, derandomize=True)
@given(st.lists(
    st.tuples(STAMPS, st.floats(-0.01, 2.0), st.lists(NUMBERS, min_size=4, max_size=4), st.booleans(),
              st.one_of(st.none(), st.integers(-2, 2**64)), st.integers(0, 19)),
    max_size=30,
))
def test_whatever_comes_is_refused_or_finite_and_possible(messages):
    stream = Stream()
    arrival, place, fresh_due = 0.0, None, True
    for stamp, later, values, missing, sequence, reset in messages:
        arrival += later
        if reset == 0:
            stream.filter.reset()
            fresh_due = True
        stream.q[:], stream.qd[:] = values[:2], values[2:]
        try:
            new = stream.filter.accept(stamp, arrival, stream.q, stream.qd, velocity_missing=missing, sequence=sequence)
        except StateError:
            continue
        assert new or not fresh_due
        assert np.isfinite(stream.q).all()
        assert np.isfinite(stream.qd).all()
        if not missing:
            assert (np.abs(stream.qd) <= 10.0).all()
        if place is not None and not new:
            assert (np.abs(stream.q - place) <= 4.0 * (2.0 * len(messages) + 1.0) + 0.1).all()
        place, fresh_due = stream.q.copy(), False


def test_limits_can_change_while_it_runs():
    stream = Stream()
    stream.state(0.0)
    stream.filter.change(limits(velocity=(200.0, 200.0)))
    assert stream.state(0.001, (0.5, 0.0), (500.0, 0.0)) is False
    with pytest.raises(ControlError, match="limits are for"):
        stream.filter.change(StateLimits(np.ones(1), np.zeros(1, dtype=bool), 0.1, 50.0, ("c",)))


def test_arrays_of_another_length_are_refused():
    with pytest.raises(ControlError, match="2 joints"):
        StateFilter(limits()).accept(NOW, 0.0, np.zeros(3), np.zeros(3))


@pytest.mark.parametrize(("given", "said"), [
    ({"velocity": (math.nan, 1.0)}, "velocity limit of joint 'a'"),
    ({"velocity": (1.0, 0.0)}, "velocity limit of joint 'b'"),
    ({"velocity": (1.0, 1.0, 1.0)}, "shape"),
    ({"continuous": (True,)}, "continuous has shape"),
    ({"timeout": -0.1}, "timeout is -0.1"),
    ({"timeout": math.nan}, "timeout is nan"),
    ({"frequency": 0.0}, "velocity filter is 0"),
    ({"frequency": math.inf}, "velocity filter is inf"),
])
def test_limits_that_make_no_sense_are_refused(given, said):
    with pytest.raises(ControlError, match=said):
        limits(**given)


def test_the_error_can_be_pickled():
    error = pickle.loads(pickle.dumps(StateError("joint state: bad", StateProblem.DELAYED)))
    assert (str(error), error.problem) == ("joint state: bad", StateProblem.DELAYED)


def same_memory(one, other):
    return all(
        np.array_equal(getattr(one.filter, name), getattr(other.filter, name), equal_nan=True)
        for name in ("_whole", "_clock", "_table")
    )


def test_what_the_law_expects_counts_for_the_next_state_settled_or_not():
    one, other, neither = Stream(), Stream(), Stream()
    for k in range(1, 20):
        for stream in (one, other, neither):
            stream.state(1e-3 * k, (0.0, 0.5e-3 * k), (0.0, 0.5))
            if stream is not neither:
                feedback = np.array([0.01 * k, 0.0])
                reference = Reference(np.zeros(2), np.full(2, 0.5), np.zeros(2))
                stream.filter.expect(1e-3 * k, reference, np.zeros(2), feedback, np.full(2, 0.5))
        one.filter.settle()
    for stream in (one, other, neither):
        stream.state(0.02, (0.0, 0.01), (0.0, 0.5))
    assert same_memory(one, other)
    assert not same_memory(one, neither)


def test_what_the_law_expected_before_a_reset_does_not_count_after_it():
    one, other = Stream(), Stream()
    for stream in (one, other):
        stream.state(0.001)
    other.filter.expect(0.001, Reference(*np.ones((3, 2))), np.ones(2), np.ones(2), np.ones(2))
    for stream in (one, other):
        stream.filter.reset()
        stream.state(0.002)
    assert same_memory(one, other)
