"""Segments of almost no length: the path still passes through its points, at the speeds and accelerations given."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from rne_dynamics.control.trajectory import SampledTrajectory


def derivatives(coefficients: np.ndarray, x: Fraction) -> list[Fraction]:
    """Position, velocity and acceleration of one polynomial in exact arithmetic."""
    c = [Fraction(float(value)) for value in coefficients]
    found = []
    for _ in range(3):
        found.append(sum((a * x**k for k, a in enumerate(c)), Fraction(0)))
        c = [k * a for k, a in enumerate(c)][1:]
    return found


@pytest.mark.parametrize("late", [0.0, 100.0, 86_399.0])
@pytest.mark.parametrize("length", [1e-9, 1e-7, 1e-5, 1e-3])
@pytest.mark.parametrize("given", [1, 2, 3])
def test_both_ends_of_a_short_segment(length, late, given):
    """The polynomial ends where, as fast and as accelerated as it should, but for round-off of the coefficients.

    A coefficient of xᵏ is made of terms q/Tᵏ, q̇/Tᵏ⁻¹, q̈/Tᵏ⁻², each times up to 30; what their round-off does at the
    end of the segment is in the numbers given, and no formula can take it out.
    """
    rng = np.random.default_rng(1)
    times = np.array([late, late + length, late + 1.0])
    q, qd, qdd = rng.normal(size=(3, 1)), rng.normal(size=(3, 1)), rng.normal(size=(3, 1))
    T = float(times[1] - times[0])
    q[1] = q[0] + qd[0] * T + 0.5 * qdd[0] * T**2
    tables = (qd, qdd)[: given - 1]
    path = SampledTrajectory(times, q, *tables).path
    ends = derivatives(path.coefficients[0, :, 0], Fraction(float(times[1])) - Fraction(float(times[0])))
    size = np.abs(q).max() + np.abs(qd).max() * T + np.abs(qdd).max() * T**2
    wanted = [q[1, 0], *(table[1, 0] for table in tables)]
    for order, (found, value) in enumerate(zip(ends, wanted, strict=False)):
        assert abs(found - Fraction(float(value))) <= (1.0, 40.0, 240.0)[order] * 2.3e-16 * size / T**order
    way = abs(q[1, 0] - q[0, 0]) + np.abs(qd).max() * T
    assert all(abs(path.in_piece(0, x).q[0] - q[0, 0]) <= way + 4e-16 for x in (0.0, 0.5 * T, T))
