"""Generated chains, trees and combs of 1,000 links pass the tests of arms."""

from __future__ import annotations

import numpy as np
import pytest
from comparison.generated import chain, comb, tree
from support.errors import relative_error

import rne_dynamics as rne
from rne_dynamics.model.layout import INERTIA, MASS, MOMENT, PARENT, PLACEMENT, ROTATION

N = 1000
SHAPES = {"chain": chain, "tree": tree, "comb": comb}


@pytest.fixture(scope="module", params=SHAPES)
def robot(request: pytest.FixtureRequest) -> rne.RobotModel:
    return SHAPES[request.param](N)


@pytest.fixture
def state(robot: rne.RobotModel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return rng.uniform(-1.0, 1.0, robot.n), rng.normal(size=robot.n), rng.normal(size=robot.n)


def test_forward_dynamics_undoes_inverse_dynamics(robot, state):
    q, qd, qdd = state
    tau = rne.inverse_dynamics(robot, q, qd, qdd)
    back = rne.inverse_dynamics(robot, q, qd, rne.forward_dynamics(robot, q, qd, tau))
    assert relative_error(back, tau) < 1e-10


def test_the_mass_matrix_is_that_of_inverse_dynamics_and_zero_between_branches(robot, state):
    q, qd, qdd = state
    M = rne.mass_matrix(robot, q)
    assert relative_error(M, rne.mass_matrix(robot, q, method="columns")) < 1e-12
    carried = np.eye(N, dtype=bool)  # [i, j]: body i is, or carries, body j
    for i in range(N - 1, -1, -1):
        if robot.topology[i, PARENT] >= 0:
            carried[robot.topology[i, PARENT]] |= carried[i]
    assert (M[~(carried | carried.T)] == 0.0).all()
    tau = rne.inverse_dynamics(robot, q, qd, qdd)
    assert relative_error(M @ qdd + rne.bias_torque(robot, q, qd), tau) < 1e-12


@pytest.mark.parametrize("shape", SHAPES)
def test_a_hundred_links_against_pinocchio(shape):
    """Not a thousand: the memory that Pinocchio takes for a model grows as n³ (4 GB for 400 joints)."""
    pin = pytest.importorskip("pinocchio")
    robot = SHAPES[shape](100)
    rng = np.random.default_rng(3)
    q, qd, qdd = rng.normal(size=(3, robot.n))
    model = pin.Model()
    for i, name in enumerate(robot.body_names):
        row = robot.parameters[i]
        R, p = row[ROTATION : ROTATION + 9].reshape(3, 3), row[PLACEMENT : PLACEMENT + 3]
        number = model.addJoint(int(robot.topology[i, PARENT]) + 1, pin.JointModelRZ(), pin.SE3(R, p), name)
        about, com = np.zeros((3, 3)), row[MOMENT : MOMENT + 3] / row[MASS]
        about[np.triu_indices(3)] = row[INERTIA : INERTIA + 6]
        about = about + about.T - np.diag(np.diag(about)) + row[MASS] * pin.skew(com) @ pin.skew(com)
        model.appendBodyToJoint(number, pin.Inertia(row[MASS], com, about), pin.SE3.Identity())
    data = model.createData()
    assert relative_error(rne.inverse_dynamics(robot, q, qd, qdd), pin.rnea(model, data, q, qd, qdd)) < 1e-10
    assert relative_error(rne.gravity_torque(robot, q), pin.computeGeneralizedGravity(model, data, q)) < 1e-10
    M = pin.crba(model, data, q)
    assert relative_error(rne.mass_matrix(robot, q), np.triu(M) + np.triu(M, 1).T) < 1e-10
