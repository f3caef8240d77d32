"""A flexible link from a finite-element mesh: nodal modes and a nodal mass matrix become the integrals of document 003.

Mass, mass centre and inertia of the undeformed link come from the rigid motions of the nodal mass matrix; the integrals
are those of `nodal_mesh`, so that all modes have the momentum, the angular momentum and the modal masses φ_kᵀ M φ_l
of the mesh to round-off.

Files with the nodal modes and the nodal mass matrix of a flexible link, as finite-element programs write them.

A file is a NumPy archive (.npz) or a JSON object. A value may be the name of a Matrix Market file in the same folder
(.mtx, full or sparse), as most programs export their matrices. The keys are the arguments of `NodalMesh` and
`nodal_link`:

=================  ====================================  ======================================================
key                shape                                 what
=================  ====================================  ======================================================
``nodes``          (P, 3)                                in the link's frame, m
``mass``           (6P, 6P) or (3P, 3P)                  nodal mass matrix, node after node ux uy uz (rx ry rz)
``stiffness``      as ``mass``                           nodal stiffness matrix; or instead
``frequencies``    (m,)                                  natural frequencies of the shapes, rad/s
``shapes``         (6P, m) or (3P, m)                    nodal modes, clamped at the root; computed if not given
``modes``          () or (m,)                            how many, or their names; needed without ``shapes``
``root``           () or (nodes,)                        the nodes that are held, counted from 0
``tip``            () or (nodes,)                        the node, or nodes, at the end of the link
``points``         (P',) or (P', nodes)                  where joints and bodies may sit
``damping_ratio``  () or (m,)                            of critical damping; 0 if not given
``tolerance``      ()                                    how far a joint may be from a point, m; 1e-4 if not given
=================  ====================================  ======================================================
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics import input_file
from rne_dynamics.errors import DescriptionError, ModelError, unknown_name
from rne_dynamics.input_file import MOST_ARRAYS, check_regular
from rne_dynamics.model.flexible.modal import ModalLink, TableField, modal_damping
from rne_dynamics.model.flexible.nodal_mesh import (
    Motion,
    NodalMesh,
    masses_of,
    matched,
    motions,
    rigid_motions,
    skews,
)
from rne_dynamics.model.inertia import Array, frozen_array

#: A table of shapes is a few megabytes of text; as lists of Python it takes ten times that.
_MOST_TEXT = 50_000_000


class ArrayFile:
    """The keys of one file, and errors that name it."""

    def __init__(self, path: Path, data: Mapping[str, Any]) -> None:
        self.path, self.data = path, data

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def check_keys(self, known: Sequence[str], needed: Sequence[str], what: str) -> None:
        """`DescriptionError` for unknown and for missing keys of a file with `what`."""
        for key in self.data:
            if key not in known:
                raise DescriptionError(str(unknown_name("key", key, known, f"{self.path}: a file with {what}")))
        missing = [key for key in needed if key not in self]
        if missing:
            raise DescriptionError(f"{self.path}: has no {', no '.join(missing)}; it must have {', '.join(needed)}")

    def fail(self, key: str, what: str) -> NoReturn:
        """Raise `DescriptionError` about a key."""
        raise DescriptionError(f"{self.path}: {key} {what}")

    def array(self, key: str, *shapes: tuple[int, ...]) -> Array:
        """The numbers of a key, in one of some shapes."""
        try:
            found = np.asarray(self.data[key], dtype=np.float64)
        except (TypeError, ValueError):
            self.fail(key, f"is not an array of numbers; it must have the shape {_either(shapes)}")
        if found.shape not in shapes:
            self.fail(key, f"has the shape {found.shape}; it must be {_either(shapes)}")
        if not np.isfinite(found).all():
            self.fail(key, "has numbers that are not finite; every one must be")
        return found

    def array_or_zeros(self, key: str, shape: tuple[int, ...]) -> Array:
        """As `array`; zeros where the key is not given."""
        return self.array(key, shape) if key in self else np.zeros(shape)

    def number(self, key: str) -> float:
        """The one number of a key."""
        return float(self.array(key, ()))


def read_arrays(path: Path) -> ArrayFile:
    """All keys of a .json or .npz file, without believing any; `DescriptionError` where it cannot be read."""
    kind = path.suffix.lower()
    if kind not in (".json", ".npz"):
        raise DescriptionError(f"{path}: ends in {path.suffix!r}; a file with modal integrals ends in .json or .npz")
    try:
        if kind == ".npz":
            return ArrayFile(path, input_file.read_arrays(path))
        text = input_file.read_limited(path, _MOST_TEXT).decode("utf-8")
        data = json.loads(text, object_pairs_hook=lambda pairs: _once(path, pairs))
    except OSError as error:
        raise DescriptionError(f"{path}: {error.strerror or error}; give a file with modal integrals") from None
    except (ValueError, RecursionError) as error:
        what = "a NumPy archive of plain arrays" if kind == ".npz" else "JSON"
        raise DescriptionError(f"{path}: is not {what}: {' '.join(str(error).split())}") from None
    if not isinstance(data, dict):
        found = type(data).__name__
        raise DescriptionError(f"{path}: holds a {found}; it must be an object with the keys of the format")
    return ArrayFile(path, data)


def _once(path: Path, pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        twice = next(key for k, (key, _) in enumerate(pairs) if key in dict(pairs[:k]))
        raise DescriptionError(f"{path}: {twice} is given twice; give it once")
    return data


def _either(shapes: tuple[tuple[int, ...], ...]) -> str:
    return " or ".join(str(shape) if shape else "() (one number)" for shape in shapes)


def nodal_link(
    mesh: NodalMesh,
    *,
    shapes: ArrayLike | None = None,
    modes: int | Sequence[str] | None = None,
    frequencies: ArrayLike | None = None,
    damping_ratio: ArrayLike = 0.0,
    tolerance: float = 1e-4,
) -> ModalLink:
    """The flexible link that a finite-element mesh makes, clamped at its root; `ModelError`.

    Loads on it are in the URDF: mass and stiffness hold the link alone. `shapes` (6P, m) or (3P, m), m or rad per unit
    of amplitude; where not given the lowest `modes` eigenvectors with the root held. `modes`: names, or their number.
    `frequencies` (m,), rad/s: instead of a stiffness matrix, where the shapes are eigenvectors of this very mass
    matrix. `damping_ratio`: of critical damping, one or (m,). `tolerance`: how far a joint may be from a point of the
    mesh, m.

    Where nodes with rotations all lie on one line, the link is a beam and gets its stiffening, but for the elastic
    forces of higher order, which need EI along it; the shortening of any other body is left out.
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
        np.stack([np.ones((len(X), 3)), *(X[:, [k]] * np.ones(3) for k in range(3))], axis=1), np.zeros((len(X), 4, 3))
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
    return modal_damping(stiffness, masses, ratios, where)


