"""Roots and shapes of beams against the textbooks' equations and tables."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh
from support.flexible_links import beam_frequencies

from rne_dynamics.errors import ModelError
from rne_dynamics.model.flexible import euler_bernoulli
from rne_dynamics.model.flexible.beam import Beam
from rne_dynamics.model.flexible.beam_modes import modal_link
from rne_dynamics.model.flexible.beam_shapes import beam_shapes, torsion_roots
from rne_dynamics.model.inertia import Inertia

CLAMPED_FREE = [1.87510407, 4.69409113, 7.85475744, 10.99554073]
CLAMPED_HINGED = [3.92660231, 7.06858275, 10.21017612]
CLAMPED_CLAMPED = [4.73004074, 7.85320462, 10.99560784]
HEAVY = 1e10
load = st.one_of(st.just(0.0), st.floats(-4.0, 4.0).map(lambda power: 10.0**power))


def uniform(**fields) -> Beam:
    """1 m, 1 kg/m, EI 1 N·m²: ω = (βL)²."""
    return Beam(**{"link": "beam", "length": 1.0, "mass_per_length": 1.0, "EI_y": 1.0, "modes": (4, 0, 0)} | fields)


def roots(count: int, root: euler_bernoulli.Root, mass: float, inertia: float) -> np.ndarray:
    load = euler_bernoulli.Load(mass, 0.0, inertia)
    return np.array([mode.b for mode in euler_bernoulli.modes(count, root, load)])


def characteristic(b: np.ndarray, m: float, J: float) -> np.ndarray:
    """The clamped beam's characteristic equation over cosh b and over what grows with the load."""
    c, s, one, t = np.cos(b), np.sin(b), 1 / np.cosh(b), np.tanh(b)
    value = one + c - m * b * (s - c * t) - J * b**3 * (s + c * t) + m * J * b**4 * (one - c)
    return value / ((1 + m * b) * (1 + J * b**3))


def test_frequencies_of_the_cantilever() -> None:
    assert np.sqrt(beam_frequencies(uniform())) == pytest.approx(CLAMPED_FREE, abs=1e-8)
    assert roots(4, "clamped", 0.0, 0.0) == pytest.approx(CLAMPED_FREE, abs=1e-8)
    b = roots(12, "clamped", 0.0, 0.0)
    assert np.abs(np.cos(b) + 1 / np.cosh(b)).max() < 1e-13


def test_limits_of_what_the_tip_carries() -> None:
    assert roots(4, "clamped", HEAVY, 0.0)[1:] == pytest.approx(CLAMPED_HINGED, abs=2e-8)
    assert roots(5, "clamped", HEAVY, HEAVY)[2:] == pytest.approx(CLAMPED_CLAMPED, abs=2e-8)
    assert roots(3, "hinged", 0.0, 0.0) == pytest.approx(CLAMPED_HINGED, abs=1e-8)  # tan b = tanh b, as well
    assert roots(3, "hinged", HEAVY, 0.0) == pytest.approx(math.pi * np.arange(1, 4), abs=1e-8)
    # the beam as a massless spring: ω² = 3 EI / (m L³)
    assert roots(1, "clamped", HEAVY, 0.0)[0] ** 4 * HEAVY == pytest.approx(3.0, rel=1e-9)
    with pytest.raises(ModelError, match="massless next to it"):
        roots(1, "clamped", 1e14, 0.0)


@settings(max_examples=20)
@given(load, load)
def test_loaded_roots_are_those_of_the_characteristic_equation_and_none_is_missing(m: float, J: float) -> None:
    found = roots(4, "clamped", m, J)
    near = characteristic(np.outer(found, [1 - 1e-9, 1 + 1e-9]), m, J)
    assert (near[:, 0] * near[:, 1] < 0.0).all()
    grid = np.geomspace(0.02, found[-1] * 1.0001, 4000)
    signs = np.sign(characteristic(grid, m, J))
    assert np.count_nonzero(np.diff(signs)) == 4


