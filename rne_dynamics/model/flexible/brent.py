"""Brent's method for one root of one function: SciPy's import takes longer than a node's whole start."""

from __future__ import annotations

import math
from collections.abc import Callable

#: Relative accuracy of a root, and steps after which the search ends; each halves the interval at least now and then.
ACCURACY, MOST_STEPS = 4.0 * 2.0**-52, 100


def root_between(function: Callable[[float], float], low: float, high: float) -> float:
    """The root of a continuous function between two arguments at which its signs differ, to `ACCURACY`.

    Secant and inverse quadratic steps, and bisection where they do not converge (R. P. Brent, Algorithms for
    Minimization without Derivatives, 1973, chapter 4). Raises ValueError: the signs are the same.
    """
    before, at = low, high
    value_before, value = function(before), function(at)
    if value_before == 0.0:
        return before
    if value == 0.0:
        return at
    if math.copysign(1.0, value_before) == math.copysign(1.0, value):
        raise ValueError(f"the function has the same sign at {low:g} and {high:g}")
    other, value_other, last, step = before, value_before, 0.0, 0.0  # the root is between `at` and `other`
    for _ in range(MOST_STEPS):
        if math.copysign(1.0, value_before) != math.copysign(1.0, value):
            other, value_other = before, value_before
            last = step = at - before
        if abs(value_other) < abs(value):
            before, at, other = at, other, at
            value_before, value, value_other = value, value_other, value
        nearest, half = 0.5 * ACCURACY * abs(at), 0.5 * (other - at)
        if value == 0.0 or abs(half) < nearest:
            break
        tried = math.inf
        if abs(last) > nearest and abs(value) < abs(value_before):
            if before == other:
                tried = -value * (at - before) / (value - value_before)
            else:
                slope_before = (value_before - value) / (before - at)
                slope_other = (value_other - value) / (other - at)
                tried = -value * (value_other * slope_other - value_before * slope_before) / (
                    slope_other * slope_before * (value_other - value_before)
                )
        if 2.0 * abs(tried) < min(abs(last), 3.0 * abs(half) - nearest):
            last, step = step, tried
        else:
            last = step = half
        before, value_before = at, value
        at += step if abs(step) > nearest else math.copysign(nearest, half)
        value = function(at)
    return at
