"""Files with the modal integrals of a flexible link of any shape, as finite-element programs can give them.

A file is a JSON object, or a NumPy archive (.npz) with one array a key. SI units, everything in the frame of the link:

==================  =====================  ==========================================================================
key                 shape                  what
==================  =====================  ==========================================================================
``modes``           (m,)                   names of the modes, or their number
``C``               (4, 4)                 C_i (30): ∫ [1 x y z]ᵀ [1 x y z] dm of the undeformed elastic part
``mass``            ()                     instead of C: its mass,
``com``             (3,)                   mass centre,
``inertia``         (3, 3)                 and inertia about the mass centre
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
``convention``      ()                     ``integrals`` (as above; where not given) or ``report``
==================  =====================  ==========================================================================

The integrals are as written here: WITHOUT the factor ½ that document 003 puts before C_i, C_ik and C_ikl. With
``convention: report`` the file's C, C_k and C_kl are the report's, which hold it, and are doubled on reading; K, mass,
com and inertia are the same in both. C_k may have the report's (m, 4, 4) and C_kl its (m, m, 4, 4), with zeros in the
row and column of the homogeneous coordinate. The link's frame must sit at the root, where all shapes vanish.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from rne_dynamics.errors import DescriptionError, ModelError
from rne_dynamics.model.flexible.modal import ModalLink, TableField, modal_damping
from rne_dynamics.model.flexible.nodal import ArrayFile, read_arrays, read_nodal_link
from rne_dynamics.model.inertia import Array, Inertia

_BODY = ("mass", "com", "inertia")
_NEEDED = ("modes", "C_k", "C_kl", "K", "tip", "points", "translations", "rotations")
_SECOND_ORDER = ("shortening", "shortenings", "coupling", "hardening")
_KEYS = (*_NEEDED, "C", *_BODY, "damping", "damping_ratio", *_SECOND_ORDER, "tolerance", "convention")
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
    factor = _factor(file)
    inertia, C = _undeformed(file, factor)
    first, second = _first_and_second(file, m, factor)
    turned = second.transpose(1, 0, 3, 2)
    _check_symmetric(file, "C_kl", second, turned, "C_kl[k, l] must be the transpose of C_kl[l, k]")
    _check_masses(file, C, first, second)
    stiffness = _square(file, "K", m)
    try:
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
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return tuple(f"mode{k + 1}" for k in range(value))
    if not (isinstance(value, list) and value and all(isinstance(name, str) and name for name in value)):
        file.fail("modes", f"is {value!r}; it must be a list of names, or how many modes there are, at least 1")
    return tuple(value)


def _factor(file: ArrayFile) -> float:
    value = str(file.data.get("convention", "integrals"))
    if value not in ("integrals", "report"):
        file.fail("convention", f"is {value!r}; it must be integrals (without the factor 1/2) or report (with it)")
    return 2.0 if value == "report" else 1.0


def _undeformed(file: ArrayFile, factor: float) -> tuple[Inertia, Array]:
    """The undeformed elastic part, as a body and as ∫ [1 x y z]ᵀ [1 x y z] dm."""
    body = [key for key in _BODY if key in file]
    if ("C" in file) == bool(body) or len(body) not in (0, 3):
        found = " and ".join([*body, *(["C"] if "C" in file else [])]) or "none of them"
        raise DescriptionError(f"{file.path}: has {found}; it must have either C or all of mass, com and inertia")
    try:
        if body:
            inertia = Inertia(file.number("mass"), file.array("com", (3,)), file.array("inertia", (3, 3)))
        else:
            C = factor * file.array("C", (4, 4))
            if np.abs(C - C.T).max() > 1e-6 * np.abs(C).max() or not C[0, 0] > 0.0:
                file.fail("C", f"is {C.tolist()}; it must be symmetric, with the mass, above 0, in its first place")
            spread = _symmetric(C[1:, 1:]) - np.outer(C[0, 1:], C[0, 1:]) / C[0, 0]
            inertia = Inertia(C[0, 0], C[0, 1:] / C[0, 0], np.trace(spread) * np.eye(3) - spread)
    except ModelError as error:
        raise DescriptionError(f"{file.path}: {error}") from None
    if not inertia.mass > 0.0:
        file.fail("mass", f"is {inertia.mass} kg; it must be above 0")
    return inertia, inertia.second_moments


def _first_and_second(file: ArrayFile, m: int, factor: float) -> tuple[Array, Array]:
    first = factor * file.array("C_k", (m, 4, 3), (m, 4, 4))
    second = factor * file.array("C_kl", (m, m, 3, 3), (m, m, 4, 4))
    if first.shape[-1] == 4:
        if first[:, :, 0].any():
            file.fail("C_k", "is not zero in the first column, that of the homogeneous coordinate; no mode moves that")
        first = first[:, :, 1:]
    if second.shape[-1] == 4:
        if second[:, :, 0].any() or second[:, :, :, 0].any():
            file.fail("C_kl", "is not zero in the row and column of the homogeneous coordinate; no mode moves that")
        second = second[:, :, 1:, 1:]
    return first, second


def _check_masses(file: ArrayFile, C: Array, first: Array, second: Array) -> None:
    """Masses are positive: ∫ f_a f_b dm over 1, x, y, z and all shapes has no negative eigenvalue."""
    m = len(first)
    gram = np.zeros((4 + 3 * m, 4 + 3 * m))
    gram[:4, :4] = C
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
            f"{file.path}: no body has such integrals: C (or mass, com, inertia), C_k and C_kl together give some "
            "motion a negative kinetic energy. Give them in one frame and with one factor: convention is integrals "
            "without the report's 1/2, report with it in all of C, C_k and C_kl"
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
    ratio = file.array("damping_ratio", (), (m,))
    try:
        return modal_damping(stiffness, _symmetric(np.einsum("klii->kl", second)), ratio, str(file.path))
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
