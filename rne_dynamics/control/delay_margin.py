"""Largest delay in a computed-torque loop for which the feedback gains are stable.

With exact inertia every joint is a double integrator, so p, i and d close the loop L(s) = (d s² + p s + i) / s³,
whatever the arm. At a crossover ω, |L(jω)| = 1, the phase margin is φ = atan2(p ω, i − d ω²) − π/2, and a delay of
φ / ω makes the loop oscillate without end. Crossovers are the roots x = ω² of x³ − d² x² − (p² − 2 i d) x − i² = 0.
"""

from __future__ import annotations

import math

import numpy as np

from rne_dynamics.model.inertia import Array

#: The delay tolerated is the critical one divided by this: the inertia that a model gives is never exact.
DELAY_SAFETY = 2.0


def tolerated_delay(p: Array, i: Array, d: Array) -> float:
    """Largest total delay that all joints tolerate, with the factor `DELAY_SAFETY` to the critical one, s.

    Total is: from the instant at which the arm was in the state measured until the effort computed from it acts, plus
    half the time for which that effort is held.

    Parameters
    ----------
    p, i, d
        Gains of computed torque, 1/s², 1/s³, 1/s; not negative; shape (n,).

    Returns
    -------
    float
        0 where a joint is not stable without delay either (p d ≤ i with p or i above 0); infinite where all gains
        are 0.
    """
    return float(np.min(critical_delays(p, i, d), initial=math.inf)) / DELAY_SAFETY


def critical_delays(p: Array, i: Array, d: Array) -> Array:
    """The delay from which on each joint's loop is not stable, s; shape (n,). Parameters as for `tolerated_delay`."""
    return np.array([_critical_delay(float(a), float(b), float(c)) for a, b, c in zip(p, i, d, strict=True)])


def _critical_delay(p: float, i: float, d: float) -> float:
    if p == i == d == 0.0:
        return math.inf
    if (p > 0.0 or i > 0.0) and p * d <= i:
        return 0.0
    # in units of the fastest rate, so that neither tiny nor huge gains lose digits
    unit = max(d, math.sqrt(p), math.pow(i, 1.0 / 3.0))
    p, i, d = p / unit**2, i / unit**3, d / unit
    roots = np.roots([1.0, -d * d, 2.0 * i * d - p * p, -i * i])
    delays = [math.inf]
    for root in roots:
        square = float(root.real)
        if square > 1e-12 and abs(root.imag) <= 1e-9 * abs(root):
            omega = math.sqrt(square)
            delays.append((math.atan2(p * omega, i - d * square) - 0.5 * math.pi) / omega)
    return max(min(delays), 0.0) / unit
