"""Mass, mass centre and inertia of one rigid body, and the laws that move and add them; frozen objects and arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.errors import ModelError

Array = NDArray[np.float64]
_T = TypeVar("_T", bound=NDArray[Any])


class Rebuilt:
    """A dataclass that is pickled as the arguments it was made of.

    NumPy forgets in a pickle which arrays are read-only. Construction checks and
    freezes the object again, so that kernels, which are compiled for read-only arrays, are not compiled anew.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, f.name) for f in fields(self) if f.init)  # type: ignore[arg-type]


def set_fields(frozen: object, **values: object) -> None:
    """Set fields of a frozen dataclass while it is made: what was given, checked, and what follows from it."""
    for name, value in values.items():
        object.__setattr__(frozen, name, value)


def frozen_array(value: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    """A read-only float64 copy of `value`, refused with `ModelError` where its shape is wrong or it is not finite."""
    array = np.array(value, dtype=np.float64)
    if array.shape != shape:
        raise ModelError(f"{what} has shape {array.shape}; it must be {shape}")
    if not all(map(math.isfinite, array.ravel().tolist())):  # of few numbers; NumPy's own way takes three times as long
        raise ModelError(f"{what} is {array.tolist()}; every number must be finite")
    return read_only(array)


def read_only(array: _T) -> _T:
    """The array itself, closed to writing."""
    array.setflags(write=False)
    return array


def rotation_matrix(value: ArrayLike, what: str) -> Array:
    """`value` as a (3, 3) array, refused with `ModelError` where it is no rotation."""
    R = frozen_array(value, (3, 3), what)
    if np.abs(R.T @ R - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0.0:
        raise ModelError(f"{what} is {R.tolist()}; it must be a rotation: columns of length 1, square, right-handed")
    return R


def skew(v: ArrayLike) -> Array:
    """The matrix ṽ with ṽ u = v × u; shape (3, 3)."""
    x, y, z = np.asarray(v, dtype=np.float64)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def symmetric(six: Iterable[float]) -> Array:
    """The matrix of xx, xy, xz, yy, yz, zz; shape (3, 3)."""
    xx, xy, xz, yy, yz, zz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


@dataclass(frozen=True, eq=False)
class Inertia(Rebuilt):
    """Inertial parameters of a rigid body in some frame.

    Parameters
    ----------
    mass
        Mass, kg; not negative.
    com
        Mass centre in the frame, m; shape (3,).
    inertia
        Inertia about the mass centre along the frame's axes, kg·m²; shape (3, 3), symmetric.

    Raises
    ------
    ModelError
        A negative or non-finite mass, wrong shapes, or an inertia that is not symmetric.
    """

    mass: float = 0.0
    com: Array = field(default_factory=lambda: np.zeros(3))
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))

    def __post_init__(self) -> None:
        mass = float(self.mass)
        if not math.isfinite(mass) or mass < 0.0:
            raise ModelError(f"mass is {mass} kg; it must be finite and not negative")
        com = frozen_array(self.com, (3,), "com")
        inertia = frozen_array(self.inertia, (3, 3), "inertia")
        xx, xy, xz, yx, yy, yz, zx, zy, zz = inertia.ravel().tolist()
        largest = max(abs(xx), abs(yy), abs(zz), abs(xy), abs(xz), abs(yz), abs(yx), abs(zx), abs(zy))
        if max(abs(xy - yx), abs(xz - zx), abs(yz - zy)) > 1e-9 * largest:
            raise ModelError(f"inertia {inertia.tolist()} is not symmetric")
        set_fields(self, mass=mass, com=com, inertia=inertia)

    @classmethod
    def from_origin(cls, mass: float, com: ArrayLike, about_origin: ArrayLike) -> Inertia:
        """A body whose inertia is known about the origin of its frame.

        Parameters
        ----------
        mass, com
            As for the class.
        about_origin
            Inertia about the frame's origin along its axes, kg·m²; shape (3, 3), symmetric.

        Raises
        ------
        ModelError
            What the class refuses, and an inertia smaller than that of the mass alone at its distance: no body has it.
        """
        point = cls(mass, np.asarray(com, dtype=np.float64))
        given = frozen_array(about_origin, (3, 3), "inertia about the origin")
        body = cls(mass, point.com, given - point.about_origin)
        least = float(np.linalg.eigvalsh(body.inertia)[0])
        if least < -1e-6 * np.abs(given).max():
            raise ModelError(
                f"inertia about the origin {given.tolist()} leaves the principal moment {least:.4g} kg m^2 about the "
                f"mass centre of {body.mass:g} kg at {body.com.tolist()}; it must not be negative; check whether the "
                "inertia was meant about the mass centre"
            )
        return body

    @property
    def first_moment(self) -> Array:
        """m·c, kg·m; shape (3,)."""
        return self.mass * self.com

    @property
    def about_origin(self) -> Array:
        """Inertia about the frame's origin (parallel axis theorem), kg·m²; shape (3, 3)."""
        return self.about((0.0, 0.0, 0.0))

    @property
    def second_moments(self) -> Array:
        """∫ [1 x y z]ᵀ [1 x y z] dm, document 003's C_i (30) for a body of any shape; shape (4, 4)."""
        about = self.about_origin
        C = np.empty((4, 4))
        C[0, 0] = self.mass
        C[0, 1:] = C[1:, 0] = self.first_moment
        C[1:, 1:] = 0.5 * np.trace(about) * np.eye(3) - about
        return C

    def about(self, point: ArrayLike, axes: ArrayLike | None = None) -> Array:
        """Inertia about any point and along any axes, kg·m²; shape (3, 3).

        Parameters
        ----------
        point
            In the frame, m; shape (3,).
        axes
            ``R_FA``, whose columns are the wanted axes in the frame; shape (3, 3). The frame's own where not given.

        Notes
        -----
        Parallel axis theorem in matrix form, I_P = I_C − m c̃ c̃ with c from the point to the mass centre, then the
        rotation law, Rᵀ I_P R (section 4.2.3 of the textbook chapter, theorems 4.9 and 4.6).
        """
        inertia: Array = self.inertia + _of_point_mass(self.mass, self.com - frozen_array(point, (3,), "point"))
        if axes is None:
            return inertia
        R = rotation_matrix(axes, "axes")
        turned: Array = R.T @ inertia @ R
        return np.asarray(0.5 * (turned + turned.T))

    def moved(self, R: ArrayLike, p: ArrayLike) -> Inertia:
        """The same body seen from frame A, where the present frame sits at ``R_AB = R``, ``p_AB = p``."""
        rotation = np.asarray(R, dtype=np.float64)
        turned = rotation @ self.inertia @ rotation.T
        return _computed(self.mass, rotation @ self.com + np.asarray(p), 0.5 * (turned + turned.T))

    def __add__(self, other: Inertia) -> Inertia:
        """Both bodies as one; both must be given in the same frame."""
        mass = self.mass + other.mass
        if mass == 0.0:
            return Inertia(0.0, np.zeros(3), self.inertia + other.inertia)
        com = (self.first_moment + other.first_moment) / mass
        # about the common mass centre two point masses are as one, the reduced mass at their distance
        reduced = self.mass * (other.mass / mass)
        total = self.inertia + other.inertia + _of_point_mass(reduced, self.com - other.com)
        return _computed(mass, com, 0.5 * (total + total.T))


def _computed(mass: float, com: Array, inertia: Array) -> Inertia:
    """A body computed from checked ones: symmetric by construction, its mass not negative, in arrays of its own.

    Only an overflow can make it wrong, which is refused as from a caller. A quarter of the time of all checks.
    """
    if com.shape != (3,) or not all(map(math.isfinite, (mass, *com.tolist(), *inertia.ravel().tolist()))):
        return Inertia(mass, com, inertia)
    body = object.__new__(Inertia)
    set_fields(body, mass=mass, com=read_only(com), inertia=read_only(inertia))
    return body


def _of_point_mass(mass: float, c: Array) -> Array:
    """Inertia of a point mass at `c`, −m c̃ c̃ = m (cᵀc 1 − c cᵀ), kg·m²; shape (3, 3)."""
    x, y, z = c.tolist()
    xx, yy, zz, xy, xz, yz = mass * x * x, mass * y * y, mass * z * z, -mass * x * y, -mass * x * z, -mass * y * z
    return np.array([[yy + zz, xy, xz], [xy, xx + zz, yz], [xz, yz, xx + yy]])
