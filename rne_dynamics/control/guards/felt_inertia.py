"""The one inertia for a joint's wall and brake, though it feels another one with every posture of its neighbours."""

from __future__ import annotations

import numpy as np

from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array


def felt_inertia(mass_matrix: Array) -> Array:
    """What each joint feels between two extremes, for `EffortLimiter.weigh`, kg·m² or kg; shape (n,).

    Pushed while all others are held a joint feels M_jj, pushed while they yield 1 / (M⁻¹)_jj, on redundant arms up to
    30 times less: walls made for the first ring and, with a late state, throw the joint back; walls made for the
    second hardly stop an arm that its feedback holds stiff. The geometric mean is off by the same factor both ways,
    and frequency and damping of the wall by its root.

    Parameters
    ----------
    mass_matrix
        M(q); shape (n, n).

    Raises
    ------
    ControlError
        A matrix that is not positive definite.
    """
    held = np.diag(mass_matrix)
    try:
        yielding = np.diag(np.linalg.inv(mass_matrix))
    except np.linalg.LinAlgError:
        yielding = np.zeros(len(held))
    if not ((held > 0.0) & (yielding > 0.0)).all():
        raise ControlError("the mass matrix is not positive definite: some motion of the arm carries no inertia")
    felt: Array = np.sqrt(held / yielding)
    return felt
