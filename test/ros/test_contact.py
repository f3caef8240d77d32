"""Contact over ROS 2: a real node, a simulated arm that is pushed, whose time goes on as the controller follows it."""

from __future__ import annotations

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

import rne_dynamics as rne
from rne_dynamics.ros.messages.topic_wait import LATCHED, OFFERED, polled_subscription, take
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import AT_ONCE, START
from .stepped_arm import SteppedArm

ROBOT = rne.load_urdf("panda")
NODE, LINK, RATE = "computed_torque_controller", "panda_link8", 250.0
HOME = np.array([0.2, -0.4, 0.1, -2.0, 0.15, 1.7, 0.6])


class Arm(SteppedArm):
    """What the controller of a simulated arm publishes while the arm is pushed."""

    def __init__(self, process, peer) -> None:
        super().__init__(process, peer, ROBOT, HOME, RATE)
        self.push_by(np.zeros(3))
        self.newest: dict[type, object] = {}
        self.topics: dict[type, object] = {}
        node, topics = peer.node, {JointState: "external_effort", WrenchStamped: "external_wrench", String: "contact"}
        for kind, name in topics.items():
            quality = LATCHED if kind is String else OFFERED
            self.topics[kind] = polled_subscription(node, kind, f"{NODE}/{name}", quality)
            wait_until(lambda at=f"{NODE}/{name}": node.count_publishers(at), START, name, [process])

    def push_by(self, force: np.ndarray) -> None:
        """From now on the force acts on the link, in its axes."""
        self.push, self.wrenches = force, {LINK: np.concatenate([force, np.zeros(3)])}

    def received(self, state) -> None:
        for kind, subscription in self.topics.items():
            while (taken := take(subscription, kind)) is not None:
                self.newest[kind] = taken[0]

    def contact(self) -> str:
        return self.newest[String].data

    def recovered(self) -> None:
        """Let the push end, and hold the arm by the first law."""
        self.push_by(np.zeros(3))
        self.until(lambda: not self.contact(), 3.0)
        if self.peer.mode(NODE) == "floating":
            self.peer.call(SetBool, f"{NODE}/hand_guide", SetBool.Request(data=False))
        assert self.peer.set_parameters(NODE, contact__reaction="none").successful
        self.run(0.4)


@pytest.fixture(scope="module")
def arm(in_lockstep):
    process, peer = in_lockstep(
        NODE, list(ROBOT.joint_names), robot_description="panda", contact={"link": LINK}, torque_divisor=2,
        prepared_laws=["joint_impedance"], **AT_ONCE,
    )
    arm = Arm(process, peer)
    arm.run(0.5)
    yield arm
    peer.hurry()


def test_a_push_is_published_as_efforts_wrench_and_contact(arm) -> None:
    arm.until(lambda: len(arm.newest) == len(arm.topics))  # a busy computer delivers the first ones late
    assert arm.contact() == ""
    arm.push_by(np.array([0.0, 20.0, 0.0]))
    arm.run(0.3)
    q = arm.q  # the arm yields to the push, since its place follows
    expected = rne.jacobian(ROBOT, q, LINK)[:3].T @ rne.forward_kinematics(ROBOT, q)[LINK][:3, :3] @ arm.push
    efforts = arm.newest[JointState]
    assert list(efforts.name) == list(ROBOT.joint_names)
    np.testing.assert_allclose(efforts.effort, expected, atol=1.0)  # static friction takes a part
    wrench = arm.newest[WrenchStamped]
    assert wrench.header.frame_id == LINK
    force = np.array([wrench.wrench.force.x, wrench.wrench.force.y, wrench.wrench.force.z])
    np.testing.assert_allclose(force, arm.push, atol=4.0)
    assert "external effort" in arm.contact()
    assert "contact at joint 'panda_joint" in arm.process.output()
    assert arm.peer.mode(NODE) == "holding"
    answer = arm.peer.call(Trigger, f"{NODE}/tare", Trigger.Request())
    assert not answer.success
    assert "a contact is felt" in answer.message
    arm.recovered()
    assert arm.peer.call(Trigger, f"{NODE}/tare", Trigger.Request()).success


@pytest.mark.slow
def test_a_push_lets_the_arm_float_or_comply(arm) -> None:
    for reaction, done in (
        ("float", lambda: arm.peer.mode(NODE) == "floating"),
        ("comply", lambda: "the law is joint_impedance, after" in arm.process.output()),
    ):
        assert arm.peer.set_parameters(NODE, contact__reaction=reaction).successful
        arm.push_by(np.array([0.0, 15.0, 0.0]))
        arm.until(done, 3.0)
        arm.recovered()


def test_what_does_not_fit_is_refused(arm) -> None:
    refused = arm.peer.set_parameters(NODE, contact__reaction="run")
    assert not refused.successful
    assert "retract" in refused.reason
    assert not arm.peer.set_parameters(NODE, contact__panda_joint1__threshold=-2.0).successful
    assert not arm.peer.set_parameters(NODE, contact__observe=False).successful  # only before it is configured
