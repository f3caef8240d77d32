"""The node `viewer` in a process of its own: the page says what it waits for, and shows what topics report."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

import rne_dynamics as rne
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
