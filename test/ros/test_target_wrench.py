"""The Cartesian law in a node over real DDS, and ~/target_wrench: efforts, limits, time-out, refusals; a tare."""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from std_srvs.srv import Trigger

import rne_dynamics as rne
from rne_dynamics.ros.messages.topic_wait import OFFERED
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import AT_ONCE, START

ROBOT = rne.load_urdf("puma560")
NODE, LINK = "computed_torque_controller", "tool0"
AT = np.array([0.2, 0.6, -0.9, 0.3, 0.7, 0.2])
STIFFNESS = (500.0,) * 3 + (30.0,) * 3


def expected(q: np.ndarray, **limits: float) -> np.ndarray:
    """Efforts of the law for an arm at `q` that is to be at `AT`."""
    still = np.zeros(6)
    law = rne.CartesianImpedance(ROBOT, LINK, stiffness=STIFFNESS, **limits)
    return law.law(q, still, rne.Reference(AT, still, still)).total


class Sender:
    """A node under the Cartesian law, whose arm stands still, and who sends it wrenches."""

    def __init__(self, process, peer) -> None:
        self.process, self.peer, self.logged = process, peer, 0
        self.wrenches = peer.node.create_publisher(WrenchStamped, f"{NODE}/target_wrench", OFFERED)
        wait_until(self.wrenches.get_subscription_count, START, "the topic of wrenches", [process])
        peer.answer(AT)
        peer.stream(AT, 0.1)
        self.plain = expected(AT)

    def send(self, wrench: np.ndarray, frame: str = "") -> None:
        message = WrenchStamped()
        message.header.frame_id = frame
        (f, m) = message.wrench.force, message.wrench.torque
        f.x, f.y, f.z, m.x, m.y, m.z = map(float, wrench)
        self.wrenches.publish(message)

    def until(self, effort: np.ndarray, wrench: np.ndarray | None = None, frame: str = "") -> None:
        """Send a wrench, or none, until the efforts are these."""
        deadline = time.monotonic() + START
        while True:
            if wrench is not None:
                self.send(wrench, frame)
            got = self.peer.stream(AT, 0.02)
            if got and np.allclose(got[-1], effort, atol=1e-6):
                return
            assert time.monotonic() < deadline, (got[-1:], effort, self.process.output())

    def refused(self, text: str, wrench: np.ndarray, frame: str = "") -> None:
        logged, deadline = len(self.process.output()), time.monotonic() + START
        while text not in self.process.output()[logged:]:  # logged every 2 s at most
            assert time.monotonic() < deadline, self.process.output()
            self.send(wrench, frame)
            self.peer.stream(AT, 0.1)


@pytest.fixture(scope="module")
def sender(in_lockstep):
    process, peer = in_lockstep(
        NODE, list(ROBOT.joint_names), robot_description="puma560", law="cartesian_impedance",
        prepared_laws=["computed_torque"],
        cartesian_impedance={"link": LINK, "stiffness": list(STIFFNESS), "force_limit": 30.0},
        target_wrench={"timeout": 0.5, "force_rate": 1000.0, "moment_rate": 100.0}, **AT_ONCE,
    )
    yield Sender(process, peer)
    process.signal(signal.SIGKILL)  # simulated time stands still: it would wait for the end of its stop


@pytest.mark.slow
def test_the_law_s_lists_are_parameters_its_link_stays_and_its_limits_are_live(sender):
    peer, away = sender.peer, AT + np.array([0.02, 0.0, 0.01, 0.0, 0.0, 0.0])
    peer.lead(AT, away, 0.002)
    np.testing.assert_allclose(peer.stream(away, 1.0)[-1], expected(away, force_limit=30.0), atol=1e-6)
    assert "stays tool0" in peer.set_parameters(NODE, cartesian_impedance__link="link3").reason
    assert peer.set_parameters(NODE, cartesian_impedance__force_limit=5.0).successful
    np.testing.assert_allclose(peer.stream(away, 1.0)[-1], expected(away, force_limit=5.0), atol=1e-6)
    assert "force_limit" in peer.set_parameters(NODE, cartesian_impedance__force_limit=-5.0).reason
    assert peer.set_parameters(NODE, cartesian_impedance__force_limit=30.0).successful
    peer.lead(away, AT, 0.002)


def test_a_wrench_is_applied_in_either_frame_within_limits_and_ends_with_its_messages(sender):
    J, wrench = rne.jacobian(ROBOT, AT, LINK), np.array([5.0, -3.0, 12.0, 0.5, 0.2, -0.4])
    R = rne.forward_kinematics(ROBOT, AT)[LINK][:3, :3]
    sender.until(sender.plain)
    sender.until(sender.plain + J.T @ wrench, wrench, ROBOT.tree.root)
    turned = np.r_[R @ wrench[:3], R @ wrench[3:]]
    sender.until(sender.plain + J.T @ turned, wrench, LINK)
    sender.until(sender.plain + J.T @ np.array([0.0, 0.0, -30.0, 0.0, 0.0, 0.0]), np.array([0.0, 0.0, -90.0, 0, 0, 0]))
    assert "its force of 90 N is limited to 30 N" in sender.process.output()
    sender.until(sender.plain)
    assert sender.peer.mode(NODE) == "holding"


def test_under_another_law_it_is_refused_with_what_to_do(sender):
    assert sender.peer.call(Trigger, f"{NODE}/computed_torque", Trigger.Request()).success
    sender.refused("applies no wrench; change to cartesian_impedance", np.ones(6))


def test_external_efforts_are_tared_though_nobody_reads_them(sender):
    assert sender.peer.call(Trigger, f"{NODE}/tare", Trigger.Request()).success
    deadline = time.monotonic() + START
    while "external efforts are tared" not in sender.process.output():
        assert time.monotonic() < deadline, sender.process.output()
        sender.peer.stream(AT, 0.05)
