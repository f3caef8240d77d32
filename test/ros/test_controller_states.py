"""The controller process and the joint states it is given."""

from __future__ import annotations

import math

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.time import Time
from sensor_msgs.msg import JointState

import rne_dynamics as rne
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import PATIENCE, SEES_AGAIN, START, STEP

ROBOT = rne.load_urdf("planar2")
JOINTS = ["joint2", "joint1"]  # not the model's order, on purpose
HOME = [0.4, -0.7]  # joint2, joint1
NODE = "computed_torque_controller"


def gravity(joint1: float, joint2: float) -> list[float]:
    """Gravity torque in the order of the commands."""
    tau = rne.gravity_torque(ROBOT, np.array([joint1, joint2]))
    return [tau[1], tau[0]]


@pytest.fixture(scope="module")
def peer(in_lockstep):
    _, peer = in_lockstep(
        NODE, JOINTS, robot_description="planar2", joints=JOINTS, gains={"joint1": {"p": 100, "d": 20}},
        diagnostics_period=0.5, **SEES_AGAIN,
    )
    peer.answer(HOME)
    peer.stream(HOME, 0.3)  # until no doubt is left about the speeds
    return peer


def test_states_without_velocities_are_answered(peer):
    np.testing.assert_allclose(peer.answer(HOME, []), gravity(-0.7, 0.4), rtol=1e-12, err_msg="at rest")
    np.testing.assert_allclose(peer.answer(HOME, [math.nan, math.nan]), gravity(-0.7, 0.4), rtol=1e-12)
    held, q = peer.answer(HOME), np.array(HOME)
    for _ in range(40):
        q[1] += 0.001
        peer.state(q, [])
        peer.pass_time(STEP)
    moving = peer.efforts()[-1]
    slow = peer.answer(q)  # at rest there
    assert moving[1] < slow[1] < held[1], "the estimated speed is damped"


def test_diagnostics_report_refusals(peer):
    listener = TopicRecorder(peer.node, DiagnosticArray, "/diagnostics", 10)

    def counted() -> bool:
        peer.stream(HOME, STEP)
        peer.stream([math.nan, 0.0], STEP)
        message = listener.latest()
        return message is not None and "nan" in message.status[0].message

    wait_until(counted, PATIENCE, "a diagnostic")
    status = listener.latest().status[0]
    assert "joint2" in status.message
    assert status.name.endswith(NODE)
    values = {v.key: v.value for v in status.values}
    assert int(values["refused joint states"]) > 0


def test_torque_terms_add_up_to_the_command(peer):
    names = ("inertia", "coriolis", "gravity", "friction", "feedback", "command")
    topics = {n: TopicRecorder(peer.node, JointState, f"{NODE}/torque/{n}") for n in names}

    def move_on() -> None:
        peer.state([HOME[0] + 0.01, HOME[1]], [0.2, 0.1])
        peer.pass_time(STEP)

    def complete() -> dict[int, dict[str, JointState]]:
        """All messages of each state for which there are all, by its stamp."""
        move_on()
        at: dict[int, dict[str, JointState]] = {}
        for name, topic in topics.items():
            topic.drain()
            for message in map(topic.decode, topic.samples):
                at.setdefault(Time.from_msg(message.header.stamp).nanoseconds, {})[name] = message
        return {stamp: of for stamp, of in at.items() if stamp >= settled and len(of) == len(names)}

    for _ in range(round(0.3 / STEP)):
        move_on()  # the arm leaps there: at first the command follows its terms at the limits' rate only
    settled = peer.now()
    wait_until(complete, START, "all torque terms of one state")  # the topics are discovered one after the other
    for of in complete().values():
        total = sum(np.array(of[n].effort) for n in names[:-1])
        np.testing.assert_allclose(total, of["command"].effort, rtol=1e-12)
        assert of["gravity"].name == ["joint1", "joint2"]
