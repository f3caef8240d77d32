"""Inertia of uniform solids and thin shells, from a mass or a density.

Every function takes lengths in metres and exactly one of ``mass`` (kg) and ``density`` (kg/m³), and returns an
`Inertia` in the frame that its docstring names; `Inertia.moved` places it elsewhere, `composite` (model/principal.py)
joins several. Bodies of revolution turn about z. Thin bodies need a thickness (or, for rods, a cross-section) where a
density is given, to weigh with; their inertia is that of zero thickness.

Sources: integrals of mechanics textbooks; the tests check each against numerical integration.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Inertia

_Solid = TypeVar("_Solid", bound=Callable[..., Inertia])
#: Lengths that may be 0: the solids check them.
_MAY_BE_0 = ("inner", "tube_radius", "bottom", "top")


def _of_lengths(solid: _Solid) -> _Solid:
    """Decorator of a solid: its lengths are numbers above 0, or refused, but those of `_MAY_BE_0`."""
    names = solid.__code__.co_varnames[: solid.__code__.co_argcount]

    def read(name: str, value: Any) -> Any:
        return _number(solid.__name__, name, value) if name in names and name not in _MAY_BE_0 else value

    @wraps(solid)
    def checked(*given: float, **named: Any) -> Inertia:
        lengths = *map(read, names, given), *given[len(names) :]
        return solid(*lengths, **{name: read(name, value) for name, value in named.items()})

    return cast("_Solid", checked)


@_of_lengths
def box(x: float, y: float, z: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Box of sides x, y, z along the axes, centred."""
    xx, yy, zz = x * x / 12.0, y * y / 12.0, z * z / 12.0
    return _body("box", x * y * z, mass, density, yy + zz, xx + zz, xx + yy)


