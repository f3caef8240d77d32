"""Joint efforts for a joint motion, from (56) and (57) of document 003 with the deflections' own accelerations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.declared.arguments import Wrenches
from rne_dynamics.dynamics.declared.base_motion import BaseMotion
from rne_dynamics.flexible.arguments import coordinates
from rne_dynamics.flexible.equations import equations_of_motion
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array


class JointEffort(NamedTuple):
    """Joint efforts, N·m or N, shape (…, n), and accelerations of the modes, shape (…, modes)."""

    tau: Array
    deltadd: Array


def flexible_inverse_dynamics(
    arm: FlexibleArm,
    q: ArrayLike,
    delta: ArrayLike,
    qd: ArrayLike,
    deltad: ArrayLike,
    qdd: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
) -> JointEffort:
    """Efforts that give the joints the accelerations `qdd`, the deflections moving freely.

    No effort acts on a deflection, so its acceleration follows from its own equation: J_δδ δ̈ = −bias_δ − J_δq q̈.
    `follow` (following.py) goes on from there along a whole motion.

    Parameters
    ----------
    arm, q, delta, qd, deltad, wrenches, base_motion
        As for `equations_of_motion`, and so are the errors.
    qdd
        Joint accelerations; shape (…, n).
    """
    lead, (q, delta, qd, deltad, wanted) = coordinates(arm, q=q, delta=delta, qd=qd, deltad=deltad, qdd=qdd)
    n = arm.n
    shaped = [x.reshape((*lead, x.shape[-1])) for x in (q, delta, qd, deltad, wanted)]
    J, bias = equations_of_motion(arm, *shaped[:4], wrenches=wrenches, base_motion=base_motion)
    qdd = shaped[4]
    pushed = -bias[..., n:] - np.einsum("...ij,...j->...i", J[..., n:, :n], qdd)
    deltadd = np.linalg.solve(J[..., n:, n:], pushed[..., None])[..., 0]
    tau = np.einsum("...ij,...j->...i", J[..., :n, :], np.concatenate([qdd, deltadd], axis=-1)) + bias[..., :n]
    return JointEffort(tau, deltadd)
