"""The posture with the least closure error, from any start."""

from __future__ import annotations

import numpy as np

from rne_dynamics.closed_chain.independence import evaluated, scaled_jacobian
from rne_dynamics.closed_chain.packed import pack, workspace
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism


def nearest_posture(mechanism: Mechanism, q_tree: Array) -> tuple[Array, Array]:
    """A posture (tree n,) with its passive joints where the loops are nearest to closed, and the residuals, m and rad.

    By Levenberg and Marquardt's method, which is slower than Newton's and keeps no branch, but does not mind a rough
    start, nor stretched loops whose joints have lost their hold.
    """
    packed = pack(mechanism)
    work = workspace(packed)
    here, passive = q_tree.copy(), mechanism.passive
    damping = 1e-2
    residual: Array = evaluated(packed, work, here).residual.copy()
    for _ in range(200):
        scaled, K = packed.row_scale * residual, scaled_jacobian(packed, work)[:, passive]
        step = np.linalg.solve(K.T @ K + damping * np.eye(len(passive)), K.T @ scaled)
        trial = here.copy()
        trial[passive] -= step * packed.column_scale[passive]
        new = evaluated(packed, work, trial).residual.copy()
        better = bool(np.linalg.norm(packed.row_scale * new) < np.linalg.norm(scaled))
        damping *= 0.3 if better else 10.0
        if better:
            here, residual = trial, new
        else:
            evaluated(packed, work, here)
        if np.abs(step).max(initial=0.0) < 1e-10:
            break
    return here, residual
