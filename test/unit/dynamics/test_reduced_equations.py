from __future__ import annotations

import numpy as np
import pytest
from support.arms import gripper
from support.errors import relative_error
from support.robots import CASES, robot

import rne_dynamics as rne


@pytest.fixture(params=CASES, ids="-".join)
def model(request: pytest.FixtureRequest) -> rne.RobotModel:
    return robot(*request.param)


def test_mass_matrix_and_bias_are_those_of_the_recursions(model):
    rng = np.random.default_rng(0)
    q, qd = rne.random_configuration(model, rng, 3), rng.normal(size=(3, model.n))
    reduced = rne.reduced_equations(model, q, qd)
    for k in range(3):
        assert relative_error(reduced.mass_matrix[k], rne.mass_matrix(model, q[k])) < 1e-13
        assert relative_error(reduced.bias[k], rne.bias_torque(model, q[k], qd[k])) < 1e-13


def test_the_motions_that_violate_no_joint_are_the_jacobians_columns():
    model = gripper()
    rng = np.random.default_rng(1)
    q, qd = rne.random_configuration(model, rng), rng.normal(size=model.n)
    reduced = rne.reduced_equations(model, q, qd)
    for link in ("palm", "left_finger", "right_finger"):
        frame = model.link(link)
        turn = frame.rotation @ rne.forward_kinematics(model, q)[link][:3, :3].T  # body axes from world axes
        jacobian = rne.jacobian(model, q, link)
        assert np.allclose(reduced.motion[frame.body, :3], turn @ jacobian[:3], atol=1e-14)
        assert np.allclose(reduced.motion[frame.body, 3:], turn @ jacobian[3:], atol=1e-14)


def test_loads_and_a_moving_base_end_up_in_the_bias():
    model = robot("puma560")
    rng = np.random.default_rng(2)
    q, qd, qdd = rne.random_configuration(model, rng, 2), *rng.normal(size=(2, 2, 6))
    given = {
        "wrenches": {model.link_names[-1]: rng.normal(size=(2, 6)), model.link_names[3]: rng.normal(size=6)},
        "base_motion": rne.BaseMotion(*rng.normal(size=(4, 3))),
    }
    reduced = rne.reduced_equations(model, q, qd, **given)
    tau = np.einsum("bij,bj->bi", reduced.mass_matrix, qdd) + reduced.bias
    assert relative_error(tau, rne.inverse_dynamics(model, q, qd, qdd, **given)) < 1e-13
