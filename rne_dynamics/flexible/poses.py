"""Forward kinematics of a bent arm, and the deflections of its links' ends."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.kinematics.kinematics import LinkPoses
from rne_dynamics.flexible.arguments import coordinates
from rne_dynamics.flexible.motion import put_bodies
from rne_dynamics.flexible.specialised import of_posture
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array

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
    R, p = W[:, :, :9].reshape(count, -1, 3, 3), W[:, :, 9:]
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
