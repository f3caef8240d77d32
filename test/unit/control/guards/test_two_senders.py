"""Two publishers of joint states on one topic: none is taken for the other."""

from __future__ import annotations

import numpy as np
import pytest
from support.filtered import Stream

from rne_dynamics.errors import StateProblem


def both(stream, times, numbers, other):
    """Two senders in turn: what became of the states of each."""
    fates = ([], [])
    for at, mine, theirs in zip(times, numbers, other, strict=True):
        for fate, when, number in ((fates[0], at, mine), (fates[1], at + 0.0005, theirs)):
            fate.append(stream.fate(when, sequence=number))
    return fates


def test_a_sender_that_joins_late_is_refused_and_the_first_goes_on():
    stream = Stream()
    stream.alone(300_000, 1100)
    times = 1.1 + 0.001 * np.arange(3000)
    mine, other = both(stream, times, range(301_100, 304_100), range(1, 3001))
    assert mine == [False] * 3000
    assert other == [StateProblem.OUT_OF_ORDER, *[StateProblem.TWO_SENDERS] * 2999], "one alone proves nothing"


@pytest.mark.parametrize("ahead", [0.2, 1e4])
def test_a_second_sender_with_a_clock_of_its_own_is_refused_from_its_first_message_on(ahead):
    stream = Stream()
    stream.alone(300_000, 1100)
    for k in range(50):
        stream.refused(1.1 + 0.01 * k, stamp=1.1 + 0.01 * k + ahead, sequence=7 + k)
        assert stream.state(1.1 + 0.01 * k, sequence=301_100 + k) is False


@pytest.mark.parametrize("ahead", [-5000, 0])
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
