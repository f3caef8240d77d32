"""Every solid against quadrature over its slices, thin ones as limits of thick ones."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
from support.errors import relative_error

from rne_dynamics.errors import ArgumentError, ModelError
from rne_dynamics.model import solids
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.principal import composite, principal_moments, triangle_margin, without

RHO = 2700.0
#: One call of each solid; thin ones in `THIN`.
THICK = {
    "box": (0.1, 0.2, 0.3), "cylinder": (0.1, 0.4), "tube": (0.1, 0.07, 0.4), "elliptic_cylinder": (0.1, 0.2, 0.3),
    "sphere": (0.2,), "hollow_sphere": (0.2, 0.15), "hemisphere": (0.2,), "ellipsoid": (0.1, 0.2, 0.3),
    "capsule": (0.1, 0.3), "cone": (0.1, 0.4), "frustum": (0.3, 0.1, 0.4), "torus": (0.3, 0.1),
    "wedge": (0.1, 0.2, 0.3),
}  # fmt: skip
THIN = {
    "rod": ((0.4,), "area"), "hoop": ((0.4,), "area"), "plate": ((0.4, 0.3), "thickness"),
    "disc": ((0.4,), "thickness"), "spherical_shell": ((0.4,), "thickness"),
    "hemispherical_shell": ((0.4,), "thickness"), "cylindrical_shell": ((0.4, 0.3), "thickness"),
    "conical_shell": ((0.4, 0.3), "thickness"),
}  # fmt: skip


def test_every_solid_is_tested() -> None:
    assert set(solids.SOLIDS) == {*THICK, *THIN}


def integrated(z_range, section) -> Inertia:
    """Body of slices across z, by Gauss's rule: `section(z)` gives area, ∫x², ∫y² of a slice centred on the axis."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    low, high = z_range
    z, w = 0.5 * (high - low) * nodes + 0.5 * (high + low), 0.5 * (high - low) * weights
    area, xx, yy = (np.array(column) for column in zip(*map(section, z), strict=True))
    m, first, second = RHO * w @ area, RHO * w @ (area * z), RHO * w @ (area * z * z)
    c, sx, sy = first / m, RHO * w @ xx, RHO * w @ yy
    along = second - m * c * c
    return Inertia(m, np.array([0.0, 0.0, c]), np.diag([sy + along, sx + along, sx + sy]))


def ellipse(a: float, b: float) -> tuple[float, float, float]:
    return math.pi * a * b, math.pi * a**3 * b / 4, math.pi * a * b**3 / 4


def ring(outer: float, inner: float) -> tuple[float, ...]:
    return tuple(o - i for o, i in zip(ellipse(outer, outer), ellipse(inner, inner), strict=True))


def circle_at(r: float, z: float) -> tuple[float, float, float]:
    radius = math.sqrt(max(r * r - z * z, 0.0))
    return ellipse(radius, radius)


SLICED = {
    "box": lambda x, y, z: ((-z / 2, z / 2), lambda _: (x * y, x**3 * y / 12, x * y**3 / 12)),
    "cylinder": lambda r, h: ((-h / 2, h / 2), lambda _: ellipse(r, r)),
    "tube": lambda r, s, h: ((-h / 2, h / 2), lambda _: ring(r, s)),
    "elliptic_cylinder": lambda a, b, h: ((-h / 2, h / 2), lambda _: ellipse(a, b)),
    "sphere": lambda r: ((-r, r), lambda z: circle_at(r, z)),
    "hemisphere": lambda r: ((0.0, r), lambda z: circle_at(r, z)),
    "ellipsoid": lambda a, b, c: (
        (-c, c), lambda z: ellipse(a * math.sqrt(1 - z * z / c / c), b * math.sqrt(1 - z * z / c / c))
    ),
    "cone": lambda r, h: ((0.0, h), lambda z: ellipse(r * (1 - z / h), r * (1 - z / h))),
    "frustum": lambda a, b, h: ((0.0, h), lambda z: ellipse(a + (b - a) * z / h, a + (b - a) * z / h)),
}  # fmt: skip


def close(body: Inertia, expected: Inertia, tolerance: float = 1e-12) -> None:
    assert body.mass == pytest.approx(expected.mass, rel=tolerance)
    assert body.com == pytest.approx(expected.com, abs=tolerance)
    assert relative_error(body.inertia, expected.inertia) < tolerance


@pytest.mark.parametrize("name", SLICED)
def test_solids_against_slices(name: str) -> None:
    close(solids.SOLIDS[name](*THICK[name], density=RHO), integrated(*SLICED[name](*THICK[name])))


