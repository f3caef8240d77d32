"""Kinetic and potential energy of a flexible arm (sections 3 and 4 of document 003); poses of the bent arm."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.dynamics.kinematics.kinematics import LinkPoses
from rne_dynamics.flexible.equations import equations_of_motion
from rne_dynamics.flexible.inertia import first_moment, masses, put_first_moment
from rne_dynamics.flexible.motion import Motions, elements, mass_times, motions, put_bodies, trace, turned_form
from rne_dynamics.flexible.packed import COORDINATE, FIRST_MODE, MODES, Packed, coordinates, pack
from rne_dynamics.flexible.specialised import of_posture
from rne_dynamics.flexible.static import elastic_energy
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array
from rne_dynamics.spatial.rows import matrix_at
from rne_dynamics.spatial.vector import compose, transpose

#: Rotation and translation of the base.
_WORLD = np.concatenate([np.eye(3).ravel(), np.zeros(3)])


def flexible_forward_kinematics(arm: FlexibleArm, q: ArrayLike, delta: ArrayLike) -> LinkPoses:
    """Poses of all links in the root link's frame.

    `q`, `delta`: joint positions, rad or m, shape (…, n), and amplitudes of the modes, shape (…, modes). Leading
    dimensions broadcast. Returns a flexible link's own frame is the one at its root. Positions are those of the
    equations of motion; rotations, in which (5) adds small angles like vectors, are the nearest proper ones. Raises
    ArgumentError: a wrong shape, NaN or infinity.
    """
    lead, rows = coordinates(arm, q=q, delta=delta)
    count = len(rows[0])
    W = of_posture(arm, put_bodies, (arm.body_model.bodies, 12), rows)
    # a body −1 at the end stands for the world, which python's indexing finds by itself
    W = np.concatenate([W, np.broadcast_to(_WORLD, (count, 1, 12))], axis=1)
    R, p = W[:, :, :9].reshape(*W.shape[:2], 3, 3), W[:, :, 9:]
    frames = arm.body_model.links.values()
    body = [frame.body for frame in frames]
    turn, shift = np.array([frame.rotation for frame in frames]), np.array([frame.position for frame in frames])
    position = p[:, body] + np.einsum("blij,lj->bli", R[:, body], shift)
    U, _, V = np.linalg.svd(R[:, body])
    rotation = U @ V @ turn
    links = len(body)
    return LinkPoses(arm.robot, rotation.reshape(*lead, links, 3, 3), position.reshape(*lead, links, 3))


def tip_deflections(arm: FlexibleArm, delta: ArrayLike) -> Array:
    """Displacement, m, and small turn, rad, of the end of every flexible link, in its frame; shape (…, links, 6).

    Zero where nothing bends. Linear in δ but for the shortening, so the same function of δ̇ gives its velocity where
    there is no stiffening.

    Parameters
    ----------
    arm
        The arm; the links are in the order of `arm.flexible_links`.
    delta
        Amplitudes of the modes; shape (…, modes).

    Raises
    ------
    ArgumentError
        A wrong shape, NaN or infinity.
    """
    lead, (amplitudes,) = coordinates(arm, delta=delta)
    out = np.zeros((len(amplitudes), len(arm.flexible_links), 6))
    for k, link in enumerate(arm.flexible_links):
        there, own = link.at(link.tip), amplitudes[:, arm.mode_slice(link.link)]
        out[:, k, :3] = own @ there.translation - 0.5 * np.einsum("bk,bl,klx->bx", own, own, there.shortening)
        out[:, k, 3:] = own @ there.rotation
    return out.reshape((*lead, len(arm.flexible_links), 6))


@helper
def twice_kinetic(packed: Packed, X: Motions, G: Any, D: Any, zd: Array) -> float:
    """∫ |Ẇ h + W ḣ|² dm over the links (section 3)."""
    energy = 0.0
    for i in range(packed.topology.shape[0]):
        (R, _), dW, first = X.W[i], X.dW[i], packed.topology[i, FIRST_MODE]
        energy += trace(dW, mass_times(G[i], dW))
        turned = compose(transpose(R), R)
        for k in range(packed.topology[i, MODES]):
            rate = zd[packed.joints + first + k]
            energy += 2.0 * rate * trace(dW, turned_form(R, D[first + k]))
            for m in range(packed.topology[i, MODES]):
                second = elements(matrix_at(packed.second[first + m], k, 0), turned)
                energy += rate * zd[packed.joints + first + m] * second
    return energy


@kernel
def moving_base_energy_batch(packed: Packed, base: Array, z: Array, zd: Array, twice: Array, moments: Array) -> None:
    """Twice the kinetic energy in the world without rotors, (B,), and Σ W_i r_i in base axes, (B, 3); base (B, 12)."""
    for b in range(z.shape[0]):
        X, (G, D) = motions(packed, base[b], z[b], zd[b], None), masses(packed, z[b])
        twice[b] = twice_kinetic(packed, X, G, D, zd[b])
        moments[b, 0], moments[b, 1], moments[b, 2] = first_moment(packed, X, G)


def flexible_moving_base_energies(
    arm: FlexibleArm, position: Array, rotation: Array, base: Array, z: Array, zd: Array
) -> tuple[Array, Array]:
    """Kinetic energy, and potential energy with that of bent links, on a moving base, in the world, J; (B,) each.

    The root link, which is part of the base, has none of it; its origin `position` (B, 3), axes `rotation` (B, 3, 3)
    and motion `base` (B, 12) are in the world. z and ż are (B, n + modes). Nothing is checked.
    """
    packed, n = pack(arm), arm.n
    twice, moments = np.empty(len(z)), np.empty((len(z), 3))
    moving_base_energy_batch(packed, base, z, zd, twice, moments)
    rotors = np.array([packed.rotor[packed.topology[:, COORDINATE] == k].sum() for k in range(n)])
    kinetic: Array = 0.5 * (twice + zd[:, :n] ** 2 @ rotors)
    mass = float(packed.moments[:, 0].sum())
    gravity = -(np.einsum("bij,bj->bi", rotation, moments) + mass * position) @ arm.gravity
    elastic = elastic_energy(arm, z[:, n:])
    return kinetic, gravity + elastic


def _first_moment(arm: FlexibleArm, rows: list[Array]) -> Array:
    """Mass times mass centre of everything (50), for checked rows of q and δ; shape (B, 3)."""
    return np.asarray(of_posture(arm, put_first_moment, (3,), rows) + arm.body_model.root_inertia.first_moment)


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
    lead, rows = coordinates(arm, q=q, delta=delta)
    center: Array = _first_moment(arm, rows) / arm.mass
    return center.reshape((*lead, 3))


def flexible_potential_energy(arm: FlexibleArm, q: ArrayLike, delta: ArrayLike) -> Array:
    """Energy in the gravity field (50) and in the bent links (46), J; shape (…).

    Zero where nothing bends and the mass centre is at the world's origin, as for a rigid arm. Parameters and errors as
    for `equations_of_motion`.
    """
    lead, rows = coordinates(arm, q=q, delta=delta)
    energy: Array = elastic_energy(arm, rows[1]) - _first_moment(arm, rows) @ arm.gravity
    return energy.reshape(lead)
