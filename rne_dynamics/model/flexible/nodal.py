"""A flexible link from a finite-element mesh: nodal modes and a nodal mass matrix become the integrals of document 003.

Mass, mass centre and inertia of the undeformed link come from the rigid motions of the nodal mass matrix; the integrals
are those of `nodal_masses`, so that all modes have the momentum, the angular momentum and the modal masses φ_kᵀ M φ_l
of the mesh to round-off.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.errors import ModelError
from rne_dynamics.model.flexible.modal import ModalLink, TableField, modal_damping
from rne_dynamics.model.flexible.nodal_masses import Motion, masses_of, matched, motions, no_turn, rigid_motions, skews
from rne_dynamics.model.flexible.nodal_mesh import NodalMesh
from rne_dynamics.model.inertia import Array, frozen_array


def nodal_link(
    mesh: NodalMesh,
    *,
    shapes: ArrayLike | None = None,
    modes: int | Sequence[str] | None = None,
    frequencies: ArrayLike | None = None,
    damping_ratio: ArrayLike = 0.0,
    tolerance: float = 1e-4,
) -> ModalLink:
    """The flexible link that a finite-element mesh makes.

    Boundary conditions: all shapes are those of the link clamped at its root, which is where its joint holds it. Other
    ends are free or loaded as one likes, but the mesh's mass and stiffness hold the link alone: loads on it are in the
    URDF.

    `shapes`: nodal modes, m or rad per unit of amplitude; shape (6P, m) or (3P, m). Where not given, the lowest `modes`
    eigenvectors of stiffness and mass with the root held and the rest free. `modes`: names of the modes, or their
    number. `frequencies`: instead of a stiffness matrix: natural frequencies of the shapes, rad/s, shape (m,), where
    these are eigenvectors of this very mass matrix. `damping_ratio`: of critical damping of the clamped link's own
    modes, from the lowest on; one number or (m,). `tolerance`: how far a joint may be from a point of the mesh, m.
    Raises ModelError: wrong shapes, numbers that are not finite, matrices that are no masses or stiffnesses, a root
    that moves, frequencies of shapes that are not orthogonal. The message names what, the value and the fix.

    Notes
    -----
    Where nodes with rotations all lie on one line, the link is a beam and gets its stiffening, but for the elastic
    forces of higher order, which need EI along it; the shortening of any other body is not in its mass matrix, and
    left out.
    """
    U = _shapes(mesh, shapes, modes)
    mesh.check_root(U)
    names = tuple(modes) if isinstance(modes, Sequence) else tuple(f"mode{k + 1}" for k in range(U.shape[1]))
    if len(names) != U.shape[1]:
        raise ModelError(f"{mesh.where}: modes names {len(names)} modes, shapes has {U.shape[1]}; they must be as many")

    X = mesh.nodes
    rigid, bent = rigid_motions(X), motions(U, mesh.unknowns)
    both = np.hstack([mesh.columns(rigid), U])
    gram = both.T @ (mesh.mass @ both)
    inertia = mesh.inertia(gram[:6, :6])
    masses = masses_of(mesh.mass, mesh.unknowns)
    moved = matched(masses, rigid, bent, gram, mesh.where)
    places = Motion(
        np.stack([np.ones((len(X), 3)), *(X[:, [k]] * np.ones(3) for k in range(3))], axis=1), no_turn(len(X), 4)
    )
    # of ∫ x^r φ_i dm the diagonal: component i of the place's motion with component i of the mode's
    first = np.einsum("rkii->kri", masses.outer(places, moved))
    first[:, 1:] += np.einsum("prj,pkij->kri", masses.spread, skews(moved.rotation))
    second = masses.outer(moved, moved)
    stiffness = _modal_stiffness(mesh, U, frequencies, gram[6:, 6:])
    shortened, axis = mesh.shortenings(bent)
    along = np.multiply.outer(shortened @ axis, axis)  # as for built-in beams, see `beam_modes.py`
    weight = np.asarray(masses.scalar.sum(axis=1)).ravel()
    return ModalLink(
        link=mesh.link, mode_names=names, inertia=inertia, first=first,
        second=0.5 * (second + second.transpose(1, 0, 3, 2)),
        shortening=np.einsum("p,pr,pkli->klri", weight, np.hstack([np.ones((len(X), 1)), X]), along),
        stiffness=stiffness, damping=_damping(stiffness, gram[6:, 6:], damping_ratio, mesh.where),
        field=_field(mesh, bent, shortened, tolerance), tip=X[mesh.tip].mean(axis=0),
    )  # fmt: skip


def _shapes(mesh: NodalMesh, shapes: ArrayLike | None, modes: int | Sequence[str] | None) -> Array:
    where, unknowns = mesh.where, mesh.mass.shape[0]
    if shapes is None:
        if mesh.stiffness is None or modes is None:
            raise ModelError(f"{where}: neither shapes nor stiffness and modes (how many) are given")
        return mesh.lowest_modes(modes if isinstance(modes, int) else len(modes))
    U = np.asarray(shapes, dtype=np.float64)
    if U.ndim != 2 or U.shape[0] != unknowns or not U.shape[1]:
        raise ModelError(f"{where}: shapes has the shape {U.shape}; it must be ({unknowns}, m), one mode a column")
    return frozen_array(U, U.shape, f"{where}: shapes")


def _field(mesh: NodalMesh, bent: Motion, shortened: Array, tolerance: float) -> TableField:
    """Mean motions at the points of the mesh."""
    at = [mesh.mean_motion(bent, group) for group in mesh.points]
    return TableField(
        mesh.link, np.array([mesh.nodes[group].mean(axis=0) for group in mesh.points]),
        np.array([a.translation[0] for a in at]), np.array([a.rotation[0] for a in at]),
        np.array([shortened[group].mean(axis=0) for group in mesh.points]), tolerance,
    )  # fmt: skip


def _modal_stiffness(mesh: NodalMesh, U: Array, frequencies: ArrayLike | None, masses: Array) -> Array:
    K, where = mesh.stiffness, mesh.where
    if (K is None) == (frequencies is None):
        raise ModelError(f"{where}: give stiffness or frequencies, one of the two")
    if K is not None:
        found = U.T @ (K @ U)
        return np.asarray(0.5 * (found + found.T))
    size = np.sqrt(np.diag(masses))
    apart = np.abs(masses / np.outer(size, size) - np.eye(len(size))).max()
    if apart > 1e-3:
        raise ModelError(
            f"{where}: shapes share {apart:.3g} of their modal masses, so they are no eigenvectors of this mass "
            "matrix, and frequencies alone do not say how stiff they are; give the stiffness matrix"
        )
    omega = frozen_array(np.asarray(frequencies, dtype=np.float64), (len(size),), f"{where}: frequencies")
    return np.diag(omega**2 * np.diag(masses))


def _damping(stiffness: Array, masses: Array, ratio: ArrayLike, where: str) -> Array:
    m = len(masses)
    ratios = frozen_array(np.broadcast_to(np.asarray(ratio, dtype=np.float64), (m,)), (m,), f"{where}: damping_ratio")
    if (ratios < 0.0).any():
        raise ModelError(
            f"{where}: damping_ratio is {ratios.tolist()}; a ratio of critical damping must not be negative"
        )
    return modal_damping(stiffness, masses, ratios)
