"""Files with the nodal modes and the nodal mass matrix of a flexible link, as finite-element programs write them.

A file is a NumPy archive (.npz) or a JSON object. A value may be the name of a Matrix Market file beside it (.mtx, full
or sparse), as most programs export their matrices. The keys are the arguments of `nodal_link`:

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

from rne_dynamics.errors import DescriptionError, ModelError, unknown_name
from rne_dynamics.model.flexible.modal import ModalLink
from rne_dynamics.model.flexible.modal_archive import ArrayFile
from rne_dynamics.model.flexible.nodal import nodal_link

_NEEDED = ("nodes", "mass", "root", "tip")
_WHOLE = ("root", "tip", "points")
_KEYS = (*_NEEDED, "stiffness", "frequencies", "shapes", "modes", "points", "damping_ratio", "tolerance")


def read_nodal_link(file: ArrayFile, link: str) -> ModalLink:
    """The flexible link of a file of the form above.

    Parameters
    ----------
    file
        Its keys.
    link
        The name of the link it is for.

    Raises
    ------
    DescriptionError
        Keys missing or unknown, Matrix Market files that cannot be read, and what `nodal_link` refuses.
    """
    for key in file.data:
        if key not in _KEYS:
            raise DescriptionError(str(unknown_name("key", key, _KEYS, f"{file.path}: a file with nodal modes")))
    missing = [key for key in _NEEDED if key not in file]
    if missing:
        raise DescriptionError(f"{file.path}: has no {', no '.join(missing)}; it must have {', '.join(_NEEDED)}")
    given = {key: _value(file, key) for key in file.data}
    try:
        return nodal_link(link, given.pop("nodes"), given.pop("mass"), **given)
    except ModelError as error:
        raise DescriptionError(f"{file.path}: {error}") from None


def _value(file: ArrayFile, key: str) -> Any:
    """Numbers, sparse matrices, and plain numbers or lists where nodes or names are meant."""
    value = file.data[key]
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, str):
        value = _matrix_market(file, key, value)
    if key in _WHOLE or key == "modes":
        return _listed(file, key, value)
    if hasattr(value, "tocsr"):
        return value if key in ("mass", "stiffness") else np.squeeze(value.toarray(), axis=()).astype(np.float64)
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        file.fail(key, "is not an array of numbers, nor the name of a Matrix Market file (.mtx)")
    if not np.isfinite(found).all():
        file.fail(key, "has numbers that are not finite; every one must be")
    if key in ("frequencies", "damping_ratio"):
        found = found.ravel() if found.size > 1 else found.reshape(())
        return np.atleast_1d(found) if key == "frequencies" else found
    return float(found) if key == "tolerance" and found.size == 1 else found


def _matrix_market(file: ArrayFile, key: str, name: str) -> Any:
    from scipy.io import mmread

    path = file.path.parent / name
    if path.suffix.lower() != ".mtx":
        file.fail(key, f"is {name!r}; it must be numbers, or the name of a Matrix Market file that ends in .mtx")
    try:
        return mmread(path)
    except OSError as error:
        raise DescriptionError(f"{path}: {error.strerror or error}; {file.path} names it for {key}") from None
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise DescriptionError(
            f"{path}: is not a Matrix Market file: {' '.join(str(error).split())}; {file.path} names it for {key}"
        ) from None


def _listed(file: ArrayFile, key: str, value: Any) -> Any:
    """Node numbers, groups of them, names: plain numbers, strings and lists."""
    plain = value.tolist() if isinstance(value, np.ndarray) else value
    if key == "modes" and isinstance(plain, list) and all(isinstance(name, str) and name for name in plain):
        return plain
    try:
        numbers = np.array(plain, dtype=object if _ragged(plain) else np.float64)
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    flat = np.concatenate([np.atleast_1d(part) for part in numbers]) if numbers.dtype == object else numbers
    try:
        whole = np.array_equal(np.asarray(flat, dtype=np.float64), np.rint(np.asarray(flat, dtype=np.float64)))
    except (TypeError, ValueError):
        whole = False
    if not whole:
        file.fail(key, "must be whole numbers: nodes counted from 0" if key != "modes" else "must be names or how many")
    return _as_whole(plain)


def _ragged(value: Any) -> bool:
    return isinstance(value, list) and len({len(part) if isinstance(part, list) else -1 for part in value}) > 1


def _as_whole(value: Any) -> Any:
    return [_as_whole(part) for part in value] if isinstance(value, list) else int(value)
