"""A mechanism with closed loops over ROS, from its model file: the pantograph held up by hand and moved."""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from support.multipliers import Closed

import rne_dynamics as rne
from rne_dynamics.closed_chain.coordinates import tree_velocity
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.ros.messages.publishers import stamp_of
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import AT_ONCE, FOLLOWING, PATIENCE, START
from .simulated_mechanism import CONTROLLER, SimulatedMechanism

pytestmark = pytest.mark.slow

ARM = rne.load_model("pantograph")
JOINTS = list(ARM.joint_names)
TREE = ARM.robot.joint_names
#: Where it starts: the motors must hold it there.
RAISED = np.array([0.3, -0.9, -0.2])
FROM, TO = np.deg2rad([0.0, -90.0, 0.0]), np.deg2rad([90.0, -45.0, -18.0])


class Rig(SimulatedMechanism):
    """The simulated pantograph."""

    def __init__(self, start, peer) -> None:
        raised = dict(zip(JOINTS, RAISED.tolist(), strict=True))
        super().__init__(start, peer, model="pantograph", rate=1000.0, initial_position=raised)

    def move(self, goal, seconds: float = 1.0) -> None:
        self.send(JOINTS, (seconds, goal))
        wait_until(lambda: np.abs(np.array(self.now().position)[:3] - goal).max() < 1e-6, PATIENCE,
                   f"arrival at {goal}", self.processes)


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


@pytest.fixture(scope="module")
def tracking(rig, gravity):
    gravity.stop()  # its ramp has released the arm, which has no friction and swings
    assert rig.peer.call(Trigger, "simulator/reset", Trigger.Request()).success
    process = rig.start(
        CONTROLLER, model="pantograph", gains={j: {"p": 2500.0, "d": 100.0} for j in JOINTS},
        stop={"brake_time": 0.1}, **FOLLOWING, **AT_ONCE,
    )
    wait_until(lambda: "ready: " in process.output() and rig.trajectories.get_subscription_count(), START,
               "the controller", [process, rig.simulator])
    rig.processes.append(process)
    wait_until(lambda: np.abs(rig.now().velocity).max() < 1e-3 and any(rig.now().effort), PATIENCE, "rest",
               rig.processes)
    rig.move(FROM, 1.5)
    return process


@pytest.mark.soak
def test_the_papers_quintic_is_tracked_at_1_khz(rig, tracking):
    begin = stamp_of(rig.now()) + 1_000_000_000
    rig.states.samples.clear()
    rig.send(JOINTS, (0.0, FROM), (5.0, TO), begin=begin)
    wait_until(lambda: rig.states.latest() and stamp_of(rig.states.latest()) > begin + 5_200_000_000, PATIENCE,
               "the end", rig.processes, period=0.02)
    messages = [rig.states.decode(s) for s in rig.states.samples]
    messages = [m for m in messages if begin <= stamp_of(m)]
    assert len(messages) > 4000
    reference = Quintic(FROM, TO, 5.0)
    q, qd = (np.array([getattr(m, what) for m in messages]) for what in ("position", "velocity"))
    wanted = [reference.sample((stamp_of(m) - begin) * 1e-9) for m in messages]
    error = q[:, :3] - np.array([w.q for w in wanted])
    assert np.sqrt(np.mean(error**2, axis=0)).max() < 1e-3
    np.testing.assert_allclose(q[-1, :3], TO, atol=1e-5)
    # every state on the way is one of a closed mechanism, velocities too
    order = tree_order(messages[0])
    assert np.abs(Closed(ARM).residual(q[:, order])).max() < 1e-11
    some = slice(None, None, 100)
    np.testing.assert_allclose(
        qd[some][:, order], tree_velocity(ARM, q[some][:, order], qd[some, :3]), atol=1e-11
    )
    np.testing.assert_allclose(messages[-1].effort[:3], rne.gravity_torque(ARM, TO), atol=1e-2)


def test_move_replaces_the_motion_under_way(rig, tracking):
    rig.send(JOINTS, (30.0, RAISED))
    move = rig.start("move", ["joint1=0.4", "joint3=0.1"], model="pantograph", velocity_scale=0.5, timeout=60.0)
    assert move.wait(PATIENCE) == 0, move.output() + tracking.output()
    message = rig.now()
    assert abs(message.position[0] - 0.4) < 0.01
    assert abs(message.position[2] - 0.1) < 0.01


def test_move_says_why_the_controller_refuses_its_motion(rig, tracking):
    move = rig.start("move", ["joint1=0", "joint2=-0.5", "joint3=0.45"], model="pantograph", timeout=60.0)
    assert move.wait(PATIENCE) == 1
    assert "the controller refuses the motion" in move.output()
    assert "'jointL' would be at" in move.output()
    assert "internal error" not in move.output()
