"""Target of a stream of setpoints: position, velocity and acceleration as of the last one."""

from __future__ import annotations

import math

import numpy as np

from rne_dynamics.compiling.jit import in_place_kernel
from rne_dynamics.control.streaming.jerk_limited import LOWER, UPPER, VELOCITY
from rne_dynamics.model.inertia import Array

#: Fraction of the period after which a setpoint says anything about velocity and acceleration.
LEAST_STEP = 0.25


@in_place_kernel
def aim_kernel(
    aim: Array, q: Array, qd: Array, elapsed: float, settled: bool, smoothing: float, limits: Array
) -> int:
    """Move the aim on by `elapsed` and bring it to a setpoint; how many joints a limit has changed.

    - Position and velocity given: they are the aim's. Its acceleration is the smoothed difference quotient of the
      velocities.
    - Position alone: a fading-memory filter of second degree (Morrison 1969, "Introduction to Sequential Smoothing and
      Prediction", chapter 13), which has no lag for constant acceleration.
    - Velocity alone: the position is the integral.

    Parameters
    ----------
    aim
        Position, velocity, acceleration; shape (3, n); written to.
    q, qd
        Setpoint, NaN where it is not given; shape (n,).
    elapsed
        Time between the two setpoints, s; not negative.
    settled
        Whether the time between them is long enough to estimate derivatives from it.
    smoothing
        Time constant of the estimates, s; above 0.
    limits
        As `follow_kernel`.
    """
    changed = 0
    theta = math.exp(-elapsed / smoothing)
    for j in range(aim.shape[1]):
        p, w, c = aim[0, j], aim[1, j], aim[2, j]
        p_next = p + elapsed * (w + 0.5 * elapsed * c)
        w_next = w + elapsed * c
        if np.isnan(qd[j]):
            off = q[j] - p_next
            if settled:
                p_next += (1.0 - theta**3) * off
                w_next += 1.5 * (1.0 - theta) ** 2 * (1.0 + theta) * off / elapsed
                c += (1.0 - theta) ** 3 * off / elapsed**2
            else:
                p_next = q[j]
        else:
            if settled:
                c += (1.0 - theta) * ((qd[j] - w) / elapsed - c)
            p_next = p + 0.5 * elapsed * (w + qd[j]) if np.isnan(q[j]) else q[j]
            w_next = qd[j]
        lower, upper, fastest = limits[LOWER, j], limits[UPPER, j], limits[VELOCITY, j]
        if not (lower <= p_next <= upper and abs(w_next) <= fastest):
            changed += 1
        aim[0, j] = min(max(p_next, lower), upper)
        aim[1, j] = min(max(w_next, -fastest), fastest)
        aim[2, j] = c
    return changed


def warm_up(n: int) -> None:
    """Compile it for `n` joints."""
    aim_kernel(np.zeros((3, n)), np.zeros(n), np.zeros(n), 0.0, False, 1.0, np.ones((5, n)))
