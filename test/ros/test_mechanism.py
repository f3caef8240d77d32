"""A mechanism with closed loops over ROS, from its model file: the pantograph held up by hand and moved."""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from support.multipliers import Closed

import rne_dynamics as rne
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import AT_ONCE, FOLLOWING, PATIENCE, START
from .simulated_mechanism import SimulatedMechanism

pytestmark = pytest.mark.slow

ARM = rne.load_model("pantograph")
JOINTS = list(ARM.joint_names)
TREE = ARM.robot.joint_names
#: Where it starts: the motors must hold it there.
RAISED = np.array([0.3, -0.9, -0.2])


class Rig(SimulatedMechanism):
    """The simulated pantograph."""

    def __init__(self, start, peer) -> None:
        raised = dict(zip(JOINTS, RAISED.tolist(), strict=True))
        super().__init__(start, peer, model="pantograph", rate=1000.0, initial_position=raised)

def tree_order(message: JointState) -> list[int]:
    return [list(message.name).index(name) for name in TREE]


@pytest.fixture(scope="module")
def rig(start, make_peer):
    return Rig(start, make_peer(JOINTS))


def test_all_joints_are_published_the_driven_ones_first_and_their_loops_closed(rig):
    message = rig.now()
    assert list(message.name) == [*JOINTS, *ARM.passive_names]
    np.testing.assert_array_equal(message.position[:3], RAISED)
    order = tree_order(message)
    assert np.abs(Closed(ARM).residual(np.array(message.position)[order])).max() < 1e-12
    assert not any(message.velocity)
    assert not any(message.effort)


@pytest.fixture(scope="module")
def gravity(rig):
    process = rig.start(
        "gravity_compensation", model="pantograph", stop={"hold_time": 0.1, "ramp_time": 0.1}, **FOLLOWING, **AT_ONCE,
    )
    wait_until(lambda: any(rig.now().effort), START, "efforts", [process, rig.simulator])
    return process


def test_gravity_compensation_holds_it(rig, gravity):
    time.sleep(0.5)
    message = rig.now()
    np.testing.assert_allclose(message.position[:3], RAISED, atol=1e-6)
    held = rne.gravity_torque(ARM, RAISED)
    assert np.abs(held[1:]).min() > 1.0, "there is something to hold"
    np.testing.assert_allclose(message.effort[:3], held, atol=1e-4)
    assert not any(message.effort[3:]), "passive joints have no motor"
    gravity.signal(signal.SIGINT)
    assert gravity.wait(PATIENCE) == 0
