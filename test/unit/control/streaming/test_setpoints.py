"""What is refused of a stream, and why; who may send; when a message was sent."""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np
import pytest
from support.streams import EPOCH, Followed, limits

from rne_dynamics.compiling.jit import COMPILED
from rne_dynamics.control.streaming.limits import SetpointError, SetpointProblem
from rne_dynamics.control.streaming.setpoints import SendTimes
from rne_dynamics.errors import ControlError

Q = np.zeros(3)


@pytest.fixture
def arm() -> Followed:
    """One that has followed some setpoints at 100 Hz."""
    arm = Followed(limits(3))
    for k in range(20):
        arm.send(Q, Q, sequence=k + 1)
        arm.run(0.01)
    return arm


def refused(arm: Followed, problem: SetpointProblem, text: str, *arguments, **options) -> None:
    before = arm.setpoints.taken
    with pytest.raises(SetpointError, match=text) as caught:
        arm.send(*arguments, **options)
    assert caught.value.problem is problem
    assert arm.setpoints.taken == before


@pytest.mark.parametrize(("q", "qd"), [
    (np.array([0.0, np.nan, 0.0]), Q), (Q, np.array([0.0, 0.0, np.inf])), (np.full(3, np.inf), None), (None, None),
])  # fmt: skip
def test_numbers_that_are_not_finite(arm, q, qd):
    refused(arm, SetpointProblem.NOT_FINITE, "must be finite", q, qd)


def test_too_far_away_at_the_begin_and_later(arm):
    refused(arm, SetpointProblem.TOO_FAR, "joint 'j1' is to be at 0.3, 0.3 away .* at most 0.25",
            np.array([0.0, 0.3, 0.0]), sequence=21)
    fresh = Followed(limits(3))
    refused(fresh, SetpointProblem.TOO_FAR, "at most 0.05 are allowed", np.array([0.0, 0.06, 0.0]))
    assert fresh.send(np.array([0.0, 0.04, 0.0]))


def test_stamps(arm):
    now = arm.t
    arm.send(Q, stamped=now - 0.005, sequence=21)
    refused(arm, SetpointProblem.OUT_OF_ORDER, "stamps must increase", Q, stamped=now - 0.006, sequence=22)
    refused(arm, SetpointProblem.OUT_OF_ORDER, "stamps must increase", Q, stamped=now - 0.005, sequence=23)
    refused(arm, SetpointProblem.TOO_OLD, "0.150 s before the time of the joint states", Q, stamped=now - 0.15,
            sequence=24)
    refused(arm, SetpointProblem.TOO_EARLY, "3600.000 s after", Q, stamped=now + 3600.0, sequence=25)
    arm.send(Q, stamped=now, sequence=26)


def test_two_senders_are_distinguished_and_the_first_is_followed(arm):
    refused(arm, SetpointProblem.TWO_SENDERS, "two senders", Q, sequence=3)
    refused(arm, SetpointProblem.TWO_SENDERS, "two senders", Q, sequence=500)
    refused(arm, SetpointProblem.TWO_SENDERS, "two topics", Q, source=1, sequence=21)
    arm.send(Q, sequence=22)
    arm.run(1.0)
    arm.setpoints.ended("")
    assert arm.send(Q, source=1, sequence=3), "after a pause anybody may begin"


def test_a_stream_that_was_called_off_begins_again_only_after_a_pause(arm):
    arm.setpoints.ended("the stream was cancelled")
    for _ in range(50):
        refused(arm, SetpointProblem.CALLED_OFF, "cancelled: setpoints are ignored until none has come for 0.1 s", Q)
        arm.run(0.01)
    arm.run(0.11)
    assert arm.send(Q)


def test_nothing_is_allocated_for_a_message(arm):
    """No array, and nothing that stays: a hundred bytes of integers come and go."""
    if not COMPILED:
        pytest.skip("kernels without llvmlite make objects of numbers")
    for _ in range(50):
        arm.send(Q, Q)
    take, stamps = arm.setpoints.take, [arm.stamp + 1_000_000 * k for k in range(2000)]

    def feed() -> None:
        for at in stamps:
            take(0, Q, Q, stamp=0, ahead=0, at=at, sequence=None, begin=lambda: arm.rest)

    feed()
    tracemalloc.start()
    try:
        before, blocks = tracemalloc.get_traced_memory()[0], sys.getallocatedblocks()
        tracemalloc.reset_peak()
        feed()
        after, peak = tracemalloc.get_traced_memory()
        more = sys.getallocatedblocks() - blocks
    finally:
        tracemalloc.stop()
    assert abs(after - before) < 1000, "for 2000 messages"
    assert more < 50
    assert peak - before < 2000


@pytest.mark.parametrize(("field", "value"), [
    ("timeout", 0.0), ("smoothing", np.nan), ("start", -1.0), ("velocity", np.full(3, np.inf)), ("jerk", -1.0),
    ("acceleration", np.full(2, 1.0)),
])  # fmt: skip
def test_limits_that_are_not_allowed(field, value):
    with pytest.raises(ControlError):
        limits(3, **{field: value})


def test_send_times_remove_most_of_the_jitter_and_count_losses():
    rng, times, period = np.random.default_rng(0), SendTimes(), 0.02
    off = []
    for k in range(2000):
        if rng.random() < 0.05:
            continue
        sent = EPOCH + round(1e9 * period * k)
        off.append((times.arrived(sent + round(1e9 * period * rng.uniform(-0.3, 0.3))) - sent) * 1e-9)
    assert np.std(off[100:]) < 0.3 * period * 0.6 / np.sqrt(12)
    assert abs(np.mean(off[100:])) < 0.02 * period
    assert times.period == pytest.approx(period, rel=0.01)


def test_messages_that_were_held_up_and_arrive_together_bring_no_leap():
    times, period, last = SendTimes(), 0.02, 0
    for k in range(200):
        sent = EPOCH + round(1e9 * period * k)
        held = EPOCH + round(1e9 * period * 105)
        at = max(sent, held) if 100 <= k < 105 else sent
        due = times.arrived(at)
        assert due > last
        assert abs(due - sent) < 6e9 * period
        last = due
    assert abs(last - sent) < 0.2e9 * period
