"""Motion of the base within a step, as the stepping kernels take it.

A base at rest, or held for the step, has 12 numbers: v, ω, v̇ − g, ω̇ in base axes. A moving one has 36: these numbers as
quadratic polynomials of the time since the step began. They equal the given motion at the step's begin, middle and end,
the times of Runge–Kutta's stages, which keeps its fourth order.
"""

from __future__ import annotations

import numpy as np

from rne_dynamics.compiling.jit import helper
from rne_dynamics.model.inertia import Array

#: Numbers of a base at one time.
BASE = 12


@helper
def base_at(base: Array, elapsed: float, here: Array) -> None:
    """Fill `here` (12,) with the motion of the base `elapsed` seconds after the step began."""
    moves = base.shape[0] > BASE
    for k in range(BASE):
        here[k] = base[k]
        if moves:
            here[k] += elapsed * (base[BASE + k] + elapsed * base[2 * BASE + k])


def base_course(moments: Array, dt: float) -> Array:
    """The 36 numbers of a base that moves, from those at begin, middle and end of a step of `dt`, s; (3, 12)."""
    first, half, last = moments
    return np.concatenate([
        first, (4.0 * half - 3.0 * first - last) / dt, 2.0 * (first - 2.0 * half + last) / (dt * dt)
    ])  # fmt: skip
