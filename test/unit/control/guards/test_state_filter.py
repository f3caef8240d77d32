"""The reactions of the input guard's table, each on a stream of states; times and two senders have their own files."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.filtered import NOW, Stream, limits

from rne_dynamics.control.control_law import Reference, TorqueTerms
from rne_dynamics.control.guards.state_limits import StateLimits
from rne_dynamics.errors import ControlError, StateError, StateProblem


def test_after_a_reset_the_arm_is_wherever_the_next_state_finds_it():
    stream = Stream()
    stream.state(0.0, qd=(1.0, 1.0))
    stream.filter.reset()
    assert stream.state(0.5, (3.0, -9.0), (7.0, 7.0), missing=True) is True
    assert stream.q.tolist() == [3.0, -9.0]
    assert stream.qd.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("first", "value"), [(True, math.nan), (False, -math.inf)])
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
    for k in range(1, 1000):
        place += 1e-4  # it moves on as an arm would; twice the velocity limit would be there after 0.13 s
        assert stream.refused(0.001 * k, (place, 0.0)) is StateProblem.POSITION_JUMP
    assert "joint 'a' has jumped, and stays 0.5999 from its last good place: the first state there" in stream.text
    assert "possible" not in stream.text, "an arm can be there by now"
    stream.filter.reset()
    assert stream.state(1.0, (place, 0.0)) is True
    assert stream.state(1.001, (place, 0.0)) is False


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


@pytest.mark.parametrize(("low", "speed"), [(-math.pi, 1.9), (0.0, -1.9)])
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


# -- as a whole -------------------------------------------------------------------------------------------------------

BAD = st.sampled_from(["nan", "far", "jump", "fast", "twin", "back", "none"])


@settings(max_examples=50, derandomize=True)
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


@settings(max_examples=50, derandomize=True)
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
    with pytest.raises(ControlError, match="2 joints"):
        stream.filter.accept(NOW, 0.0, np.zeros(3), np.zeros(3))
    with pytest.raises(ControlError, match="limits are for"):
        stream.filter.change(StateLimits(np.ones(1), np.zeros(1, dtype=bool), 0.1, 50.0, ("c",)))


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
                terms = TorqueTerms(*np.zeros((4, 2)), feedback=np.array([0.01 * k, 0.0]))
                reference = Reference(np.zeros(2), np.full(2, 0.5), np.zeros(2))
                stream.filter.expect(1e-3 * k, reference, terms, np.full(2, 0.5))
        one.filter.settle()
    for stream in (one, other, neither):
        stream.state(0.02, (0.0, 0.01), (0.0, 0.5))
    assert same_memory(one, other)
    assert not same_memory(one, neither)


def test_what_the_law_expected_before_a_reset_does_not_count_after_it():
    one, other = Stream(), Stream()
    for stream in (one, other):
        stream.state(0.001)
    other.filter.expect(0.001, Reference(*np.ones((3, 2))), np.ones((5, 2)), np.ones(2))
    for stream in (one, other):
        stream.filter.reset()
        stream.state(0.002)
    assert same_memory(one, other)
