from __future__ import annotations

import numpy as np
import pytest
from support.arms import chain, docked_vehicle, floating_arm, gripper, slider
from support.errors import relative_error
from support.pinocchio_oracle import Oracle
from support.robots import CASES, file_of, random_state, robot

import rne_dynamics as rne

ARMS = (chain(3, rotor=0.4), gripper(), slider(), floating_arm(), docked_vehicle())


@pytest.fixture(params=[*CASES, *ARMS], ids=lambda x: x.name if isinstance(x, rne.RobotModel) else "-".join(x))
def model(request: pytest.FixtureRequest) -> rne.RobotModel:
    return request.param if isinstance(request.param, rne.RobotModel) else robot(*request.param)


def test_times_parameters_plus_rotors_it_is_inverse_dynamics(model):
    q, qd, qdd = random_state(model, 8)
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
    q, qd, qdd = random_state(model, 8)
    assert relative_error(rne.regressor(model, q, qd, qdd), oracle.regressor(q, qd, qdd)) < 1e-12