@_of_lengths
def cylinder(radius: float, length: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Solid cylinder about z, centred."""
    across = 0.25 * radius * radius + length * length / 12.0
    return _body("cylinder", math.pi * radius * radius * length, mass, density, across, across, 0.5 * radius * radius)


@_of_lengths
def tube(
    outer: float, inner: float, length: float, *, mass: float | None = None, density: float | None = None
) -> Inertia:
    """Hollow cylinder about z with outer and inner radius, centred."""
    hole = _below("tube", "inner", inner, "outer", outer)
    volume, along = math.pi * (outer - hole) * (outer + hole) * length, 0.5 * (outer * outer + hole * hole)
    across = 0.5 * along + length * length / 12.0
    return _body("tube", volume, mass, density, across, across, along)


@_of_lengths
def elliptic_cylinder(
    a: float, b: float, length: float, *, mass: float | None = None, density: float | None = None
) -> Inertia:
    """Solid cylinder about z whose section has the semi-axes a along x and b along y, centred."""
    xx, yy, zz = 0.25 * a * a, 0.25 * b * b, length * length / 12.0
    return _body("elliptic_cylinder", math.pi * a * b * length, mass, density, yy + zz, xx + zz, xx + yy)


@_of_lengths
def sphere(radius: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Solid ball, centred."""
    return _body("sphere", 4.0 / 3.0 * math.pi * radius**3, mass, density, *(0.4 * radius * radius,) * 3)


@_of_lengths
def hollow_sphere(outer: float, inner: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Ball with a concentric spherical hole, centred."""
    hole = _below("hollow_sphere", "inner", inner, "outer", outer)
    # r³ − s³ and r⁵ − s⁵ with their common factor r − s taken out, which keeps its digits in thin walls
    third = outer * outer + outer * hole + hole * hole
    fifth = outer**4 + outer**3 * hole + outer * outer * hole * hole + outer * hole**3 + hole**4
    volume = 4.0 / 3.0 * math.pi * (outer - hole) * third
    return _body("hollow_sphere", volume, mass, density, *(0.4 * fifth / third,) * 3)


@_of_lengths
def hemisphere(radius: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Solid half ball on z ≥ 0, its flat face in the plane z = 0 and centred there; mass centre at z = 3r/8."""
    volume, across = 2.0 / 3.0 * math.pi * radius**3, 83.0 / 320.0 * radius * radius
    return _body("hemisphere", volume, mass, density, across, across, 0.4 * radius * radius, z=0.375 * radius)


@_of_lengths
def ellipsoid(a: float, b: float, c: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Solid ellipsoid with semi-axes a, b, c along x, y, z, centred."""
    xx, yy, zz = 0.2 * a * a, 0.2 * b * b, 0.2 * c * c
    return _body("ellipsoid", 4.0 / 3.0 * math.pi * a * b * c, mass, density, yy + zz, xx + zz, xx + yy)


@_of_lengths
def capsule(radius: float, length: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Cylinder of that length about z with a half ball on each end, centred; length + 2 radius in all."""
    middle, ends = math.pi * radius * radius * length, 4.0 / 3.0 * math.pi * radius**3
    rho = mass_of("capsule", middle + ends, mass, density) / (middle + ends)
    body = cylinder(radius, length, density=rho)
    cap = hemisphere(radius, density=rho).moved(np.eye(3), (0.0, 0.0, 0.5 * length))
    return body + cap + cap.moved(np.diag([1.0, -1.0, -1.0]), np.zeros(3))


@_of_lengths
def frustum(
    bottom: float, top: float, height: float, *, mass: float | None = None, density: float | None = None
) -> Inertia:
    """Solid cone cut across: a disc of radius `bottom` at z = 0, one of radius `top` at z = height. One may be 0."""
    a, b = (_number("frustum", name, value, zero=True) for name, value in (("bottom", bottom), ("top", top)))
    if a == b == 0.0:
        raise ArgumentError("frustum: bottom and top are both 0 m; at least one radius must be above 0")
    # moments of the section's area π r(z)² over z = h s, r = a + (b − a) s
    squares = a * a + a * b + b * b
    centre = height * (a * a + 2.0 * a * b + 3.0 * b * b) / (4.0 * squares)
    second = height * height * (a * a + 3.0 * a * b + 6.0 * b * b) / (10.0 * squares)
    along = 0.3 * (a**4 + a**3 * b + a * a * b * b + a * b**3 + b**4) / squares
    across = 0.5 * along + second - centre * centre
    return _body("frustum", math.pi * height * squares / 3.0, mass, density, across, across, along, z=centre)


@_of_lengths
def cone(radius: float, height: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Solid cone: base disc at z = 0, tip at z = height; mass centre at height/4."""
    return frustum(radius, 0.0, height, mass=mass_of("cone", math.pi * radius * radius * height / 3.0, mass, density))


@_of_lengths
def torus(ring: float, tube_radius: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Solid ring about z: its centre line has radius `ring`, its section `tube_radius`; centred."""
    r = _below("torus", "tube_radius", tube_radius, "ring", ring, equal=True)
    if r == 0.0:
        raise ArgumentError("torus: tube_radius is 0 m; it must be above 0; hoop() is the thin one")
    volume, across = 2.0 * math.pi**2 * ring * r * r, 0.5 * ring * ring + 0.625 * r * r
    return _body("torus", volume, mass, density, across, across, ring * ring + 0.75 * r * r)


@_of_lengths
def wedge(x: float, y: float, z: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Right-angled triangular prism: right angle at the origin, legs x and y along those axes, centred along z."""
    m = mass_of("wedge", 0.5 * x * y * z, mass, density)
    xx, yy, zz, xy = m * x * x / 18.0, m * y * y / 18.0, m * z * z / 12.0, -m * x * y / 36.0
    tensor = np.array([[yy + zz, -xy, 0.0], [-xy, xx + zz, 0.0], [0.0, 0.0, xx + yy]])
    return Inertia(m, np.array([x / 3.0, y / 3.0, 0.0]), tensor)


@_of_lengths
def rod(
    length: float, *, mass: float | None = None, density: float | None = None, area: float | None = None
) -> Inertia:
    """Thin straight rod along z, centred; with a density, `area` is its cross-section, m²."""
    return _body("rod", length, mass, density, length * length / 12.0, length * length / 12.0, 0.0, area=area)


@_of_lengths
def hoop(
    radius: float, *, mass: float | None = None, density: float | None = None, area: float | None = None
) -> Inertia:
    """Thin ring about z, centred; with a density, `area` is its cross-section, m²."""
    square = radius * radius
    return _body("hoop", 2.0 * math.pi * radius, mass, density, 0.5 * square, 0.5 * square, square, area=area)


@_of_lengths
def plate(
    x: float, y: float, *, mass: float | None = None, density: float | None = None, thickness: float | None = None
) -> Inertia:
    """Thin rectangular plate in the plane z = 0, centred."""
    xx, yy = x * x / 12.0, y * y / 12.0
    return _body("plate", x * y, mass, density, yy, xx, xx + yy, thickness=thickness)


@_of_lengths
def disc(
    radius: float, *, mass: float | None = None, density: float | None = None, thickness: float | None = None
) -> Inertia:
    """Thin round plate in the plane z = 0, centred."""
    half = 0.25 * radius * radius
    return _body("disc", math.pi * radius * radius, mass, density, half, half, 2.0 * half, thickness=thickness)


@_of_lengths
def spherical_shell(
    radius: float, *, mass: float | None = None, density: float | None = None, thickness: float | None = None
) -> Inertia:
    """Thin sphere, centred."""
    square = radius * radius
    return _body(
        "spherical_shell", 4.0 * math.pi * square, mass, density, *(2.0 / 3.0 * square,) * 3, thickness=thickness
    )


@_of_lengths
def hemispherical_shell(
    radius: float, *, mass: float | None = None, density: float | None = None, thickness: float | None = None
) -> Inertia:
    """Thin dome on z ≥ 0, open below, its rim in the plane z = 0 and centred there; mass centre at z = r/2."""
    area, across, along = 2.0 * math.pi * radius * radius, 5.0 / 12.0 * radius * radius, 2.0 / 3.0 * radius * radius
    return _body(
        "hemispherical_shell", area, mass, density, across, across, along, z=0.5 * radius, thickness=thickness
    )


@_of_lengths
def cylindrical_shell(
    radius: float,
    length: float,
    *,
    mass: float | None = None,
    density: float | None = None,
    thickness: float | None = None,
) -> Inertia:
    """Thin pipe about z, open at both ends, centred."""
    area, across = 2.0 * math.pi * radius * length, 0.5 * radius * radius + length * length / 12.0
    return _body("cylindrical_shell", area, mass, density, across, across, radius * radius, thickness=thickness)


@_of_lengths
def conical_shell(
    radius: float,
    height: float,
    *,
    mass: float | None = None,
    density: float | None = None,
    thickness: float | None = None,
) -> Inertia:
    """Thin cone, open below: rim at z = 0, tip at z = height; mass centre at height/3."""
    area, across = math.pi * radius * math.hypot(radius, height), 0.25 * radius * radius + height * height / 18.0
    return _body(
        "conical_shell", area, mass, density, across, across, 0.5 * radius * radius, z=height / 3.0, thickness=thickness
    )


#: Every solid by name: what `rne inertia` and part files offer.
SOLIDS = {
    f.__name__: f
    for f in (
        box, cylinder, tube, elliptic_cylinder, sphere, hollow_sphere, hemisphere, ellipsoid, capsule, cone, frustum,
        torus, wedge, rod, hoop, plate, disc, spherical_shell, hemispherical_shell, cylindrical_shell, conical_shell,
    )
}  # fmt: skip


def _body(
    solid: str, extent: float, mass: float | None, density: float | None, xx: float, yy: float, zz: float, *,
    z: float = 0.0, **section: float | None,
) -> Inertia:
    """A body with moments per mass about its mass centre, which is at `z`, m; other arguments as of `mass_of`."""
    m = mass_of(solid, extent, mass, density, **section)
    return Inertia(m, np.array([0.0, 0.0, z]), m * np.diag([xx, yy, zz]))


def _number(solid: str, name: str, value: float, unit: str = "m", *, zero: bool = False) -> float:
    """A finite number above 0, or 0 if that is allowed."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ArgumentError(f"{solid}: {name} is {value!r}; it must be a number") from None
    if not (math.isfinite(number) and number >= 0.0 and (zero or number)):
        allowed = "not negative" if zero else "above 0"
        raise ArgumentError(f"{solid}: {name} is {number:g} {unit}; it must be finite and {allowed}")
    return number


def _below(solid: str, name: str, value: float, than: str, bound: float, equal: bool = False) -> float:
    number = _number(solid, name, value, zero=True)
    if number > bound or (number == bound and not equal):
        most = "at most" if equal else "below"
        raise ArgumentError(f"{solid}: {name} is {number:g} m, {than} {bound:g} m; {name} must be {most} {than}")
    return number


def mass_of(solid: str, extent: float, mass: float | None, density: float | None, **section: float | None) -> float:
    """The mass itself, or density times volume: `extent` (m, m² or m³) times the section of a thin body, if it is one.

    `section` is its name and value, which only a density needs.
    """
    if (mass is None) == (density is None):
        given = "neither mass nor density is" if mass is None else "both mass and density are"
        raise ArgumentError(f"{solid}: {given} given; give exactly one of mass (kg) and density (kg/m^3)")
    for name, size in section.items():
        unit = "m^2" if name == "area" else "m"
        if mass is not None and size is not None:
            raise ArgumentError(f"{solid}: {name} is {size:g} {unit} although a mass is given; leave it out")
        if density is not None and size is None:
            raise ArgumentError(f"{solid}: a density is given without {name}; give {name} in {unit}, or a mass")
        extent *= 1.0 if size is None else _number(solid, name, size, unit)
    if density is None:
        return _number(solid, "mass", mass or 0.0, "kg")
    return _number(solid, "density", density, "kg/m^3") * extent
