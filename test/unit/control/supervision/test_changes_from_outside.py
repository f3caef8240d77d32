"""What comes from outside of the arm: reasons to accept no motion, and another model while the arm is checked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.supervised import Rig, settings
from support.wheel import wheel_urdf

import rne_dynamics as rne
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.control.supervision.settings import StartCheck
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.errors import ControlError
from rne_dynamics.model.assembly import with_payload
from rne_dynamics.model.tree import Payload

ROBOT = rne.load_urdf(wheel_urdf("ur5_robot.urdf"))
LOADED = with_payload(ROBOT, Payload("wrist_3_link", 2.0, np.zeros(3)))
START = np.array([0.3, -0.7, 0.9, 0.4, 0.8, 0.2])


def test_an_obstacle_ends_the_motion_and_refuses_others_until_it_is_gone():
    rig = Rig(ROBOT, START.copy(), settings(ROBOT))
    rig.run(0.3)
    rig.move(START + 0.3, 1.0)
    rig.run(0.4)
    assert rig.mode is Mode.TRACKING
    for delay in (1.0, 2.0):  # the second one replaces the first one
        rig.move(START, 1.0, delay)
    rig.supervisor.obstruct("the torso moves")
    rig.supervisor.obstruct("the torso moves still")
    rig.run(0.5)
    assert rig.mode is Mode.HOLDING
    assert rig.endings[1:] == [(Ending.STOPPED, "the torso moves"), (Ending.CANCELLED, "the torso moves")]
    assert rig.endings[0][0] is Ending.REPLACED
    assert np.abs(rig.simulator.state.qd).max() < 0.01
    with pytest.raises(ControlError, match="the torso moves still"):
        rig.move(START, 1.0)
    rig.supervisor.obstruct("")
    rig.move(START, 1.0)
    rig.run(1.5)
    assert rig.endings[-1][0] is Ending.SUCCEEDED
    rig.check()


def test_a_trajectory_that_was_to_come_is_dropped_too():
    rig = Rig(ROBOT, START.copy(), settings(ROBOT))
    rig.run(0.3)
    rig.move(START + 0.3, 1.0, delay=0.5)
    rig.run(0.1)
    rig.supervisor.obstruct("the torso moves")
    rig.run(1.0)
    assert rig.mode is Mode.HOLDING
    assert len(rig.endings) == 1
    np.testing.assert_allclose(rig.simulator.state.q, START, atol=0.01)


CHECK = StartCheck(duration=0.5)


def test_a_check_begins_anew_with_another_model():
    """The model learns of its payload in the middle of the check, as it does of the torso's position."""
    rig = Rig(LOADED, START.copy(), settings(ROBOT, check=CHECK))
    rig.run(0.5)
    assert rig.supervisor.gate.checking
    with pytest.raises(ControlError, match="start-up check"):
        rig.move(START + 0.1, 1.0)
    rig.supervisor.adopt(settings(LOADED, check=CHECK))
    rig.run(0.45)
    assert rig.supervisor.gate.checking  # not over: what was seen before does not count
    rig.run(0.5)
    assert rig.supervisor.gate.open, rig.supervisor.gate.text


def test_a_check_that_failed_is_repeated_with_another_model():
    rig = Rig(LOADED, START.copy(), settings(ROBOT, check=CHECK))
    rig.run(1.5)
    assert rig.supervisor.gate.failed
    assert "payload" in rig.supervisor.gate.text
    with pytest.raises(ControlError, match="payload"):
        rig.move(START + 0.1, 1.0)
    rig.supervisor.adopt(settings(LOADED, check=CHECK))
    rig.run(1.5)
    assert rig.supervisor.gate.open, rig.supervisor.gate.text
    rig.move(START + 0.1, 1.0)


def test_changes_that_come_often_do_not_keep_the_rate_of_the_states_from_being_seen():
    rig = Rig(ROBOT, START.copy(), settings(ROBOT, min_rate=100.0), period=0.012)
    for _ in range(30):
        rig.run(0.06)
        rig.supervisor.adopt(settings(ROBOT, min_rate=100.0))
    assert rig.mode in (Mode.STOPPING, Mode.FAULT)
    assert "min_rate" in rig.supervisor.cause


def test_changes_that_come_often_do_not_keep_a_rate_too_low_for_the_gains_from_being_seen():
    """Before: each began the windows anew, as every 50 ms where a joint moves that is not driven."""
    given = settings(ROBOT, bandwidth=60.0)
    rig = Rig(ROBOT, START.copy(), given, period=0.02)
    for automatically in 30 * (True, False):
        rig.run(0.06)
        rig.supervisor.adopt(replace(given, recover_automatically=automatically))
    assert rig.mode is Mode.FAULT
    assert "the gains are stable from" in rig.supervisor.cause
