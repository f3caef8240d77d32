"""Where piecewise polynomials leave bounds: between the points too, found without sampling.

A polynomial lies in the hull of its Bézier points. Pieces whose points all lie within the bounds are done; others are
halved, which brings the points closer to the curve by a factor of four, until an end of a piece, which lies on the
curve, is outside, or none can be any more. Source: G. Farin, Curves and Surfaces for CAGD, de Casteljau's algorithm.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from rne_dynamics.model.inertia import Array

#: Halvings after which what still only touches a bound counts as within: the points are then 1e-12 of a piece away.
HALVINGS = 20


class Departure(NamedTuple):
    """A place outside the bounds."""

    t: float
    joint: int
    value: float


def first_departure(coefficients: Array, begin: Array, length: Array, lower: Array, upper: Array) -> Departure | None:
    """An early place where a piecewise polynomial is outside its bounds; None where there is none.

    Parameters
    ----------
    coefficients
        Of (t − begin)^k, lowest power first; shape (pieces, degree + 1, n).
    begin, length
        Time at which each piece begins and how long it is, s; shape (pieces,).
    lower, upper
        Bounds of each joint, in the polynomial's unit; shape (n,); may be infinite.

    Returns
    -------
    Departure or None
        The earliest place found in the first round of halving that finds one.
    """
    pieces, order, n = coefficients.shape
    scaled = coefficients * (length[:, None] ** np.arange(order))[:, :, None]
    to_bezier, left, right = _matrices(order - 1)
    points = np.moveaxis(to_bezier @ scaled, 1, 2).reshape(pieces * n, order)
    joint = np.tile(np.arange(n), pieces)
    start, size = np.repeat(begin, n), np.repeat(length, n)
    for _ in range(HALVINGS):
        low, high = lower[joint, None], upper[joint, None]
        outside = ~((points >= low) & (points <= high))  # what is not a number is outside too
        ends = outside[:, [0, -1]]
        if ends.any():
            times = np.where(ends, np.stack([start, start + size], axis=1), np.inf)
            row, end = np.unravel_index(np.argmin(times), times.shape)
            return Departure(float(times[row, end]), int(joint[row]), float(points[row, -int(end)]))
        open_ = outside.any(axis=1)
        if not open_.any():
            return None
        points, half = points[open_], 0.5 * size[open_]
        points = np.concatenate([points @ left.T, points @ right.T])
        joint, start = np.tile(joint[open_], 2), np.concatenate([start[open_], start[open_] + half])
        size = np.tile(half, 2)
    return None


@cache
def _matrices(degree: int) -> tuple[Array, Array, Array]:
    """From powers of a piece's own time in [0, 1] to Bézier points, and from those to the points of each half."""
    d = range(degree + 1)
    to_bezier = np.array([[math.comb(i, k) / math.comb(degree, k) for k in d] for i in d])
    left = np.array([[math.comb(i, k) / 2.0**i for k in d] for i in d])
    return to_bezier, left, left[::-1, ::-1].copy()
