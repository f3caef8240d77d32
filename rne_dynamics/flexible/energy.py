"""Kinetic and potential energy of a flexible arm (sections 3 and 4 of document 003)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import kernel
from rne_dynamics.flexible.arguments import coordinates
from rne_dynamics.flexible.equations import equations_of_motion
from rne_dynamics.flexible.inertia import first_moment, modal_terms_kernel
from rne_dynamics.flexible.motion import motion_kernel
from rne_dynamics.flexible.packed import COORDINATE, FIRST_MODE, MODES, Packed, Work, pack, workspace
from rne_dynamics.flexible.specialised import moment_rows, of_posture
from rne_dynamics.flexible.stiffness import elastic_energy
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array


@kernel
def first_moments_batch(packed: Packed, work: Work, z: Array, moments: Array) -> None:
    """Σ W_i r_i (50): mass times mass centre of all bodies, in the base's axes, (B, 3), for z (B, n + modes)."""
    base, rest = np.zeros(12), np.zeros(z.shape[1])
    for b in range(z.shape[0]):
        apart(motion_kernel, (packed, work, base, z[b], rest, None))
        apart(modal_terms_kernel, (packed, work, z[b]))
        first_moment(packed, work, moments[b])


@kernel
def moving_base_energy_batch(
    packed: Packed, work: Work, base: Array, z: Array, zd: Array, twice: Array, moments: Array
) -> None:
    """Twice the kinetic energy in the world without rotors, (B,), and Σ W_i r_i in base axes, (B, 3).

    T = ½ Σ ∫ |Ẇ h + W ḣ|² dm over the links (section 3), for base motions (B, 12), z and ż (B, n + modes).
    """
    for b in range(z.shape[0]):
        apart(motion_kernel, (packed, work, base[b], z[b], zd[b], None))
        apart(modal_terms_kernel, (packed, work, z[b]))
        energy = 0.0
        for x in range(3):
            moments[b, x] = 0.0
        for i in range(packed.topology.shape[0]):
            W, dW = work.W[i], work.dW[i]
            first, modes = packed.topology[i, FIRST_MODE], packed.topology[i, MODES]
            start = packed.joints + first
            for x in range(3):
                for r in range(4):
                    moments[b, x] += work.G[i, 0, r] * W[r, x]
                    for s in range(4):
                        energy += work.G[i, r, s] * dW[r, x] * dW[s, x]
                for k in range(modes):
                    rate = zd[b, start + k]
                    for s in range(3):
                        for r in range(4):
                            energy += 2.0 * rate * work.D[first + k, r, s] * dW[r, x] * W[s + 1, x]
                        for m in range(modes):
                            for r in range(3):
                                second = packed.second[first + m, k, r, s]
                                energy += rate * zd[b, start + m] * second * W[r + 1, x] * W[s + 1, x]
        twice[b] = energy


def flexible_moving_base_energies(
    arm: FlexibleArm, position: Array, rotation: Array, base: Array, z: Array, zd: Array
) -> tuple[Array, Array]:
    """Kinetic energy, and potential energy with that of bent links, on a moving base, in the world, J; (B,) each.

    The root link, which is part of the base, has none of it. Nothing is checked.

    Parameters
    ----------
    arm
        The arm.
    position, rotation, base
        The root link's origin and axes in the world, and its motion as `BaseMotion.packed` gives it; shapes (B, 3),
        (B, 3, 3), (B, 12).
    z, zd
        Joints and modes, and their rates; shape (B, n + modes).
    """
    packed, n = pack(arm), arm.n
    twice, moments = np.empty(len(z)), np.empty((len(z), 3))
    moving_base_energy_batch(packed, workspace(packed), base, z, zd, twice, moments)
    rotors = np.array([packed.rotor[packed.topology[:, COORDINATE] == k].sum() for k in range(n)])
    kinetic: Array = 0.5 * (twice + zd[:, :n] ** 2 @ rotors)
    mass = float(packed.moments[:, 0, 0].sum())
    gravity = -(np.einsum("bij,bj->bi", rotation, moments) + mass * position) @ arm.gravity
    elastic = elastic_energy(arm, z[:, n:])
    return kinetic, gravity + elastic


def _first_moment(arm: FlexibleArm, q: Array, delta: Array) -> Array:
    """Mass times mass centre of everything (50); shape (rows, 3)."""

    def general(positions: Array, amplitudes: Array) -> Array:
        packed, moments, z = pack(arm), np.empty((len(positions), 3)), np.hstack([positions, amplitudes])
        first_moments_batch(packed, workspace(packed), z, moments)
        return moments

    whole: Array = of_posture(arm, moment_rows, (q, delta), general) + arm.body_model.root_inertia.first_moment
    return whole


def flexible_kinetic_energy(
    arm: FlexibleArm, q: ArrayLike, delta: ArrayLike, qd: ArrayLike, deltad: ArrayLike
) -> Array:
    """Kinetic energy of links, beams and rotors, ½ żᵀ J ż, J; shape (…).

    Parameters and errors as for `equations_of_motion`.
    """
    lead, rows = coordinates(arm, q=q, delta=delta, qd=qd, deltad=deltad)
    zd = np.hstack(rows[2:])
    energy: Array = 0.5 * np.einsum("bi,bij,bj->b", zd, equations_of_motion(arm, *rows).J, zd)
    return energy.reshape(lead)


def flexible_center_of_mass(arm: FlexibleArm, q: ArrayLike, delta: ArrayLike) -> Array:
    """Mass centre of everything, the base included, where the links are bent, in the base's axes, m; shape (…, 3).

    Parameters and errors as for `equations_of_motion`.
    """
    lead, (positions, amplitudes) = coordinates(arm, q=q, delta=delta)
    center: Array = _first_moment(arm, positions, amplitudes) / arm.mass
    return center.reshape((*lead, 3))


def flexible_potential_energy(arm: FlexibleArm, q: ArrayLike, delta: ArrayLike) -> Array:
    """Energy in the gravity field (50) and in the bent links (46), J; shape (…).

    Zero where nothing bends and the mass centre is at the world's origin, as for a rigid arm. Parameters and errors as
    for `equations_of_motion`.
    """
    lead, (positions, amplitudes) = coordinates(arm, q=q, delta=delta)
    gravity = -_first_moment(arm, positions, amplitudes) @ arm.gravity
    elastic = elastic_energy(arm, amplitudes)
    energy: Array = gravity + elastic
    return energy.reshape(lead)
