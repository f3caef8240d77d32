"""Integral of the tracking error, with anti-windup."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import in_place_helper, in_place_kernel
from rne_dynamics.control.gains import Gains
from rne_dynamics.model.inertia import Array


@in_place_helper
def after_cycle(gain: float, clamp: float, before: float, error: float, dt: float, saturated: bool) -> float:
    """∫e dt of one joint one cycle later."""
    if not gain > 0.0:
        return 0.0
    step = error * dt
    x = before + step if np.isfinite(step) else before
    if saturated:  # shrink only: between where it is and zero
        low, high = (0.0, before) if before >= 0.0 else (before, 0.0)
        x = low if x < low else (high if x > high else x)
    bound = clamp / gain
    return bound if x > bound else (-bound if x < -bound else x)


@in_place_kernel
def integral_kernel(
    gain: Array,
    clamp: Array,
    integral: Array,
    error: Array,
    dt: float,
    saturated: NDArray[np.bool_],
    after: Array,
) -> None:
    """∫e dt one cycle later into `after`, which may be `integral`; see `integrate_error`. Each of shape (n,)."""
    for j in range(after.shape[0]):
        after[j] = after_cycle(gain[j], clamp[j], integral[j], error[j], dt, saturated[j])


def integrate_error(
    gains: Gains, integral: ArrayLike, error: ArrayLike, dt: float, saturated: NDArray[np.bool_] | None = None
) -> Array:
    """∫e dt one cycle later.

    It winds up in neither of the two ways: where a joint's effort is clamped its integral may shrink towards zero but
    not grow, and |i·∫e| never exceeds `gains.i_clamp`. Joints without integral gain keep 0. An error or `dt` that
    is not finite leaves the integral as it was.

    Parameters
    ----------
    gains
        Gains of the law.
    integral, error
        ∫e so far (rad·s or m·s) and e = desired − measured (rad or m); shape (n,).
    dt
        Time since the last cycle, s.
    saturated
        Where the effort of the last cycle was clamped; shape (n,).

    Returns
    -------
    Array
        The new ∫e; shape (n,).
    """
    n = gains.n
    before = np.array(integral, dtype=np.float64)
    after = np.empty(n)
    clamped = np.zeros(n, dtype=np.bool_) if saturated is None else np.array(saturated, dtype=np.bool_)
    integral_kernel(gains.i, gains.i_clamp, before, np.array(error, dtype=np.float64), float(dt), clamped, after)
    return after
