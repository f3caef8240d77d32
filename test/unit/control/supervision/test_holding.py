"""Drives that report whether they act."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.supervised import Rig, settings

import rne_dynamics as rne
from rne_dynamics.control.supervision.settings import StartCheck
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.errors import ControlError

PUMA = rne.load_urdf("puma560")
START = np.array([0.1, 0.4, -0.3, 0.2, 0.3, 0.1])
BOUND = 0.05


def held(**changes) -> Rig:
    rig = Rig(PUMA, START.copy(), settings(PUMA, holding_error=np.full(6, BOUND), **changes))
    rig.run(0.5)
    assert rig.mode is Mode.HOLDING
    return rig


def moved_by_hand(rig: Rig, by: np.ndarray, seconds: float = 1.0) -> None:
    """The drives let go, and somebody moves the arm; states go on."""
    steps, place = round(seconds / rig.period), rig.simulator.state.q
    for k in range(steps + 50):  # then it rests for a moment
        q, qd = place + by * min((k + 1) / steps, 1.0), by / seconds * (k < steps)
        rig.run(rig.period, corrupt=lambda s, q=q, qd=qd: {**s, "q": q.copy(), "qd": qd.copy()}, command=False)
    simulator = rig.simulator
    simulator._start = replace(simulator._start, q=place + by)
    simulator.reset()


@pytest.mark.slow
@pytest.mark.parametrize("joint", [1, 5])
def test_an_arm_that_was_moved_while_the_drives_were_off_does_not_jump(joint):
    rig = held()
    by = np.zeros(6)
    by[joint] = 0.5
    moved_by_hand(rig, by)
    assert rig.mode is Mode.HOLDING
    assert rig.supervisor.counters.held_anew > 0
    place = rig.simulator.state.q.copy()
    rig.run(1.0)
    assert rig.mode is Mode.HOLDING
    assert np.abs(rig.simulator.state.q - place).max() < BOUND + 0.01
    assert np.abs(np.array(rig.speeds[-round(1.0 / rig.period):])).max() < 20.0 * BOUND
    rig.check()


def test_a_light_push_is_no_reason_to_give_way():
    rig = held()
    wrench = {PUMA.link_names[-1]: np.array([0.0, 0.0, 8.0, 0.0, 0.0, 0.0])}
    rig.run(1.0, wrenches=wrench)
    rig.run(1.0)
    np.testing.assert_allclose(rig.simulator.state.q, START, atol=5e-3)
    assert rig.supervisor.counters.held_anew == 0


def test_drives_that_do_not_act_get_what_holds_the_measured_posture():
    rig = Rig(PUMA, START.copy(), settings(PUMA), period=2e-3)
    rig.run(0.3)
    rig.move(START + 0.3, 1.0)
    rig.run(0.3)
    rig.supervisor.drives(rig.now, False)
    moved_by_hand(rig, np.array([0.4, -0.3, 0.2, 0.3, 0.3, 0.3]))
    with pytest.raises(ControlError, match="drives do not act"):
        rig.move(START, 0.5)
    assert len(rig.endings) == 1
    place = rig.simulator.state.q.copy()
    expected = rne.gravity_torque(PUMA, place)
    np.testing.assert_allclose(rig.sent[-1], expected, atol=0.1 * np.abs(expected).max())
    rig.supervisor.drives(rig.now, True)
    rig.run(0.5)
    assert np.abs(rig.simulator.state.q - place).max() < 0.02
    assert rig.mode is Mode.HOLDING
    rig.check()


def test_the_start_up_check_waits_for_the_drives():
    rig = Rig(PUMA, START.copy(), settings(PUMA, check=StartCheck(duration=0.3, tolerance=0.1)), period=2e-3)
    rig.supervisor.drives(rig.now, False)
    rig.run(1.0)
    assert rig.supervisor.gate.checking
    rig.supervisor.drives(rig.now, True)
    rig.run(1.0)
    rig.move(START + 0.1, 0.5)
