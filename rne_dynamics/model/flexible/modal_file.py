"""Files with the modal integrals of a flexible link of any shape, as finite-element programs can give them.

A file is a JSON object, or a NumPy archive (.npz) with one array a key. SI units, everything in the frame of the link:

==================  =====================  ==========================================================================
key                 shape                  what
==================  =====================  ==========================================================================
``modes``           (m,)                   names of the modes, or their number
``mass``            ()                     mass of the undeformed elastic part, above 0,
``com``             (3,)                   its mass centre,
``inertia``         (3, 3)                 and its inertia about the mass centre
``C_k``             (m, 4, 3)              C_ik (28): ∫ [1 x y z]ᵀ φ_kᵀ dm
``C_kl``            (m, m, 3, 3)           C_ikl (25): ∫ φ_k φ_lᵀ dm
``K``               (m, m)                 K_ikl (42), stiffness
``damping``         (m, m)                 matrix of the damping forces; or instead
``damping_ratio``   () or (m,)             ratios of critical damping, the link's own clamped modes ascending
``shortening``      (m, m, 4, 3)           ∫ [1 x y z]ᵀ s_klᵀ dm of `ModalLink`; none where not given
``tip``             (3,)                   the end whose deflection is reported; it must be one of the points
``points``          (P, 3)                 where the shapes are known: the tip, and all places of joints and bodies
``translations``    (P, m, 3)              displacement of these points by each mode, per unit of amplitude
``rotations``       (P, m, 3)              and their small turns
``shortenings``     (P, m, m, 3)           S_kl of `Attachment` there; none where not given
``coupling``        (m, m, m)              B_klm of `ModalLink`; none where not given
``hardening``       (m, m, m, m)           H_klmn of `ModalLink`; none where not given
``tolerance``       ()                     how far a joint may be from a point, m; 1e-4 where not given
==================  =====================  ==========================================================================

The integrals are as written here: WITHOUT the factor ½ that document 003 puts before C_ik and C_ikl, and without its
homogeneous coordinate. The link's frame must sit at the root, where all shapes vanish.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from rne_dynamics.errors import DescriptionError, ModelError
from rne_dynamics.model.flexible.modal import ModalLink, TableField, modal_damping
from rne_dynamics.model.flexible.nodal import ArrayFile, are_names, read_arrays, read_nodal_link
from rne_dynamics.model.inertia import Array, Inertia

_NEEDED = ("modes", "mass", "com", "inertia", "C_k", "C_kl", "K", "tip", "points", "translations", "rotations")
_SECOND_ORDER = ("shortening", "shortenings", "coupling", "hardening")
_KEYS = (*_NEEDED, "damping", "damping_ratio", *_SECOND_ORDER, "tolerance")
_TOLERANCE = 1e-4
#: How negative a mass matrix of positive masses may come out where a file gives few digits.
_FEW_DIGITS = 1e-4


def load_modal_link(path: str | PathLike[str], link: str) -> ModalLink:
    """Read the flexible link of that name from a .json or .npz of the form above, or one with nodal modes (`nodal`).

    `DescriptionError` names file, key, what was found and what is wanted.
    """
    where = Path(path)
    file = read_arrays(where)
    if "nodes" in file:
        return read_nodal_link(file, link)
    file.check_keys(_KEYS, _NEEDED, "modal integrals")
    names = _names(file)
    m = len(names)
    first, second = file.array("C_k", (m, 4, 3)), file.array("C_kl", (m, m, 3, 3))
    turned = second.transpose(1, 0, 3, 2)
    _check_symmetric(file, "C_kl", second, turned, "C_kl[k, l] must be the transpose of C_kl[l, k]")
    stiffness = _square(file, "K", m)
    try:
        inertia = Inertia(file.number("mass"), file.array("com", (3,)), file.array("inertia", (3, 3)))
        _check_masses(file, inertia, first, second)
        table = _table(file, link, m)
        modal = ModalLink(
            link=link, mode_names=names, inertia=inertia, first=first,
            second=0.5 * (second + turned), shortening=file.array_or_zeros("shortening", (m, m, 4, 3)),
            stiffness=stiffness, damping=_damping(file, m, stiffness, second), field=table, tip=file.array("tip", (3,)),
            coupling=file.array_or_zeros("coupling", (m,) * 3), hardening=file.array_or_zeros("hardening", (m,) * 4),
        )  # fmt: skip
        modal.at(modal.tip)
    except ModelError as error:
        raise DescriptionError(f"{where}: {error}") from None
    _check_root(file, modal, table)
    return modal


def _names(file: ArrayFile) -> tuple[str, ...]:
    value = file.data["modes"]
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return tuple(f"mode{k + 1}" for k in range(value))
    if not are_names(value):
        file.fail("modes", f"is {value!r}; it must be a list of names, or how many modes there are, at least 1")
    return tuple(value)


def _check_masses(file: ArrayFile, inertia: Inertia, first: Array, second: Array) -> None:
    """Masses are positive: ∫ f_a f_b dm over 1, x, y, z and all shapes has no negative eigenvalue."""
    if not inertia.mass > 0.0:
        file.fail("mass", f"is {inertia.mass} kg; it must be above 0")
    m = len(first)
    gram = np.zeros((4 + 3 * m, 4 + 3 * m))
    gram[:4, :4] = inertia.second_moments
    gram[:4, 4:] = first.transpose(1, 0, 2).reshape(4, 3 * m)
    gram[4:, :4] = gram[:4, 4:].T
    gram[4:, 4:] = second.transpose(0, 2, 1, 3).reshape(3 * m, 3 * m)
    # each coordinate in a size of its own, but those that move next to no mass, whose round-off must not count
    diagonal = np.maximum(np.diag(gram), 0.0)
    for group in (slice(1, 4), slice(4, None)):
        diagonal[group] += 1e-10 * max(diagonal[group].max(), 1e-300)
    scale = np.sqrt(diagonal)
    if np.linalg.eigvalsh(_symmetric(gram) / np.outer(scale, scale))[0] < -_FEW_DIGITS:
        raise DescriptionError(
            f"{file.path}: no body has such integrals: mass, com, inertia, C_k and C_kl together give some motion a "
            "negative kinetic energy. Give them in one frame, without the report's 1/2"
        )
    if not (np.einsum("kkii->k", second) > 0.0).all():
        file.fail("C_kl", "gives a mode without any motion of mass; every mode must move some")


def _damping(file: ArrayFile, m: int, stiffness: Array, second: Array) -> Array:
    if "damping" in file and "damping_ratio" in file:
        raise DescriptionError(f"{file.path}: has both damping and damping_ratio; give one of them")
    if "damping" in file:
        return _square(file, "damping", m)
    if "damping_ratio" not in file:
        return np.zeros((m, m))
    ratio, masses = file.array("damping_ratio", (), (m,)), _symmetric(np.einsum("klii->kl", second))
    try:
        return modal_damping(stiffness, masses, ratio, "modes")
    except np.linalg.LinAlgError:
        file.fail("C_kl", "has modes that are one and the same motion, which have no frequencies; leave some out")


def _table(file: ArrayFile, link: str, m: int) -> TableField:
    points = np.asarray(file.data["points"], dtype=object)
    P = len(points) if points.ndim else 0
    if not P:
        file.fail("points", "has no points; it must have the shape (P, 3) with at least the tip")
    return TableField(
        link=link,
        points=file.array("points", (P, 3)),
        translations=file.array("translations", (P, m, 3)),
        rotations=file.array("rotations", (P, m, 3)),
        shortenings=file.array_or_zeros("shortenings", (P, m, m, 3)),
        tolerance=file.number("tolerance") if "tolerance" in file else _TOLERANCE,
    )


def _check_root(file: ArrayFile, modal: ModalLink, table: TableField) -> None:
    at_root = np.linalg.norm(table.points, axis=1) <= table.tolerance
    if not at_root.any():
        return
    there = modal.at(np.zeros(3))
    for key, found, all_of_it in (
        ("translations", there.translation, table.translations), ("rotations", there.rotation, table.rotations),
    ):  # fmt: skip
        if np.abs(found).max() > 1e-6 * np.abs(all_of_it).max():
            moved = f"moves the root, the origin of the link's frame, by {np.abs(found).max():.3g}"
            file.fail(key, f"{moved}; the link must be held there")


def _square(file: ArrayFile, key: str, m: int) -> Array:
    """A symmetric matrix over the modes."""
    matrix = file.array(key, (m, m))
    _check_symmetric(file, key, matrix, matrix.T, "it must equal its transpose")
    return _symmetric(matrix)


def _check_symmetric(file: ArrayFile, key: str, array: Array, turned: Array, wanted: str) -> None:
    if np.abs(array - turned).max() > 1e-6 * np.abs(array).max():
        file.fail(key, f"is not symmetric: {wanted}")


def _symmetric(a: Array) -> Array:
    return np.asarray(0.5 * (a + a.T))
