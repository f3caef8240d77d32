"""Deflections of a flexible arm whose joints move as prescribed, by SciPy's integrator."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
from scipy.integrate import solve_ivp

from rne_dynamics.flexible import flexible_inverse_dynamics, quasi_static
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array


def follow(
    arm: FlexibleArm, motion: Callable[[float], tuple[Array, Array, Array]], times: Array, *,
    delta: Array | None = None, deltad: Array | None = None, rtol: float = 1e-9, atol: float = 1e-12,
) -> SimpleNamespace:  # fmt: skip
    """Times, efforts and deflections along `motion(t)`: q, q̇, q̈; bent as at rest at the first time by default."""
    m, still = arm.modes, np.zeros(arm.n)
    first = quasi_static(arm, motion(times[0])[0], still, still).delta if delta is None else delta

    def rate(t: float, x: Array) -> Array:
        q, qd, qdd = motion(t)
        return np.concatenate([x[m:], flexible_inverse_dynamics(arm, q, x[:m], qd, x[m:], qdd).deltadd])

    begin = np.concatenate([first, np.zeros(m) if deltad is None else deltad])
    found = solve_ivp(rate, (times[0], times[-1]), begin, method="DOP853", t_eval=times, rtol=rtol, atol=atol)
    assert found.success, found.message
    q, qd, qdd = (np.array(column) for column in zip(*map(motion, times), strict=True))
    bent, bending = found.y[:m].T.copy(), found.y[m:].T.copy()
    tau = flexible_inverse_dynamics(arm, q, bent, qd, bending, qdd).tau
    return SimpleNamespace(times=times, tau=tau, delta=bent, deltad=bending)