def test_solids_of_several_slices() -> None:
    ball, hole = solids.sphere(0.2, density=RHO), solids.sphere(0.15, density=RHO)
    close(solids.hollow_sphere(0.2, 0.15, density=RHO), without(ball, hole))
    r, h = THICK["capsule"]
    middle = integrated((-h / 2, h / 2), lambda _: ellipse(r, r))
    top = integrated((h / 2, h / 2 + r), lambda z: circle_at(r, z - h / 2))
    bottom = integrated((-h / 2 - r, -h / 2), lambda z: circle_at(r, -z - h / 2))
    close(solids.capsule(r, h, density=RHO), middle + top + bottom)


def test_torus_against_its_rings() -> None:
    R, r = THICK["torus"]
    # slices of a torus end like a square root: z = r sin u takes the root out of the integrand
    nodes, weights = np.polynomial.legendre.leggauss(60)
    total = np.zeros((2, 4))
    for u, w in zip(0.5 * math.pi * nodes, 0.5 * math.pi * weights, strict=True):
        z, half = r * math.sin(u), r * math.cos(u)
        area, xx, _ = ring(R + half, R - half)
        total[0] += w * half * np.array([area, xx, area * z * z, 0.0])
    m, x2, z2 = RHO * total[0, :3]
    close(solids.torus(R, r, density=RHO), Inertia(m, np.zeros(3), np.diag([x2 + z2, x2 + z2, 2 * x2])))


def test_a_wedge_and_its_mirror_image_are_a_box() -> None:
    a, b, c = THICK["wedge"]
    one = solids.wedge(a, b, c, density=RHO)
    other = one.moved(np.diag([-1.0, -1.0, 1.0]), (a, b, 0.0))
    close(one + other, solids.box(a, b, c, density=RHO).moved(np.eye(3), (a / 2, b / 2, 0.0)))
    nodes, weights = np.polynomial.legendre.leggauss(8)
    x, w = 0.5 * a * (nodes + 1), 0.5 * a * weights
    height = b * (1 - x / a)
    xy = RHO * c * w @ (x * height**2 / 2)  # ∫xy over the triangle
    assert one.about_origin[0, 1] == pytest.approx(-xy, rel=1e-12)


THICK_LIMIT = {
    "rod": lambda t: solids.cylinder(t, 0.4, mass=1.3),
    "hoop": lambda t: solids.torus(0.4, t, mass=1.3),
    "plate": lambda t: solids.box(0.4, 0.3, t, mass=1.3),
    "disc": lambda t: solids.cylinder(0.4, t, mass=1.3),
    "spherical_shell": lambda t: solids.hollow_sphere(0.4 + t / 2, 0.4 - t / 2, mass=1.3),
    "cylindrical_shell": lambda t: solids.tube(0.4 + t / 2, 0.4 - t / 2, 0.3, mass=1.3),
    "hemispherical_shell": lambda t: _difference(solids.hemisphere, (0.4 + t / 2,), (0.4 - t / 2,)),
    # walls of thickness t across: the inner cone is the outer one moved along its axis by t / sin(half angle)
    "conical_shell": lambda t: _difference(solids.cone, (0.4, 0.3), (0.4 - t / 0.6, 0.3 - t / 0.8)),
}


def _difference(make, outer, inner) -> Inertia:
    rho = 1.3 / (make(*outer, density=1.0).mass - make(*inner, density=1.0).mass)
    return without(make(*outer, density=rho), make(*inner, density=rho))


@pytest.mark.parametrize("name", THIN)
def test_thin_bodies_are_limits_of_thick_ones(name: str) -> None:
    thin = solids.SOLIDS[name](*THIN[name][0], mass=1.3)
    # the error falls linearly with the thickness at first: halving it gives the limit
    a, b = THICK_LIMIT[name](2e-4), THICK_LIMIT[name](1e-4)
    limit = 2.0 * b.about_origin - a.about_origin
    assert relative_error(thin.about_origin, limit) < 1e-6
    assert thin.com == pytest.approx(2.0 * b.com - a.com, abs=1e-6)


@pytest.mark.parametrize("name", THIN)
def test_thin_bodies_weigh_by_their_section(name: str) -> None:
    lengths, section = THIN[name]
    make = solids.SOLIDS[name]
    extent = make(*lengths, density=1.0, **{section: 1.0}).mass
    expected = {
        "rod": 0.4, "hoop": 0.8 * math.pi, "plate": 0.12, "disc": 0.16 * math.pi, "spherical_shell": 0.64 * math.pi,
        "hemispherical_shell": 0.32 * math.pi, "cylindrical_shell": 0.24 * math.pi, "conical_shell": 0.2 * math.pi,
    }  # fmt: skip
    assert extent == pytest.approx(expected[name], rel=1e-14)
    body = make(*lengths, density=7850.0, **{section: 1e-3})
    close(body, make(*lengths, mass=7.85 * extent))
    with pytest.raises(ArgumentError, match=f"a density is given without {section}; give {section} in m"):
        make(*lengths, density=7850.0)
    with pytest.raises(ArgumentError, match="although a mass is given; leave it out"):
        make(*lengths, mass=1.0, **{section: 1e-3})


