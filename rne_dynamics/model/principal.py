"""Principal axes and symmetry of an inertia, whether a body can have it; bodies made of several.

Sections 4.2.3.2 and 4.2.3.4 of the textbook chapter on Newton–Euler formulations; its problems 4.10–4.21: sums of
parts, less their holes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.errors import ModelError, refuse
from rne_dynamics.model.inertia import Array, Inertia, frozen_array

#: Planes of a frame by name, with the coordinate perpendicular to each.
_PLANES = (("xy", 2), ("yz", 0), ("zx", 1))


class Symmetry(Enum):
    """Number of principal moments that agree."""

    NONE = "none"
    AXIAL = "axial"
    SPHERICAL = "spherical"


@dataclass(frozen=True, eq=False)
class PrincipalAxes:
    """Principal moments and axes of an inertia."""

    #: Ascending, kg·m²; shape (3,).
    moments: Array
    #: ``R_FP``: column k is the axis of ``moments[k]`` in the frame; right-handed; shape (3, 3).
    axes: Array
    #: Which moments agree.
    symmetry: Symmetry
    #: The column about which an axial inertia is the same in every direction; `None` without axial symmetry.
    symmetry_axis: int | None


def principal_moments(inertia: ArrayLike) -> Array:
    """Principal moments of a symmetric (3, 3) matrix, ascending, kg·m²; shape (3,)."""
    return np.asarray(np.linalg.eigvalsh(frozen_array(inertia, (3, 3), "inertia")), dtype=np.float64)


def principal_axes(inertia: ArrayLike, *, tolerance: float = 1e-9) -> PrincipalAxes:
    """Principal moments, ascending, and axes of an inertia (3, 3), the same on every machine.

    Moments closer than `tolerance` times the largest are equal; 1e-5 suits published numbers. Of a unique axis the
    largest component is positive, and the last axis is the cross product of the others. In a plane or space of equal
    moments the frame's own axes serve as far as they lie in it, the others by projection.
    """
    moments, vectors = np.linalg.eigh(frozen_array(inertia, (3, 3), "inertia"))
    size = float(np.abs(moments).max())
    low, high = (moments[1] - moments[0] <= tolerance * size), (moments[2] - moments[1] <= tolerance * size)
    if low and high:
        return PrincipalAxes(moments, np.eye(3), Symmetry.SPHERICAL, None)
    if low or high:
        lone = 2 if low else 0
        axis = _pointing_forward(vectors[:, lone])
        across = _in_plane(axis)
        columns = [across, np.cross(axis, across), axis] if low else [axis, across, np.cross(axis, across)]
        return PrincipalAxes(moments, np.column_stack(columns), Symmetry.AXIAL, lone)
    first, second = _pointing_forward(vectors[:, 0]), _pointing_forward(vectors[:, 1])
    return PrincipalAxes(moments, np.column_stack([first, second, np.cross(first, second)]), Symmetry.NONE, None)


def _pointing_forward(axis: Array) -> Array:
    """The axis or its opposite, by the sign of its largest component; round-off must not decide between equal ones."""
    magnitude = np.abs(axis)
    k = int(np.argmax(magnitude > magnitude.max() - 1e-9))
    turned: Array = axis if axis[k] > 0.0 else -axis
    return turned + 0.0  # no −0


def _in_plane(normal: Array) -> Array:
    """The unit vector across `normal` that is nearest to one of the frame's axes (of equally near ones, the first)."""
    k = int(np.argmax(np.abs(normal) < np.abs(normal).min() + 1e-9))
    across = np.eye(3)[k] - normal[k] * normal
    return np.asarray(across / np.linalg.norm(across))


def symmetry_planes(body: Inertia, *, tolerance: float = 1e-9) -> tuple[str, ...]:
    """Coordinate planes (of "xy", "yz", "zx") that can be planes of symmetry of the body, as far as its inertia shows.

    Such a plane holds the mass centre, and the products with the coordinate across it are zero (theorem 4.10), both
    within `tolerance` of the largest moment. The converse does not hold.
    """
    about = body.about_origin
    size = float(np.abs(about).max())
    reach = float(np.sqrt(size / body.mass)) if body.mass > 0.0 else 0.0
    found = []
    for name, across in _PLANES:
        products = [abs(about[across, k]) for k in range(3) if k != across]
        centred = body.mass == 0.0 or abs(body.com[across]) <= tolerance * reach
        if max(products) <= tolerance * size and centred:
            found.append(name)
    return tuple(found)


def triangle_margin(moments: ArrayLike) -> float:
    """Margin of ascending moments in the triangle inequality, kg·m²: 0 of a flat body, negative of no body."""
    low, middle, high = np.asarray(moments, dtype=np.float64).tolist()
    return float(low + middle - high)


def check_physical(body: Inertia, what: str, *, fix: str, tolerance: float = 1e-9) -> Inertia:
    """The body itself, if one can exist: positive mass, no negative moment, the triangle inequality; else `ModelError`.

    `what` it is and the `fix` are for the message; less than `tolerance` times the largest moment is round-off.
    """
    if body.mass <= 0.0:
        raise ModelError(f"{what}: mass is {body.mass:g} kg; it must be above 0; {fix}")
    moments = principal_moments(body.inertia)
    found = f"{what}: principal moments are {', '.join(f'{x:.4g}' for x in moments)} kg m^2"
    allowed = -tolerance * float(np.abs(moments).max())
    refuse(
        ModelError,
        (moments[0] < allowed, f"{found}; none may be negative; {fix}"),
        (triangle_margin(moments) < allowed, f"{found}; the largest must not exceed the sum of the others; {fix}"),
    )
    return body


def equivalent_box(mass: float, moments: ArrayLike) -> Array | None:
    """Sides of the uniform box of that mass and principal moments, m, (3,), along these axes; None where there is none.

    I_k = m/12 (a_i² + a_j²), so that a_k² = 6/m (I_i + I_j − I_k).
    """
    about = np.asarray(moments, dtype=np.float64)
    if mass <= 0.0:
        return None
    squares = 6.0 / mass * (about.sum() - 2.0 * about)
    floor = -6.0 / mass * 1e-9 * float(np.abs(about).max())
    if squares.min() < floor:
        return None
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


_FIX = "a hole must lie within the material, and be given with that material's density"


def composite(parts: Iterable[Inertia], holes: Iterable[Inertia] = ()) -> Inertia:
    """All parts in one frame as one body, less the holes, of the material that was there; `ModelError`: impossible.

    What overlaps counts twice, and a hole that reaches out of the material takes out what was not there.
    """
    bodies = list(parts)
    if not bodies:
        raise ModelError("a composite without parts; give at least one")
    return reduce(without, holes, reduce(add, bodies))


def without(body: Inertia, hole: Inertia) -> Inertia:
    """The body less what a hole took out of it; both in the same frame. Errors as for `composite`."""
    mass = body.mass - hole.mass
    if mass <= 1e-12 * body.mass:
        raise ModelError(f"a hole of {hole.mass:g} kg in a body of {body.mass:g} kg; some mass must be left; {_FIX}")
    com = (body.first_moment - hole.first_moment) / mass
    total = body.about(com) - hole.about(com)
    rest = Inertia(mass, com, 0.5 * (total + total.T))
    # round-off is as large as what was subtracted, not as what is left
    scale = np.abs(body.about(com)).max() / max(np.abs(rest.inertia).max(), np.finfo(float).tiny)
    return check_physical(rest, f"what a hole of {hole.mass:g} kg leaves", fix=_FIX, tolerance=1e-12 * scale + 1e-9)
