"""Path of consecutive quintic polynomials in path time, its bounds, and the rate of path time.

A polynomial lies in the hull of its Bézier points. A piece whose points all lie within the bounds is done; another one
is halved, which brings the points closer to the curve by a factor of four, until an end of a part, which lies on the
curve, is outside, or none can be any more. Source: G. Farin, Curves and Surfaces for CAGD, de Casteljau's algorithm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.control.control_law import Reference, rows_reference
from rne_dynamics.control.thresholds import HALVINGS, NANOSECONDS
from rne_dynamics.model.inertia import Array, Rebuilt, set_fields

#: Coefficients of a piece: degree five and below.
ORDER = 6
#: ROWS[d][i, k] = C(i, k) / C(d, k): from powers of a piece's own time in [0, 1] to its Bézier points, degree d.
ROWS = np.array([
    [[math.comb(i, k) / math.comb(d, k) if k <= i <= d else 0.0 for k in range(ORDER)] for i in range(ORDER)]
    for d in range(ORDER)
])


class Departure(NamedTuple):
    """A place outside the bounds."""

    t: float
    joint: int
    value: float


@helper
def leaves(c: Array, degree: int, length: float, lower: float, upper: float, points: Array, found: Array) -> bool:
    """Whether a polynomial leaves its bounds within `length`, s; `found` is then the time from its begin, value."""
    power = 1.0
    for k in range(degree + 1):
        scaled = c[k] * power
        power *= length
        for i in range(degree + 1):
            points[0, i] = ROWS[degree, i, k] * scaled + (points[0, i] if k > 0 else 0.0)
    # the parts still to be checked lie one behind the other; the last one is the earliest, `place` counts in sizes
    count, depth, place = 1, 0, 0
    while count > 0:
        row, inside = count - 1, True
        for i in range(degree + 1):
            inside &= points[row, i] >= lower and points[row, i] <= upper
        if not inside:
            size = length * 0.5**depth
            for i in (0, degree):
                value = points[row, i]
                if not (value >= lower and value <= upper):
                    found[0], found[1] = place * size + (size if i > 0 else 0.0), value
                    return True
            if depth < HALVINGS:  # de Casteljau: the left half goes behind the right one
                for i in range(degree + 1):
                    points[count, i] = points[row, 0]
                    for j in range(degree - i):
                        points[row, j] = 0.5 * (points[row, j] + points[row, j + 1])
                    # row now holds one point less; its last ones are the right half's already
                count, depth, place = count + 1, depth + 1, 2 * place
                continue
        count -= 1
        while depth > 0 and place % 2 == 1:
            place, depth = place // 2, depth - 1
        place += 1
    return False


# -- path of consecutive quintic polynomials in path time --------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Path(Rebuilt):
    """Pieces of a desired motion; before the first and in the last it rests."""
    # what is sampled every cycle is what `BlendedPath.departure` checks; read-only, and not copied out of a pickle

    #: Path time at which each piece begins, s; increasing; shape (pieces,).
    knots: Array
    #: Of (s − knot)^k, lowest power first, rad or m; shape (pieces, 6, n). The last piece is constant: it holds the
    #: path's end at rest.
    coefficients: Array
    begin: float = field(init=False)
    #: Path time of the end, s; together with `sample` this makes it a `Trajectory`.
    duration: float = field(init=False)

    def __post_init__(self) -> None:
        self.knots.flags.writeable = self.coefficients.flags.writeable = False
        set_fields(self, begin=float(self.knots[0]), duration=float(self.knots[-1]))

    def sample(self, s: float, rate: float = 1.0, slope: float = 0.0) -> Reference:
        """The reference at path time `s`, s, where path time runs at `rate` = ds/dt, which changes by `slope`, 1/s."""
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
    return np.asarray(ordered[np.append(True, ordered[1:] != ordered[:-1])])


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


# -- rate of path time: follows a speed from 0 to 1 smoothly, without overshoot ----------------------------------------


#: Time in which the rate of path time changes from 0 to 1 at its fastest, s: an arm at full speed then brakes softly.
RAMP = 0.3
#: Largest value of x (1 − x)²: how far a cubic goes on in the direction it starts with, of what it would in its time.
DIP = 4.0 / 27.0


class PathRate:
    """Path time as a function of the stamp.

    A change of the rate by Δ takes 1.5 · ramp · |Δ|, over which the rate is the cubic in time that starts with the
    slope it has and ends with none. So dr/dt is continuous, with one exception: where a rise is called off the slope is
    dropped, since whoever asks for less must not get more first.
    """

    def __init__(self, stamp: int, s: float, rate: float, slope: float = 0.0, ramp: float = RAMP) -> None:
        self._stamp, self._s, self._ramp = stamp, s, ramp
        # the change under way: rate = a + b x + c x² + d x³ for x seconds since the stamp, below the duration
        self._cubic = (rate, slope, 0.0, 0.0)
        self._duration = math.inf if slope else 0.0
        self.target = math.nan if slope else rate

    def follow(self, stamp: int, target: float) -> None:
        """Change towards `target`, 0 to 1, from `stamp` on; nothing to do where that is under way."""
        if target != self.target:
            self._turn(stamp, target, None)

    def brake(self, stamp: int, duration: float) -> None:
        """Come to 0 within `duration`, s, from `stamp` on."""
        self._turn(stamp, 0.0, duration)

    def at(self, stamp: int) -> tuple[float, float, float]:
        """Path time, rate and slope at a `stamp` that is not before the last change, ns."""
        x = (stamp - self._stamp) / NANOSECONDS
        T = self._duration
        if x >= T:
            return self._s + (self._way(T) if T > 0.0 else 0.0) + self.target * (x - T), self.target, 0.0
        a, b, c, d = self._cubic
        return self._s + self._way(x), a + x * (b + x * (c + x * d)), b + x * (2.0 * c + x * 3.0 * d)

    def _way(self, x: float) -> float:
        a, b, c, d = self._cubic
        return x * (a + x * (b / 2.0 + x * (c / 3.0 + x * d / 4.0)))

    def _turn(self, stamp: int, target: float, duration: float | None) -> None:
        self._s, rate, slope = self.at(stamp)
        self._stamp, self.target = stamp, target
        change = target - rate
        T = 1.5 * self._ramp * abs(change) if duration is None else duration
        if slope > 0.0 >= change:
            slope = 0.0
        elif slope < 0.0 < change:
            T *= 1.5  # the fall is made good too
            if -slope * T * DIP > rate:
                slope = 0.0
        elif slope:  # a cubic with a steeper start would overshoot (Fritsch and Carlson 1980)
            T = min(T, 3.0 * change / slope)
        if T * NANOSECONDS < 1.0:
            self._cubic, self._duration = (target, 0.0, 0.0, 0.0), 0.0
            return
        self._cubic = (rate, slope, (3.0 * change / T - 2.0 * slope) / T, (slope - 2.0 * change / T) / (T * T))
        self._duration = T
