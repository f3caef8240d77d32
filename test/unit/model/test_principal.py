from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.errors import relative_error

from rne_dynamics.errors import ModelError
from rne_dynamics.model import solids
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.principal import (
    Symmetry,
    check_physical,
    equivalent_box,
    principal_axes,
    principal_moments,
    symmetry_planes,
    triangle_margin,
)
from rne_dynamics.model.tree import rotation_about

number = st.floats(-3.0, 3.0, allow_subnormal=False)
vector = st.tuples(number, number, number).map(np.array)
side = st.floats(0.05, 2.0)
#: Bodies are slow to draw.
FEWER = settings(max_examples=40)


@st.composite
def rotations(draw) -> np.ndarray:
    axis = draw(vector.filter(lambda v: np.linalg.norm(v) > 0.1))
    return rotation_about(axis / np.linalg.norm(axis), draw(st.floats(-3.0, 3.0)))


@st.composite
def bodies(draw) -> Inertia:
    """A cloud of points: what an inertia is by definition."""
    points = np.array(draw(st.lists(vector, min_size=4, max_size=8)))
    masses = np.array(draw(st.lists(st.floats(0.1, 5.0), min_size=len(points), max_size=len(points))))
    return cloud(points, masses)


def cloud(points: np.ndarray, masses: np.ndarray) -> Inertia:
    com = masses @ points / masses.sum()
    return Inertia(masses.sum(), com, by_definition(points - com, masses))


def by_definition(r: np.ndarray, m: np.ndarray) -> np.ndarray:
    squares = np.einsum("il,il->i", r, r)
    return np.einsum("i,ijk->jk", m, squares[:, None, None] * np.eye(3) - r[:, :, None] * r[:, None])


@FEWER
@given(st.lists(vector, min_size=2, max_size=6), vector, rotations())
def test_any_point_and_axes_against_the_definition(points, point, R) -> None:
    r = np.array(points)
    m = np.linspace(0.5, 2.0, len(r))
    expected = by_definition((r - point) @ R, m)  # the points seen from the new frame
    assert relative_error(cloud(r, m).about(point, R), expected, scale=1.0) < 1e-12


@FEWER
@given(bodies(), vector, rotations())
def test_rotation_law_and_parallel_axes(body, point, R) -> None:
    assert relative_error(body.about(body.com), body.inertia, scale=1.0) < 1e-12
    assert relative_error(R @ body.about(point, R) @ R.T, body.about(point), scale=1.0) < 1e-12
    # no point has a smaller moment about an axis than the mass centre has
    assert np.linalg.eigvalsh(body.about(point) - body.inertia).min() > -1e-9
    # and moving the body is moving the point
    moved = body.moved(R, point)
    assert relative_error(moved.about(point, R), body.about_origin, scale=1.0) < 1e-11


@FEWER
@given(bodies(), rotations())
def test_principal_axes_diagonalise_and_are_right_handed(body, R) -> None:
    principal = principal_axes(body.inertia)
    P = principal.axes
    assert relative_error(P @ np.diag(principal.moments) @ P.T, body.inertia, scale=1e-6) < 1e-8
    assert relative_error(P.T @ P, np.eye(3)) < 1e-12
    assert np.linalg.det(P) == pytest.approx(1.0)
    assert (np.diff(principal.moments) >= 0.0).all()
    assert relative_error(principal_moments(R @ body.inertia @ R.T), principal.moments, scale=1.0) < 1e-12
    assert triangle_margin(principal.moments) >= -1e-12 * principal.moments[2]
    check_physical(body, "cloud", fix="none")


def test_signs_and_order_are_fixed() -> None:
    J = np.diag([3.0, 1.0, 2.0])
    principal = principal_axes(J)
    assert principal.moments.tolist() == [1.0, 2.0, 3.0]
    assert principal.axes.T.tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    assert principal.symmetry is Symmetry.NONE
    assert principal.symmetry_axis is None
    # the same from a body turned half round any axis
    for k in range(3):
        H = -np.eye(3)
        H[k, k] = 1.0
        assert principal_axes(H @ J @ H.T).axes.tolist() == principal.axes.tolist()


