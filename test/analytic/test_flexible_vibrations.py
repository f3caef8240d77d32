"""Vibrations of beams and of the published two-link arm, against published figures and characteristic equations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from support.flexible_arms import EI, LENGTH, MU, TIP, TIP_MASS, about_z, cantilever, two_link_arm

from rne_dynamics.flexible.linearised import linearised
from rne_dynamics.model.flexible.beam import Beam, Shapes
from rne_dynamics.model.inertia import Array, Inertia

#: βL of a cantilever
ROOTS = np.array([1.87510407, 4.69409113, 7.85475744, 10.99554073])


def beam(modes: int, shapes: Shapes = "clamped_free", mass: float = 0.0, inertia: float = 0.0, **more: object) -> Beam:
    return Beam(
        "beam", length=LENGTH, mass_per_length=np.array([MU]), EI_y=np.array([EI]), modes=(modes, 0, 0), shapes=shapes,
        tip_mass=mass, tip_inertia=(0.0, 0.0, inertia), **more,  # type: ignore[arg-type]
    )


def hertz(frequencies: Array) -> Array:
    hz: Array = frequencies / (2.0 * np.pi)
    return hz


def beta_length(frequencies: Array) -> Array:
    beta: Array = np.sqrt(frequencies) * (MU / EI) ** 0.25 * LENGTH
    return beta


def test_cantilever_roots() -> None:
    found = beta_length(linearised(cantilever(beam(4)), np.zeros(1)).frequencies)
    np.testing.assert_allclose(found, ROOTS, rtol=1e-9)


@pytest.mark.parametrize(("shapes", "modes", "first", "second"), [
    ("polynomial", 6, 1e-9, 1e-5), ("finite_element", 4, 1e-6, 5e-6),
])  # fmt: skip
def test_other_shapes_come_to_the_same_roots(shapes: Shapes, modes: int, first: float, second: float) -> None:
    found = beta_length(linearised(cantilever(beam(modes, shapes)), np.zeros(1)).frequencies)
    assert abs(found[0] / ROOTS[0] - 1.0) < first
    assert abs(found[1] / ROOTS[1] - 1.0) < second
    assert (found[:2] > ROOTS[:2] * (1.0 - 1e-8)).all()  # Ritz: from above


def test_pinned_shapes_and_the_joints_turn_together_are_those_of_the_hinged_beam() -> None:
    """The hinged beam's roots 3.92660231 and so on, the joint free and nothing but the beam on it."""
    free = linearised(cantilever(beam(3, "pinned")), np.zeros(1), joint_stiffness=np.zeros(1)).frequencies
    np.testing.assert_allclose(beta_length(free[1:]), [3.92660231, 7.06858275, 10.21017612], rtol=1e-8)
    assert free[0] < 1e-6 * free[1]
    # held, their slope at the root is zero but so is the bending moment there: they come near the cantilever slowly
    held = [beta_length(linearised(cantilever(beam(m, "pinned")), np.zeros(1)).frequencies)[0] for m in (2, 4, 8)]
    assert held[0] > held[1] > held[2] > ROOTS[0]


@pytest.mark.parametrize(("mass", "inertia"), [(0.0, 0.0005), (0.1, 0.02), (3.0, 0.0)])
def test_tip_mass_against_the_characteristic_equation(mass: float, inertia: float) -> None:
    """1 + cos cosh + …: the clamped beam that carries m and J; x = βL, from the boundary conditions at the tip."""
    M, N = mass / (MU * LENGTH), inertia / (MU * LENGTH**3)

    def characteristic(x: float) -> float:
        c, s, ch, sh = np.cos(x), np.sin(x), 1.0, np.tanh(x)  # over cosh x
        over = 1.0 / np.cosh(x)
        return float(
            over + c * ch + M * x * (c * sh - s * ch) - N * x**3 * (c * sh + s * ch) + M * N * x**4 * (over - c * ch)
        )

    grid = np.linspace(0.2, 9.0, 2000)
    values = [characteristic(x) for x in grid]
    roots = [
        brentq(characteristic, a, b, xtol=1e-14) for a, b, u, v in zip(grid, grid[1:], values, values[1:], strict=False)
        if u * v < 0.0
    ]  # fmt: skip
    arm = cantilever(beam(2, "clamped_mass", mass, inertia), Inertia(mass, np.zeros(3), about_z(inertia)))
    np.testing.assert_allclose(beta_length(linearised(arm, np.zeros(1)).frequencies), roots[:2], rtol=1e-8)


def test_published_arm_link_2_clamped_at_its_hub() -> None:
    arm = cantilever(beam(2, "clamped_mass", TIP_MASS, TIP), Inertia(TIP_MASS, np.zeros(3), about_z(TIP)))
    np.testing.assert_allclose(hertz(linearised(arm, np.zeros(1)).frequencies), [2.18, 15.91], atol=0.005)


def test_published_arm_link_1_carrying_the_rest_at_a_right_angle() -> None:
    arm = two_link_arm(modes=(2, 0))  # arm 2 is rigid
    np.testing.assert_allclose(hertz(linearised(arm, [0.3, 0.5 * np.pi]).frequencies), [0.48, 1.80], atol=0.005)


def test_joints_on_springs_lie_between_held_and_free() -> None:
    arm, q = two_link_arm(), np.array([0.2, 1.0])
    held = linearised(arm, q).frequencies
    free = linearised(arm, q, joint_stiffness=np.zeros(2)).frequencies
    assert free[:2] == pytest.approx([0.0, 0.0], abs=1e-6)
    assert (free[2:] > held).all()
    stiff = linearised(arm, q, joint_stiffness=np.full(2, 1e7)).frequencies
    np.testing.assert_allclose(stiff[:4], held, rtol=1e-6)


def test_modal_damping_is_the_ratio_that_was_asked_for() -> None:
    arm = cantilever(beam(3, damping=0.02))
    found = linearised(arm, np.zeros(1))
    np.testing.assert_allclose(found.damping_ratios, 0.02, rtol=1e-9)
    np.testing.assert_allclose(beta_length(found.frequencies), ROOTS[:3], rtol=1e-9)


def test_held_joint_dampers_do_not_hide_unstable_ones() -> None:
    """An upright beam on a free joint falls; the error says so."""
    arm = cantilever(beam(1), gravity=(0.0, -9.81, 0.0))
    falling = linearised(arm, [0.5 * np.pi], joint_stiffness=np.zeros(1), joint_damping=np.full(1, 0.01))
    assert falling.damping_ratios.min() < 0.0
