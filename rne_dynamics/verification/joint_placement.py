"""Placements of joints on flexible links as 4 × 4 matrices, with their rates; complex coordinates for derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.model.bodies import align_z
from rne_dynamics.model.flexible.modal import Attachment
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.tree import JointKind, TreeJoint

Complex = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class Step:
    """One joint of the description: from the parent link's frame to the child's."""

    joint: TreeJoint
    parent: int
    coordinates: tuple[int, ...]
    modes: slice
    attachment: Attachment | None


def placement(step: Step, z: Complex, zd: Array) -> tuple[Complex, Complex]:
    """E (5) of a joint on its parent and its rate: the turn of a bent link is small, 1 + θ̃; (rows, 4, 4)."""
    E, dE = np.zeros((2, len(z), 4, 4), dtype=complex)
    E[:, :3, :3], E[:, :3, 3], E[:, 3, 3] = step.joint.rotation, step.joint.position, 1.0
    if step.attachment is not None:
        d, dd, there = z[:, step.modes], zd[:, step.modes], step.attachment
        E[:, :3, 3] += d @ there.translation - 0.5 * np.einsum("bk,bl,klx->bx", d, d, there.shortening)
        dE[:, :3, 3] = dd @ there.translation - np.einsum("bk,bl,klx->bx", d, dd, there.shortening)
        E[:, :3, :3] += cross(d @ there.rotation) @ step.joint.rotation
        dE[:, :3, :3] = cross(dd @ there.rotation) @ step.joint.rotation
        if there.shortening.any():  # second-order turn, consistent with the shortening
            turn, rate = cross(d @ there.rotation), cross(dd @ there.rotation)
            E[:, :3, :3] += 0.5 * turn @ turn @ step.joint.rotation
            dE[:, :3, :3] += 0.5 * (rate @ turn + turn @ rate) @ step.joint.rotation
    return E, dE


def joint_matrix(step: Step, z: Complex, zd: Array) -> tuple[Complex, Complex]:
    """A of a joint and its rate, about or along its axis in the joint's frame; (rows, 4, 4)."""
    joint, at = step.joint, step.coordinates
    A, dA = np.tile(np.eye(4, dtype=complex), (len(z), 1, 1)), np.zeros((len(z), 4, 4), dtype=complex)
    slides: list[tuple[int, Array]] = []
    turns = at[-1:]
    if joint.kind is JointKind.PRISMATIC:
        slides, turns = [(at[0], joint.axis)], ()
    elif joint.kind is JointKind.PLANAR:
        plane = align_z(joint.axis)
        slides = [(at[0], plane[:, 0]), (at[1], plane[:, 1])]
    for k, axis in slides:
        A[:, :3, 3] += z[:, k, None] * axis
        dA[:, :3, 3] += zd[:, k, None] * axis
    for k in turns:
        S = cross(joint.axis)
        c, s = np.cos(z[:, k])[:, None, None], np.sin(z[:, k])[:, None, None]
        A[:, :3, :3] += s * S + (1.0 - c) * (S @ S)
        dA[:, :3, :3] = zd[:, k, None, None] * (c * S + s * (S @ S))
    return A, dA


def cross(v: Any) -> Any:
    """ṽ of vectors (…, 3), complex ones too; shape (…, 3, 3)."""
    x, y, z = np.moveaxis(v, -1, 0)
    o = np.zeros_like(x)
    return np.stack([np.stack([o, -z, y], -1), np.stack([z, o, -x], -1), np.stack([-y, x, o], -1)], -2)