@settings(max_examples=20)
@given(load, load, st.floats(-1.0, 1.0), st.sampled_from(["clamped", "hinged"]))
def test_modes_are_orthogonal_under_any_load(m: float, J: float, share: float, root: euler_bernoulli.Root) -> None:
    S = share * math.sqrt(m * J)
    found = euler_bernoulli.modes(4, root, euler_bernoulli.Load(m, S, J))
    t, weight = np.polynomial.legendre.leggauss(40)
    xi, weight, tip = 0.5 * (t + 1.0), 0.5 * weight, np.ones(1)
    w = np.array([mode.evaluate(xi, 0) for mode in found])
    ends = np.array([[mode.evaluate(tip, order)[0] for order in (0, 1)] for mode in found])
    bent = np.array([mode.evaluate(xi, 2) for mode in found])
    mass = (w * weight) @ w.T + ends @ np.array([[m, S], [S, J]]) @ ends.T
    stiffness = (bent * weight) @ bent.T
    for gram, tolerance in ((mass, 1e-9), (stiffness, 1e-9)):
        size = np.sqrt(np.diag(gram))
        assert np.abs(gram / np.outer(size, size) - np.eye(4)).max() < tolerance
    assert np.diag(stiffness) / np.diag(mass) == pytest.approx([mode.b**4 for mode in found], rel=1e-9)


def test_high_modes_do_not_cancel() -> None:
    shapes = beam_shapes(uniform(modes=(40, 0, 0)))[0]
    x = np.linspace(0.0, 1.0, 2001)
    w = shapes.evaluate(x, 0)
    assert w[-1] == pytest.approx(np.ones(40), abs=1e-12)
    assert np.abs(w).max() < 1.0 + 1e-9
    assert np.abs(w[0]).max() < 1e-13
    # both ends of a high mode look alike: moment at the root, deflection at the tip
    b = roots(40, "clamped", 0.0, 0.0)[-1]
    assert abs(shapes.evaluate(np.zeros(1), 2)[0, -1]) / b**2 == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("shapes", ["clamped_free", "clamped_mass", "pinned", "polynomial", "finite_element"])
def test_all_shapes_are_held_at_the_root_and_their_derivatives_are_derivatives(shapes: str) -> None:
    beam = Beam(
        "beam", 0.7, 0.3, 2.0, 3.0, 1.5, 1e-4, 2e-4, modes=(3, 2, 2), shapes=shapes, tip_mass=0.2,
        tip_inertia=(1e-4, 2e-3, 3e-3),
    )  # fmt: skip
    x = 0.7 * (np.arange(20) + 0.37) / 20  # none on the border of an element
    h = 1e-5
    for k, direction in enumerate(beam_shapes(beam)):
        root = [direction.evaluate(np.zeros(1), order)[0] for order in (0, 1)]
        assert np.abs(root[0]).max() < 1e-13
        assert k == 2 or np.abs(root[1]).max() < 1e-12
        assert np.abs(direction.evaluate(np.linspace(0, 0.7, 257), 0)).max(axis=0) == pytest.approx(1.0, abs=1e-12)
        for order in (0, 1):
            slope = (direction.evaluate(x + h, order) - direction.evaluate(x - h, order)) / (2 * h)
            exact = direction.evaluate(x, order + 1)
            assert np.abs(slope - exact).max() < 1e-6 * np.abs(exact).max()


def test_torsion() -> None:
    beam = uniform(GJ=4.0, spread_y=0.5, spread_z=0.5, modes=(0, 0, 3))
    assert beam_frequencies(beam) == pytest.approx(2.0 * math.pi * np.array([0.5, 1.5, 2.5]), rel=1e-12)
    J = 0.8
    b = np.array(torsion_roots(3, J))
    assert np.tan(b) * b == pytest.approx(1.0 / J, rel=1e-12)
    for shapes in ("clamped_mass", "pinned"):
        loaded = uniform(
            GJ=4.0, spread_y=0.7, spread_z=0.3, modes=(0, 0, 3), tip_inertia=(J, 0, 0), shapes=shapes
        )
        assert beam_frequencies(loaded) == pytest.approx(2.0 * b, rel=1e-12)
    assert torsion_roots(2, 1e12)[0] ** 2 * 1e12 == pytest.approx(1.0, rel=1e-9)


