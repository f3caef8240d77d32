"""A stop ends in finite time, also where joint states may stay out for ever or for a minute."""

from __future__ import annotations

import numpy as np
from support.supervised import Rig, settings

import rne_dynamics as rne
from rne_dynamics.control.guards.state_limits import StateLimits
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.control.thresholds import LONGEST_GAP

ROBOT = rne.load_urdf("planar2")
START = np.array([0.3, 0.8])


def test_a_stop_without_states_releases_the_arm():
    states = StateLimits(ROBOT.velocity_limit, np.zeros(2, dtype=bool), 60.0, 50.0, ROBOT.joint_names)
    rig = Rig(ROBOT, START, settings(ROBOT, states=states))
    rig.run(0.3)
    rig.run(2.0, corrupt=lambda state: None)
    assert rig.mode is Mode.HOLDING, "with such a timeout silence alone stops nothing"
    rig.supervisor.stop(rig.now, "test")
    stop = rig.settings.stop
    rig.run(LONGEST_GAP + stop.brake_time + stop.hold_time + stop.ramp_time + 0.2, corrupt=lambda state: None)
    assert rig.mode is Mode.RELEASED
    assert not rig.sent[-1].any()
