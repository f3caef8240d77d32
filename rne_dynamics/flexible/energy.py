"""Kinetic and potential energy of a flexible arm (sections 3 and 4 of document 003)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.flexible.arguments import coordinates
from rne_dynamics.flexible.equations import equations_of_motion
from rne_dynamics.flexible.inertia import modal_terms_kernel
from rne_dynamics.flexible.motion import motion_kernel
from rne_dynamics.flexible.packed import Packed, Work, pack, workspace
from rne_dynamics.flexible.stiffness import elastic_matrix
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array
from rne_dynamics.spatial.jit import kernel


@kernel
def first_moments_batch(packed: Packed, work: Work, z: Array, moments: Array) -> None:
    """Σ W_i r_i (50): mass times mass centre of all bodies, in the base's axes, (B, 3), for z (B, n + modes)."""
    base, rest = np.zeros(12), np.zeros(z.shape[1])
    for b in range(z.shape[0]):
        motion_kernel(packed, work, base, z[b], rest, None)
        modal_terms_kernel(packed, work, z[b])
        for x in range(3):
            moments[b, x] = 0.0
            for i in range(packed.topology.shape[0]):
                for r in range(4):  # the top row of G is r of (51)
                    moments[b, x] += work.G[i, 0, r] * work.W[i, r, x]


def _first_moment(arm: FlexibleArm, q: Array, delta: Array) -> Array:
    """Mass times mass centre of everything (50); shape (rows, 3)."""
    packed, moments = pack(arm), np.empty((len(q), 3))
    first_moments_batch(packed, workspace(packed), np.hstack([q, delta]), moments)
    whole: Array = moments + arm.body_model.root_inertia.first_moment
    return whole


def flexible_kinetic_energy(
    arm: FlexibleArm, q: ArrayLike, delta: ArrayLike, qd: ArrayLike, deltad: ArrayLike
) -> Array:
    """Kinetic energy of links, beams and rotors, ½ żᵀ J ż, J; shape (…). Parameters as for `equations_of_motion`.

    Raises
    ------
    ArgumentError
        A wrong shape, NaN or infinity.
    """
    lead, rows = coordinates(arm, q=q, delta=delta, qd=qd, deltad=deltad)
    zd = np.hstack(rows[2:])
    energy: Array = 0.5 * np.einsum("bi,bij,bj->b", zd, equations_of_motion(arm, *rows).J, zd)
    return energy.reshape(lead)


def flexible_center_of_mass(arm: FlexibleArm, q: ArrayLike, delta: ArrayLike) -> Array:
    """Mass centre of everything, the base included, where the links are bent, in the base's axes, m; shape (…, 3).

    Parameters
    ----------
    arm
        The arm.
    q, delta
        Joint positions, rad or m, shape (…, n), and amplitudes of the modes, shape (…, modes).

    Raises
    ------
    ArgumentError
        A wrong shape, NaN or infinity.
    """
    lead, (positions, amplitudes) = coordinates(arm, q=q, delta=delta)
    center: Array = _first_moment(arm, positions, amplitudes) / arm.mass
    return center.reshape((*lead, 3))


def flexible_potential_energy(arm: FlexibleArm, q: ArrayLike, delta: ArrayLike) -> Array:
    """Energy in the gravity field (50) and in the bent links (46), J; shape (…).

    Zero where nothing bends and the mass centre is at the world's origin, as for a rigid arm.

    Raises
    ------
    ArgumentError
        A wrong shape, NaN or infinity.
    """
    lead, (positions, amplitudes) = coordinates(arm, q=q, delta=delta)
    gravity = -_first_moment(arm, positions, amplitudes) @ arm.gravity
    elastic = 0.5 * np.einsum("bi,ij,bj->b", amplitudes, elastic_matrix(arm), amplitudes)
    energy: Array = gravity + elastic
    return energy.reshape(lead)
