"""Drives that are off, reversed, exchanged; dragging brakes; soft stops; loads; a hand that guides a joint."""

from __future__ import annotations

import numpy as np
import pytest
from faults.drive_faults import FaultySimulator, Hand, felt_inertia

import rne_dynamics as rne
from rne_dynamics.model.assembly import with_payload
from rne_dynamics.model.tree import Payload
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.simulator import Simulator

ROBOT = rne.load_urdf("puma560")
HOME = np.array([0.2, 0.3, -0.5, 0.3, 0.4, 0.2])
STEPS = 200


def arm(**options) -> FaultySimulator:
    return FaultySimulator(ArmPlant(ROBOT), HOME, dt=1e-3, **options)


def weight(q=HOME):
    return rne.gravity_torque(ROBOT, q)


def test_without_faults_it_is_a_simulator():
    both = [arm(), Simulator(ArmPlant(ROBOT), HOME, dt=1e-3)]
    for simulator in both:
        simulator.command(weight() + 3.0)
        simulator.advance(STEPS)
    np.testing.assert_array_equal(both[0].state.q, both[1].state.q)
    np.testing.assert_array_equal(both[0].given_effort, both[0].applied_effort)


def test_a_drive_that_is_off_gives_and_reports_nothing():
    simulator = arm()
    simulator.command(weight() + 5.0)
    simulator.faults.off[1] = True
    assert simulator.given_effort[1] == simulator.applied_effort[1] == 0.0
    assert simulator.given_effort[2] != 0.0
    simulator.advance(STEPS)
    assert simulator.state.qd[1] < -0.1, "it falls"


def test_reversed_and_exchanged_motors_report_their_commands_and_not_their_true_effort():
    simulator = arm()
    effort = np.arange(1.0, 7.0)
    simulator.command(effort)
    simulator.faults.scale[1] = -1.0
    simulator.faults.order[[4, 5]] = 5, 4
    np.testing.assert_array_equal(simulator.given_effort, [1.0, -2.0, 3.0, 4.0, 6.0, 5.0])
    np.testing.assert_array_equal(simulator.applied_effort, effort)


def test_a_dragging_brake_acts_as_friction():
    simulator = arm()
    simulator.command(np.zeros(6))
    simulator.faults.drag[:] = 1.5 * np.abs(weight()) + 1.0
    simulator.advance(STEPS)
    np.testing.assert_array_equal(simulator.state.q, HOME)
    simulator.faults.drag[1] = 0.5 * abs(weight()[1])
    simulator.advance(STEPS)
    assert simulator.state.q[1] < HOME[1]


def test_brakes_hold_whatever_is_commanded():
    simulator = arm()
    simulator.command(weight() + 20.0)
    simulator.faults.brakes = True
    simulator.advance(STEPS)
    np.testing.assert_array_equal(simulator.state.q, HOME)
    assert simulator.braked


def test_a_soft_stop_holds_the_arm_at_the_deflection_of_its_stiffness():
    home = HOME.copy()
    home[1] = ROBOT.lower[1] + 1e-3
    stiffness = np.zeros(6)
    stiffness[1] = 5000.0
    simulator = FaultySimulator(ArmPlant(ROBOT, friction=False), home, dt=1e-3, stop_stiffness=stiffness)
    effort = weight(home)
    effort[1] -= 50.0
    simulator.command(effort)
    simulator.advance(3000)
    state = simulator.state
    assert abs(state.qd[1]) < 1e-3
    expected = (weight(state.q)[1] - effort[1]) / 5000.0
    assert ROBOT.lower[1] - state.q[1] == pytest.approx(expected, rel=0.02)


def test_a_load_is_picked_up_in_the_present_state():
    simulator = arm()
    simulator.command(weight())
    simulator.advance(STEPS)
    before = simulator.state.q
    simulator.change_robot(with_payload(ROBOT, Payload("tool0", 3.0, (0.0, 0.0, 0.0), ((0.0,) * 3,) * 3)))
    np.testing.assert_array_equal(simulator.state.q, before)
    simulator.advance(STEPS)
    assert simulator.state.q[1] < before[1]


def test_a_hand_guides_a_joint_to_its_target():
    simulator = arm()
    simulator.command(weight())
    simulator.push = Hand(simulator, 0, 0.4, 0.5)
    simulator.advance(1000)
    assert simulator.state.q[0] == pytest.approx(HOME[0] + 0.4, abs=0.02)
    assert abs(simulator.state.qd[0]) < 0.05


def test_felt_inertia_is_what_one_joint_alone_accelerates_by():
    effort = weight()
    effort[1] += 1.0
    qdd = rne.forward_dynamics(ROBOT, HOME, np.zeros(6), effort)
    assert qdd[1] == pytest.approx(1.0 / felt_inertia(ROBOT, HOME)[1])
