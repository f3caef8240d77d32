"""Streams of joint states that are broken for good, or that come back in part: nothing is held by such."""

from __future__ import annotations

import numpy as np
import pytest
from support.supervised import Rig, settings

import rne_dynamics as rne
from rne_dynamics.control.supervision.states import Mode

ROBOT = rne.load_urdf("planar2")
START = np.array([0.3, 0.8])


def held(**changes) -> Rig:
    rig = Rig(ROBOT, START, settings(ROBOT, **changes))
    rig.run(0.3)
    assert rig.mode is Mode.HOLDING
    return rig


def assert_released(rig: Rig, mode: Mode = Mode.FAULT) -> None:
    assert rig.mode is mode
    assert not rig.sent[-1].any()
    assert Mode.HOLDING not in rig.modes[rig.modes.index(Mode.STOPPING):]
    rig.check()


def frozen():
    first = {}

    def corrupt(state):
        first.setdefault("stamp", state["stamp"])
        return state | first

    return corrupt


def swapped(state):
    return state | {"q": state["q"][::-1].copy(), "qd": state["qd"][::-1].copy()}


def slipped(state):
    return state | {"q": state["q"] + np.array([1.0, 0.0])}


@pytest.mark.parametrize(("corrupt", "recover_automatically", "mode"), [
    (frozen(), True, Mode.WAITING), (swapped, False, Mode.FAULT), (slipped, True, Mode.FAULT),
])
def test_a_stamp_or_a_place_that_no_motion_leads_to_is_not_held_unasked(corrupt, recover_automatically, mode):
    """One state with that stamp is usable whenever the filter begins anew; it is not a stream."""
    rig = held(recover_automatically=recover_automatically)
    rig.run(2.0, corrupt=corrupt)
    assert_released(rig, mode)


def test_a_slipped_encoder_is_taken_for_true_when_somebody_says_so():
    rig = held()
    slip = np.array([0.05, 0.0])
    rig.run(1.5, corrupt=lambda state: state | {"q": state["q"] + 10.0 * slip})
    assert_released(rig)
    rig.simulator.reset()
    rig.supervisor.recover(rig.now)
    rig.run(0.3, corrupt=lambda state: state | {"q": state["q"] + slip})
    assert rig.mode is Mode.HOLDING
