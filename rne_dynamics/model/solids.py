"""Inertia of uniform solids and thin shells, from a mass or a density.

Every function takes lengths in metres and exactly one of ``mass`` (kg) and ``density`` (kg/m³), and returns an
`Inertia` in the frame that its docstring names; `Inertia.moved` places it elsewhere, `composite` (model/composite.py)
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
    m = _mass("box", a * b * c, mass, density)
    return _centred(m, m / 12.0 * (b * b + c * c), m / 12.0 * (a * a + c * c), m / 12.0 * (a * a + b * b))


def cylinder(radius: float, length: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Solid cylinder about z, centred."""
    r, h = _lengths("cylinder", radius=radius, length=length)
    m = _mass("cylinder", math.pi * r * r * h, mass, density)
    across = m / 12.0 * (3.0 * r * r + h * h)
    return _centred(m, across, across, 0.5 * m * r * r)


def tube(
    outer: float, inner: float, length: float, *, mass: float | None = None, density: float | None = None
) -> Inertia:
    """Hollow cylinder about z with outer and inner radius, centred."""
    r, h = _lengths("tube", outer=outer, length=length)
    hole = _below("tube", "inner", inner, "outer", r)
    m = _mass("tube", math.pi * (r - hole) * (r + hole) * h, mass, density)
    across = m / 12.0 * (3.0 * (r * r + hole * hole) + h * h)
    return _centred(m, across, across, 0.5 * m * (r * r + hole * hole))


def elliptic_cylinder(
    a: float, b: float, length: float, *, mass: float | None = None, density: float | None = None
) -> Inertia:
    """Solid cylinder about z whose section has the semi-axes a along x and b along y, centred."""
    p, q, h = _lengths("elliptic_cylinder", a=a, b=b, length=length)
    m = _mass("elliptic_cylinder", math.pi * p * q * h, mass, density)
    end = m * h * h / 12.0
    return _centred(m, 0.25 * m * q * q + end, 0.25 * m * p * p + end, 0.25 * m * (p * p + q * q))


