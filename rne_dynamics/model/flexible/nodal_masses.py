"""Motions of a finite-element mesh, and the integrals over its mass that a nodal mass matrix determines.

A nodal mass matrix M gives ∫ u·v dm of any two motions u, v of the mesh. The equations need more: ∫ φ_k φ_lᵀ dm and
∫ r φ_kᵀ dm, component by component. These are taken from the scalar mass matrix m, the mean of the three blocks of M
that belong to translations along x, y and z, and from the rotary inertia of nodes with rotations. Solid elements and
lumped masses have M = m ⊗ 1, so that nothing is lost; beams and shells do not, and are right to the second order of the
element's size. `matched` then puts right what M itself determines.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rne_dynamics.errors import ModelError
from rne_dynamics.model.inertia import Array

#: Rigid motions with less inertia than that, relative, have none: a line of nodes turns freely about itself.
_NO_INERTIA = 1e-10


class Motion(NamedTuple):
    """Displacements and small turns of nodes, or of places on a beam, in some motions; shapes (P, motions, 3)."""

    translation: Array
    rotation: Array

    def mixed(self, mix: Array) -> Motion:
        """Combinations, one a column of `mix` (motions, combinations)."""
        return Motion(*(np.einsum("pki,kl->pli", part, mix) for part in self))


class Masses(NamedTuple):
    """The scalar mass matrix (P, P), sparse, and ∫ s sᵀ dm of what turns with each node, (P, 3, 3)."""

    scalar: Any
    spread: Array

    def outer(self, a: Motion, b: Motion) -> Array:
        """∫ a_k b_lᵀ dm; shape (motions of a, motions of b, 3, 3)."""
        moved = np.stack([self.scalar @ b.translation[:, :, i] for i in range(3)], axis=-1)
        turned = np.einsum("pkij,pjm,plnm->klin", skews(a.rotation), self.spread, skews(b.rotation))
        return np.asarray(np.einsum("pki,plj->klij", a.translation, moved) + turned)


def motions(U: Array, d: int) -> Motion:
    """The motions that are columns over the unknowns, d of them a node."""
    by_node = U.reshape(-1, d, U.shape[1]).transpose(0, 2, 1)
    return Motion(by_node[:, :, :3].copy(), by_node[:, :, 3:].copy() if d == 6 else no_turn(*by_node.shape[:2]))


def no_turn(P: int, motions: int) -> Array:
    """Zeros for P nodes; shape (P, motions, 3)."""
    return np.zeros((P, motions, 3))


def rigid_motions(X: Array) -> Motion:
    """Translations along x, y, z and turns about them at the link's origin."""
    translation, rotation = no_turn(len(X), 6), no_turn(len(X), 6)
    translation[:, :3] = np.eye(3)
    translation[:, 3:], rotation[:, 3:] = np.cross(np.eye(3), X[:, None]), np.eye(3)
    return Motion(translation, rotation)


def masses_of(M: Any, d: int) -> Masses:
    """From the nodal mass matrix with d unknowns a node."""
    scalar = (M[0::d, 0::d] + M[1::d, 1::d] + M[2::d, 2::d]) / 3.0
    P = scalar.shape[0]
    spread = np.zeros((P, 3, 3))
    if d == 6:
        for i in range(3):
            for j in range(3):
                spread[:, i, j] = np.asarray(M[3 + i :: 6, 3 + j :: 6].sum(axis=1)).ravel()
        spread = 0.5 * (spread + spread.transpose(0, 2, 1))
        # from the inertia of what turns with a node to its second moments, which no body has below zero
        spread = 0.5 * np.trace(spread, axis1=1, axis2=2)[:, None, None] * np.eye(3) - spread
        values, axes = np.linalg.eigh(spread)
        spread = (axes * np.maximum(values, 0.0)[:, None, :]) @ axes.transpose(0, 2, 1)
    return Masses(scalar, spread)


def matched(masses: Masses, rigid: Motion, bent: Motion, gram: Array, where: str) -> Motion:
    """The shapes with momenta and modal masses that are those of the mesh when integrated by `masses`."""
    both = Motion(*(np.concatenate(parts, axis=1) for parts in zip(rigid, bent, strict=True)))
    found = np.einsum("klii->kl", masses.outer(both, both))
    unit = np.sqrt(np.diag(found)[:6])
    unit[unit == 0.0] = 1.0
    free = np.linalg.pinv(found[:6, :6] / np.outer(unit, unit), rcond=_NO_INERTIA, hermitian=True)
    free /= np.outer(unit, unit)
    wanted, had = free @ gram[:6, 6:], free @ found[:6, 6:]
    inner = found[6:, 6:] - found[6:, :6] @ had
    outer = gram[6:, 6:] - gram[6:, :6] @ wanted
    size = np.sqrt(np.abs(np.diag(gram)[6:]))
    size[size == 0.0] = 1.0
    least = [float(np.linalg.eigvalsh(part / np.outer(size, size))[0]) for part in (inner, outer)]
    if not min(least) > 0.0:
        raise ModelError(
            f"{where}: the mass matrix gives some combination of the shapes no kinetic energy of its own "
            f"({min(least):.3g} of a mode's); every mode must move mass, and no two the same way: check the order of "
            "the unknowns"
        )
    root = _square_root(inner / np.outer(size, size))
    inverse = np.linalg.inv(root)
    nearest = inverse @ _square_root(root @ (outer / np.outer(size, size)) @ root) @ inverse
    mix = size[:, None] ** -1 * nearest * size
    return both.mixed(np.vstack([wanted - had @ mix, mix]))


def _square_root(A: Array) -> Array:
    values, axes = np.linalg.eigh(0.5 * (A + A.T))
    return np.asarray((axes * np.sqrt(values)) @ axes.T)


def skews(vectors: Array) -> Array:
    """v ↦ ṽ with ṽ x = v × x; shape (…, 3, 3)."""
    out = np.zeros((*vectors.shape, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        out[..., k, j], out[..., j, k] = vectors[..., i], -vectors[..., i]
    return out
