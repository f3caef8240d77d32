"""Another law while the arm is driven: no bump, no fall, and a place that is kept or held anew."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.supervised import Rig, settings

import rne_dynamics as rne
from rne_dynamics.control.laws import find_law
from rne_dynamics.control.supervision.fading import LawChange
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.control.supervision.states import HOLDING, STOPPING, TRACKING

PANDA = rne.load_urdf("panda").with_shared_code()  # that of loaded ones too
START = np.array([0.2, -0.4, 0.1, -2.0, 0.15, 1.7, 0.6])
LAWS = ("joint_impedance", "cartesian_impedance")

#: Largest change of an effort by a change of the law, N·m in 2 ms.
BUMP = 1.0


def with_law(name, robot=PANDA, **given):
    """Settings with a law, and how far it lets a held arm yield."""
    law = find_law(name).law(robot, given, rne.FrictionCompensation(), 1000.0)
    bound = getattr(type(law), "tolerances", rne.LawTolerances()).holding_error
    return replace(settings(robot), tracking=law, holding_error=np.full(robot.n, bound or np.inf))


def rig(name, real=None, **given):
    found = Rig(PANDA, START, with_law(name, **given), real=real)
    found.run(0.3)
    return found


@cache
def moved(*laws):
    """The efforts of a motion under computed torque in which the law changes, each half a second."""
    moving = rig("computed_torque")
    moving.move(START + 0.4, 1.5)
    moving.run(0.4)
    for law in laws:
        moving.supervisor.adopt(with_law(law))
        moving.run(0.5)
    moving.run(1.6 - 0.5 * len(laws))
    assert [ending for ending, _ in moving.endings] == [Ending.SUCCEEDED]
    assert moving.mode is HOLDING
    return moving.check()


@pytest.mark.parametrize("name", ["cartesian_impedance", "disturbance_observer"])
def test_a_law_that_changes_in_a_motion_makes_no_bump(name):
    plain, changed = (np.diff(sent[:700], axis=0) for sent in (moved(), moved(name, "computed_torque")))
    assert np.abs(changed - plain).max() < BUMP


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_a_pushed_compliant_arm_keeps_its_place(name):
    held = rig(name)
    q, link = START, "panda_link8"
    held.run(1.5, wrenches={link: np.array([25.0, 15.0, -10.0, 0.0, 0.0, 0.0])})
    assert np.abs(held.supervisor.q - q).max() > 0.06
    held.run(3.0)
    np.testing.assert_allclose(held.supervisor.q, q, atol=0.06)  # friction
    assert held.supervisor.counters.held_anew == 0
    held.check()


def test_an_arm_that_is_away_when_the_law_changes_is_held_there_and_does_not_fall():
    held = rig("joint_impedance", real=PANDA.with_payload(rne.Payload("panda_link8", 2.0)))
    held.run(2.0)
    away, sent = held.supervisor.q.copy(), len(held.sent)
    assert np.abs(away - START).max() > 0.05
    held.supervisor.adopt(with_law("computed_torque"))
    held.run(1.0)
    assert held.mode is HOLDING
    assert "held where it is" in held.supervisor.cause
    np.testing.assert_allclose(held.supervisor.q, away, atol=0.06)
    assert np.abs(np.diff(held.check()[sent - 1:], axis=0)).max() < BUMP
    held.move(START, 1.0)
    held.run(1.5)
    assert held.endings[-1][0] is Ending.SUCCEEDED or held.endings[-1][0] is Ending.GOAL


@pytest.mark.slow
def test_the_stiffness_changes_over_half_a_second():
    held = rig("joint_impedance", stiffness=50.0)
    push = {"panda_link8": np.array([8.0, 0.0, 0.0, 0.0, 0.0, 0.0])}
    held.run(2.0, wrenches=push)
    before = held.last.terms.feedback
    held.supervisor.adopt(with_law("joint_impedance", stiffness=100.0))
    held.run(held.period, wrenches=push)
    np.testing.assert_allclose(held.last.terms.feedback, before, rtol=0.01, atol=0.05)
    change = held.supervisor.machine.torques.change
    held.run(0.25, wrenches=push)
    assert change.former
    assert change._share == pytest.approx(0.5, abs=0.01)
    held.run(0.3, wrenches=push)
    assert not change.former


def test_of_changes_that_come_fast_the_newest_is_made():
    laws = [find_law("joint_impedance").law(PANDA, {"stiffness": k}) for k in (50.0, 80.0, 90.0, 95.0, 100.0)]
    change = LawChange(laws[0])
    for law in laws[1:]:
        change.begin(law, np.zeros(7))
    assert change.law is laws[2]
    for _ in range(2):
        for _ in range(600):
            change.advance(1e-3, np.zeros(7))
    assert change.law is laws[4]
    assert not change.former


def test_the_integral_stays_when_a_change_follows_another():
    gains = replace(rne.Gains.critically_damped(7, 10.0), i=np.full(7, 200.0))
    zero, integral = np.zeros(7), np.full(7, 0.05)
    loaded = [PANDA.with_payload(rne.Payload("panda_link8", mass)) if mass else PANDA for mass in (0.0, 0.1, 0.2)]
    laws = [rne.ComputedTorque(robot, gains) for robot in loaded]
    change, efforts = LawChange(laws[0]), []
    for law in laws[1:]:
        change.begin(law, integral)
    for _ in range(600):
        reference = rne.Reference(PANDA.neutral, zero, zero)
        efforts.append(change.terms(PANDA.neutral, zero, reference, integral, None, None).total)
        change.advance(1e-3, integral)
    assert change.law is laws[2]
    assert not change.former
    assert np.abs(np.diff(efforts, axis=0)).max() < 0.02
    assert np.abs(efforts[-1] - efforts[0]).max() > 0.1


def test_a_law_of_the_same_class_without_a_time_is_in_force_at_once():
    gains = [rne.ComputedTorque(PANDA, rne.Gains.critically_damped(7, w)) for w in (10.0, 20.0)]
    change = LawChange(gains[0])
    change.begin(gains[1], np.zeros(7))
    assert change.law is gains[1]
    assert not change.former
    change.begin(find_law("joint_impedance").law(PANDA), np.zeros(7))
    assert change.former


def test_a_load_that_is_set_in_a_change_is_held_at_once():
    """Before: its law waited for the end of the change, and a light wrist fell meanwhile."""
    held = rig("joint_impedance")
    loaded, sent = PANDA.with_payload(rne.Payload("panda_link8", 1.0)), len(held.sent)
    held.supervisor.adopt(with_law("computed_torque"))
    held.run(0.02)
    held.supervisor.adopt(with_law("cartesian_impedance", loaded))
    held.run(0.32)
    gravity = held.last.terms.gravity
    np.testing.assert_allclose(gravity, rne.gravity_torque(loaded, held.supervisor.q), atol=0.2)
    assert np.abs(gravity - rne.gravity_torque(PANDA, held.supervisor.q)).max() > 2.0
    assert np.abs(np.diff(held.check()[sent - 1:], axis=0)).max() < BUMP


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_a_stop_in_a_change_ends(name):
    moving = rig("computed_torque")
    moving.move(START + 0.3, 1.0)
    moving.run(0.4)
    assert moving.mode is TRACKING
    moving.supervisor.adopt(with_law(name))
    moving.run(0.05)
    moving.supervisor.stop(moving.now, "test")
    moving.run(1.5)
    assert moving.mode.value == "released"
    moving.check()


def test_an_observer_learns_an_unknown_load_and_nothing_in_a_stop_or_from_who_pushes_a_held_arm():
    loaded = PANDA.with_payload(rne.Payload("panda_link8", 1.5))
    moving = rig("disturbance_observer", real=loaded)
    torques = moving.supervisor.machine.torques

    def learnt(seconds, **outside):
        moving.run(seconds, **outside)
        return torques.integral.copy()

    assert not learnt(0.3).any()
    moving.move(START + 0.3, 1.0)
    assert learnt(2.2).any()
    assert moving.endings[-1][0] is Ending.SUCCEEDED
    np.testing.assert_allclose(moving.supervisor.q, START + 0.3, atol=5e-3)  # friction
    before = torques.integral.copy()
    push = {"panda_link8": np.array([15.0, 0.0, 0.0, 0.0, 0.0, 0.0])}
    np.testing.assert_array_equal(learnt(0.3, wrenches=push), before)
    moving.run(0.5)
    moving.move(START, 1.0)
    moving.run(0.5)
    moving.supervisor.stop(moving.now, "asked")
    before = learnt(0.2)
    assert moving.mode is STOPPING
    np.testing.assert_array_equal(learnt(0.1), before)
    moving.check()


def test_gravity_follows_a_joint_that_is_not_driven_and_moves():
    """Each new lock came into force over 0.5 s, so that the model was 0.08 rad behind at 0.2 rad/s."""
    def tilted(angle):
        return rne.assemble(PANDA.tree.with_locked({"panda_joint2": angle}))

    place = np.delete(START, 1)
    arm = Rig(tilted(0.3), place, with_law("joint_impedance", tilted(0.3)))
    arm.run(0.6)
    for k in range(1, 5):
        robot = tilted(0.3 + 0.01 * k)
        arm.supervisor.adopt(with_law("joint_impedance", robot))
        arm.run(0.05)
        np.testing.assert_allclose(arm.last.terms.gravity, rne.gravity_torque(robot, arm.supervisor.q), atol=1e-6)
