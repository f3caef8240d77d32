"""Inertia of a mechanism as seen by its motors, whether or not they are independent coordinates.

Efforts τ of the motors accelerate the actuated joints by A τ, gravity and velocities aside:

    A = B (Tᵀ M T)⁻¹ Bᵀ,      B = S T,

where the columns of T span the velocities that the loops allow, S picks the actuated joints, and freedoms that no motor
holds yield. Where the actuated joints are coordinates A is the inverse of their mass matrix. With more motors than
freedoms A is singular: there is no mass matrix, and part of the efforts moves nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rne_dynamics.closed_chain.generic_rank import RANK
from rne_dynamics.closed_chain.independence import evaluated, scaled_jacobian
from rne_dynamics.closed_chain.packed import pack, workspace
from rne_dynamics.closed_chain.tree_dynamics import null_space
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.errors import SingularInertiaError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism


class MotorInertia(NamedTuple):
    """Inertia at one posture, as the motors feel it."""

    #: A, 1/(kg·m²) or 1/kg; symmetric, of the rank of the freedoms that are driven; shape (n, n).
    inverse: Array
    #: What a joint feels pushed while the others are held: twice the kinetic energy at unit speed of the joint, in the
    #: motion that is nearest to moving it alone, kg·m² or kg. The diagonal of the mass matrix where the joints are
    #: independent; infinite for a joint that the loops hold still. Shape (n,).
    held: Array
    #: Projection of efforts on their part that moves the mechanism, shape (n, n): of all efforts that give the same
    #: motion the least in the metric of `Mechanism.effort_weights`. What is left pulls motors against each other.
    moving: Array


def motor_inertia(mechanism: Mechanism, q_tree: Array) -> MotorInertia:
    """The inertia at a closed posture of all joints of the tree, (tree n,); `SingularInertiaError`."""
    packed, n = pack(mechanism), mechanism.n
    T = null_space(mechanism, scaled_jacobian(packed, evaluated(packed, workspace(packed), q_tree)))
    lengths = packed.column_scale[mechanism.actuated]
    B = T[mechanism.actuated] / lengths[:, None]
    energy = T.T @ mass_matrix(mechanism.robot, q_tree) @ T
    try:
        root = np.linalg.cholesky(energy)
    except np.linalg.LinAlgError:
        raise SingularInertiaError(
            f"the mass matrix of mechanism {mechanism.name!r} is not positive definite at this posture: some motion "
            "that the loops allow moves no inertia; give the links that it moves mass and inertia"
        ) from None
    half = np.linalg.solve(root, B.T)
    U, sizes, _ = np.linalg.svd(B)
    U = U[:, : int((sizes > RANK).sum())]  # the motions of the actuated joints that the loops allow
    scaled, nearest = half.T @ half, (U**2).sum(axis=1)
    least = U @ np.linalg.solve(U.T @ scaled @ U, U.T)
    with np.errstate(divide="ignore", invalid="ignore"):
        held = np.where(nearest > RANK**2, np.diag(least) / nearest**2, np.inf) / lengths**2
    weights = np.sqrt(mechanism.weights)
    C = U / (lengths * weights)[:, None]
    moving = np.linalg.lstsq(C.T, C.T, rcond=None)[0] if C.size else np.zeros((n, n))
    return MotorInertia(lengths[:, None] * scaled * lengths, held, moving * weights / weights[:, None])
