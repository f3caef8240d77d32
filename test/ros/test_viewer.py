"""The node `viewer` in a process of its own: the page says what it waits for, and shows what topics report."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped, WrenchStamped
from sensor_msgs.msg import JointState

import rne_dynamics as rne
from rne_dynamics.dynamics.kinematics.kinematics import rotation_quaternions
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.messages.topic_wait import OFFERED
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import START

pytest.importorskip("viser", reason="the viewer's library is not installed: pip install '.[test]'")

from support.viser_client import ViserClient


@pytest.fixture(scope="module")
def viewer(start):
    """The node, and the address of its page."""
    viewer = start("viewer", robot_description="puma560", port=18080, niceness=0, target_pose=True, simulator="")
    wait_until(lambda: "ready: robot" in viewer.output(), START, "the viewer", [viewer])
    return viewer, re.search(r"http://\S+", viewer.output())[0]


def test_the_page_waits_for_states_and_then_follows_them(viewer, make_peer):
    (viewer, url), robot = viewer, rne.load_urdf("puma560")
    peer = make_peer(robot.joint_names)
    terms = peer.node.create_publisher(JointState, "computed_torque_controller/torque/gravity", OFFERED)
    reference = peer.node.create_publisher(JointState, "computed_torque_controller/reference", OFFERED)
    with ViserClient(url) as page:
        wait_until(lambda: "waiting for joint states on" in page.text(), START, "the message", [viewer])
        q = np.zeros(robot.n)

        def sent() -> list[tuple[float, ...]]:
            peer.state(q)
            terms.publish(JointState(name=list(robot.joint_names), effort=[12.5] * robot.n))
            return page.poses("/arm/link1") or [(0.0,) * 4]

        wait_until(lambda: sent() and "live" in page.text(), START, "a picture", [viewer])
        q = np.array([0.5, 0.2, 0.1, 0.0, 0.0, 0.0])
        wanted = (np.cos(0.25), 0.0, 0.0, np.sin(0.25))  # joint1 turns about z
        wait_until(lambda: np.allclose(np.abs(sent()[-1]), wanted, atol=1e-3), START, "the new posture", [viewer])

        def ghost() -> list[tuple[float, ...]]:
            sent()
            reference.publish(JointState(name=list(robot.joint_names), position=(-q).tolist()))
            return page.poses("/ghost/link1")

        behind = (np.cos(0.25), 0.0, 0.0, np.sin(-0.25))
        wait_until(lambda: ghost() and np.allclose(np.abs(ghost()[-1]), np.abs(behind), atol=1e-3), START,
                   "the reference as a ghost", [viewer])  # fmt: skip
        wait_until(lambda: sent() and "■" in page.text() and "gravity" in page.text(), START, "torques", [viewer])


def test_a_dragged_target_is_published_only_after_the_box_is_ticked(viewer, make_peer, namespace):
    (viewer, url), robot = viewer, rne.load_urdf("puma560")
    q = np.array([0.2, 0.4, -0.4, 0.1, 0.8, 0.0])
    peer, X = make_peer(robot.joint_names), rne.forward_kinematics(robot, q)["tool0"]
    controller = rclpy.create_node("computed_torque_controller", namespace=namespace)  # what the viewer sees of it
    controller.declare_parameter("target_pose.link", "")
    controller.declare_parameter("target_pose.tool", [0.0, 0.0, 0.1])
    targets: list[PoseStamped] = []
    controller.create_subscription(PoseStamped, "~/target_pose", targets.append, OFFERED)
    diagnostics = controller.create_publisher(DiagnosticArray, "/diagnostics", OFFERED)
    peer.executor.add_node(controller)
    w, label = rotation_quaternions(X[None, :3, :3])[0][[3, 0, 1, 2]], "drag the target: moves the arm"
    goal = X[:3, 3] + np.array([0.0, 0.05, 0.05])
    with ViserClient(url) as page:

        def soon(condition: Callable[[], object], what: str, again: Callable[[], None] = lambda: None) -> None:
            """Wait, with states; do it `again` every second, since nodes discover each other in their own time."""
            due = 0.0

            def met() -> object:
                nonlocal due
                if time.monotonic() > due:
                    due = time.monotonic() + 1.0
                    again()
                peer.state(q)
                peer.executor.spin_once(0.01)
                return condition()

            wait_until(met, START, what, [viewer])

        soon(lambda: label in page.text() and "live" in page.text(), "the box")
        page.drag("/target", goal, w)
        soon(lambda: "set target_pose.link of" in page.text(), "a refusal", lambda: page.set(label, True))
        controller.set_parameters([rclpy.Parameter("target_pose.link", value="tool0")])
        page.set(label, True)
        assert not targets
        soon(lambda: targets, "a target", lambda: page.drag("/target", goal, w))
        pose = targets[0].pose
        assert targets[0].header.frame_id == robot.tree.root
        np.testing.assert_allclose((pose.position.x, pose.position.y, pose.position.z), goal, atol=1e-6)
        np.testing.assert_allclose(
            (pose.orientation.w, pose.orientation.x, pose.orientation.y, pose.orientation.z), w, atol=1e-6
        )
        said = KeyValue(key="last pose target", value="pose not reached: 0.2 m away")
        status = DiagnosticStatus(name=controller.get_fully_qualified_name(), values=[said])
        report = DiagnosticArray(status=[status])
        soon(lambda: "live; target pose not reached: 0.2 m away" in page.text(), "the outcome",
             lambda: diagnostics.publish(report))
    controller.destroy_node()


@pytest.mark.slow
def test_buttons_reach_the_simulator(start, make_peer):
    robot = rne.load_urdf("puma560")
    viewer = start("viewer", robot_description="puma560", port=18090, niceness=0)
    simulator = start("simulator", robot_description="puma560", rate=200.0)
    wait_until(lambda: "ready: robot" in viewer.output(), START, "the viewer", [viewer, simulator])
    peer = make_peer(robot.joint_names)
    pushes = TopicRecorder(peer.node, WrenchStamped, "simulator/wrench")
    with ViserClient(re.search(r"http://\S+", viewer.output())[0]) as page:
        wait_until(lambda: "live" in page.text(), START, "joint states of the simulator", [viewer, simulator])
        wait_until(lambda: peer.node.count_subscribers("simulator/wrench") == 2, START, "the topics", [simulator])

        def received() -> list[float]:
            pushes.drain()
            return [pushes.decode(s).wrench.force.y for s in pushes.samples]

        def pushed() -> bool:
            page.press("Push")  # again: this listener may be discovered after the first one
            time.sleep(1.0)
            return any(received())

        wait_until(pushed, START, "a push", [viewer, simulator])
        wait_until(lambda: received()[-1] == 0.0, START, "its end", [viewer, simulator])
        page.press("Pause")
        wait_until(lambda: "no joint state for" in page.text(), START, "the pause", [viewer, simulator])