_NEEDED = ("nodes", "mass", "root", "tip")
_WHOLE = ("root", "tip", "points")
_MESH = (*_NEEDED, "stiffness", "points")
_KEYS = (*_MESH, "frequencies", "shapes", "modes", "damping_ratio", "tolerance")


def read_nodal_link(file: ArrayFile, link: str) -> ModalLink:
    """The flexible link of a file of the form above; `DescriptionError` for what cannot be read or is refused."""
    file.check_keys(_KEYS, _NEEDED, "nodal modes")
    given = {key: _value(file, key) for key in file.data}
    try:
        mesh = NodalMesh(link, **{key: given.pop(key) for key in _MESH if key in given})
        return nodal_link(mesh, **given)
    except ModelError as error:
        raise DescriptionError(f"{file.path}: {error}") from None


def _value(file: ArrayFile, key: str) -> Any:
    """Numbers, sparse matrices, and plain numbers or lists where nodes or names are meant."""
    value = file.data[key]
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, str):
        value = _matrix_market(file, key, value)
    if hasattr(value, "tocsr"):  # SciPy's sparse matrices; what is no matrix of the mesh is small
        if key in ("mass", "stiffness"):
            return value
        value = value.toarray()
    if key in _WHOLE or key == "modes":
        return _listed(file, key, value)
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        file.fail(key, "is not an array of numbers, nor the name of a Matrix Market file (.mtx)")
    if not np.isfinite(found).all():
        file.fail(key, "has numbers that are not finite; every one must be")
    if key == "frequencies":
        return found.ravel()  # Matrix Market knows columns only
    return float(found.item()) if found.size == 1 else found.ravel() if key == "damping_ratio" else found


def _matrix_market(file: ArrayFile, key: str, name: str) -> Any:
    from scipy.io import mminfo, mmread

    path = file.path.parent / name
    if path.suffix.lower() != ".mtx":
        file.fail(key, f"is {name!r}; it must be numbers, or the name of a Matrix Market file that ends in .mtx")
    try:
        check_regular(path, MOST_ARRAYS)
        rows, columns, entries, *_ = mminfo(path)
        if 8 * max(rows * columns, entries) > MOST_ARRAYS:
            file.fail(key, f"has {rows} x {columns} numbers in {path}; at most {MOST_ARRAYS // 8} are allowed")
        return mmread(path)
    except OSError as error:
        raise DescriptionError(f"{path}: {error.strerror or error}; {file.path} names it for {key}") from None
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise DescriptionError(
            f"{path}: is not a Matrix Market file: {' '.join(str(error).split())}; {file.path} names it for {key}"
        ) from None


def _listed(file: ArrayFile, key: str, value: Any) -> Any:
    """Node numbers, lists of them and names: plain whole numbers, strings and lists."""
    plain = value.tolist() if isinstance(value, np.ndarray) else value
    if key == "modes" and isinstance(plain, list) and all(isinstance(name, str) and name for name in plain):
        return plain
    try:
        return _whole(plain)
    except (TypeError, ValueError, OverflowError):
        wanted = "names, or how many there are" if key == "modes" else "whole numbers: nodes, counted from 0"
        file.fail(key, f"is {plain!r}; it must be {wanted}")


def _whole(value: Any) -> Any:
    if isinstance(value, list):
        return [_whole(part) for part in value]
    if isinstance(value, bool) or int(value) != value:
        raise ValueError(value)
    return int(value)
