"""The effort checks of the fault campaign find violations, and nothing else."""

from __future__ import annotations

import math

import numpy as np
import pytest
from faults.effort_checks import EffortLog, PromisedLimits, violations

LIMITS = PromisedLimits(("j1", "j2"), np.array([60.0, 25.0]), np.array([1200.0, 500.0]))


def log(efforts, period=0.004, times=None, numbers=None) -> EffortLog:
    count = len(efforts)
    return EffortLog(
        [1e9 + period * k for k in range(count)] if times is None else list(times),
        list(range(1, count + 1)) if numbers is None else list(numbers), [list(e) for e in efforts],
    )


def ramp(rate: float, period: float = 0.004, count: int = 12):
    return [[rate * period * k, 0.0] for k in range(count)]


def test_nothing_and_a_ramp_at_the_rate_are_well():
    assert violations(log([]), LIMITS) == []
    assert violations(log(ramp(1200.0)), LIMITS) == []
    assert violations(log(ramp(-1200.0)), LIMITS) == []


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite(number):
    assert "for joint 'j2'" in violations(log([[0.0, 0.0], [0.0, number]]), LIMITS)[0]


def test_a_step_from_zero_and_between_two():
    assert "after a silence 13" in violations(log([[13.0, 0.0]]), LIMITS)[0]
    assert "a step from 1 to 14" in violations(log([[1.0, 0.0], [14.0, 0.0]]), LIMITS)[0]
    lost = log([[1.0, 0.0], [14.0, 0.0]], numbers=[1, 3])
    assert not any("a step" in line for line in violations(lost, LIMITS)), "one between them was lost on the way"


def test_a_rate_that_no_step_shows():
    found = violations(log(ramp(2000.0, count=7)), LIMITS)
    assert found
    assert "its rate is 1200 per second" in found[0]


def test_after_a_silence_it_may_begin_from_zero_or_from_the_last():
    for first in ([12.0, 0.0], [33.0, 0.0]):
        assert violations(log([[10.0, 0.0], [21.0, 0.0], first], times=[0.0, 0.01, 0.6]), LIMITS) == []
    assert violations(log([[10.0, 0.0], [21.0, 0.0], [35.0, 0.0]], times=[0.0, 0.01, 0.6]), LIMITS)
