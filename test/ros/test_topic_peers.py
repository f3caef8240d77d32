"""What else is on the arm's topics: other publishers, nobody who listens, drives that do not act, a new description."""

from __future__ import annotations

import signal
from dataclasses import replace

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from rclpy.qos import QoSProfile
from std_msgs.msg import Bool, Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import rne_dynamics as rne
from rne_dynamics.description.share import share_file
from rne_dynamics.ros.messages.topic_wait import LATCHED
from rne_dynamics.ros.node.diagnostics import ERROR, WARN
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import SEES_AGAIN, START, STEP

ROBOT = rne.load_urdf("planar2")
TURNED = replace(ROBOT, gravity=np.array([0.0, 0.0, -5.0]))
Q = [0.3, -0.5]
NODE = "computed_torque_controller"


def stream(peer, condition, what, process) -> None:
    """Publish a state every `STEP` of simulated time until a condition holds that the other nodes bring about.

    In real time a busy machine published so few states that the controller stopped: its gains need 58 a second.
    """

    def turn():
        peer.state(Q)
        peer.pass_time(STEP)
        peer.executor.spin_once(0.0)
        return condition()

    wait_until(turn, START, what, [process])


def test_a_second_publisher_and_a_missing_listener_are_reported(in_lockstep):
    process, peer = in_lockstep(
        NODE, ROBOT.joint_names, robot_description="planar2", diagnostics_period=0.5, **SEES_AGAIN
    )
    reports: list[DiagnosticArray] = []
    peer.caller.create_subscription(DiagnosticArray, "/diagnostics", reports.append, 10)

    def reported(level: bytes, text: str) -> bool:
        name = f"{peer.node.get_namespace()}/{NODE}"
        mine = [s for report in reports for s in report.status if s.name == name]
        return bool(mine) and mine[-1].level == level and text in mine[-1].message

    stream(peer, lambda: reported(b"\x00", "holding"), "a report that all is well", process)
    other = peer.node.create_publisher(Float64MultiArray, "effort_controller/commands", 1)
    stream(peer, lambda: reported(ERROR, "2 nodes publish efforts"), "a report of the second publisher", process)
    stream(peer, lambda: peer.mode(NODE) == "holding", "an arm that is held all the same", process)
    peer.node.destroy_publisher(other)
    stream(peer, lambda: reported(b"\x00", "holding"), "a report that all is well again", process)
    peer.node.destroy_subscription(peer.commands._subscription)
    peer.lockstep.stop_listening()
    missing = "no node subscribes to the efforts"
    stream(peer, lambda: reported(WARN, missing), "a report of the missing subscriber", process)
    assert "2 nodes publish" in process.output()
    end(process, peer)


def end(process, peer) -> None:
    """End a controller before another one of the same name starts."""
    process.signal(signal.SIGINT)
    assert peer.end(process) == 0


def refused(process, since: int, text: str) -> bool:
    return any("trajectory refused" in line and text in line for line in process.output()[since:].splitlines())


@pytest.mark.parametrize("profile", [LATCHED, QoSProfile(depth=1)], ids=["latched", "not latched"])
def test_motions_are_refused_unless_the_drives_are_said_to_act(in_lockstep, make_peer, profile):
    latched = profile is LATCHED
    driver = make_peer(ROBOT.joint_names).node
    says = driver.create_publisher(Bool, "robot/ready", profile)
    if latched:  # long before anybody listens
        says.publish(Bool(data=True))
    process, peer = in_lockstep(
        NODE, ROBOT.joint_names, robot_description="planar2", drives__topic="robot/ready", **SEES_AGAIN
    )
    trajectories = peer.node.create_publisher(JointTrajectory, f"{NODE}/joint_trajectory", 1)
    wait_until(lambda: trajectories.get_subscription_count() and says.get_subscription_count() == 1 + latched, START,
               "the controller's topics", [process])
    stream(peer, lambda: peer.mode(NODE) == "holding", "the arm to be held", process)
    point = JointTrajectoryPoint(positions=[0.31, -0.49])
    point.time_from_start.sec = 100
    move = JointTrajectory(joint_names=list(ROBOT.joint_names), points=[point])
    if not latched:
        since = len(process.output())
        trajectories.publish(move)
        stream(peer, lambda: refused(process, since, "drives"), "the refusal", process)
        says.publish(Bool(data=True))
    stream(peer, lambda: trajectories.publish(move) or peer.mode(NODE) == "tracking", "the motion", process)
    says.publish(Bool(data=False))
    stream(peer, lambda: peer.mode(NODE) == "holding", "the end of the motion", process)
    since = len(process.output())
    trajectories.publish(move)
    stream(peer, lambda: refused(process, since, "drives"), "the refusal", process)
    assert peer.mode(NODE) == "holding"
    end(process, peer)
    driver.destroy_publisher(says)


@pytest.mark.slow
def test_cleanup_forgets_the_description_that_came_on_its_topic(start, make_peer):
    peer = make_peer(ROBOT.joint_names)
    text = share_file("urdf/planar2.urdf").read_text(encoding="utf-8")
    described = peer.node.create_publisher(String, "robot_description", LATCHED)
    described.publish(String(data=text))
    process = start(NODE, autostart=False, state_timeout=5.0, gravity=[0.0, 0.0, -5.0], **SEES_AGAIN)
    wait_until(lambda: described.get_subscription_count() or "autostart is off" in process.output(), START, "it",
               [process])

    def held() -> np.ndarray:
        assert peer.transition(NODE, Transition.TRANSITION_CONFIGURE)
        assert peer.transition(NODE, Transition.TRANSITION_ACTIVATE)
        effort = np.array(peer.answer(Q))
        assert peer.transition(NODE, Transition.TRANSITION_DEACTIVATE)
        assert peer.transition(NODE, Transition.TRANSITION_CLEANUP)
        return effort

    light = held()
    np.testing.assert_allclose(light, rne.gravity_torque(TURNED, np.array(Q)), atol=1e-6)
    described.publish(String(data=text.replace('<mass value="', '<mass value="2')))
    wait_until(lambda: bool(np.all(np.abs(held()) > 2.0 * np.abs(light))), START, "gravity of the new description",
               [process])

