"""Natural cubic smoothing splines, and transitions from rest and to rest.

Method: P. J. Green, B. W. Silverman, Nonparametric Regression and Generalized Linear Models (1994), section 2.3
(Reinsch's algorithm).
"""

from __future__ import annotations

import numpy as np

from rne_dynamics.model.inertia import Array

#: Coefficients of a piece.
ORDER = 5


def smoothing_spline(t: Array, y: Array, penalty: float) -> Array:
    """Natural cubic splines f of least ∫(y − f)² dt + penalty ∫f″² dt, the first integral by the trapezoidal rule.

    `t` (k,), k at least 3, increasing; `y` (k, m); `penalty` in s⁴, 0 goes through all points. Returns coefficients of
    each piece's polynomial of time, constant ones first; (k − 1, ORDER, m).
    """
    from scipy.linalg import solveh_banded  # here: the ROS nodes start without scipy

    h = np.diff(t)
    weights = np.empty(len(t))  # of the poses in the integral
    weights[0], weights[-1], weights[1:-1] = 0.5 * h[0], 0.5 * h[-1], 0.5 * (h[1:] + h[:-1])
    a, b, c = 1.0 / h[:-1], -1.0 / h[:-1] - 1.0 / h[1:], 1.0 / h[1:]  # columns of Q: rows j, j + 1, j + 2
    u = penalty / weights
    # R + λ Qᵀ W⁻¹ Q, its diagonal and the two next to it
    d0 = (h[:-1] + h[1:]) / 3.0 + u[:-2] * a * a + u[1:-1] * b * b + u[2:] * c * c
    d1 = h[1:-1] / 6.0 + u[1:-2] * b[:-1] * a[1:] + u[2:-1] * c[:-1] * b[1:]
    d2 = u[2:-2] * c[:-2] * a[2:]
    right = a[:, None] * y[:-2] + b[:, None] * y[1:-1] + c[:, None] * y[2:]
    bent = solveh_banded([d0, np.append(d1, 0.0), np.append(d2, [0.0, 0.0])[: len(d0)]], right, lower=True)
    fitted = y.copy()
    for k, part in ((0, a), (1, b), (2, c)):
        rows = slice(k, len(t) - 2 + k)
        fitted[rows] -= u[rows, None] * part[:, None] * bent
    second = np.vstack([np.zeros_like(y[:1]), bent, np.zeros_like(y[:1])])
    H = h[:, None]
    pieces = np.zeros((len(h), ORDER, y.shape[1]))
    pieces[:, 0] = fitted[:-1]
    pieces[:, 1] = (fitted[1:] - fitted[:-1]) / H - H * (2.0 * second[:-1] + second[1:]) / 6.0
    pieces[:, 2] = 0.5 * second[:-1]
    pieces[:, 3] = (second[1:] - second[:-1]) / (6.0 * H)
    return pieces


def at_time(coefficients: Array, s: float) -> Array:
    """Value, first and second derivative at s of polynomials (ORDER, m); shape (3, m)."""
    powers = np.array([
        [1.0, s, s**2, s**3, s**4],
        [0.0, 1.0, 2.0 * s, 3.0 * s**2, 4.0 * s**3],
        [0.0, 0.0, 2.0, 6.0 * s, 12.0 * s**2],
    ])  # fmt: skip
    return np.asarray(powers @ coefficients)


def to_rest(value: Array, rate: Array, T: float) -> Array:
    """The polynomial, (ORDER, m), from a value and a rate to rest T later; zero acceleration at its ends."""
    nothing = np.zeros_like(rate)
    return np.array([value, rate, nothing, -rate / T**2, 0.5 * rate / T**3])


def from_rest(value: Array, rate: Array, T: float) -> Array:
    """The polynomial, (ORDER, m), from rest to a value and a rate T later; zero acceleration at its ends."""
    nothing = np.zeros_like(rate)
    return np.array([value - 0.5 * T * rate, nothing, nothing, rate / T**2, -0.5 * rate / T**3])
