"""A finite-element mesh of one link: mass and stiffness matrices, the nodes at its ends, motions and integrals.

A nodal mass matrix M gives ∫ u·v dm of any two motions u, v of the mesh. The equations need more: ∫ φ_k φ_lᵀ dm and ∫ r
φ_kᵀ dm, component by component. These are taken from the scalar mass matrix m, the mean of the three blocks of M that
belong to translations along x, y and z, and from the rotary inertia of nodes with rotations. Solid elements and lumped
masses have M = m ⊗ 1, so that nothing is lost; beams and shells do not, and are right to the second order of the
element's size. `matched` then puts right what M itself determines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.errors import ModelError, refuse
from rne_dynamics.model.flexible.modal import drawn_in
from rne_dynamics.model.inertia import Array, Inertia, frozen_array, skew

#: Rigid motions with less inertia than that, relative, have none: a line of nodes turns freely about itself.
_NO_INERTIA = 1e-10


class Motion(NamedTuple):
    """Displacements and small turns of nodes, or of places on a beam, in some motions; shapes (P, motions, 3)."""

    translation: Array
    rotation: Array


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
    return Motion(by_node[:, :, :3].copy(), by_node[:, :, 3:].copy() if d == 6 else np.zeros((*by_node.shape[:2], 3)))


def rigid_motions(X: Array) -> Motion:
    """Translations along x, y, z and turns about them at the link's origin."""
    translation, rotation = np.zeros((2, len(X), 6, 3))
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
    whole = np.vstack([wanted - had @ mix, mix])
    return Motion(*(np.einsum("pki,kl->pli", part, whole) for part in both))


def _square_root(A: Array) -> Array:
    values, axes = np.linalg.eigh(0.5 * (A + A.T))
    return np.asarray((axes * np.sqrt(values)) @ axes.T)


def skews(vectors: Array) -> Array:
    """v ↦ ṽ with ṽ x = v × x; shape (…, 3, 3)."""
    return np.asarray(np.cross(vectors[..., None, :], np.eye(3)).swapaxes(-1, -2))


#: Nodes: one number, or several whose mean motion counts.
Nodes = int | Sequence[int]

#: What is not exactly so in matrices written with six digits, relative.
_FEW_DIGITS = 1e-5
#: Above so many unknowns modes are found by Lanczos' method.
_MOST_DENSE = 1500