def sphere(radius: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Solid ball, centred."""
    (r,) = _lengths("sphere", radius=radius)
    m = _mass("sphere", 4.0 / 3.0 * math.pi * r**3, mass, density)
    return _centred(m, *(0.4 * m * r * r,) * 3)


def hollow_sphere(outer: float, inner: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Ball with a concentric spherical hole, centred."""
    (r,) = _lengths("hollow_sphere", outer=outer)
    hole = _below("hollow_sphere", "inner", inner, "outer", r)
    # r³ − s³ and r⁵ − s⁵ with their common factor r − s taken out, which keeps its digits in thin walls
    third = r * r + r * hole + hole * hole
    fifth = r**4 + r**3 * hole + r * r * hole * hole + r * hole**3 + hole**4
    m = _mass("hollow_sphere", 4.0 / 3.0 * math.pi * (r - hole) * third, mass, density)
    return _centred(m, *(0.4 * m * fifth / third,) * 3)


def hemisphere(radius: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Solid half ball on z ≥ 0, its flat face in the plane z = 0 and centred there; mass centre at z = 3r/8."""
    (r,) = _lengths("hemisphere", radius=radius)
    m = _mass("hemisphere", 2.0 / 3.0 * math.pi * r**3, mass, density)
    across = 83.0 / 320.0 * m * r * r
    return _on_axis(m, 0.375 * r, across, 0.4 * m * r * r)


def ellipsoid(a: float, b: float, c: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Solid ellipsoid with semi-axes a, b, c along x, y, z, centred."""
    p, q, s = _lengths("ellipsoid", a=a, b=b, c=c)
    m = _mass("ellipsoid", 4.0 / 3.0 * math.pi * p * q * s, mass, density)
    return _centred(m, 0.2 * m * (q * q + s * s), 0.2 * m * (p * p + s * s), 0.2 * m * (p * p + q * q))


def capsule(radius: float, length: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Cylinder of that length about z with a half ball on each end, centred; length + 2 radius in all."""
    r, h = _lengths("capsule", radius=radius, length=length)
    middle, ends = math.pi * r * r * h, 4.0 / 3.0 * math.pi * r**3
    m = _mass("capsule", middle + ends, mass, density)
    rho = m / (middle + ends)
    body = cylinder(r, h, density=rho)
    cap = hemisphere(r, density=rho).moved(np.eye(3), (0.0, 0.0, 0.5 * h))
    return body + cap + cap.moved(np.diag([1.0, -1.0, -1.0]), np.zeros(3))


def frustum(
    bottom: float, top: float, height: float, *, mass: float | None = None, density: float | None = None
) -> Inertia:
    """Solid cone cut across: a disc of radius `bottom` at z = 0, one of radius `top` at z = height. One may be 0."""
    (h,) = _lengths("frustum", height=height)
    a, b = (_not_negative("frustum", name, value) for name, value in (("bottom", bottom), ("top", top)))
    if a == b == 0.0:
        raise ArgumentError("frustum: bottom and top are both 0 m; at least one radius must be above 0")
    # moments of the section's area π r(z)² over z = h s, r = a + (b − a) s
    squares = a * a + a * b + b * b
    m = _mass("frustum", math.pi * h * squares / 3.0, mass, density)
    centre = h * (a * a + 2.0 * a * b + 3.0 * b * b) / (4.0 * squares)
    second = h * h * (a * a + 3.0 * a * b + 6.0 * b * b) / (10.0 * squares)
    along = 0.3 * m * (a**4 + a**3 * b + a * a * b * b + a * b**3 + b**4) / squares
    return _on_axis(m, centre, 0.5 * along + m * (second - centre * centre), along)


def cone(radius: float, height: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Solid cone: base disc at z = 0, tip at z = height; mass centre at height/4."""
    r, h = _lengths("cone", radius=radius, height=height)
    return frustum(r, 0.0, h, mass=_mass("cone", math.pi * r * r * h / 3.0, mass, density))


def torus(ring: float, tube_radius: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Solid ring about z: its centre line has radius `ring`, its section `tube_radius`; centred."""
    (R,) = _lengths("torus", ring=ring)
    r = _below("torus", "tube_radius", tube_radius, "ring", R, equal=True)
    if r == 0.0:
        raise ArgumentError("torus: tube_radius is 0 m; it must be above 0; hoop() is the thin one")
    m = _mass("torus", 2.0 * math.pi**2 * R * r * r, mass, density)
    across = m * (0.5 * R * R + 0.625 * r * r)
    return _centred(m, across, across, m * (R * R + 0.75 * r * r))


def wedge(x: float, y: float, z: float, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Right-angled triangular prism: right angle at the origin, legs x and y along those axes, centred along z."""
    a, b, c = _lengths("wedge", x=x, y=y, z=z)
    m = _mass("wedge", 0.5 * a * b * c, mass, density)
    xx, yy, zz, xy = m * a * a / 18.0, m * b * b / 18.0, m * c * c / 12.0, -m * a * b / 36.0
    tensor = np.array([[yy + zz, -xy, 0.0], [-xy, xx + zz, 0.0], [0.0, 0.0, xx + yy]])
    return Inertia(m, np.array([a / 3.0, b / 3.0, 0.0]), tensor)


def rod(
    length: float, *, mass: float | None = None, density: float | None = None, area: float | None = None
) -> Inertia:
    """Thin straight rod along z, centred; with a density, `area` is its cross-section, m²."""
    (h,) = _lengths("rod", length=length)
    m = _thin_mass("rod", h, mass, density, "area", area)
    return _centred(m, m * h * h / 12.0, m * h * h / 12.0, 0.0)


def hoop(
    radius: float, *, mass: float | None = None, density: float | None = None, area: float | None = None
) -> Inertia:
    """Thin ring about z, centred; with a density, `area` is its cross-section, m²."""
    (r,) = _lengths("hoop", radius=radius)
    m = _thin_mass("hoop", 2.0 * math.pi * r, mass, density, "area", area)
    return _centred(m, 0.5 * m * r * r, 0.5 * m * r * r, m * r * r)


def plate(
    x: float, y: float, *, mass: float | None = None, density: float | None = None, thickness: float | None = None
) -> Inertia:
    """Thin rectangular plate in the plane z = 0, centred."""
    a, b = _lengths("plate", x=x, y=y)
    m = _thin_mass("plate", a * b, mass, density, "thickness", thickness)
    return _centred(m, m * b * b / 12.0, m * a * a / 12.0, m * (a * a + b * b) / 12.0)


def disc(
    radius: float, *, mass: float | None = None, density: float | None = None, thickness: float | None = None
) -> Inertia:
    """Thin round plate in the plane z = 0, centred."""
    (r,) = _lengths("disc", radius=radius)
    m = _thin_mass("disc", math.pi * r * r, mass, density, "thickness", thickness)
    return _centred(m, 0.25 * m * r * r, 0.25 * m * r * r, 0.5 * m * r * r)


def spherical_shell(
    radius: float, *, mass: float | None = None, density: float | None = None, thickness: float | None = None
) -> Inertia:
    """Thin sphere, centred."""
    (r,) = _lengths("spherical_shell", radius=radius)
    m = _thin_mass("spherical_shell", 4.0 * math.pi * r * r, mass, density, "thickness", thickness)
    return _centred(m, *(2.0 / 3.0 * m * r * r,) * 3)


def hemispherical_shell(
    radius: float, *, mass: float | None = None, density: float | None = None, thickness: float | None = None
) -> Inertia:
    """Thin dome on z ≥ 0, open below, its rim in the plane z = 0 and centred there; mass centre at z = r/2."""
    (r,) = _lengths("hemispherical_shell", radius=radius)
    m = _thin_mass("hemispherical_shell", 2.0 * math.pi * r * r, mass, density, "thickness", thickness)
    return _on_axis(m, 0.5 * r, 5.0 / 12.0 * m * r * r, 2.0 / 3.0 * m * r * r)


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
    m = _thin_mass("cylindrical_shell", 2.0 * math.pi * r * h, mass, density, "thickness", thickness)
    across = 0.5 * m * r * r + m * h * h / 12.0
    return _centred(m, across, across, m * r * r)


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
    m = _thin_mass("conical_shell", math.pi * r * math.hypot(r, h), mass, density, "thickness", thickness)
    return _on_axis(m, h / 3.0, 0.25 * m * r * r + m * h * h / 18.0, 0.5 * m * r * r)


#: Every solid by name: what `rne inertia` and part files offer.
SOLIDS = {
    f.__name__: f
    for f in (
        box, cylinder, tube, elliptic_cylinder, sphere, hollow_sphere, hemisphere, ellipsoid, capsule, cone, frustum,
        torus, wedge, rod, hoop, plate, disc, spherical_shell, hemispherical_shell, cylindrical_shell, conical_shell,
    )
}  # fmt: skip


def _centred(mass: float, xx: float, yy: float, zz: float) -> Inertia:
    return Inertia(mass, np.zeros(3), np.diag([xx, yy, zz]))


def _on_axis(mass: float, z: float, across: float, along: float) -> Inertia:
    return Inertia(mass, np.array([0.0, 0.0, z]), np.diag([across, across, along]))


def _lengths(solid: str, **lengths: float) -> list[float]:
    return [_positive(solid, name, value, "m") for name, value in lengths.items()]


def _number(solid: str, name: str, value: float) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ArgumentError(f"{solid}: {name} is {value!r}; it must be a number") from None


def _positive(solid: str, name: str, value: float, unit: str) -> float:
    number = _number(solid, name, value)
    if not (math.isfinite(number) and number > 0.0):
        raise ArgumentError(f"{solid}: {name} is {number:g} {unit}; it must be finite and above 0")
    return number


def _not_negative(solid: str, name: str, value: float) -> float:
    number = _number(solid, name, value)
    if not (math.isfinite(number) and number >= 0.0):
        raise ArgumentError(f"{solid}: {name} is {number:g} m; it must be finite and not negative")
    return number


def _below(solid: str, name: str, value: float, than: str, bound: float, equal: bool = False) -> float:
    number = _not_negative(solid, name, value)
    if number > bound or (number == bound and not equal):
        most = "at most" if equal else "below"
        raise ArgumentError(f"{solid}: {name} is {number:g} m, {than} {bound:g} m; {name} must be {most} {than}")
    return number


def _mass(solid: str, volume: float, mass: float | None, density: float | None) -> float:
    """The mass itself, or density times volume (m³)."""
    if mass is not None and density is None:
        return _positive(solid, "mass", mass, "kg")
    if density is not None and mass is None:
        return _positive(solid, "density", density, "kg/m^3") * volume
    given = "neither mass nor density is" if mass is None else "both mass and density are"
    raise ArgumentError(f"{solid}: {given} given; give exactly one of mass (kg) and density (kg/m^3)")


def _thin_mass(
    solid: str, extent: float, mass: float | None, density: float | None, name: str, section: float | None
) -> float:
    """As `_mass`; the volume is `extent` (m or m²) times `section`, which only a density needs."""
    unit = "m^2" if name == "area" else "m"
    if mass is not None or density is None:
        if section is not None and mass is not None:
            raise ArgumentError(f"{solid}: {name} is {section:g} {unit} although a mass is given; leave it out")
        return _mass(solid, 1.0, mass, density)
    if section is None:
        raise ArgumentError(f"{solid}: a density is given without {name}; give {name} in {unit}, or a mass")
    return _mass(solid, extent * _positive(solid, name, section, unit), mass, density)
