from __future__ import annotations

import numpy as np
import pytest
from support.arms import chain, docked_vehicle, floating_arm, gripper, slider
from support.errors import relative_error
from support.pinocchio_oracle import Oracle
from support.robots import CASES, file_of, robot

import rne_dynamics as rne

ARMS = (chain(3, rotor=0.4), gripper(), slider(), floating_arm(), docked_vehicle())


@pytest.fixture(params=[*CASES, *ARMS], ids=lambda x: x.name if isinstance(x, rne.RobotModel) else "-".join(x))
def model(request: pytest.FixtureRequest) -> rne.RobotModel:
    return request.param if isinstance(request.param, rne.RobotModel) else robot(*request.param)


def state(model: rne.RobotModel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(8)
    return rne.random_configuration(model, rng), rng.normal(size=model.n), rng.normal(size=model.n)


def test_times_parameters_plus_rotors_it_is_inverse_dynamics(model):
    q, qd, qdd = state(model)
    motions = [None]
    if model.base == "fixed":
        motions.append(rne.BaseMotion(*np.random.default_rng(1).normal(size=(4, 3))))
    for motion in motions:
        Y = rne.regressor(model, q, qd, qdd, base_motion=motion)
        tau = Y @ rne.inertial_parameters(model) + rne.rotor_inertia(model) * qdd
        assert relative_error(tau, rne.inverse_dynamics(model, q, qd, qdd, base_motion=motion)) < 1e-12


@pytest.mark.parametrize(("name", "base"), CASES)
def test_against_pinocchio(name, base):
    model = robot(name, base)
    oracle = Oracle(model, file_of(name))
    q, qd, qdd = state(model)
    assert relative_error(rne.regressor(model, q, qd, qdd), oracle.regressor(q, qd, qdd)) < 1e-12


def test_holds_for_other_parameters_of_the_same_robot():
    model = robot("puma560")
    q, qd, qdd = state(model)
    payload = rne.Payload(model.link_names[-1], 2.5, np.array([0.05, -0.02, 0.1]), np.diag([0.01, 0.02, 0.03]))
    loaded = rne.with_payload(model, payload)
    Y = rne.regressor(model, q, qd, qdd)
    assert relative_error(Y, rne.regressor(loaded, q, qd, qdd)) < 1e-14
    change = Y @ (rne.inertial_parameters(loaded) - rne.inertial_parameters(model))
    expected = rne.inverse_dynamics(loaded, q, qd, qdd) - rne.inverse_dynamics(model, q, qd, qdd)
    assert relative_error(change, expected) < 1e-13


def test_parameters_are_in_the_documented_order_about_the_joint():
    arm = chain(1)
    m, c = 1.0, np.array([0.1, 0.02, 0.05])
    about_joint = np.diag([0.02, 0.03, 0.04]) + m * (c @ c * np.eye(3) - np.outer(c, c))
    expected = [m, *(m * c), *about_joint[np.triu_indices(3)]]
    assert rne.inertial_parameters(arm) == pytest.approx(expected, rel=1e-15)


def test_a_joint_feels_only_the_bodies_it_carries():
    arm = chain(3)
    Y = rne.regressor(arm, *state(arm)).reshape(3, 3, 10)
    feels = Y.any(axis=2)
    assert np.array_equal(feels, np.triu(np.ones((3, 3), dtype=bool)))


def test_rotor_inertia_folds_mimic_joints():
    vehicle = docked_vehicle()
    expected = dict.fromkeys(vehicle.joint_names, 0.0) | {"slide": 0.7, "b": 0.3 + 1.5**2 * 0.2}
    assert rne.rotor_inertia(vehicle) == pytest.approx(list(expected.values()), rel=1e-15)
