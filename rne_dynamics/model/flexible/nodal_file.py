"""Files with the nodal modes and the nodal mass matrix of a flexible link, as finite-element programs write them.

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

from typing import Any

import numpy as np

from rne_dynamics.errors import DescriptionError, ModelError
from rne_dynamics.input_file import MOST_ARRAYS, check_regular
from rne_dynamics.model.flexible.modal import ModalLink
from rne_dynamics.model.flexible.modal_archive import ArrayFile
from rne_dynamics.model.flexible.nodal import nodal_link
from rne_dynamics.model.flexible.nodal_mesh import NodalMesh

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