@pytest.mark.parametrize(
    ("J", "axis", "axes"),
    [
        (np.diag([2.0, 2.0, 1.0]), 0, [[0, 0, 1], [1, 0, 0], [0, 1, 0]]),
        (np.diag([2.0, 2.0, 3.0]), 2, [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
        (np.diag([1.0, 2.0, 2.0]), 0, [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
    ],
)
def test_bodies_of_revolution_take_the_frames_axes_across(J, axis, axes) -> None:
    principal = principal_axes(J)
    assert principal.symmetry is Symmetry.AXIAL
    assert principal.symmetry_axis == axis
    assert relative_error(principal.axes.T, axes) < 1e-14
    wobble = 1e-13 * np.array([[0.0, 1, 2], [1, 0, 3], [2, 3, 0]])  # round-off chooses no other axes
    assert principal_axes(J + wobble).axes == pytest.approx(principal.axes, abs=1e-9)


def test_tilted_revolution_and_sphere() -> None:
    z = np.array([0.6, 0.0, 0.8])
    J = 3.0 * np.outer(z, z) + 2.0 * (np.eye(3) - np.outer(z, z))
    principal = principal_axes(J)
    assert principal.axes[:, 2] == pytest.approx(z)
    assert principal.axes[:, 0] == pytest.approx([0.0, 1.0, 0.0])  # of the frame's axes the one that lies across
    assert principal_axes(2.0 * np.eye(3)).symmetry is Symmetry.SPHERICAL
    assert principal_axes(2.0 * np.eye(3)).axes.tolist() == np.eye(3).tolist()
    assert principal_axes(np.zeros((3, 3))).symmetry is Symmetry.SPHERICAL
    rounded = np.diag([0.133333, 0.133334, 0.2])
    assert principal_axes(rounded).symmetry is Symmetry.NONE
    assert principal_axes(rounded, tolerance=1e-4).symmetry is Symmetry.AXIAL


def test_planes_of_symmetry() -> None:
    assert symmetry_planes(solids.box(1, 2, 3, mass=1)) == ("xy", "yz", "zx")
    assert symmetry_planes(solids.hemisphere(1, mass=1)) == ("yz", "zx")
    assert symmetry_planes(solids.wedge(1, 2, 3, mass=1)) == ("xy",)
    assert symmetry_planes(solids.box(1, 2, 3, mass=1).moved(np.eye(3), (0.1, 0.2, 0.0))) == ("xy",)
    R = rotation_about([1.0, 0.0, 0.0], 0.4)
    assert symmetry_planes(solids.box(1, 2, 3, mass=1).moved(R, np.zeros(3))) == ("yz",)
    # a mass centre off the plane is enough, with the products zero
    assert symmetry_planes(Inertia(1.0, np.array([0.0, 0.0, 0.5]), np.eye(3))) == ("yz", "zx")
    assert symmetry_planes(Inertia(0.0, np.zeros(3), np.eye(3))) == ("xy", "yz", "zx")


@FEWER
@given(st.lists(vector, min_size=2, max_size=5), st.sampled_from([("xy", 2), ("yz", 0), ("zx", 1)]))
def test_a_body_and_its_mirror_image_have_that_plane(points, plane) -> None:
    name, across = plane
    mirror = np.ones(3)
    mirror[across] = -1.0
    r = np.array([*points, *(p * mirror for p in points)])
    m = np.tile(np.linspace(0.5, 1.5, len(points)), 2)
    assert name in symmetry_planes(cloud(r, m))


@given(side, side, side, st.floats(0.01, 50.0))
def test_the_equivalent_box_of_a_box_is_that_box(x, y, z, mass) -> None:
    moments = np.diag(solids.box(x, y, z, mass=mass).inertia)
    assert equivalent_box(mass, moments) == pytest.approx([x, y, z], rel=1e-6, abs=1e-6)


def test_no_box_for_what_no_body_is() -> None:
    assert equivalent_box(1.0, [1.0, 1.0, 2.5]) is None
    assert equivalent_box(0.0, [1.0, 1.0, 1.0]) is None
    assert equivalent_box(12.0, [1.0, 1.0, 2.0]) == pytest.approx([1.0, 1.0, 0.0])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (Inertia(0.0), "part: mass is 0 kg; it must be above 0; weigh it"),
        (Inertia(1.0, np.zeros(3), np.diag([-1.0, 1.0, 1.0])), "none may be negative; weigh it"),
        (Inertia(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0])), "must not exceed the sum of the others; weigh it"),
    ],
)
def test_impossible_bodies_are_refused(body, said) -> None:
    with pytest.raises(ModelError, match=said):
        check_physical(body, "part", fix="weigh it")


def test_axes_must_be_a_rotation() -> None:
    for bad in (2.0 * np.eye(3), np.diag([1.0, 1.0, -1.0]), np.ones((3, 3))):
        with pytest.raises(ModelError, match="it must be a rotation"):
            Inertia(1.0).about((0.0, 0.0, 0.0), bad)
    with pytest.raises(ModelError, match="point has shape"):
        Inertia(1.0).about((0.0, 0.0))


def test_every_order_of_axes_gives_the_same_principal_frame() -> None:
    """Permuting a body's axes permutes its principal axes, whatever LAPACK makes of it."""
    R = rotation_about(np.array([2.0, -1.0, 2.0]) / 3.0, 0.7)
    J = R @ np.diag([1.0, 2.0, 2.5]) @ R.T
    for order in itertools.permutations(range(3)):
        P = np.eye(3)[list(order)]
        axes = principal_axes(P @ J @ P.T).axes
        back = P.T @ axes
        assert np.abs(np.abs(back) - np.abs(principal_axes(J).axes)).max() < 1e-12
