"""What else is on the arm's topics: drives that do not act, a new description."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lifecycle_msgs.msg import Transition
from rclpy.qos import QoSProfile
from std_msgs.msg import Bool, String
from trajectory_msgs.msg import JointTrajectory

import rne_dynamics as rne
from rne_dynamics.description.share import share_file
from rne_dynamics.ros.messages.topic_wait import LATCHED
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import SEES_AGAIN, START, STEP, through

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


@pytest.mark.slow
def test_motions_are_refused_unless_the_drives_are_said_to_act(in_lockstep, make_peer):
    """Before the first message and by a later one."""
    driver = make_peer(ROBOT.joint_names).node
    says = driver.create_publisher(Bool, "robot/ready", QoSProfile(depth=1))
    process, peer = in_lockstep(
        NODE, ROBOT.joint_names, robot_description="planar2", drives__topic="robot/ready", **SEES_AGAIN
    )
    trajectories = peer.node.create_publisher(JointTrajectory, f"{NODE}/joint_trajectory", 1)
    move = through(ROBOT.joint_names, (100.0, [0.31, -0.49]))

    def reach(mode: str, again=lambda: None) -> None:
        stream(peer, lambda: again() or peer.mode(NODE) == mode, mode, process)

    def is_refused() -> None:
        since = len(process.output())
        trajectories.publish(move)
        stream(peer, lambda: "trajectory refused: " in process.output()[since:], "the refusal", process)
        assert "drives" in process.output()[since:]
        assert peer.mode(NODE) == "holding"

    wait_until(lambda: trajectories.get_subscription_count() and says.get_subscription_count() == 1, START,
               "the controller's topics", [process])
    reach("holding")
    is_refused()
    says.publish(Bool(data=True))
    reach("tracking", lambda: trajectories.publish(move))
    says.publish(Bool(data=False))
    reach("holding")
    is_refused()
    peer.hurry()


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