class NodalMesh:
    """The mesh of one link, checked here; `ModelError`.

    `nodes` (P, 3) in the link's frame, m; `mass`, `stiffness`: array or sparse, (6P, 6P), node after node ux uy uz rx
    ry rz, or (3P, 3P) for nodes without rotations. `root`: nodes that are held; `tip`: the node at the link's end, or
    several whose mean motion counts; without rotations at least three off a line. `points`: where joints and bodies may
    sit, nodes or groups; all nodes where not given, the tip alone without rotations.
    """

    def __init__(
        self, link: str, nodes: ArrayLike, mass: Any, *, root: Nodes, tip: Nodes, stiffness: Any = None,
        points: Sequence[Nodes] | None = None,
    ) -> None:  # fmt: skip
        self.link, self.where = link, f"flexible link {link!r}"
        X = np.asarray(nodes, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != 3 or not len(X):
            raise ModelError(f"{self.where}: nodes has the shape {X.shape}; it must be (P, 3)")
        self.nodes = frozen_array(X, X.shape, f"{self.where}: nodes")
        self.mass = _nodal_matrix(mass, len(X), f"{self.where}: mass")
        #: unknowns of a node: 6, or 3 without rotations
        self.unknowns = self.mass.shape[0] // len(X)
        self.stiffness = None if stiffness is None else _nodal_matrix(stiffness, len(X), f"{self.where}: stiffness")
        if self.stiffness is not None and self.stiffness.shape != self.mass.shape:
            shapes = f"stiffness has the shape {self.stiffness.shape}, mass {self.mass.shape}"
            raise ModelError(f"{self.where}: {shapes}; they must be alike")
        self.root, self.tip = self._group("root", root), self._group("tip", tip)
        if points is None:
            points = range(len(X)) if self.unknowns == 6 else ()
        #: groups of nodes, the tip among them
        self.points = [self._group("points", nodes) for nodes in points]
        if not any(np.array_equal(self.tip, group) for group in self.points):
            self.points.append(self.tip)

    def lowest_modes(self, count: int) -> Array:
        """The shapes (unknowns, count) of the lowest modes with the root held and the rest free, largest entry 1."""
        from scipy.linalg import LinAlgError, eigh
        from scipy.sparse.linalg import eigsh

        M, K, d, where = self.mass, self.stiffness, self.unknowns, self.where
        assert K is not None
        free = np.setdiff1d(np.arange(M.shape[0]), (d * self.root[:, None] + np.arange(d)).ravel())
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
                f"{where}: stiffness leaves a motion free with the root held; every bending must store energy: check "
                "root, and the order of the unknowns (node after node)"
            ) from None
        U = np.zeros((M.shape[0], count))
        U[free] = found / found[np.abs(found).argmax(axis=0), np.arange(count)]
        return U

    def check_root(self, U: Array) -> None:
        """`ModelError` where shapes U (unknowns, m) move the root."""
        held, d, where = self.root, self.unknowns, self.where
        for part, kind in ((slice(0, 3), "displacement"), (slice(3, 6), "rotation")):
            rows = (d * held[:, None] + np.arange(d)[part]).ravel()
            every = U.reshape(-1, d, U.shape[1])[:, part]
            if len(rows) and np.abs(U[rows]).max() > _FEW_DIGITS * np.abs(every).max():
                raise ModelError(
                    f"{where}: shapes move the root (nodes {held.tolist()}) by a {kind} of up to "
                    f"{np.abs(U[rows]).max():.3g}; compute modes with all unknowns of the root held (clamped)"
                )

    def columns(self, motion: Motion) -> Array:
        """A motion of all nodes as columns over the unknowns."""
        parts = motion.translation if self.unknowns == 3 else np.concatenate(motion, axis=-1)
        return np.asarray(parts.transpose(0, 2, 1).reshape(-1, parts.shape[1]))

    def inertia(self, gram: Array) -> Inertia:
        """Mass, mass centre and inertia from the kinetic energy of rigid motions, (6, 6)."""
        each, mass = np.diag(gram)[:3], float(np.trace(gram[:3, :3]) / 3.0)
        if not mass > 0.0 or np.ptp(each) > _FEW_DIGITS * mass:
            raise ModelError(
                f"{self.where}: the mass matrix gives {each.tolist()} kg to motions along x, y and z; it must be one "
                "mass above 0: leave no unknowns out (not those of the root either), in the order ux uy uz (rx ry rz) "
                "node after node"
            )
        com = np.array([gram[1, 5], gram[2, 3], gram[0, 4]]) / mass
        about = 0.5 * (gram[3:, 3:] + gram[3:, 3:].T) + mass * skew(com) @ skew(com)
        return Inertia(mass, com, about)

    def shortenings(self, bent: Motion) -> tuple[Array, Array]:
        """S_kl of `Attachment` at every node of a beam, by the turns from root to node, and its axis; else zeros."""
        X, (P, m) = self.nodes, bent.translation.shape[:2]
        out = np.zeros((P, m, m, 3))
        away = X - X[self.root].mean(axis=0)
        far = np.linalg.norm(away, axis=1)
        if self.unknowns == 3 or not far.any():
            return out, np.zeros(3)
        axis = away[far.argmax()] / far.max()
        along = away @ axis
        aside = np.linalg.norm(away - np.outer(along, axis), axis=1).max()
        if max(aside, -along.min()) > 1e-9 * far.max():
            return out, np.zeros(3)
        order = np.argsort(along)
        line = drawn_in(bent.rotation[order], axis)
        steps = np.diff(along[order])[:, None, None, None]
        out[order[1:]] = np.cumsum(0.5 * steps * (line[1:] + line[:-1]), axis=0)
        return out, axis

    def mean_motion(self, bent: Motion, group: NDArray[np.int64]) -> Motion:
        """The rigid motion of a group nearest to that of its nodes; shapes (1, m, 3)."""
        moved = bent.translation[group]
        if self.unknowns == 6:
            return Motion(moved.mean(axis=0)[None], bent.rotation[group].mean(axis=0)[None])
        arm = self.nodes[group] - self.nodes[group].mean(axis=0)
        inertia = np.einsum("pij,pkj->ik", skews(arm), skews(arm))
        turn = np.linalg.solve(inertia, np.cross(arm[:, None], moved).sum(axis=0).T).T
        return Motion(moved.mean(axis=0)[None], turn[None])

    def _group(self, name: str, value: Nodes) -> NDArray[np.int64]:
        X, P, what = self.nodes, len(self.nodes), f"{self.where}: {name}"
        group = np.atleast_1d(np.asarray(value))
        if group.ndim != 1 or not len(group) or not np.issubdtype(group.dtype, np.integer):
            raise ModelError(f"{what} is {value!r}; it must be the number of a node or a list of them, counted from 0")
        if group.min() < 0 or group.max() >= P or len(set(group.tolist())) < len(group):
            raise ModelError(f"{what} is {group.tolist()}; every number must be there once, from 0 to {P - 1}")
        if self.unknowns == 3:
            away = X[group] - X[group].mean(axis=0)
            spread = np.linalg.svd(away, compute_uv=False) if len(group) > 2 else np.zeros(3)
            if not spread[1] > 1e-6 * max(spread[0], 1e-300):
                raise ModelError(
                    f"{what} is {group.tolist()}; nodes without rotations give a turn only where there are three or "
                    "more that are not on a line"
                )
        return group.astype(np.int64)


def _nodal_matrix(value: Any, P: int, what: str) -> Any:
    """A symmetric nodal matrix as a sparse one."""
    from scipy import sparse

    matrix = sparse.csr_matrix(value if sparse.issparse(value) else np.asarray(value, dtype=np.float64))
    if matrix.shape not in ((6 * P, 6 * P), (3 * P, 3 * P)):
        raise ModelError(
            f"{what} has the shape {matrix.shape} for {P} nodes; it must be {(6 * P, 6 * P)}, or {(3 * P, 3 * P)} "
            "for nodes without rotations"
        )
    apart = abs(matrix - matrix.T).max()
    refuse(
        ModelError,
        (not np.isfinite(matrix.data).all(), f"{what} has numbers that are not finite; every one must be"),
        (apart > _FEW_DIGITS * abs(matrix).max(),
         f"{what} is not symmetric: entries differ from their mirror images by up to {apart:.3g}"),
    )  # fmt: skip
    return 0.5 * (matrix + matrix.T)
