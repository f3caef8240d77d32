from __future__ import annotations

import numpy as np
import pytest
from analytic.systems import ALL, G, Pendulum, PlanarTwoLink
from support.errors import relative_error

from rne_dynamics.dispatch import bias_torque
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.dynamics.declared.arguments import BaseMotion
from rne_dynamics.dynamics.forward_dynamics import forward_dynamics
from rne_dynamics.dynamics.friction import friction_torque
from rne_dynamics.dynamics.newton_euler.newton_euler import gravity_torque, inverse_dynamics
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.tree import KinematicTree, TreeLink

TOLERANCE = 1e-13


@pytest.mark.parametrize("system", ALL, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("seed", range(3))
def test_efforts_and_accelerations(system, seed):
    robot = assemble(system.tree())
    q, qd, qdd = 2.0 * np.random.default_rng(seed).normal(size=(3, robot.n))
    tau = system.efforts(q, qd, qdd)
    assert relative_error(inverse_dynamics(robot, q, qd, qdd), tau, scale=1.0) < TOLERANCE
    zero = np.zeros(robot.n)
    assert relative_error(bias_torque(robot, q, qd), system.efforts(q, qd, zero), scale=1.0) < TOLERANCE
    weight = system.efforts(q, zero, zero)
    assert relative_error(gravity_torque(robot, q), weight, scale=1.0) < TOLERANCE
    columns = [system.efforts(q, zero, e) - weight for e in np.eye(robot.n)]
    assert relative_error(mass_matrix(robot, q), np.array(columns).T) < TOLERANCE
    for method in ("nasser", "walker_orin", "walker_orin_columns"):
        assert relative_error(forward_dynamics(robot, q, qd, tau, method=method), qdd, scale=1.0) < 1e-12


def test_two_link_mass_matrix_as_printed():
    system = PlanarTwoLink()
    q = np.array([0.3, -1.1])
    assert relative_error(mass_matrix(assemble(system.tree()), q), system.mass_matrix(q)) < TOLERANCE


def test_friction_has_the_sign_of_motion():
    robot = assemble(Pendulum().tree())
    expected = [[-0.7 * 2.0 - 1.1], [0.0], [0.7 * 3.0 + 1.1]]
    assert relative_error(friction_torque(robot, [[-2.0], [0.0], [3.0]]), expected) < TOLERANCE


def test_a_base_motion_is_refused_where_the_base_floats():
    robot = assemble(Pendulum().tree(), base="floating")
    with pytest.raises(ArgumentError, match="floating base"):
        inverse_dynamics(robot, robot.neutral, np.zeros(7), np.zeros(7), base_motion=BaseMotion())


def test_a_free_body_obeys_euler():
    inertia = np.array([[0.4, 0.03, -0.02], [0.03, 0.5, 0.01], [-0.02, 0.01, 0.3]])
    body = Inertia(2.0, np.array([0.1, -0.2, 0.05]), inertia)
    robot = assemble(KinematicTree("stone", (TreeLink("stone", body),), ()), base="floating")
    w = np.array([0.3, -1.2, 0.8])
    qd = np.concatenate([[0.5, 0.1, -0.4], w])
    qdd = forward_dynamics(robot, robot.neutral, qd, np.zeros(6))
    expected = np.linalg.solve(inertia, -np.cross(w, inertia @ w))
    assert relative_error(qdd[3:], expected) < TOLERANCE
    # the mass centre falls freely: a = v̇ + ω × v + ω̇ × c + ω × (ω × c)
    c = body.com
    fall = qdd[:3] + np.cross(w, qd[:3]) + np.cross(qdd[3:], c) + np.cross(w, np.cross(w, c))
    assert relative_error(fall, [0.0, 0.0, -G]) < TOLERANCE
