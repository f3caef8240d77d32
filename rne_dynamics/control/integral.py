"""The integral of the tracking error, kept from winding up."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.control.gains import Gains
from rne_dynamics.model.inertia import Array


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
    before = np.asarray(integral, dtype=np.float64)
    step = np.asarray(error, dtype=np.float64) * dt
    step = np.where(np.isfinite(step), step, 0.0)
    after = before + step
    if saturated is not None:
        # shrink only: between where it is and zero
        shrunk = np.where(before >= 0.0, np.clip(after, 0.0, before), np.clip(after, before, 0.0))
        after = np.where(saturated, shrunk, after)
    active = gains.i > 0.0
    bound = np.divide(gains.i_clamp, gains.i, out=np.full(gains.n, np.inf), where=active)
    return np.where(active, np.clip(after, -bound, bound), 0.0)
