"""Thousands of random and hostile joint states through all that reads them: each is refused, or good."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sensor_msgs.msg import JointState

from rne_dynamics.control.guards.state_filter import StateFilter
from rne_dynamics.control.guards.state_limits import StateLimits
from rne_dynamics.errors import StateError, StateProblem
from rne_dynamics.ros.messages.joint_states import NO_VELOCITY, OTHER_JOINTS, JointMap
from rne_dynamics.ros.messages.publishers import stamp_of

JOINTS = ("a", "b", "c")
VELOCITY = np.array([2.0, 3.0, np.inf])

NAMES = st.one_of(
    st.just(list(JOINTS)),
    st.permutations([*JOINTS, "x"]),
    st.lists(st.sampled_from([*JOINTS, "x", "", "a "]), max_size=6),
    st.lists(st.text(max_size=3), max_size=4),
)
VALUES = st.one_of(
    st.lists(st.floats(-0.01, 0.01), min_size=3, max_size=3),
    st.lists(st.floats(-0.01, 0.01), min_size=4, max_size=4),
    st.lists(st.floats(), max_size=6),
    st.just([math.nan] * 3), st.just([]),
)
SECONDS = st.one_of(st.just(100), st.integers(-(2**31), 2**31 - 1), st.just(0))
NANOSECONDS = st.one_of(st.integers(0, 10**9 - 1), st.integers(0, 2**32 - 1), st.just(0))
MESSAGES = st.tuples(
    NAMES, VALUES, VALUES, VALUES, SECONDS, NANOSECONDS,
    st.one_of(st.none(), st.integers(0, 2**64 - 1), st.integers(1, 50)), st.floats(0.0, 0.2),
)  # fmt: skip


def message(names, position, velocity, effort, seconds, nanoseconds):
    out = JointState(name=names, position=position, velocity=velocity, effort=effort)
    out.header.stamp.sec, out.header.stamp.nanosec = seconds, nanoseconds
    return out


class Reader:
    """A map and a filter as a node has them, and what they let through."""

    def __init__(self):
        self.map = JointMap(JOINTS)
        self.filter = StateFilter(StateLimits(VELOCITY, np.array([False, True, False]), 0.1, 50.0, JOINTS))
        self.q, self.qd, self.effort = np.zeros(3), np.zeros(3), np.zeros(3)

    def take(self, state, arrival, sequence):
        """Whether the time base is new; None for a message that is not ours."""
        reading = self.map.read(state, self.q, self.qd, self.effort)
        if reading == OTHER_JOINTS:
            return None
        missing = reading == NO_VELOCITY
        return self.filter.accept(
            stamp_of(state), arrival, self.q, self.qd, velocity_missing=missing, sequence=sequence
        )


def check(messages):
    """Each message is refused, has no known joint, or gives the state that it contains; how many of each."""
    reader, arrival, known, fates = Reader(), 0.0, False, [0, 0, 0]
    for *parts, sequence, later in messages:
        arrival += later
        state = message(*parts)
        try:
            new = reader.take(state, arrival, sequence)
        except StateError as error:
            problem, text = error.problem, str(error)
            assert problem in StateProblem, text
            fates[0] += 1
            continue
        if new is None:
            assert not set(JOINTS) & set(state.name)
            fates[1] += 1
            continue
        assert new or known
        known = True
        fates[2] += 1
        assert np.isfinite([reader.q, reader.qd]).all()
        assert not np.isinf(reader.effort).any()
        for j, joint in enumerate(JOINTS):
            turns = (reader.q[j] - state.position[state.name.index(joint)]) / (2.0 * math.pi)
            assert turns == pytest.approx(round(turns) if j == 1 else 0.0, abs=1e-6)
        if len(state.velocity) and not np.isnan([state.velocity[state.name.index(j)] for j in JOINTS]).all():
            assert (np.abs(reader.qd) <= 5.0 * VELOCITY).all()
    return fates


@pytest.mark.slow
@settings(max_examples=40, derandomize=True)
@given(st.lists(MESSAGES, max_size=15))
def test_hostile_messages_are_refused_or_good(messages):
    check(messages)


@pytest.mark.parametrize("count", [2_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_many_messages_that_are_almost_right(count):
    """Faults drawn into a stream of good states, so that the checks behind the first ones are reached too."""
    rng = random.Random(4)
    worse = [math.nan, math.inf, -math.inf, 1e300, -1e9, 5.0, 1e-320]

    def values(size):
        out = [rng.uniform(-0.002, 0.002) for _ in range(size)]
        if rng.random() < 0.1:
            out[rng.randrange(size)] = rng.choice(worse)
        return out[: rng.randrange(size)] if rng.random() < 0.02 else out

    def messages():
        stamp = 100_000_000_000
        for k in range(count):
            names = rng.sample([*JOINTS, "x"], 4)
            if rng.random() < 0.05:
                names[rng.randrange(4)] = rng.choice(["x", "a", ""])
            stamp += 1_000_000
            if rng.random() < 0.02:
                stamp += rng.choice([-1_000_000, -50_000_000, 200_000_000, -900_000_000, 10**10])
            stated = rng.choice([0, stamp - 3_000_000, rng.randrange(2**60)]) if rng.random() < 0.05 else stamp
            sequence = rng.choice([None, 1, 2**64 - 1]) if rng.random() < 0.02 else k + 1
            yield names, values(4), values(4), values(4), stated // 10**9 % 2**31, stated % 10**9, sequence, 0.001

    refused, without_joints, good = check(messages())
    assert refused > count // 10
    assert without_joints == 0
    assert good > count // 10


@settings(max_examples=15, derandomize=True)
@given(st.lists(st.one_of(st.none(), MESSAGES), max_size=20), st.integers(0, 2**32))
def test_a_good_stream_is_read_between_hostile_messages_of_others(mixed, seed):
    """Hostile messages from a second publisher, whose numbers give it away, take nothing from the arm's own."""
    reader, rng, k = Reader(), np.random.default_rng(seed), 0
    good, q = 0, np.zeros(3)

    def own(steps=1):
        nonlocal k, q
        k += steps
        q = q + 0.001 * rng.uniform(-1.0, 1.0, 3)
        state = message([*JOINTS], q.tolist(), [0.1] * 3, [], 100 + k // 1000, k % 1000 * 1_000_000)
        return reader.take(state, 0.001 * k, 10**9 + k)

    assert own() is True
    assert own(1100) is False
    for hostile in mixed:
        if hostile is not None:
            *parts, _, _ = hostile
            try:
                assert reader.take(message(*parts), 0.001 * k, 7 + good) is None
            except StateError:
                good += 1
        assert own() is False
        np.testing.assert_array_equal(reader.q, q)
