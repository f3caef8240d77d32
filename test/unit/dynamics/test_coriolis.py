from __future__ import annotations

import numpy as np
import pytest
from support.arms import chain, docked_vehicle, floating_arm, gripper, slider
from support.differences import along, gradient
from support.errors import relative_error
from support.pinocchio_oracle import Oracle
from support.robots import CASES, file_of, random_state, robot

import rne_dynamics as rne

ARMS = (chain(3), gripper(), slider(), floating_arm(), docked_vehicle())


@pytest.fixture(params=[*CASES, *ARMS], ids=lambda x: x.name if isinstance(x, rne.RobotModel) else "-".join(x))
def model(request: pytest.FixtureRequest) -> rne.RobotModel:
    return request.param if isinstance(request.param, rne.RobotModel) else robot(*request.param)


def test_times_velocity_it_is_the_bias_without_gravity_and_mass_matrix_rate_minus_twice_it_is_skew(model):
    q, qd, _ = random_state(model, 5)
    C = rne.coriolis_matrix(model, q, qd)
    bias, gravity = rne.bias_torque(model, q, qd), rne.gravity_torque(model, q)
    assert relative_error(C @ qd, bias - gravity, scale=np.abs(bias).max()) < 1e-12
    rate = along(model, lambda x: rne.mass_matrix(model, x), q, qd)
    skew = rate - 2.0 * C
    assert relative_error(skew, -skew.T, scale=np.abs(C).max()) < 1e-10


@pytest.mark.parametrize(("name", "base"), CASES)
def test_against_pinocchio(name, base):
    model = robot(name, base)
    oracle = Oracle(model, file_of(name))
    q, qd, _ = random_state(model, 5)
    assert relative_error(rne.coriolis_matrix(model, q, qd), oracle.coriolis(q, qd)) < 1e-10


@pytest.mark.parametrize("arm", [gripper(), robot("scara")], ids=lambda x: x.name)
def test_is_made_of_the_christoffel_symbols(arm):
    q, qd, _ = random_state(arm, 5)
    dM = gradient(arm, lambda x: rne.mass_matrix(arm, x), q)
    christoffel = 0.5 * (dM + np.swapaxes(dM, 1, 2) - np.moveaxis(dM, 2, 0))
    C = rne.coriolis_matrix(arm, q, qd)
    assert relative_error(C, christoffel @ qd, scale=np.abs(dM).max()) < 1e-11


def test_where_the_robot_stands_does_not_matter():
    model = robot("talos_full_v2.urdf", "floating")
    q, qd, _ = random_state(model, 5)
    far = q.copy()
    far[:3] = 1e6, -2e6, 3e5
    assert relative_error(rne.coriolis_matrix(model, far, qd), rne.coriolis_matrix(model, q, qd)) < 1e-13
