"""`move` and a controller whose topics it discovers one after the other, as happens on a busy computer."""

from __future__ import annotations

import signal

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.qos import QoSProfile
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

import rne_dynamics as rne
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.ros.messages.topic_wait import NEWEST, OFFERED
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import START

ROBOT = rne.load_urdf("planar2")
NODE = "computed_torque_controller"
#: Shorter than `move` waits for the topic of the state, s.
LATE = 0.2


class LateController:
    """Takes motions; a part of its topics and reports comes later."""

    def __init__(self, peer) -> None:
        self.peer, self.motions = peer, []
        self.name = f"{peer.node.get_namespace()}/{NODE}"
        peer.caller.create_subscription(JointTrajectory, f"{NODE}/joint_trajectory", self.motions.append, NEWEST)
        self.reports = peer.caller.create_publisher(DiagnosticArray, "/diagnostics", OFFERED)

    def publish_state(self) -> None:
        self.peer.caller.create_publisher(String, f"{NODE}/state", QoSProfile(depth=1))

    def report(self, refused: int) -> None:
        values = {"state": "holding", "motion locked": "", "refused trajectories": str(refused),
                  "last refused trajectory": "it is too fast"}
        status = DiagnosticStatus(name=self.name, values=[KeyValue(key=k, value=v) for k, v in values.items()])
        self.reports.publish(DiagnosticArray(status=[status]))

    def wait(self, condition, what, process, seconds: float = START, checked: bool = True) -> None:
        def turn():
            self.peer.state([0.0, 0.0])
            self.peer.executor.spin_once(0.01)
            return condition()

        wait_until(turn, seconds, what, [process] if checked else [])


@pytest.fixture
def controller(make_peer):
    return LateController(make_peer(ROBOT.joint_names))


def test_a_controller_that_reports_nothing_is_sent_the_motion_after_a_while(start, controller):
    process = start("move", ["0.3", "0.3"], robot_description="planar2", timeout=30.0)
    controller.wait(lambda: controller.motions, "a motion", process)
    process.signal(signal.SIGINT)
    controller.wait(lambda: process.exit_code is not None, "the end, once states show rest", process, checked=False)
    assert process.exit_code == 1


def test_a_motion_that_is_refused_at_once_is_seen_although_the_state_was_discovered_late(start, controller):
    process = start("move", ["0.3", "0.3"], robot_description="planar2", timeout=30.0)
    topic = f"{NODE}/joint_trajectory"
    controller.wait(lambda: controller.peer.caller.count_publishers(topic), "the node", process)
    with pytest.raises(RneDynamicsError, match="a motion"):
        controller.wait(lambda: controller.motions, "a motion", process, LATE)
    controller.publish_state()

    def refused_as_soon_as_sent():
        controller.report(refused=7 + bool(controller.motions))
        return process.exit_code is not None

    controller.wait(refused_as_soon_as_sent, "the end", process, checked=False)
    assert process.wait(START) == 1
    assert "the controller refuses the motion: it is too fast" in process.output()
