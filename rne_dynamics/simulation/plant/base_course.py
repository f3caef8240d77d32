"""Motion of the base within a step, as the stepping kernels take it.

A base at rest, or held for the step, is 12 numbers: v, ω, v̇ − g, ω̇ in base axes. One that moves is 36: these numbers as
quadratic polynomials of the time since the step began, equal to the given motion at its begin, middle and end. These
are the times at which Runge and Kutta's method asks for them, whose fourth order is kept so.
"""

from __future__ import annotations

import numpy as np

from rne_dynamics.compiling.jit import in_place_helper
from rne_dynamics.model.inertia import Array

#: Numbers of a base at one moment.
BASE = 12


@in_place_helper
def base_at(base: Array, elapsed: float, here: Array) -> None:
    """Fill `here` (12,) with the motion of a moving base `elapsed` seconds after the step began."""
    for k in range(here.shape[0]):
        here[k] = base[k] + elapsed * (base[BASE + k] + elapsed * base[2 * BASE + k])


def base_course(moments: Array, dt: float) -> Array:
    """The 36 numbers of a base that moves within a step of `dt`, s, from those at its three moments, (3, 12)."""
    first, half, last = moments
    return np.concatenate([
        first, (4.0 * half - 3.0 * first - last) / dt, 2.0 * (first - 2.0 * half + last) / (dt * dt)
    ])  # fmt: skip
