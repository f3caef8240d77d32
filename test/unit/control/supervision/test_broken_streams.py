"""Streams of joint states that are broken for good, or that come back in part: nothing is held by such."""

from __future__ import annotations

import numpy as np
import pytest
from support.supervised import Rig, settings

import rne_dynamics as rne
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.errors import StateProblem

ROBOT = rne.load_urdf("planar2")
START = np.array([0.3, 0.8])


def held(**changes) -> Rig:
    rig = Rig(ROBOT, START, settings(ROBOT, **changes))
    rig.run(0.3)
    assert rig.mode is Mode.HOLDING
    return rig


def assert_released(rig: Rig) -> None:
    assert rig.mode is Mode.FAULT
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


def test_a_repeated_stamp_releases_the_arm_once():
    """A state with that stamp is usable whenever the filter begins anew; one is not a stream."""
    rig = held()
    rig.run(1.5, corrupt=frozen())
    assert_released(rig)


def test_automatic_recovery_needs_a_stream_too():
    rig = held(recover_automatically=True)
    rig.run(3.0, corrupt=frozen())
    assert rig.modes.count(Mode.HOLDING) == 1
    assert not rig.sent[-1].any()
    rig.check()


@pytest.mark.parametrize("recover_automatically", [False, True])
@pytest.mark.parametrize("corrupt", [
    swapped, lambda state: state | {"q": state["q"] + np.array([1.0, 0.0])},
], ids=["joints exchanged", "an encoder that slipped"])
def test_a_place_that_no_motion_leads_to_is_not_held_unasked(corrupt, recover_automatically):
    rig = held(recover_automatically=recover_automatically)
    rig.run(1.5, corrupt=corrupt)
    assert_released(rig)


def test_a_slipped_encoder_is_taken_for_true_when_somebody_says_so():
    rig = held()
    slip = np.array([0.05, 0.0])
    rig.run(1.5, corrupt=lambda state: state | {"q": state["q"] + 10.0 * slip})
    assert_released(rig)
    rig.simulator.reset()
    rig.supervisor.recover(rig.now)
    rig.run(0.3, corrupt=lambda state: state | {"q": state["q"] + slip})
    assert rig.mode is Mode.HOLDING


def test_late_states_are_not_held_by_unasked():
    """A delay that stays is no delay any more to a filter that begins anew; the arm would swing up."""
    rig = held()
    rig.run(2.2)
    queue = []

    def late(length):
        def corrupt(state):
            queue.append(state)
            return queue.pop(0) if len(queue) > length else None

        return corrupt

    rig.run(0.09, corrupt=late(75))
    rig.run(1.0, corrupt=late(150))
    assert_released(rig)
    assert rig.supervisor.counters.refused[StateProblem.DELAYED] > 0
