"""Identities for every robot in every state: energy, symmetry, duality, inverse functions."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from support.differences import along, rate
from support.errors import relative_error
from support.robots import CASES, robot

import rne_dynamics as rne
from rne_dynamics.dynamics.forward_dynamics import FORWARD_ENGINES


@pytest.fixture(params=CASES, ids="-".join)
def model(request: pytest.FixtureRequest) -> rne.RobotModel:
    return robot(*request.param)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def state(model: rne.RobotModel, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return rne.random_configuration(model, rng), rng.normal(size=model.n), rng.normal(size=model.n)


def test_inverse_dynamics_is_mass_matrix_times_acceleration_plus_bias_and_forward_dynamics_undoes_it(model, rng):
    q, qd, qdd = state(model, rng)
    M, bias, tau = rne.mass_matrix(model, q), rne.bias_torque(model, q, qd), rne.inverse_dynamics(model, q, qd, qdd)
    assert np.array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0.0
    assert rne.kinetic_energy(model, q, qd) == pytest.approx(0.5 * qd @ M @ qd, rel=1e-12)
    assert relative_error(tau, M @ qdd + bias, scale=(np.abs(M) @ np.abs(qdd) + np.abs(bias)).max()) < 1e-13
    at_rest = rne.inverse_dynamics(model, q, 0.0 * qd, 0.0 * qdd)
    assert relative_error(rne.gravity_torque(model, q), at_rest, scale=1e-3 * model.mass * 9.81) < 1e-12
    one_by_one = (np.abs(np.linalg.inv(M)) @ (np.abs(tau) + np.abs(bias))).max()
    for method in FORWARD_ENGINES:
        back = rne.forward_dynamics(model, q, qd, tau, method=method)
        assert relative_error(back, qdd, scale=one_by_one) < 1e-12


def test_kinetic_energy_is_the_mass_matrix_form(model, rng):
    q, qd, _ = state(model, rng)
    assert rne.kinetic_energy(model, q, qd) == pytest.approx(0.5 * qd @ rne.mass_matrix(model, q) @ qd, rel=1e-12)


def test_power_of_the_efforts_is_the_rate_of_energy(model, rng):
    q, qd, qdd = state(model, rng)

    def energy(t: float) -> float:
        # a motion with velocity qd and acceleration qdd at t = 0
        there = rne.integrate_configuration(model, q, t * qd + 0.5 * t * t * qdd)
        return float(rne.kinetic_energy(model, there, qd + t * qdd) + rne.potential_energy(model, there))

    powers = qd * rne.inverse_dynamics(model, q, qd, qdd)
    assert rate(energy) == pytest.approx(powers.sum(), rel=1e-7, abs=1e-7 * np.abs(powers).sum())


def test_gravity_torque_is_the_gradient_of_potential_energy(model, rng):
    q, qd, _ = state(model, rng)
    slope = along(model, partial(rne.potential_energy, model), q, qd)
    power = rne.gravity_torque(model, q) @ qd
    assert slope == pytest.approx(power, rel=1e-8, abs=1e-8 * model.mass * 9.81)


def test_jacobian_is_the_rate_of_the_pose(model, rng):
    q, qd, _ = state(model, rng)
    link = model.link_names[-1]
    v = rne.jacobian(model, q, link) @ qd
    turning = along(model, lambda x: rne.forward_kinematics(model, x)[link], q, qd)
    R = rne.forward_kinematics(model, q)[link][:3, :3]
    spin = turning[:3, :3] @ R.T
    found = np.concatenate([turning[:3, 3], [spin[2, 1], spin[0, 2], spin[1, 0]]])
    assert relative_error(v, found, scale=1.0) < 1e-8
    jacobian_rate = along(model, lambda x: rne.jacobian(model, x, link), q, qd)
    assert relative_error(rne.jacobian_rate(model, q, qd, link), jacobian_rate, scale=1.0) < 1e-8


def test_an_external_wrench_is_its_jacobian_transposed(model, rng):
    q, qd, qdd = state(model, rng)
    free = rne.inverse_dynamics(model, q, qd, qdd)
    for link in rng.choice(model.link_names, size=3):
        wrench = rng.normal(size=6)
        R = rne.forward_kinematics(model, q)[link][:3, :3]
        world = np.concatenate([R @ wrench[:3], R @ wrench[3:]])
        loaded = rne.inverse_dynamics(model, q, qd, qdd, wrenches={link: wrench})
        expected = free - rne.jacobian(model, q, link).T @ world
        assert relative_error(loaded, expected, scale=1.0) < 1e-12


@pytest.mark.parametrize(
    "model", [("scara", "fixed"), ("hextilt_flying_arm_5.urdf", "floating")], ids="-".join, indirect=True
)
def test_a_batch_is_its_rows(model, rng):
    q = rne.random_configuration(model, rng, 6).reshape(2, 3, model.nq)
    qd, qdd = rng.normal(size=(2, 3, model.n)), rng.normal(size=model.n)
    link = model.link_names[len(model.link_names) // 2]
    wrench = {link: rng.normal(size=(2, 3, 6))}
    calls = {
        "inverse": lambda i: rne.inverse_dynamics(model, q[i], qd[i], qdd, wrenches={link: wrench[link][i]}),
        "forward": lambda i: rne.forward_dynamics(model, q[i], qd[i], qdd, wrenches={link: wrench[link][i]}),
        "mass": lambda i: rne.mass_matrix(model, q[i]),
        "bias": lambda i: rne.bias_torque(model, q[i], qd[i]),
        "gravity": lambda i: rne.gravity_torque(model, q[i]),
        "pose": lambda i: rne.forward_kinematics(model, q[i])[link],
        "jacobian": lambda i: rne.jacobian(model, q[i], link),
        "rate": lambda i: rne.jacobian_rate(model, q[i], qd[i], link),
        "kinetic": lambda i: rne.kinetic_energy(model, q[i], qd[i]),
        "potential": lambda i: rne.potential_energy(model, q[i]),
        "center": lambda i: rne.center_of_mass(model, q[i]),
        "friction": lambda i: rne.friction_torque(model, qd[i]),
        "step": lambda i: rne.integrate_configuration(model, q[i], qd[i]),
        "coriolis": lambda i: rne.coriolis_matrix(model, q[i], qd[i]),
        "regressor": lambda i: rne.regressor(model, q[i], qd[i], qdd),
        "derivatives": lambda i: rne.inverse_dynamics_derivatives(model, q[i], qd[i], qdd)[0],
        "lagrange": lambda i: rne.lagrange_terms(model, q[i], qd[i]).V,
        "reduced": lambda i: rne.reduced_equations(model, q[i], qd[i]).bias,
        "momentum": lambda i: rne.momentum(model, q[i], qd[i], "com").angular,
        "centroidal": lambda i: rne.centroidal_momentum_matrix(model, q[i]),
        "reactions": lambda i: rne.joint_reactions(model, q[i], qd[i], qdd, wrenches={link: wrench[link][i]}).wrench,
        "body": lambda i: rne.free_body(model, q[i], qd[i], qdd, link, None).rate.angular,
    }
    for name, call in calls.items():
        whole = call((slice(None), slice(None)))
        for i in np.ndindex(2, 3):
            assert relative_error(whole[i], call(i), scale=1e-3) < 1e-13, name


def test_a_robot_without_joints_has_empty_answers():
    stone = rne.assemble(rne.KinematicTree("stone", (rne.TreeLink("stone", rne.Inertia(1.0)),), ()))
    none, rows = np.zeros(0), np.zeros((4, 0))
    for method in FORWARD_ENGINES:
        assert rne.forward_dynamics(stone, rows, none, none, method=method).shape == (4, 0)
    assert rne.inverse_dynamics(stone, none, none, none).shape == (0,)
    for method in ("composite", "columns"):
        assert rne.mass_matrix(stone, rows, method=method).shape == (4, 0, 0)
    for matrix in (
        rne.coriolis_matrix(stone, rows, none), rne.lagrange_terms(stone, rows, none).W,
        rne.reduced_equations(stone, rows, none).mass_matrix,
        *rne.inverse_dynamics_derivatives(stone, rows, none, none),
        *rne.forward_dynamics_derivatives(stone, rows, none, none),
    ):  # fmt: skip
        assert matrix.shape == (4, 0, 0)
    assert rne.regressor(stone, none, none, none).shape == (0, 0)
    assert rne.inertial_parameters(stone).shape == (0,)


def test_a_moving_fixed_base_is_a_floating_base_that_follows(rng):
    fixed, floating = robot("puma560"), robot("puma560", "floating")
    q, qd, qdd = state(fixed, rng)
    v, w, a, dw = rng.normal(size=(4, 3))
    motion = rne.BaseMotion(linear_acceleration=a, angular_velocity=w, angular_acceleration=dw, linear_velocity=v)
    expected = rne.inverse_dynamics(fixed, q, qd, qdd, base_motion=motion)
    # qdd of a floating base is the rate of its velocity's body components: a = v̇ + ω × v
    whole = rne.inverse_dynamics(
        floating,
        np.concatenate([floating.neutral[:7], q]),
        np.concatenate([v, w, qd]),
        np.concatenate([a - np.cross(w, v), dw, qdd]),
    )
    assert relative_error(whole[6:], expected) < 1e-13


def test_a_locked_joint_is_a_joint_at_rest(rng):
    model = robot("puma560")
    q, qd, qdd = state(model, rng)
    name = model.joint_names[2]
    locked = rne.with_lock(model, {name: float(q[2])})
    rest = [k for k in range(model.n) if k != 2]
    still = np.ones(model.n)
    still[2] = 0.0
    expected = rne.inverse_dynamics(model, q, qd * still, qdd * still)[rest]
    assert relative_error(rne.inverse_dynamics(locked, q[rest], qd[rest], qdd[rest]), expected) < 1e-13
    assert name not in locked.joint_names


def test_a_payload_is_a_wrench_of_its_inertia_forces(rng):
    model = robot("puma560")
    q, _, _ = state(model, rng)
    link = model.link_names[-1]
    com = np.array([0.05, -0.02, 0.1])
    loaded = rne.with_payload(model, rne.Payload(link, 2.5, com, np.diag([0.01, 0.02, 0.03])))
    R = rne.forward_kinematics(model, q)[link][:3, :3]
    weight = R.T @ model.gravity * 2.5
    wrench = np.concatenate([weight, np.cross(com, weight)])
    zero = np.zeros(model.n)
    expected = rne.inverse_dynamics(model, q, zero, zero, wrenches={link: wrench})
    assert relative_error(rne.gravity_torque(loaded, q), expected) < 1e-12
    assert loaded.mass == pytest.approx(model.mass + 2.5, rel=1e-14)
