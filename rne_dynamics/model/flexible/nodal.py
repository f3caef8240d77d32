"""A flexible link from a finite-element mesh: nodal modes and a nodal mass matrix become the integrals of document 003.

Mass, mass centre and inertia of the undeformed link come from the rigid motions of the nodal mass matrix; the integrals
are those of `nodal_masses`, so that all modes have the momentum, the angular momentum and the modal masses φ_kᵀ M φ_l
of the mesh to round-off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.errors import ModelError
from rne_dynamics.model.flexible.beam_field import drawn_in
from rne_dynamics.model.flexible.modal import ModalLink
from rne_dynamics.model.flexible.modal_table import TableField
from rne_dynamics.model.flexible.nodal_masses import (
    Motion,
    masses_of,
    matched,
    motions,
    no_turn,
    rigid_motions,
    skews,
)
from rne_dynamics.model.inertia import Array, Inertia, frozen_array, skew

#: Nodes: one number, or several whose mean motion counts.
Nodes = int | Sequence[int]

#: What is not exactly so in matrices written with six digits, relative.
_FEW_DIGITS = 1e-5
#: Above so many unknowns modes are found by Lanczos' method.
_MOST_DENSE = 1500


def nodal_link(
    link: str,
    nodes: ArrayLike,
    mass: Any,
    *,
    root: Nodes,
    tip: Nodes,
    shapes: ArrayLike | None = None,
    modes: int | Sequence[str] | None = None,
    stiffness: Any = None,
    frequencies: ArrayLike | None = None,
    points: Sequence[Nodes] | None = None,
    damping_ratio: ArrayLike = 0.0,
    tolerance: float = 1e-4,
) -> ModalLink:
    """The flexible link that a finite-element mesh makes.

    Boundary conditions: all shapes are those of the link clamped at its root, which is where its joint holds it. Other
    ends are free or loaded as one likes, but `mass` and `stiffness` hold the link alone: what it carries is in the
    URDF.

    Parameters
    ----------
    link
        The link's name.
    nodes
        In the link's frame, m; shape (P, 3).
    mass
        M, kg and kg·m²; shape (6P, 6P), node after node ux uy uz rx ry rz, or (3P, 3P) for nodes without rotations. An
        array or a SciPy sparse matrix.
    root
        The nodes that are held, counted from 0. Without rotations at least three that are not on a line.
    tip
        The node at the link's end; without rotations at least three around it, whose mean motion counts.
    shapes
        Nodal modes, m or rad per unit of amplitude; shape (6P, m) or (3P, m). Where not given, the lowest `modes`
        eigenvectors of `stiffness` and `mass` with the root held and the rest free.
    modes
        Names of the modes, or their number.
    stiffness
        Nodal stiffness matrix, N/m, like `mass`.
    frequencies
        Instead of it: natural frequencies of the shapes, rad/s, shape (m,), where these are eigenvectors of this very
        mass matrix.
    points
        Where joints and bodies may sit: nodes, or groups as for `tip`. All nodes where not given, the tip alone
        without rotations.
    damping_ratio
        Of critical damping of the clamped link's own modes, from the lowest on; one number or (m,).
    tolerance
        How far a joint may be from a point, m.

    Raises
    ------
    ModelError
        Wrong shapes, numbers that are not finite, matrices that are no masses or stiffnesses, a root that moves,
        frequencies of shapes that are not orthogonal. The message names what, the value and the fix.

    Notes
    -----
    Where nodes with rotations all lie on one line, the link is a beam and gets its stiffening, but for the elastic
    forces of higher order, which need EI along it; the shortening of any other body is not in its mass matrix, and
    left out.
    """
    where = f"flexible link {link!r}"
    X = np.asarray(nodes, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != 3 or not len(X):
        raise ModelError(f"{where}: nodes has the shape {X.shape}; it must be (P, 3)")
    X = frozen_array(X, X.shape, f"{where}: nodes")
    M, d = _nodal_matrix(mass, len(X), f"{where}: mass")
    K = None if stiffness is None else _nodal_matrix(stiffness, len(X), f"{where}: stiffness")[0]
    if K is not None and K.shape != M.shape:
        raise ModelError(f"{where}: stiffness has the shape {K.shape}, mass {M.shape}; they must be alike")
    held = _group(root, len(X), d, X, f"{where}: root")
    U = _shapes(shapes, modes, M, K, held, d, where)
    _check_root(U, held, d, where)
    names = tuple(modes) if isinstance(modes, Sequence) else tuple(f"mode{k + 1}" for k in range(U.shape[1]))
    if len(names) != U.shape[1]:
        raise ModelError(f"{where}: modes names {len(names)} modes, shapes has {U.shape[1]}; they must be as many")

    rigid, bent = rigid_motions(X), motions(U, d)
    both = np.hstack([_vector(rigid, d), U])
    gram = both.T @ (M @ both)
    inertia = _inertia(gram[:6, :6], where)
    masses = masses_of(M, d)
    moved = matched(masses, rigid, bent, gram, where)
    P = len(X)
    places = Motion(np.stack([np.ones((P, 3)), *(X[:, [k]] * np.ones(3) for k in range(3))], axis=1), no_turn(P, 4))
    # of ∫ x^r φ_i dm the diagonal: component i of the place's motion with component i of the mode's
    first = np.einsum("rkii->kri", masses.outer(places, moved))
    first[:, 1:] += np.einsum("prj,pkij->kri", masses.spread, skews(moved.rotation))
    second = masses.outer(moved, moved)
    modal_stiffness = _modal_stiffness(U, K, frequencies, gram[6:, 6:], where)
    shortened, axis = _shortenings(X, bent, X[held].mean(axis=0), d)
    along = np.multiply.outer(shortened @ axis, axis)  # as for built-in beams, see `beam_modes.py`
    weight = np.asarray(masses.scalar.sum(axis=1)).ravel()
    given = _default_points(P, d) if points is None else points
    there = [_group(p, P, d, X, f"{where}: points") for p in given]
    end = _group(tip, len(X), d, X, f"{where}: tip")
    if not any(np.array_equal(end, group) for group in there):
        there.append(end)
    at = [_mean_motion(X, bent, group, d) for group in there]
    field = TableField(
        link, np.array([X[group].mean(axis=0) for group in there]), np.array([a.translation[0] for a in at]),
        np.array([a.rotation[0] for a in at]), np.array([shortened[group].mean(axis=0) for group in there]), tolerance,
    )  # fmt: skip
    return ModalLink(
        link=link, mode_names=names, inertia=inertia, first=first,
        second=0.5 * (second + second.transpose(1, 0, 3, 2)),
        shortening=np.einsum("p,pr,pkli->klri", weight, np.hstack([np.ones((len(X), 1)), X]), along),
        stiffness=modal_stiffness, damping=_damping(modal_stiffness, gram[6:, 6:], damping_ratio, where), field=field,
        tip=X[end].mean(axis=0),
    )  # fmt: skip


def _nodal_matrix(value: Any, P: int, what: str) -> tuple[Any, int]:
    """A symmetric nodal matrix as a sparse one, and how many unknowns a node has."""
    from scipy import sparse

    matrix = sparse.csr_matrix(value if sparse.issparse(value) else np.asarray(value, dtype=np.float64))
    if matrix.shape not in ((6 * P, 6 * P), (3 * P, 3 * P)):
        raise ModelError(
            f"{what} has the shape {matrix.shape} for {P} nodes; it must be {(6 * P, 6 * P)}, or {(3 * P, 3 * P)} "
            "for nodes without rotations"
        )
    if not np.isfinite(matrix.data).all():
        raise ModelError(f"{what} has numbers that are not finite; every one must be")
    apart = abs(matrix - matrix.T).max()
    if apart > _FEW_DIGITS * abs(matrix).max():
        raise ModelError(f"{what} is not symmetric: entries differ from their mirror images by up to {apart:.3g}")
    return 0.5 * (matrix + matrix.T), matrix.shape[0] // P


def _group(value: Nodes, P: int, d: int, X: Array, what: str) -> NDArray[np.int64]:
    group = np.atleast_1d(np.asarray(value))
    if group.ndim != 1 or not len(group) or not np.issubdtype(group.dtype, np.integer):
        raise ModelError(f"{what} is {value!r}; it must be the number of a node or a list of them, counted from 0")
    if group.min() < 0 or group.max() >= P or len(set(group.tolist())) < len(group):
        raise ModelError(f"{what} is {group.tolist()}; every number must be there once, from 0 to {P - 1}")
    if d == 3:
        spread = np.linalg.svd(X[group] - X[group].mean(axis=0), compute_uv=False) if len(group) > 2 else np.zeros(3)
        if not spread[1] > 1e-6 * max(spread[0], 1e-300):
            raise ModelError(
                f"{what} is {group.tolist()}; nodes without rotations give a turn only where there are three or more "
                "that are not on a line"
            )
    return group.astype(np.int64)


def _shapes(
    shapes: ArrayLike | None, modes: int | Sequence[str] | None, M: Any, K: Any, held: NDArray[np.int64], d: int,
    where: str,
) -> Array:  # fmt: skip
    if shapes is None:
        if K is None or modes is None:
            raise ModelError(f"{where}: neither shapes nor stiffness and modes (how many) are given")
        return _eigenvectors(M, K, modes if isinstance(modes, int) else len(modes), held, d, where)
    U = np.asarray(shapes, dtype=np.float64)
    if U.ndim != 2 or U.shape[0] != M.shape[0] or not U.shape[1]:
        raise ModelError(f"{where}: shapes has the shape {U.shape}; it must be ({M.shape[0]}, m), one mode a column")
    return frozen_array(U, U.shape, f"{where}: shapes")


def _eigenvectors(M: Any, K: Any, count: int, held: NDArray[np.int64], d: int, where: str) -> Array:
    """The lowest modes with the root held and the rest free, largest entry 1."""
    from scipy.linalg import LinAlgError, eigh
    from scipy.sparse.linalg import eigsh

    free = np.setdiff1d(np.arange(M.shape[0]), (d * held[:, None] + np.arange(d)).ravel())
    if not 1 <= count < len(free):
        raise ModelError(f"{where}: {count} modes are wanted; the mesh has {len(free)} unknowns that are free")
    inner, elastic = M[free][:, free], K[free][:, free]
    try:
        if len(free) <= _MOST_DENSE:
            # the largest 1/ω²: M may be singular (nodes without rotary inertia), K with the root held is not
            last = [len(free) - count, len(free) - 1]
            found = eigh(inner.toarray(), elastic.toarray(), subset_by_index=last)[1][:, ::-1]
        else:
            found = eigsh(elastic.tocsc(), count, inner.tocsc(), sigma=0.0)[1]
    except (LinAlgError, RuntimeError):
        raise ModelError(
            f"{where}: stiffness leaves a motion free with the root held; every bending must store energy: check root, "
            "and the order of the unknowns (node after node)"
        ) from None
    U = np.zeros((M.shape[0], count))
    U[free] = found / found[np.abs(found).argmax(axis=0), np.arange(count)]
    return U


def _check_root(U: Array, held: NDArray[np.int64], d: int, where: str) -> None:
    for part, kind in ((slice(0, 3), "displacement"), (slice(3, 6), "rotation")):
        rows = (d * held[:, None] + np.arange(d)[part]).ravel()
        every = U.reshape(-1, d, U.shape[1])[:, part]
        if len(rows) and np.abs(U[rows]).max() > _FEW_DIGITS * np.abs(every).max():
            raise ModelError(
                f"{where}: shapes move the root (nodes {held.tolist()}) by a {kind} of up to "
                f"{np.abs(U[rows]).max():.3g}; compute modes with all unknowns of the root held (clamped)"
            )


def _vector(motion: Motion, d: int) -> Array:
    """As columns over the unknowns."""
    parts = motion.translation if d == 3 else np.concatenate(motion, axis=-1)
    columns: Array = parts.transpose(0, 2, 1).reshape(-1, parts.shape[1])
    return columns


def _inertia(gram: Array, where: str) -> Inertia:
    """Mass, mass centre and inertia from the kinetic energy of rigid motions, (6, 6)."""
    each, mass = np.diag(gram)[:3], float(np.trace(gram[:3, :3]) / 3.0)
    if not mass > 0.0 or np.ptp(each) > _FEW_DIGITS * mass:
        raise ModelError(
            f"{where}: the mass matrix gives {each.tolist()} kg to motions along x, y and z; it must be one mass above "
            "0: leave no unknowns out (not those of the root either), in the order ux uy uz (rx ry rz) node after node"
        )
    com = np.array([gram[1, 5], gram[2, 3], gram[0, 4]]) / mass
    about = 0.5 * (gram[3:, 3:] + gram[3:, 3:].T) + mass * skew(com) @ skew(com)
    return Inertia(mass, com, about)


def _modal_stiffness(U: Array, K: Any, frequencies: ArrayLike | None, masses: Array, where: str) -> Array:
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
    from scipy.linalg import eigh

    m = len(masses)
    ratios = frozen_array(np.broadcast_to(np.asarray(ratio, dtype=np.float64), (m,)), (m,), f"{where}: damping_ratio")
    if (ratios < 0.0).any():
        raise ModelError(
            f"{where}: damping_ratio is {ratios.tolist()}; a ratio of critical damping must not be negative"
        )
    squares, modes = eigh(stiffness, masses)
    momenta = masses @ modes
    return np.asarray((momenta * (2.0 * ratios * np.sqrt(np.maximum(squares, 0.0)))) @ momenta.T)


def _shortenings(X: Array, bent: Motion, root: Array, d: int) -> tuple[Array, Array]:
    """S_kl of `Attachment` at every node of a beam, by the turns between root and node, and its axis; else zeros."""
    P, m = bent.translation.shape[:2]
    out = np.zeros((P, m, m, 3))
    away = X - root
    far = np.linalg.norm(away, axis=1)
    if d == 3 or not far.any():
        return out, np.zeros(3)
    axis = away[far.argmax()] / far.max()
    along = away @ axis
    if np.linalg.norm(away - np.outer(along, axis), axis=1).max() > 1e-9 * far.max() or along.min() < -1e-9 * far.max():
        return out, np.zeros(3)
    order = np.argsort(along)
    line = drawn_in(bent.rotation[order], axis)
    steps = np.diff(along[order])[:, None, None, None]
    out[order[1:]] = np.cumsum(0.5 * steps * (line[1:] + line[:-1]), axis=0)
    return out, axis


def _default_points(P: int, d: int) -> Sequence[int]:
    return range(P) if d == 6 else ()


def _mean_motion(X: Array, bent: Motion, group: NDArray[np.int64], d: int) -> Motion:
    """The rigid motion of a group nearest to that of its nodes; shapes (1, m, 3)."""
    moved = bent.translation[group]
    if d == 6:
        return Motion(moved.mean(axis=0)[None], bent.rotation[group].mean(axis=0)[None])
    arm = X[group] - X[group].mean(axis=0)
    inertia = np.einsum("pij,pkj->ik", skews(arm), skews(arm))
    turn = np.linalg.solve(inertia, np.cross(arm[:, None], moved).sum(axis=0).T).T
    return Motion(moved.mean(axis=0)[None], turn[None])
