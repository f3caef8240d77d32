"""Tolerated delays against a simulated double integrator whose acceleration comes late."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rne_dynamics.control.gains import DELAY_SAFETY, critical_delays, tolerated_delay

GAINS = [
    (1600.0, 0.0, 80.0),  # the package's gains
    (400.0, 4000.0, 40.0),  # p² < 2 i d: more than one crossover is possible
    (100.0, 0.0, 5.0),
]


def growth(p: float, i: float, d: float, delay: float) -> float:
    """Factor by which an error grows over the last half of a long simulation; the effort acts `delay` s late."""
    dt = 1e-4
    late = round(delay / dt)
    e, rate, integral = 1.0, 1.0, 0.0
    line = [0.0] * (late + 1)
    steps = round(30.0 * max(delay, 1.0 / max(d, math.sqrt(p))) / dt)
    half = later = 0.0
    for k in range(2 * steps):
        line[k % len(line)] = -(p * e + i * integral + d * rate)
        rate += dt * line[(k + 1) % len(line)]
        e += dt * rate
        integral += dt * e
        size = abs(rate) / max(d, math.sqrt(p)) + (abs(e) if p else 0.0)
        if k < steps:
            half = max(half, size) if k > steps // 2 else half
        else:
            later = max(later, size) if k > 3 * steps // 2 else later
    return later / half


@pytest.mark.parametrize("gains", GAINS)
def test_the_critical_delay_separates_decay_from_growth(gains: tuple[float, float, float]) -> None:
    p, i, d = (np.array([g]) for g in gains)
    critical = float(critical_delays(p, i, d)[0])
    assert growth(*gains, 0.96 * critical) < 1.0
    assert growth(*gains, 1.04 * critical) > 1.0


def test_pd_gains_have_a_closed_form() -> None:
    omega = 40.0
    p, i, d = np.array([omega**2]), np.zeros(1), np.array([2.0 * omega])
    crossover = omega * math.sqrt(2.0 + math.sqrt(5.0))
    assert tolerated_delay(p, i, d) * DELAY_SAFETY == pytest.approx(math.atan(2.0 * crossover / omega) / crossover)


def test_the_worst_joint_counts() -> None:
    p, i, d = (np.array(column) for column in zip(*GAINS, strict=True))
    each = [tolerated_delay(*(np.array([g]) for g in gains)) for gains in GAINS]
    assert tolerated_delay(p, i, d) == min(each)


def test_gains_that_are_not_stable_without_delay_tolerate_none() -> None:
    for p, i, d in ((100.0, 0.0, 0.0), (100.0, 1000.0, 10.0), (0.0, 1.0, 10.0)):
        assert tolerated_delay(np.array([p]), np.array([i]), np.array([d])) == 0.0


def test_no_feedback_tolerates_every_delay() -> None:
    assert tolerated_delay(np.zeros(3), np.zeros(3), np.zeros(3)) == math.inf
    assert tolerated_delay(np.zeros(0), np.zeros(0), np.zeros(0)) == math.inf


@pytest.mark.parametrize("scale", [1e-4, 1e3])
def test_faster_gains_tolerate_less_in_proportion(scale: float) -> None:
    p, i, d = np.array([400.0]), np.array([1000.0]), np.array([40.0])
    expected = tolerated_delay(p, i, d) / scale
    assert tolerated_delay(scale**2 * p, scale**3 * i, scale * d) == pytest.approx(expected, rel=1e-9)
