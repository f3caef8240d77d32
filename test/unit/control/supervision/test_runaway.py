"""An arm that was thrown is braked; efforts are zero where nothing shows what they do to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.supervised import Rig, settings

import rne_dynamics as rne
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.control.thresholds import OVERSPEED

PUMA = rne.load_urdf("puma560")
PANDA = rne.load_urdf("panda")
START = {"puma560": np.array([0.1, 0.4, -0.3, 0.2, 0.3, 0.1]), "panda": np.array([0.0, -0.3, 0.0, -1.6, 0.0, 1.5, 0.5])}


def rig(robot, **changes) -> Rig:
    plain = settings(robot, stop=replace(settings(robot).stop, hold_time=0.5, ramp_time=0.5), **changes)
    limits = replace(plain.limits, velocity=np.full(robot.n, 0.5), rate=100.0 * robot.effort_limit)
    return Rig(robot, START[robot.name], replace(plain, limits=limits))


@pytest.mark.parametrize("guided", [False, True])
def test_an_arm_that_is_thrown_is_braked(guided):
    """Its motors follow their commands: they take the energy out. Only a hand that guides the arm may throw it."""
    r = rig(PUMA, tracking=not guided)
    r.run(0.3)
    push = {PUMA.link_names[-1]: np.array([0.0, 0.0, 0.0, 0.0, 0.0, 60.0])}
    for _ in range(300):
        r.run(0.001, wrenches=push)
        if (np.abs(r.speeds[-1]) > 1.1 * OVERSPEED * r.settings.limits.velocity).any():
            break
    assert (r.mode is Mode.STOPPING) is not guided
    r.run(0.4)
    assert "cut" not in r.supervisor.cause
    assert np.abs(r.simulator.state.qd).max() < (r.settings.limits.velocity.max() if guided else 0.1)
    r.run(1.5)
    assert r.mode is (Mode.FLOATING if guided else Mode.FAULT)
    r.check()


def test_a_guided_arm_that_is_too_fast_and_then_unseen_gets_no_efforts():
    """Before: its states were waited for as long as those of any arm, and the stop then held the weight by its motors.

    A joint that swapped motors threw against its end: no state after that was believed.
    """
    r = rig(PANDA, tracking=False)
    r.motors = lambda command: command[[0, 1, 2, 4, 3, 5, 6]]
    for _ in range(300):
        r.run(0.001)
        if (np.abs(r.speeds[-1]) > 1.1 * OVERSPEED * r.settings.limits.velocity).any():
            break
    assert r.mode is Mode.FLOATING
    r.run(0.2, corrupt=lambda state: None)
    assert not r.sent[-1].any()
    assert r.mode is Mode.FAULT
    unseen = np.array(r.sent[-199:])
    assert not unseen[150:].any(), "the stop holds no weight"
    r.check()


def test_a_motor_that_reverses_while_a_hand_guides_is_cut():
    for j in (1, 3):
        r = rig(PANDA, tracking=False)
        r.run(0.3)
        sign = np.where(np.arange(7) == j, -1.0, 1.0)
        r.motors = lambda command, sign=sign: sign * command
        r.run(0.3, wrenches={PANDA.link_names[-1]: np.array([10.0, 15.0, -10.0, 0.0, 0.0, 1.0])})
        r.run(1.5)
        fast = (np.abs(np.array(r.speeds)) > OVERSPEED * r.settings.limits.velocity).any()
        assert r.mode is Mode.FAULT or not fast, f"joint {j}"
        r.check()