def test_finite_elements_converge_to_the_analytic_roots_with_the_fourth_power() -> None:
    loaded = {"tip_mass": 0.7, "tip_inertia": (0.0, 0.0, 0.02)}
    exact = beam_frequencies(uniform(shapes="clamped_mass", **loaded))
    error = np.array([
        beam_frequencies(uniform(shapes="finite_element", elements=n, **loaded)) / exact - 1 for n in (8, 16, 32)
    ])  # fmt: skip
    assert (error > 0.0).all()  # Rayleigh's quotient comes from above
    assert error[:-1] / error[1:] == pytest.approx(np.full((2, 4), 16.0), rel=0.12)
    assert error[-1].max() < 3e-6
    fine = beam_frequencies(uniform(shapes="finite_element", elements=120, **loaded))
    assert fine[0] == pytest.approx(exact[0], rel=1e-11)  # the square root of the energies keeps its digits


@pytest.mark.parametrize("offset", [0.6, -0.3])
def test_a_load_beyond_the_tip_is_one_on_a_rigid_arm(offset: float) -> None:
    """The same load placed where its mass centre is, carried by the shapes' own field."""
    body = Inertia(0.5, np.array([0.0, 0.0, 0.0]), np.diag([0.01, 0.02, 0.03]))
    about = body.about((-offset, 0.0, 0.0))
    for shapes in ("clamped_mass", "finite_element", "pinned", "polynomial"):
        beam = uniform(
            EI_z=2.0, modes=(4, 4, 0), shapes=shapes, tip_mass=0.5, tip_inertia=np.diag(about), tip_offset=offset
        )
        link = modal_link(beam)
        there = link.at(link.tip)
        moved = there.translation + np.cross(there.rotation, [offset, 0.0, 0.0])
        M = np.einsum("klii->kl", link.second) + 0.5 * moved @ moved.T
        M += there.rotation @ body.inertia @ there.rotation.T
        omega = np.sqrt(eigh(link.stiffness, M, eigvals_only=True))
        assert np.sort(beam_frequencies(beam)) == pytest.approx(omega, rel=1e-9)
        if shapes == "clamped_mass":
            exact = beam_frequencies(beam)
        elif shapes == "finite_element":
            assert beam_frequencies(beam) == pytest.approx(exact, rel=4e-5)
    # a load along the beam but for its inertia: a heavy one swings as on a massless spring
    heavy = uniform(modes=(1, 0, 0), shapes="clamped_mass", tip_mass=1e8, tip_inertia=(0, 1e8, 1e8), tip_offset=1.0)
    # F at 1 m beyond the tip of 1 m: F (1/3 + 1/2 + 1/2 + 1) = 7/3 F
    assert beam_frequencies(heavy)[0] ** 2 == pytest.approx(3 / 7 / 1e8, rel=1e-7)


def test_a_wedge_against_published_frequencies() -> None:
    """Constant width, height falling to half: ω √(μ L⁴ / EI) of the root's section, Banerjee and others."""
    height = np.linspace(1.0, 0.5, 201)
    beam = uniform(mass_per_length=height, EI_y=height**3, modes=(3, 0, 0), shapes="finite_element", elements=40)
    assert beam_frequencies(beam) == pytest.approx([3.82378, 18.3173, 47.2648], rel=2e-5)
    powers = uniform(mass_per_length=height, EI_y=height**3, modes=(6, 0, 0), shapes="polynomial")
    assert beam_frequencies(powers)[:2] == pytest.approx(beam_frequencies(beam)[:2], rel=1e-4)
    assert beam_frequencies(powers)[2] == pytest.approx(47.2648, rel=1e-2)
