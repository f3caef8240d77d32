"""A path: polynomials of degree five, one after the other, as functions of path time."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from rne_dynamics.control.bounds import Departure, first_departure
from rne_dynamics.control.reference import Reference
from rne_dynamics.model.inertia import Array
from rne_dynamics.spatial.jit import kernel

#: Coefficients of a piece: degree five and below.
ORDER = 6
#: BINOMIAL[i, k] = k over i.
BINOMIAL = np.array([[math.comb(k, i) for k in range(ORDER)] for i in range(ORDER)], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Path:
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
    What is sampled here every cycle is what `departure` looks at, number for number.
    """

    knots: Array
    coefficients: Array
    begin: float = field(init=False)
    end: float = field(init=False)
    _knots: list[float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        knots = self.knots.tolist()
        object.__setattr__(self, "_knots", knots)
        object.__setattr__(self, "begin", knots[0])
        object.__setattr__(self, "end", knots[-1])

    @property
    def duration(self) -> float:
        """Path time of the end, s; together with `sample` this makes it a `Trajectory`."""
        return self.end

    def sample(self, s: float, rate: float = 1.0, slope: float = 0.0) -> Reference:
        """The reference at path time `s`, s, where path time runs at `rate` = ds/dt, which changes by `slope`, 1/s.

        q(s), q'(s) rate and q''(s) rate² + q'(s) slope, by the chain rule.
        """
        if not s >= self.begin:
            return self.in_piece(0, 0.0, 0.0, 0.0)
        if s >= self.end:
            return self.in_piece(len(self._knots) - 1, 0.0, rate, slope)
        piece = bisect_right(self._knots, s) - 1
        return self.in_piece(piece, s - self._knots[piece], rate, slope)

    def samples(self, times: Array) -> Array:
        """`sample` at many path times, shape (rows,): position, velocity, acceleration; shape (rows, 3, n)."""
        s = np.array(times, dtype=np.float64)
        out = np.empty((len(s), 3, self.coefficients.shape[2]))
        _evaluate_rows(self.coefficients, self.knots, s, out)
        return out

    def in_piece(self, piece: int, x: float, rate: float = 1.0, slope: float = 0.0) -> Reference:
        """The reference `x` seconds after the knot of a piece: on the next knot still this piece's own end."""
        out = np.empty((3, self.coefficients.shape[2]))
        _evaluate(self.coefficients, piece, x, rate, slope, out)
        return Reference(out[0], out[1], out[2])

    def departure(
        self, what: Literal["position", "velocity", "acceleration"], lower: Array, upper: Array
    ) -> Departure | None:
        """An early path time at which a joint is outside its bounds, each (n,), at rate 1; None for never.

        Exact between the knots too; see `first_departure`.
        """
        c = self.coefficients
        for _ in range(("position", "velocity", "acceleration").index(what)):
            c = c[:, 1:] * np.arange(1.0, c.shape[1])[:, None]
        return first_departure(c, self.knots, np.append(np.diff(self.knots), 0.0), lower, upper)


def at_rest_in(knot: float, q: Array) -> Path:
    """A path that rests in `q`, shape (n,), from `knot` on."""
    coefficients = np.zeros((1, ORDER, len(q)))
    coefficients[0, 0] = q
    return Path(np.array([knot]), coefficients)


def shifted(coefficients: Array, x: Array) -> Array:
    """The same polynomials counted from `x` later; (pieces, 6, n) or (6, n), and (pieces,) give (pieces, 6, n)."""
    power = np.maximum(np.arange(ORDER) - np.arange(ORDER)[:, None], 0)
    shift: Array = BINOMIAL * x[:, None, None] ** power
    moved: Array = shift @ coefficients
    return moved


@kernel
def _evaluate(coefficients: Array, piece: int, x: float, rate: float, slope: float, out: Array) -> None:
    """Position, velocity and acceleration in time of one piece, by Horner's scheme."""
    for j in range(out.shape[1]):
        q = first = half = 0.0  # half of the second derivative
        for k in range(5, -1, -1):
            half = half * x + first
            first = first * x + q
            q = q * x + coefficients[piece, k, j]
        out[0, j] = q
        out[1, j] = first * rate
        out[2, j] = 2.0 * half * rate * rate + first * slope


@kernel
def _evaluate_rows(coefficients: Array, knots: Array, times: Array, out: Array) -> None:
    """`Path.sample` at many times; out (rows, 3, n)."""
    last = knots.shape[0] - 1
    for r in range(times.shape[0]):
        s = times[r]
        piece, above = 0, last + 1  # knots[piece] <= s < knots[above]
        while above - piece > 1:
            middle = (piece + above) // 2
            if knots[middle] <= s:
                piece = middle
            else:
                above = middle
        moves = s >= knots[0]
        x = s - knots[piece] if moves and piece < last else 0.0
        _evaluate(coefficients, piece, x, 1.0 if moves else 0.0, 0.0, out[r])