@pytest.mark.parametrize("name", solids.SOLIDS)
def test_mass_and_density_agree_and_bodies_are_physical(name: str) -> None:
    make = solids.SOLIDS[name]
    lengths, section = THIN.get(name, (THICK.get(name), None))
    by_density = make(*lengths, density=1234.0, **({section: 2e-3} if section else {}))
    close(make(*lengths, mass=by_density.mass), by_density)
    moments = principal_moments(by_density.inertia)
    assert triangle_margin(moments) >= -1e-12 * moments[2]
    assert moments[0] >= 0.0


@pytest.mark.parametrize("name", solids.SOLIDS)
def test_what_is_wrong_is_named(name: str) -> None:
    make = solids.SOLIDS[name]
    lengths, _ = THIN.get(name, (THICK.get(name), None))
    first = next(iter(inspect.signature(make).parameters))
    for bad in (-0.1, math.nan, math.inf):
        with pytest.raises(ArgumentError, match=f"{name}: {first} is {bad:g} m; it must be finite and "):
            make(bad, *lengths[1:], mass=1.0)
    with pytest.raises(ArgumentError, match=f"{name}: neither mass nor density is given; give exactly one"):
        make(*lengths)
    with pytest.raises(ArgumentError, match=f"{name}: both mass and density are given"):
        make(*lengths, mass=1.0, density=1.0)
    for label in ("mass", "density"):
        with pytest.raises(ArgumentError, match=f"{label} is 0 kg"):
            make(*lengths, **{label: 0.0}, **({THIN[name][1]: 1.0} if name in THIN and label == "density" else {}))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: solids.tube(0.1, 0.1, 1.0, mass=1.0), "tube: inner is 0.1 m, outer 0.1 m; inner must be below outer"),
        (lambda: solids.torus(0.1, 0.2, mass=1.0), "tube_radius must be at most ring"),
        (lambda: solids.torus(0.1, 0.0, mass=1.0), "tube_radius is 0 m; it must be above 0"),
        (lambda: solids.frustum(0.0, 0.0, 1.0, mass=1.0), "at least one radius must be above 0"),
        (lambda: solids.sphere("wide", mass=1.0), "sphere: radius is 'wide'; it must be a number"),
        (lambda: solids.sphere(None, mass=1.0), "sphere: radius is None; it must be a number"),
    ],
)
def test_shapes_that_do_not_exist(call, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        call()


def test_holes_leave_what_a_tube_is() -> None:
    drilled = composite([solids.cylinder(0.1, 0.4, density=RHO)], [solids.cylinder(0.07, 0.4, density=RHO)])
    close(drilled, solids.tube(0.1, 0.07, 0.4, density=RHO))


def test_an_eccentric_hole_moves_the_mass_centre_away_from_it() -> None:
    plate = solids.cylinder(0.1, 0.01, density=RHO)
    hole = solids.cylinder(0.03, 0.01, density=RHO).moved(np.eye(3), (0.05, 0.0, 0.0))
    rest = without(plate, hole)
    assert rest.com[0] == pytest.approx(-0.05 * 9.0 / 91.0, rel=1e-12)
    close(rest + hole, plate)


def test_impossible_holes_are_refused() -> None:
    small, big = solids.sphere(0.1, density=RHO), solids.sphere(0.2, density=RHO)
    with pytest.raises(ModelError, match="some mass must be left; a hole must lie within the material"):
        without(small, big)
    with pytest.raises(ModelError, match="some mass must be left"):
        without(small, small)
    outside = small.moved(np.eye(3), (0.5, 0.0, 0.0))
    with pytest.raises(ModelError, match=r"principal moments are -.*none may be negative"):
        without(big, outside)
    with pytest.raises(ModelError, match="a composite without parts"):
        composite([])


def test_a_hole_that_breaks_the_triangle_inequality_is_refused() -> None:
    # a flat plate has no room for a rod across it
    with pytest.raises(ModelError, match="the largest must not exceed the sum of the others"):
        without(solids.plate(1.0, 1.0, mass=1.0), solids.rod(0.4, mass=0.1))
