"""Exact bounds check of piecewise polynomials, without sampling.

A polynomial lies in the hull of its Bézier points. A piece whose points all lie within the bounds is done; another one
is halved, which brings the points closer to the curve by a factor of four, until an end of a part, which lies on the
curve, is outside, or none can be any more. Source: G. Farin, Curves and Surfaces for CAGD, de Casteljau's algorithm.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rne_dynamics.compiling.jit import helper
from rne_dynamics.control.thresholds import HALVINGS
from rne_dynamics.model.inertia import Array

#: Largest degree.
DEGREE = 5
#: ROWS[d][i, k] = C(i, k) / C(d, k): from powers of a piece's own time in [0, 1] to its Bézier points, degree d.
ROWS = np.zeros((DEGREE + 1, DEGREE + 1, DEGREE + 1))
for _d in range(DEGREE + 1):
    for _i in range(_d + 1):
        ROWS[_d, _i, : _i + 1] = [math.comb(_i, k) / math.comb(_d, k) for k in range(_i + 1)]


class Departure(NamedTuple):
    """A place outside the bounds."""

    t: float
    joint: int
    value: float


@helper
def leaves(c: Array, degree: int, length: float, lower: float, upper: float, points: Array, found: Array) -> bool:
    """Whether one polynomial leaves its bounds; then `found` is the time since its begin, and the value there.

    `c`: coefficients, lowest power first; shape (at least degree + 1,). `degree`, `length`: how many powers count, and
    how long the piece is, s. `lower`, `upper`: bounds. What is not a number is outside. `points`: work memory, shape
    (HALVINGS + 2, DEGREE + 1). `found`: shape (2,).
    """
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
