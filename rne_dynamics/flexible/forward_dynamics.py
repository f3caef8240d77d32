"""Accelerations of joints and deflections from joint efforts: J z̈ = R (82) of document 003 by Cholesky's method."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import kernel
from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale
from rne_dynamics.dynamics.declared.arguments import Wrenches, bodies_wrenches
from rne_dynamics.dynamics.declared.base_motion import BaseMotion, packed_base
from rne_dynamics.errors import no_inertia
from rne_dynamics.flexible.arguments import coordinates
from rne_dynamics.flexible.equations import flexible_terms_kernel
from rne_dynamics.flexible.packed import Packed, pack
from rne_dynamics.flexible.specialised import by_own_code
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array
from rne_dynamics.spatial.cholesky import scaled_cholesky_solve


class Accelerations(NamedTuple):
    """Second derivatives of joints, (…, n), rad/s² or m/s², and of the modes' amplitudes, (…, modes)."""

    qdd: Array
    deltadd: Array


@kernel
def flexible_forward_batch(
    packed: Packed, base: Array, z: Array, zd: Array, tau: Array, wrenches: Array, scale: Array, zdd: Array
) -> int:
    """z̈ (B, n + modes) under τ (B, n); −1, or the coordinate that moves no inertia.

    `scale` (B, n + modes) holds the joints' `inertia_scale` of the arm undeformed, and zeros for the modes.
    """
    nz = z.shape[1]
    J, rest = np.empty((nz, nz)), np.empty(nz)
    for b in range(z.shape[0]):
        at, loads = base[b if base.shape[0] > 1 else 0], wrenches[b if wrenches.shape[0] > 1 else 0]
        apart(flexible_terms_kernel, (packed, at, z[b], zd[b], loads, J, rest))
        for k in range(nz):
            rest[k] = (tau[b, k] if k < tau.shape[1] else 0.0) - rest[k]
        singular = scaled_cholesky_solve(J, rest, scale[b], zdd[b])
        if singular >= 0:
            return singular
    return -1


@by_own_code(Accelerations)
def flexible_forward_dynamics(
    arm: FlexibleArm,
    q: ArrayLike,
    delta: ArrayLike,
    qd: ArrayLike,
    deltad: ArrayLike,
    tau: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
) -> Accelerations:
    """Accelerations of a flexible arm under joint efforts.

    Parameters
    ----------
    arm, q, delta, qd, deltad, wrenches, base_motion
        As for `equations_of_motion`.
    tau
        Joint efforts, N·m or N; shape (…, n).

    Raises
    ------
    ArgumentError, ModelError
        As for `equations_of_motion`.
    SingularInertiaError
        A joint or mode that moves no inertia; names it.
    """
    lead, (positions, amplitudes, velocities, rates, efforts) = coordinates(
        arm, q=q, delta=delta, qd=qd, deltad=deltad, tau=tau
    )
    z, zd = np.hstack([positions, amplitudes]), np.hstack([velocities, rates])
    zdd, scale = np.empty_like(z), np.zeros_like(z)
    scale[:, : arm.n] = inertia_scale(arm.robot, positions)
    singular = flexible_forward_batch(
        pack(arm), packed_base(arm.body_model, base_motion, lead), z, zd, efforts,
        bodies_wrenches(arm.body_model, wrenches, lead), scale, zdd,
    )  # fmt: skip
    if singular >= 0:
        raise no_inertia((arm.joint_names + arm.mode_names)[singular], arm.name)
    return Accelerations(zdd[:, : arm.n].reshape((*lead, arm.n)), zdd[:, arm.n :].reshape((*lead, arm.modes)))
