"""A mechanism with closed loops over ROS, from its model file."""

from __future__ import annotations

import numpy as np
import pytest
from support.multipliers import Closed

import rne_dynamics as rne

from .simulated_mechanism import SimulatedMechanism

ARM = rne.load_model("pantograph")
JOINTS = list(ARM.joint_names)
#: Where it starts: the motors must hold it there.
RAISED = np.array([0.3, -0.9, -0.2])


@pytest.mark.slow
def test_all_joints_are_published_the_driven_ones_first_and_their_loops_closed(start, make_peer):
    raised = dict(zip(JOINTS, RAISED.tolist(), strict=True))
    message = SimulatedMechanism(start, make_peer(JOINTS), model="pantograph", initial_position=raised).now()
    assert list(message.name) == [*JOINTS, *ARM.passive_names]
    np.testing.assert_array_equal(message.position[:3], RAISED)
    order = [list(message.name).index(name) for name in ARM.robot.joint_names]
    assert np.abs(Closed(ARM).residual(np.array(message.position)[order])).max() < 1e-12
    assert not any(message.velocity)
    assert not any(message.effort)
