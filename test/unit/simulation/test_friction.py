from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from analytic.systems import PlanarTwoLink
from support.arms import MASS, chain, gripper, slider
from support.stepped import moved

from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.dynamics.newton_euler.newton_euler import gravity_torque, inverse_dynamics
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.tree import Friction
from rne_dynamics.simulation.plant.coordinates import State
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.stepping.stepping import step


def test_sliding_with_coulomb_and_viscous_friction_follows_its_closed_form():
    Fc, D, v0, t = 3.0, 1.5, 2.0, 0.5
    plant = ArmPlant(slider(Friction(D, Fc, Fc)))
    rate = D / MASS
    v = (v0 + Fc / D) * math.exp(-rate * t) - Fc / D
    x = (v0 + Fc / D) * (1.0 - math.exp(-rate * t)) / rate - Fc / D * t
    errors = []
    for dt in (0.1, 0.05, 0.025):
        state = moved(plant, [0.0], [v0], [0.0], t, dt)
        errors.append(abs(state.qd[0] - v) + abs(state.q[0] - x))
    for coarse, fine in pairwise(errors):
        assert fine == pytest.approx(coarse / 16.0, rel=0.1)
    halt = MASS / D * math.log(1.0 + D * v0 / Fc)
    assert moved(plant, [0.0], [v0], [0.0], 0.1 * math.ceil(halt / 0.1), 0.1).qd[0] == 0.0


def test_an_arm_held_by_friction_does_not_creep():
    robot = load_urdf("puma560")
    plant = ArmPlant(robot)
    q = np.array([0.3, -1.4, 1.5, 0.2, 0.4, 0.1])
    limit = plant.joints[:, 1]
    effort = gravity_torque(robot, q) + 0.95 * limit * np.array([1, -1, 1, -1, 1, -1])
    state = moved(plant, q, np.zeros(6), effort, 0.5, 1e-3, "semi_implicit")
    np.testing.assert_array_equal(state.q, q)
    np.testing.assert_array_equal(state.qd, 0.0)


@pytest.mark.parametrize("margin", [0.98, 1.02])
def test_a_stuck_joint_is_dragged_loose_through_the_mass_matrix(margin):
    """The elbow of a two-link arm sticks while the shoulder is torn round: its friction carries the reaction."""
    system = PlanarTwoLink()
    free = assemble(system.tree())
    q = np.array([0.4, 0.7])
    a = np.array([8.0, 0.0])
    needed = inverse_dynamics(free, q, np.zeros(2), a)
    # the elbow's friction alone has to give needed[1]
    tree = system.tree()
    Fc = margin * abs(needed[1])
    joints = (tree.joints[0], replace(tree.joints[1], friction=Friction(0.0, Fc, Fc)))
    plant = ArmPlant(assemble(replace(tree, joints=joints)))
    state = step(plant, State(0.0, q, np.zeros(2)), [needed[0], 0.0], 1e-4)
    if margin > 1.0:
        assert state.qd[1] == 0.0
        assert state.qd[0] == pytest.approx(8.0e-4, rel=1e-3)
    else:
        assert state.qd[1] != 0.0
        assert np.sign(state.qd[1]) == -np.sign(needed[1])


def test_friction_of_a_mimicking_joint_acts_on_the_joint_that_it_follows():
    """Left and right finger: friction 0.02 and 1.5 × 0.03 or 0.01, for the backwards finger's direction."""
    plant = ArmPlant(gripper())
    np.testing.assert_allclose(plant.joints[1, :3], [1.5**2 * 0.001, 0.02 + 1.5 * 0.03, 0.02 + 1.5 * 0.01])


@pytest.mark.parametrize("stiffness", [10.0, 1e3, 1e6])
def test_viscous_friction_however_stiff_does_not_blow_up(stiffness):
    D = stiffness * MASS / 1e-3
    plant = ArmPlant(slider(Friction(viscous=D)))
    state = moved(plant, [0.0], [5.0], [D * 0.1], 0.05, 1e-3)
    assert state.qd[0] == pytest.approx(0.1, rel=1e-6)
    assert 0.0 < state.q[0] < 0.05


def test_both_methods_agree_on_a_falling_arm_with_friction():
    robot = chain(3, Friction(0.1, 0.5, 0.5))
    plant = ArmPlant(robot)
    start = np.array([0.3, -0.4, 0.8]), np.zeros(3), np.zeros(3)
    exact = moved(plant, *start, 0.6, 1e-3)
    rough = [moved(plant, *start, 0.6, dt, "semi_implicit") for dt in (2e-3, 1e-3)]
    errors = [np.abs(state.q - exact.q).max() for state in rough]
    assert errors[1] < 2e-3
    assert errors[1] == pytest.approx(0.5 * errors[0], rel=0.2)
