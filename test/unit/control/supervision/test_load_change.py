"""A payload that is set while a controller drives the arm: no bump, and the arm stays where it is."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from support.supervised import Rig, settings

import rne_dynamics as rne
from rne_dynamics.control.control_law import TorqueTerms
from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.control.supervision.fading import LOAD_TIME, LoadChange, other_load
from rne_dynamics.control.supervision.states import FLOATING, HOLDING
from rne_dynamics.dynamics.declared import specialised
from rne_dynamics.simulation.plant.plant import ArmPlant

#: Where each arm starts, its link, and the way of its motion.
ARMS = {
    "panda": (np.array([0.2, -0.4, 0.1, -2.0, 0.15, 1.7, 0.6]), "panda_link8", 0.5),
    "ur10": (np.array([0.2, -1.0, 1.2, -1.6, -1.5, 0.2]), "tool0", 0.6),
}
#: Largest change of an effort by a change of the payload, N·m a ms.
BUMP = 1.0


def arm(name):
    return rne.load_urdf(name).with_shared_code()


def with_load(robot, link, mass):
    return robot.with_payload(rne.Payload(link, mass, (0.02, 0.0, 0.08), 0.002 * mass * np.eye(3)) if mass else None)


def knowing(robot, link, mass, **changes):
    """Settings of a controller that knows a payload."""
    return settings(with_load(robot, link, mass), **changes)


def carries(rig, robot):
    """Let the arm take or lose a load."""
    rig.simulator.plant = ArmPlant(robot)


@pytest.mark.parametrize(("name", "there", "delay"), [("panda", False, 0.0), ("ur10", True, 0.004)])
def test_three_kg_set_and_cleared_in_a_motion_make_no_bump(name, there, delay):
    """Whether the load comes within 0.2 s, as from a table, or not at all; and with a predicted state."""
    start, link, way = ARMS[name]
    robot = arm(name)
    bare, loaded = (knowing(robot, link, mass, command_delay=delay) for mass in (0.0, 3.0))
    rig = Rig(robot, start, bare)
    rig.run(0.3)
    rig.move(start + way, 1.8, tolerances=Tolerances(robot.joint_names, goal=0.1, goal_time=0.2))
    rig.run(0.3)
    for after, masses in ((loaded, np.linspace(0.15, 3.0, 20)), (bare, np.linspace(2.85, 0.0, 20))):
        rig.supervisor.adopt(after)
        for mass in masses:
            if there:
                carries(rig, with_load(robot, link, mass))
            rig.run(0.01)
        rig.run(0.4)
        expected = rne.gravity_torque(after.robot, rig.supervisor.q)
        np.testing.assert_allclose(rig.last.terms[2], expected, atol=0.5)
    rig.run(0.5)
    assert rig.mode is HOLDING
    assert np.abs(np.diff(rig.check()[150:], axis=0)).max() < BUMP


@pytest.mark.parametrize("name", ARMS)
def test_a_payload_set_when_it_is_taken_keeps_a_guided_arm_where_it_is(name):
    """Gravity compensation of the loaded arm is right after the fade; the torque never jumps."""
    start, link, _ = ARMS[name]
    robot = arm(name)
    rig = Rig(robot, start, knowing(robot, link, 0.0, tracking=False))
    rig.run(0.3)
    assert rig.mode is FLOATING
    before = len(rig.sent)
    rig.supervisor.adopt(knowing(robot, link, 3.0, tracking=False))
    carries(rig, with_load(robot, link, 3.0))
    rig.run(0.5)
    sent = rig.check()[before - 1 :]
    assert np.abs(np.diff(sent, axis=0)).max() < BUMP
    expected = rne.gravity_torque(with_load(robot, link, 3.0), rig.supervisor.q)
    np.testing.assert_allclose(sent[-1], expected, atol=3.0)
    moved = np.abs(rig.supervisor.q - start).max()
    assert moved < 0.3


def test_a_held_arm_takes_its_payload_without_sagging_and_nothing_is_compiled_for_it():
    start, link, _ = ARMS["panda"]
    robot, places = arm("panda"), {}
    for mass in (0.0, 3.0):
        rig = Rig(robot, start, knowing(robot, link, 0.0))
        rig.supervisor.warm_up()
        rig.run(0.3)
        carries(rig, with_load(robot, link, 3.0))
        rig.run(0.05)
        made = len(specialised._shared)
        rig.supervisor.adopt(knowing(robot, link, mass))
        rig.run(0.6)
        assert len(specialised._shared) == made
        assert rig.mode is HOLDING
        places[mass] = np.abs(rig.simulator.state.q - start).max()
    assert places[3.0] < 2e-3
    assert places[0.0] > 10.0 * places[3.0]


def test_changes_that_follow_each_other_add_up_to_the_newest_without_a_jump():
    robot, q = arm("panda"), ARMS["panda"][0]
    loads = [robot, *(robot.with_payload(rne.Payload("panda_link8", mass)) for mass in (1.0, 3.0, 2.0))]
    change, zero, seen = LoadChange(), np.zeros(7), []

    def gravity(model):
        terms = TorqueTerms(zero, zero, rne.gravity_torque(model, q), zero, zero)
        return change.apply(terms, q, zero, None, None).gravity

    for former, model in pairwise(loads):
        seen.append(gravity(former))
        change.begin(former)
        for _ in range(80):  # 0.08 s of 0.2 s
            seen.append(gravity(model))
            change.advance(1e-3)
    for _ in range(220):
        seen.append(gravity(loads[-1]))
        change.advance(1e-3)
    np.testing.assert_array_equal(seen[-1], rne.gravity_torque(loads[-1], q))
    fastest = np.abs(rne.gravity_torque(loads[2], q) - rne.gravity_torque(robot, q)).max() / LOAD_TIME * 1e-3
    assert np.abs(np.diff(seen, axis=0)).max() < 1.01 * fastest


def test_only_what_bodies_weigh_is_a_load():
    robot = arm("panda")
    assert other_load(robot.with_payload(rne.Payload("panda_link8", 1.0)), robot)
    assert not other_load(robot.with_lock({"panda_joint2": 0.3}), robot)
    mechanism = rne.load_model("four_bar")
    assert other_load(mechanism.with_payload(rne.Payload("rocker", 1.0)), mechanism)


def test_a_large_load_takes_longer():
    """400 N·m at most 500 N·m/s fast."""
    robot = arm("ur10")
    heavy = robot.with_payload(rne.Payload("tool0", 60.0))
    q, zero, change = np.zeros(6), np.zeros(6), LoadChange()
    change.begin(robot)
    terms = TorqueTerms(zero, zero, rne.gravity_torque(heavy, q), zero, zero)
    steps = [change.apply(terms, q, zero, None, None).gravity]
    for _ in range(3000):
        change.advance(1e-3)
        steps.append(change.apply(terms, q, zero, None, None).gravity)
    assert np.abs(np.diff(steps, axis=0)).max() < 0.501
    np.testing.assert_array_equal(steps[-1], terms.gravity)
