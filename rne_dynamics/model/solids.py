"""Inertia of uniform solids and thin shells, from a mass or a density.

Every function takes lengths in metres and exactly one of ``mass`` (kg) and ``density`` (kg/m³), and returns an
`Inertia` in the frame that its docstring names; `Inertia.moved` places it elsewhere, `composite` (model/principal.py)
joins several. Bodies of revolution turn about z. Thin bodies need a thickness (or, for rods, a cross-section) where a
density is given, to weigh with; their inertia is that of zero thickness.

Sources: integrals of mechanics textbooks; the tests check each against numerical integration.
"""

from __future__ import annotations

import math

import numpy as np

from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Inertia


def box(x: float, y: float, z: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Box of sides x, y, z along the axes, centred."""
    a, b, c = _lengths("box", x=x, y=y, z=z)
    xx, yy, zz = a * a / 12.0, b * b / 12.0, c * c / 12.0
    return _body("box", a * b * c, mass, density, yy + zz, xx + zz, xx + yy)


def cylinder(radius: float, length: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Solid cylinder about z, centred."""
    r, h = _lengths("cylinder", radius=radius, length=length)
    across = 0.25 * r * r + h * h / 12.0
    return _body("cylinder", math.pi * r * r * h, mass, density, across, across, 0.5 * r * r)


def tube(
    outer: float, inner: float, length: float, *, mass: float | None = None, density: float | None = None
) -> Inertia:
    """Hollow cylinder about z with outer and inner radius, centred."""
    r, h = _lengths("tube", outer=outer, length=length)
    hole = _below("tube", "inner", inner, "outer", r)
    volume, along = math.pi * (r - hole) * (r + hole) * h, 0.5 * (r * r + hole * hole)
    across = 0.5 * along + h * h / 12.0
    return _body("tube", volume, mass, density, across, across, along)


def elliptic_cylinder(
    a: float, b: float, length: float, *, mass: float | None = None, density: float | None = None
) -> Inertia:
    """Solid cylinder about z whose section has the semi-axes a along x and b along y, centred."""
    p, q, h = _lengths("elliptic_cylinder", a=a, b=b, length=length)
    xx, yy, zz = 0.25 * p * p, 0.25 * q * q, h * h / 12.0
    return _body("elliptic_cylinder", math.pi * p * q * h, mass, density, yy + zz, xx + zz, xx + yy)


def sphere(radius: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Solid ball, centred."""
    (r,) = _lengths("sphere", radius=radius)
    return _body("sphere", 4.0 / 3.0 * math.pi * r**3, mass, density, *(0.4 * r * r,) * 3)


def hollow_sphere(outer: float, inner: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Ball with a concentric spherical hole, centred."""
    (r,) = _lengths("hollow_sphere", outer=outer)
    hole = _below("hollow_sphere", "inner", inner, "outer", r)
    # r³ − s³ and r⁵ − s⁵ with their common factor r − s taken out, which keeps its digits in thin walls
    third = r * r + r * hole + hole * hole
    fifth = r**4 + r**3 * hole + r * r * hole * hole + r * hole**3 + hole**4
    volume = 4.0 / 3.0 * math.pi * (r - hole) * third
    return _body("hollow_sphere", volume, mass, density, *(0.4 * fifth / third,) * 3)


def hemisphere(radius: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Solid half ball on z ≥ 0, its flat face in the plane z = 0 and centred there; mass centre at z = 3r/8."""
    (r,) = _lengths("hemisphere", radius=radius)
    volume, across = 2.0 / 3.0 * math.pi * r**3, 83.0 / 320.0 * r * r
    return _body("hemisphere", volume, mass, density, across, across, 0.4 * r * r, z=0.375 * r)


def ellipsoid(a: float, b: float, c: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Solid ellipsoid with semi-axes a, b, c along x, y, z, centred."""
    p, q, s = _lengths("ellipsoid", a=a, b=b, c=c)
    xx, yy, zz = 0.2 * p * p, 0.2 * q * q, 0.2 * s * s
    return _body("ellipsoid", 4.0 / 3.0 * math.pi * p * q * s, mass, density, yy + zz, xx + zz, xx + yy)


def capsule(radius: float, length: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Cylinder of that length about z with a half ball on each end, centred; length + 2 radius in all."""
    r, h = _lengths("capsule", radius=radius, length=length)
    middle, ends = math.pi * r * r * h, 4.0 / 3.0 * math.pi * r**3
    rho = mass_of("capsule", middle + ends, mass, density) / (middle + ends)
    body = cylinder(r, h, density=rho)
    cap = hemisphere(r, density=rho).moved(np.eye(3), (0.0, 0.0, 0.5 * h))
    return body + cap + cap.moved(np.diag([1.0, -1.0, -1.0]), np.zeros(3))


def frustum(
    bottom: float, top: float, height: float, *, mass: float | None = None, density: float | None = None
) -> Inertia:
    """Solid cone cut across: a disc of radius `bottom` at z = 0, one of radius `top` at z = height. One may be 0."""
    (h,) = _lengths("frustum", height=height)
    a, b = (_number("frustum", name, value, zero=True) for name, value in (("bottom", bottom), ("top", top)))
    if a == b == 0.0:
        raise ArgumentError("frustum: bottom and top are both 0 m; at least one radius must be above 0")
    # moments of the section's area π r(z)² over z = h s, r = a + (b − a) s
    squares = a * a + a * b + b * b
    centre = h * (a * a + 2.0 * a * b + 3.0 * b * b) / (4.0 * squares)
    second = h * h * (a * a + 3.0 * a * b + 6.0 * b * b) / (10.0 * squares)
    along = 0.3 * (a**4 + a**3 * b + a * a * b * b + a * b**3 + b**4) / squares
    across = 0.5 * along + second - centre * centre
    return _body("frustum", math.pi * h * squares / 3.0, mass, density, across, across, along, z=centre)


def cone(radius: float, height: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Solid cone: base disc at z = 0, tip at z = height; mass centre at height/4."""
    r, h = _lengths("cone", radius=radius, height=height)
    return frustum(r, 0.0, h, mass=mass_of("cone", math.pi * r * r * h / 3.0, mass, density))


def torus(ring: float, tube_radius: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Solid ring about z: its centre line has radius `ring`, its section `tube_radius`; centred."""
    (R,) = _lengths("torus", ring=ring)
    r = _below("torus", "tube_radius", tube_radius, "ring", R, equal=True)
    if r == 0.0:
        raise ArgumentError("torus: tube_radius is 0 m; it must be above 0; hoop() is the thin one")
    volume, across = 2.0 * math.pi**2 * R * r * r, 0.5 * R * R + 0.625 * r * r
    return _body("torus", volume, mass, density, across, across, R * R + 0.75 * r * r)


def wedge(x: float, y: float, z: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Right-angled triangular prism: right angle at the origin, legs x and y along those axes, centred along z."""
    a, b, c = _lengths("wedge", x=x, y=y, z=z)
    m = mass_of("wedge", 0.5 * a * b * c, mass, density)
    xx, yy, zz, xy = m * a * a / 18.0, m * b * b / 18.0, m * c * c / 12.0, -m * a * b / 36.0
    tensor = np.array([[yy + zz, -xy, 0.0], [-xy, xx + zz, 0.0], [0.0, 0.0, xx + yy]])
    return Inertia(m, np.array([a / 3.0, b / 3.0, 0.0]), tensor)


def rod(
    length: float, *, mass: float | None = None, density: float | None = None, area: float | None = None
) -> Inertia:
    """Thin straight rod along z, centred; with a density, `area` is its cross-section, m²."""
    (h,) = _lengths("rod", length=length)
    return _body("rod", h, mass, density, h * h / 12.0, h * h / 12.0, 0.0, area=area)


def hoop(
    radius: float, *, mass: float | None = None, density: float | None = None, area: float | None = None
) -> Inertia:
    """Thin ring about z, centred; with a density, `area` is its cross-section, m²."""
    (r,) = _lengths("hoop", radius=radius)
    return _body("hoop", 2.0 * math.pi * r, mass, density, 0.5 * r * r, 0.5 * r * r, r * r, area=area)


def plate(
    x: float, y: float, *, mass: float | None = None, density: float | None = None, thickness: float | None = None
) -> Inertia:
    """Thin rectangular plate in the plane z = 0, centred."""
    a, b = _lengths("plate", x=x, y=y)
    xx, yy = a * a / 12.0, b * b / 12.0
    return _body("plate", a * b, mass, density, yy, xx, xx + yy, thickness=thickness)


def disc(
    radius: float, *, mass: float | None = None, density: float | None = None, thickness: float | None = None
) -> Inertia:
    """Thin round plate in the plane z = 0, centred."""
    (r,) = _lengths("disc", radius=radius)
    half = 0.25 * r * r
    return _body("disc", math.pi * r * r, mass, density, half, half, 2.0 * half, thickness=thickness)


def spherical_shell(
    radius: float, *, mass: float | None = None, density: float | None = None, thickness: float | None = None
) -> Inertia:
    """Thin sphere, centred."""
    (r,) = _lengths("spherical_shell", radius=radius)
    square = r * r
    return _body(
        "spherical_shell", 4.0 * math.pi * square, mass, density, *(2.0 / 3.0 * square,) * 3, thickness=thickness
    )


def hemispherical_shell(
    radius: float, *, mass: float | None = None, density: float | None = None, thickness: float | None = None
) -> Inertia:
    """Thin dome on z ≥ 0, open below, its rim in the plane z = 0 and centred there; mass centre at z = r/2."""
    (r,) = _lengths("hemispherical_shell", radius=radius)
    area, across, along = 2.0 * math.pi * r * r, 5.0 / 12.0 * r * r, 2.0 / 3.0 * r * r
    return _body(
        "hemispherical_shell", area, mass, density, across, across, along, z=0.5 * r, thickness=thickness
    )


def cylindrical_shell(
    radius: float,
    length: float,
    *,
    mass: float | None = None,
    density: float | None = None,
    thickness: float | None = None,
) -> Inertia:
    """Thin pipe about z, open at both ends, centred."""
    r, h = _lengths("cylindrical_shell", radius=radius, length=length)
    area, across = 2.0 * math.pi * r * h, 0.5 * r * r + h * h / 12.0
    return _body("cylindrical_shell", area, mass, density, across, across, r * r, thickness=thickness)


def conical_shell(
    radius: float,
    height: float,
    *,
    mass: float | None = None,
    density: float | None = None,
    thickness: float | None = None,
) -> Inertia:
    """Thin cone, open below: rim at z = 0, tip at z = height; mass centre at height/3."""
    r, h = _lengths("conical_shell", radius=radius, height=height)
    area, across = math.pi * r * math.hypot(r, h), 0.25 * r * r + h * h / 18.0
    return _body("conical_shell", area, mass, density, across, across, 0.5 * r * r, z=h / 3.0, thickness=thickness)


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


def _lengths(solid: str, **lengths: float) -> list[float]:
    return [_number(solid, name, value) for name, value in lengths.items()]


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
