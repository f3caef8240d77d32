"""Path of consecutive quintic polynomials in path time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.control.checks import set_fields
from rne_dynamics.control.reference import Reference, rows_reference
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.rebuilt import Rebuilt

#: Coefficients of a piece: degree five and below.
ORDER = 6


@dataclass(frozen=True, eq=False)
class Path(Rebuilt):
    """Pieces of a desired motion; before the first and in the last it rests.

    Parameters
    ----------
    knots
        Path time at which each piece begins, s; increasing; shape (pieces,).
    coefficients
        Of (s − knot)^k, lowest power first, rad or m; shape (pieces, 6, n). The last piece is constant: it holds the
        path's end at rest.

    Notes
    -----
    What is sampled here every cycle is what `BlendedPath.departure` checks, number for number. Both arrays become
    read-only, and a path comes out of a pickle without a copy of its own: it may have 100,000 pieces.
    """

    knots: Array
    coefficients: Array
    begin: float = field(init=False)
    end: float = field(init=False)

    def __post_init__(self) -> None:
        self.knots.flags.writeable = self.coefficients.flags.writeable = False
        set_fields(self, begin=float(self.knots[0]), end=float(self.knots[-1]))

    @property
    def duration(self) -> float:
        """Path time of the end, s; together with `sample` this makes it a `Trajectory`."""
        return self.end

    def sample(self, s: float, rate: float = 1.0, slope: float = 0.0) -> Reference:
        """The reference at path time `s`, s, where path time runs at `rate` = ds/dt, which changes by `slope`, 1/s.

        q(s), q'(s) rate and q''(s) rate² + q'(s) slope, by the chain rule.
        """
        out = np.empty((3, self.coefficients.shape[2]))
        evaluate_path(self.coefficients, self.knots, s, rate, slope, out)
        return rows_reference(out)

    def samples(self, times: Array) -> Array:
        """`sample` at many path times, shape (rows,): position, velocity, acceleration; shape (rows, 3, n)."""
        s = np.array(times, dtype=np.float64)
        out = np.empty((len(s), 3, self.coefficients.shape[2]))
        _evaluate_rows(self.coefficients, self.knots, s, out)
        return out

    def in_piece(self, piece: int, x: float) -> Reference:
        """The reference `x` seconds after the knot of a piece: on the next knot still this piece's own end."""
        out = np.zeros((3, self.coefficients.shape[2]))
        add_piece(self.coefficients, piece, x, 1.0, 0.0, out)
        return rows_reference(out)


def distinct(times: Array) -> Array:
    """Times in order, each once; `np.unique` would import NumPy's masked arrays: 20 ms of a start."""
    ordered = np.sort(times)
    once: Array = ordered[np.append(True, ordered[1:] != ordered[:-1])]
    return once


@helper
def piece_at(knots: Array, s: float) -> int:
    """The last piece that begins no later than `s`; −1 before the first."""
    piece, above = -1, knots.shape[0]  # knots[piece] <= s < knots[above]
    while above - piece > 1:
        middle = (piece + above) // 2
        if knots[middle] <= s:
            piece = middle
        else:
            above = middle
    return piece


@kernel
def add_piece(coefficients: Array, piece: int, x: float, rate: float, slope: float, out: Array) -> None:
    """Add position, velocity and acceleration in time of one piece to `out`, by Horner's scheme."""
    for j in range(out.shape[1]):
        q = first = half = 0.0  # value, first and half of the second derivative
        for k in range(5, -1, -1):
            half = half * x + first
            first = first * x + q
            q = q * x + coefficients[piece, k, j]
        out[0, j] += q
        out[1, j] += first * rate
        out[2, j] += 2.0 * half * rate * rate + first * slope


@kernel
def evaluate_path(coefficients: Array, knots: Array, s: float, rate: float, slope: float, out: Array) -> None:
    """`Path.sample`."""
    piece, last = piece_at(knots, s), knots.shape[0] - 1
    out[:] = 0.0
    if piece < 0:
        add_piece(coefficients, 0, 0.0, 0.0, 0.0, out)
    else:
        add_piece(coefficients, piece, s - knots[piece] if piece < last else 0.0, rate, slope, out)


@kernel
def _evaluate_rows(coefficients: Array, knots: Array, times: Array, out: Array) -> None:
    """`Path.sample` at many times; out (rows, 3, n)."""
    for r in range(times.shape[0]):
        evaluate_path(coefficients, knots, times[r], 1.0, 0.0, out[r])
