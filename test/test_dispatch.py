"""Functions of the public API accept an open arm or a mechanism."""

from __future__ import annotations

import numpy as np
import pytest
from support.mechanisms import four_bar

import rne_dynamics as rne
from rne_dynamics.closed_chain.assembly import assemble
from rne_dynamics.closed_chain.coordinates import tree_velocity
from rne_dynamics.errors import ArgumentError, ModelError

Q, QD, QDD = np.array([[0.8], [1.4]]), np.array([[2.0], [-1.0]]), np.array([[3.0], [0.5]])


def test_a_mechanisms_links_are_where_its_assembled_tree_has_them():
    posture = assemble(four_bar(), Q)
    poses = rne.forward_kinematics(four_bar(), Q)
    np.testing.assert_array_equal(poses.position, rne.forward_kinematics(four_bar().robot, posture).position)
    np.testing.assert_array_equal(
        rne.center_of_mass(four_bar(), Q), rne.center_of_mass(four_bar().robot, posture)
    )
    kinetic = rne.kinetic_energy(four_bar().robot, posture, tree_velocity(four_bar(), posture, QD))
    np.testing.assert_allclose(rne.kinetic_energy(four_bar(), Q, QD), kinetic, rtol=1e-12)


def test_a_method_of_the_other_kind_is_refused_with_those_there_are():
    with pytest.raises(ArgumentError, match="constraint_forces"):
        rne.forward_dynamics(four_bar(), Q[0], QD[0], QDD[0], method="nasser")
    robot = rne.load_urdf("planar2")
    with pytest.raises(ArgumentError, match="nasser"):
        rne.forward_dynamics(robot, robot.neutral, robot.neutral, robot.neutral, method="constraint_forces")


@pytest.mark.parametrize(
    "call",
    [
        lambda: rne.jacobian(four_bar(), Q, "coupler"),
        lambda: rne.momentum(four_bar(), Q, QD),
        lambda: rne.lagrange_terms(four_bar(), Q, QD),
        lambda: rne.regressor(four_bar(), Q, QD, QDD),
        lambda: rne.inverse_dynamics_derivatives(four_bar(), Q, QD, QDD),
        lambda: rne.joint_reactions(four_bar(), Q, QD, QDD),
        lambda: rne.coriolis_matrix(four_bar(), Q, QD),
    ],
)
def test_what_is_for_open_robots_only_says_so(call):
    with pytest.raises(ModelError, match=r"take its open tree, mechanism\.robot"):
        call()
