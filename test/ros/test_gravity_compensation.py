"""The gravity compensation process, by itself and on a simulated arm."""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

import rne_dynamics as rne
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import AT_ONCE, FOLLOWING, IN_STEP, PATIENCE, START, fresh

ROBOT = rne.load_urdf("panda")
START_AT = {"panda_joint2": -0.5, "panda_joint4": -2.0, "panda_joint6": 1.5}
#: N m s/rad.
D = 0.005
Q = np.array([START_AT.get(j, 0.0) for j in ROBOT.joint_names])


def test_it_holds_gravity_damps_and_gives_the_arm_back(in_lockstep):
    process, peer = in_lockstep(
        "gravity_compensation", ROBOT.joint_names, robot_description="panda",
        gains={j: {"d": D} for j in ROBOT.joint_names}, friction_compensation=0,
        stop={"hold_time": 0.1, "ramp_time": 0.2}, **AT_ONCE,
    )
    gravity = rne.gravity_torque(ROBOT, Q)
    np.testing.assert_allclose(peer.answer(Q), gravity, atol=1e-12)
    qd = np.linspace(-0.1, 0.1, 7)  # slow enough not to contradict positions that do not change
    np.testing.assert_allclose(gravity - peer.answer(Q, qd), D * qd, rtol=1e-9, atol=1e-12)
    moved = Q + 0.3
    peer.lead(Q, moved)
    peer.stream(moved, 0.3)  # until it believes that the arm rests
    np.testing.assert_allclose(peer.answer(moved), rne.gravity_torque(ROBOT, moved), atol=1e-12, err_msg="no spring")
    process.signal(signal.SIGINT)
    assert peer.end(process) == 0
    assert peer.efforts()[-1] == [0.0] * 7


@pytest.mark.slow
def test_a_hand_moves_the_arm_and_it_stays_where_it_is_let_go(start, make_peer):
    peer = make_peer(ROBOT.joint_names)
    simulator = start("simulator", robot_description="panda", rate=250.0, initial_position=START_AT, **IN_STEP)
    node = start("gravity_compensation", friction_compensation=0.5, **FOLLOWING, **AT_ONCE)
    states = TopicRecorder(peer.node, JointState, "joint_states")
    wrench = peer.node.create_publisher(WrenchStamped, "simulator/wrench", 10)
    both = [simulator, node]

    def q() -> np.ndarray:
        return np.array(fresh(states, both).position)

    peer.efforts()
    wait_until(lambda: wrench.get_subscription_count() and peer.efforts(), START, "efforts", both)
    np.testing.assert_allclose(q(), Q, atol=1e-4, err_msg="it has not sunk when the brakes came off")
    push = WrenchStamped()
    push.header.frame_id = "panda_link2"
    push.wrench.torque.z = 6.0
    wrench.publish(push)
    wait_until(lambda: q()[1] - Q[1] > 0.02, PATIENCE, "the arm to follow the hand", both)
    push.wrench.torque.z = 0.0
    wrench.publish(push)
    wait_until(lambda: states.latest() is not None and abs(states.latest().velocity[1]) < 1e-3, PATIENCE, "rest", both)
    there = q()
    time.sleep(0.3)
    np.testing.assert_allclose(q(), there, atol=1e-3)
