"""The equations of flexible arms: limits, symmetries, and each quantity against the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from support.flexible_arms import LENGTH, cantilever, random_state, two_link_arm
from support.followed import follow

import rne_dynamics as rne
from rne_dynamics.errors import ModelError, RneDynamicsError, SingularInertiaError
from rne_dynamics.flexible.energy import (
    flexible_center_of_mass,
    flexible_forward_kinematics,
    flexible_kinetic_energy,
    flexible_potential_energy,
    tip_deflections,
)
from rne_dynamics.flexible.equations import equations_of_motion, flexible_forward_dynamics
from rne_dynamics.flexible.inertia import flexible_forces_kernel
from rne_dynamics.flexible.linearised import flexible_inverse_dynamics, linearised
from rne_dynamics.flexible.packed import pack
from rne_dynamics.flexible.static import elastic_matrix, quasi_static, slopes, static_deflection
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.flexible.beam import Beam
from rne_dynamics.model.inertia import Array, Inertia


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "stiffening"])
def hanging(request: pytest.FixtureRequest) -> FlexibleArm:
    """A beam that bends in two planes and twists, on a joint across gravity, with a body at its end."""
    beam = Beam(
        "beam", 0.8, np.array([0.5]), np.array([6.0]), np.array([9.0]), np.array([3.0]), np.array([2e-3]),
        np.array([3e-3]), modes=(2, 2, 1), damping=0.01, axis=np.array([0.6, 0.0, 0.8]),
        origin=np.array([0.02, 0.01, 0.0]), stiffening=request.param,
    )  # fmt: skip
    tip = Inertia(0.3, np.array([0.05, -0.02, 0.03]), np.diag([2e-3, 3e-3, 4e-3]))
    return cantilever(beam, tip, gravity=(0.4, -9.81, 1.0), axis=np.array([0.2, 1.0, 0.1]))


def arms(hanging: FlexibleArm) -> list[FlexibleArm]:
    return [hanging, two_link_arm(stiffening=any(link.shortening.any() for link in hanging.flexible_links))]


def test_undeflected_it_is_the_rigid_arm(hanging: FlexibleArm) -> None:
    for arm in arms(hanging):
        q, _, qd, _ = random_state(arm, 1)
        none = np.zeros(arm.modes)
        J, bias = equations_of_motion(arm, q, none, qd, none)
        np.testing.assert_allclose(J[: arm.n, : arm.n], rne.mass_matrix(arm.robot, q), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(bias[: arm.n], rne.bias_torque(arm.robot, q, qd), rtol=1e-12, atol=1e-13)
        assert flexible_potential_energy(arm, q, none) == pytest.approx(rne.potential_energy(arm.robot, q), abs=1e-12)
        assert flexible_kinetic_energy(arm, q, none, qd, none) == pytest.approx(
            float(rne.kinetic_energy(arm.robot, q, qd)), rel=1e-12
        )


def test_as_the_links_get_stiffer_the_efforts_become_the_rigid_arms() -> None:
    """EI up by 10¹²: what is left of the deflections is below the tolerance."""
    arm = two_link_arm(stiffness=1e12)
    rng = np.random.default_rng(3)
    q, qd, qdd = rng.normal(size=(3, 5, 2))
    tau, delta = quasi_static(arm, q, qd, qdd)
    np.testing.assert_allclose(tau, rne.inverse_dynamics(arm.robot, q, qd, qdd), rtol=1e-9, atol=1e-9)
    assert np.abs(delta).max() < 1e-9
    # the error falls with the stiffness: ten times stiffer, ten times nearer
    errors = []
    for stiffness in (1e3, 1e4):
        soft = quasi_static(two_link_arm(stiffness=stiffness), q, qd, qdd).tau
        errors.append(np.abs(soft - rne.inverse_dynamics(arm.robot, q, qd, qdd)).max())
    assert errors[0] / errors[1] == pytest.approx(10.0, rel=0.05)


def test_inertia_matrix_is_symmetric_positive_definite(hanging: FlexibleArm) -> None:
    """Every mode at once up to 10 % of the length; half that where shortening counts, for its square does not."""
    for arm in arms(hanging):
        size = 0.05 if any(link.shortening.any() for link in arm.flexible_links) else 0.1
        for seed in range(20):
            J, _ = equations_of_motion(arm, *random_state(arm, seed, size))
            assert np.array_equal(J, J.T)
            assert np.linalg.eigvalsh(J)[0] > 0.0


def test_rest_of_the_equations_is_the_slope_of_the_energies(hanging: FlexibleArm) -> None:
    """At rest, bias = ∂V/∂z; and power: żᵀ(J z̈ + bias) = d(K + V)/dt + what damping takes."""
    for arm in arms(hanging):
        q, delta, qd, deltad = random_state(arm, 5)
        n, still = arm.n, np.zeros(arm.n)

        def potential(z: Array, arm: FlexibleArm = arm, n: int = n) -> Array:
            return flexible_potential_energy(arm, z[:, :n], z[:, n:])[:, None]

        z = np.concatenate([q, delta])
        bias = equations_of_motion(arm, q, delta, still, np.zeros(arm.modes)).bias
        slope = slopes(potential, z, np.full(arm.nz, 1e-3))[0]
        np.testing.assert_allclose(slope, bias, atol=1e-10 * np.abs(bias).max())
        tau = np.linspace(0.3, -0.2, n)
        qdd, deltadd = flexible_forward_dynamics(arm, q, delta, qd, deltad, tau)
        h = 1e-4

        def energy(t: float, arm: FlexibleArm = arm) -> float:
            at = [x + t * v + 0.5 * t * t * a for x, v, a in ((q, qd, qdd), (delta, deltad, deltadd))]  # noqa: B023
            rate = [v + t * a for v, a in ((qd, qdd), (deltad, deltadd))]  # noqa: B023
            return float(flexible_kinetic_energy(arm, *at, *rate) + flexible_potential_energy(arm, *at))

        gained = (8.0 * (energy(h) - energy(-h)) - (energy(2.0 * h) - energy(-2.0 * h))) / (12.0 * h)
        lost = sum(
            float(x @ link.damping @ x) for link in arm.flexible_links for x in [deltad[arm.mode_slice(link.link)]]
        )  # fmt: skip
        assert gained == pytest.approx(float(tau @ qd) - lost, abs=1e-7 * abs(energy(0.0)) + 1e-7)


def test_forward_after_inverse_is_the_identity(hanging: FlexibleArm) -> None:
    for arm in arms(hanging):
        state = random_state(arm, 7)
        qdd = np.linspace(-1.0, 2.0, arm.n)
        tau, deltadd = flexible_inverse_dynamics(arm, *state, qdd)
        back = flexible_forward_dynamics(arm, *state, tau)
        scale = max(np.abs(deltadd).max(), 1.0)
        np.testing.assert_allclose(back.qdd, qdd, atol=1e-10 * scale)
        np.testing.assert_allclose(back.deltadd, deltadd, atol=1e-10 * scale)


def test_leading_dimensions_broadcast(hanging: FlexibleArm) -> None:
    arm = hanging
    states = [random_state(arm, seed) for seed in range(6)]
    q, delta, qd, deltad = (np.array(column).reshape(3, 2, -1) for column in zip(*states, strict=True))
    J, bias = equations_of_motion(arm, q, delta, qd[0, 0], deltad)
    assert J.shape == (3, 2, arm.nz, arm.nz)
    one = equations_of_motion(arm, q[2, 1], delta[2, 1], qd[0, 0], deltad[2, 1])
    assert np.array_equal(J[2, 1], one.J)
    assert np.array_equal(bias[2, 1], one.bias)
    tau, _ = flexible_inverse_dynamics(arm, q, delta, qd, deltad, np.ones(arm.n))
    assert tau.shape == (3, 2, arm.n)
    assert flexible_forward_kinematics(arm, q, delta)["tip"].shape == (3, 2, 4, 4)


@pytest.mark.filterwarnings("ignore::rne_dynamics.flexible.BendingRangeWarning")
def test_a_link_sags_as_beams_do(hanging: FlexibleArm) -> None:
    """Static deflection balances gravity: no joint or link moves from there under the holding torque."""
    q = np.array([0.4])
    delta = static_deflection(hanging, q)
    assert np.abs(delta).max() > 0.0
    hold = quasi_static(hanging, q, [0.0], [0.0])
    assert np.array_equal(hold.delta, delta)
    still = np.zeros(hanging.modes)
    moved = flexible_forward_dynamics(hanging, q, delta, [0.0], still, hold.tau)
    J, _ = equations_of_motion(hanging, q, delta, [0.0], still)
    forces = J @ np.concatenate(moved)
    assert np.abs(forces).max() < 1e-11 * np.abs(elastic_matrix(hanging) @ delta).max()


def test_the_mass_centre_is_the_slope_of_the_energy_over_gravity(hanging: FlexibleArm) -> None:
    for arm in arms(hanging):
        q, delta, _, _ = random_state(arm, 3)
        weighed = [
            flexible_potential_energy(FlexibleArm(assemble(arm.robot.tree, gravity=g), arm.flexible_links), q, delta)
            for g in (np.zeros(3), *(-np.eye(3)))
        ]
        center = flexible_center_of_mass(arm, q, delta)
        np.testing.assert_allclose(arm.mass * center, np.array(weighed[1:]) - weighed[0], atol=1e-11)
        straight = flexible_center_of_mass(arm, q, 0.0 * delta)
        np.testing.assert_allclose(straight, rne.center_of_mass(arm.robot, q), atol=1e-14)
        assert np.linalg.norm(center - straight) > 1e-4
    with pytest.raises(ModelError, match=r"arm\.robot, or the functions of rne_dynamics\.flexible"):
        rne.center_of_mass(hanging, np.zeros(1))


def test_deflections_of_the_tip_are_those_of_its_pose() -> None:
    arm = two_link_arm()
    delta = np.array([0.0, 0.0, 3e-4, 1e-4])  # link 1 straight: where it bends, (5) stretches what follows by 1 + ½ θ²
    along = tip_deflections(arm, delta)
    pose = flexible_forward_kinematics(arm, [0.7, -0.4], delta)
    in_root = np.linalg.inv(pose["link2"]) @ pose["tip"]
    np.testing.assert_allclose(in_root[:3, 3] - [LENGTH, 0.0, 0.0], along[1, :3], atol=1e-9)
    assert in_root[1, 0] / in_root[0, 0] == pytest.approx(along[1, 5], abs=1e-9)  # the nearest rotation to 1 + θ̃
    assert np.array_equal(tip_deflections(arm, np.zeros((3, 4))), np.zeros((3, 2, 6)))
    assert flexible_forward_kinematics(arm, np.zeros((0, 2)), np.zeros(4))["tip"].shape == (0, 4, 4)


def test_following_a_slow_motion_takes_the_quasi_static_efforts() -> None:
    arm = two_link_arm(stiffness=100.0, damping=0.05)
    rate, size = 0.3, np.array([0.4, -0.7])

    def motion(t: float) -> tuple[Array, Array, Array]:
        return size * np.sin(rate * t), rate * size * np.cos(rate * t), -(rate**2) * size * np.sin(rate * t)

    rows = follow(arm, motion, np.linspace(0.0, 0.5, 6))
    for t, tau, delta in zip(rows.times, rows.tau, rows.delta, strict=True):
        settled = quasi_static(arm, *motion(t))
        np.testing.assert_allclose(tau, settled.tau, atol=0.05)
        np.testing.assert_allclose(delta, settled.delta, atol=2e-3)
    # and J z̈ + bias = τ along it, by differences of the motion that came out
    fine = follow(arm, motion, 0.2 + 1e-3 * np.arange(-2.0, 3.0), delta=rows.delta[2], deltad=rows.deltad[2])
    near, far = fine.deltad[3] - fine.deltad[1], fine.deltad[4] - fine.deltad[0]
    deltadd = (8.0 * near - far) / 12e-3
    q, qd, qdd = motion(0.2)
    J, bias = equations_of_motion(arm, q, fine.delta[2], qd, fine.deltad[2])
    np.testing.assert_allclose((J @ np.concatenate([qdd, deltadd]) + bias)[:2], fine.tau[2], atol=1e-6)


ZERO, NONE = np.zeros(2), np.zeros(4)


@pytest.mark.parametrize(("call", "said"), [
    (lambda arm: equations_of_motion(arm, ZERO, np.zeros(3), ZERO, NONE),
     r"delta has shape \(3,\).*wants \(\.\.\., 4\)"),
    (lambda arm: equations_of_motion(arm, ZERO, [0.0, np.nan, 0.0, 0.0], ZERO, NONE),
     r"delta\[1\] \(link1/y2\) is nan"),
    (lambda arm: equations_of_motion(arm, ZERO, NONE, ZERO, NONE, wrenches={"tp": np.zeros(6)}),
     r"no link named 'tp'.*'tip'"),
    (lambda arm: quasi_static(arm, ZERO, ZERO, ZERO, wrenches={"tip": 1e-3}), r"wrenches\['tip'\] has shape \(\)"),
    (lambda arm: linearised(arm, ZERO, delta=np.zeros((2, 4))), r"2 rows; .* one posture"),
    (lambda arm: rne.inverse_dynamics(arm, ZERO, ZERO, ZERO), r"flexible links.*arm\.robot"),
])  # fmt: skip
def test_what_is_refused(call: Callable[[FlexibleArm], object], said: str) -> None:
    with pytest.raises(RneDynamicsError, match=said):
        call(two_link_arm())


def test_a_mode_that_moves_no_mass_is_named() -> None:
    """A link whose bending moves nothing, with nothing at its end."""
    arm = cantilever(Beam("beam", LENGTH, np.array([0.2]), np.array([1.0]), modes=(1, 0, 0)))
    link = arm.flexible_links[0]
    light = replace(link, first=0.0 * link.first, second=0.0 * link.second)
    with pytest.raises(SingularInertiaError, match="beam/y1"):
        flexible_forward_dynamics(FlexibleArm(arm.robot, (light,)), [0.0], [0.0], [0.0], [0.0], [1.0])


def test_a_load_that_buckles_the_link_is_refused() -> None:
    """Upright under a weight beyond π² EI / 4 L², with the shortening counted."""
    beam = Beam("beam", LENGTH, np.array([0.2]), np.array([1.0]), modes=(2, 0, 0), stiffening=True)
    limit = np.pi**2 * 1.0 / (4.0 * LENGTH**2) / 9.81
    up = [0.5 * np.pi]
    held = cantilever(beam, Inertia(0.8 * limit), gravity=(0.02, -9.81, 0.0))
    assert np.isfinite(static_deflection(held, up)).all()
    with pytest.raises(ModelError, match=r"not stable|does not settle"):
        linearised(cantilever(beam, Inertia(1.2 * limit), gravity=(0.0, -9.81, 0.0)), up)


def test_forces_of_given_accelerations_without_forming_the_inertia_matrix(hanging: FlexibleArm) -> None:
    for arm in arms(hanging):
        q, delta, qd, deltad = random_state(arm, 17)
        J, bias = equations_of_motion(arm, q, delta, qd, deltad)
        zdd, forces, packed = np.linspace(-2.0, 3.0, arm.nz), np.empty(arm.nz), pack(arm)
        flexible_forces_kernel(
            packed, arm.body_model.base_at_rest, np.concatenate([q, delta]),
            np.concatenate([qd, deltad]), zdd, np.zeros((0, 6)), forces,
        )  # fmt: skip
        np.testing.assert_allclose(forces, J @ zdd + bias, atol=1e-13 * np.abs(forces).max())
