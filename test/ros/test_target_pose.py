"""~/target_pose: a real node, a simulated arm whose time goes on as the controller follows it; frames of targets."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from scipy.spatial.transform import Rotation
from support.wheel import wheel_urdf

import rne_dynamics as rne
from rne_dynamics.errors import ArgumentError, ControlError
from rne_dynamics.ros.messages.topic_wait import OFFERED
from rne_dynamics.ros.sessions.processes import wait_until
from rne_dynamics.ros.targets import PoseTargets, StaticFrames

from .peer import AT_ONCE, START
from .stepped_arm import SteppedArm

ROBOT = rne.load_urdf("puma560")
NODE, LINK, RATE = "computed_torque_controller", "tool0", 125.0
HOME = np.array([0.2, 0.4, -0.4, 0.1, 0.8, 0.0])


def pose_of(q: np.ndarray) -> np.ndarray:
    return rne.forward_kinematics(ROBOT, q)[LINK]


class Arm(SteppedArm):
    """The sender of targets to a controller and its simulated arm."""

    def __init__(self, process, peer) -> None:
        super().__init__(process, peer, ROBOT, HOME, RATE)
        self.targets = peer.node.create_publisher(PoseStamped, f"{NODE}/target_pose", OFFERED)
        wait_until(self.targets.get_subscription_count, START, "the topic of targets", [process])

    def send(self, pose: np.ndarray, frame: str = "") -> None:
        message = PoseStamped()
        message.header.frame_id = frame
        p, r = message.pose.position, message.pose.orientation
        p.x, p.y, p.z = map(float, pose[:3, 3])
        r.x, r.y, r.z, r.w = map(float, Rotation.from_matrix(pose[:3, :3]).as_quat())
        self.logged = len(self.process.output())
        self.targets.publish(message)

    def logs(self, text: str) -> None:
        """Let time pass until the node has logged a text since the last target was sent."""
        self.until(lambda: text in self.process.output()[self.logged :])


@pytest.fixture(scope="module")
def arm(in_lockstep):
    process, peer = in_lockstep(
        NODE, list(ROBOT.joint_names), robot_description="puma560", target_pose={"link": LINK}, **AT_ONCE
    )
    arm = Arm(process, peer)
    arm.run(0.1)
    yield arm
    peer.hurry()


def test_a_target_is_reached_straight_or_by_a_detour_or_at_rest_near_it(arm):
    goal = pose_of(HOME)
    goal[:3, 3] += [0.05, 0.15, 0.1]
    arm.send(goal, ROBOT.tree.root)
    arm.logs("pose target succeeded")
    assert "moving to a pose target, straight" in arm.process.output()
    np.testing.assert_allclose(pose_of(arm.q), goal, atol=2e-3)
    assert arm.peer.mode(NODE) == "holding"

    time.sleep(1.1)  # no stream: the next one is alone
    other = pose_of(np.array([-2.0, 2.0, -2.5, 2.0, -1.0, 3.0]))
    arm.send(other)
    arm.logs("pose target succeeded")
    assert "joint by joint" in arm.process.output()
    np.testing.assert_allclose(pose_of(arm.q), other, atol=2e-3)

    other[:3, 3] *= 1.8
    arm.send(other)
    arm.logs("pose target pose not reached")
    assert "m and" in arm.process.output()
    assert arm.peer.mode(NODE) == "holding"
    assert np.abs(arm.simulator.state.qd).max() < 1e-2


def test_a_target_in_a_moving_frame_is_refused(arm):
    arm.send(pose_of(HOME), "link3")
    arm.logs("pose target refused: frame 'link3' is not fixed to the robot's base: it moves with link 'link3'")
    assert arm.peer.mode(NODE) == "holding"


def test_frames_are_followed_to_the_root_link():
    robot = rne.load_urdf(wheel_urdf("ur10_robot.urdf"))
    root = robot.tree.root
    frames, turn = StaticFrames(robot), [0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]
    frames.add("map", "table", (1.0, 0.0, 0.0), turn)
    frames.add("/table", root, (0.0, 0.5, 0.0), (0.0, 0.0, 0.0, 1.0))
    frames.add("map", "camera", (2.0, 1.0, 0.5), (0.0, 0.0, 0.0, 1.0))
    frames.add("wrist_3_link", "gripper_camera", (0.0, 0.0, 0.1), turn)
    np.testing.assert_allclose(frames.pose(""), np.eye(4))
    np.testing.assert_allclose(frames.pose(root), np.eye(4))
    table = np.eye(4)
    table[:3, :3], table[:3, 3] = Rotation.from_quat(turn).as_matrix(), [1.0, 0.0, 0.0]
    base, camera = table.copy(), np.eye(4)
    base[:3, 3] += table[:3, :3] @ [0.0, 0.5, 0.0]
    camera[:3, 3] = [2.0, 1.0, 0.5]
    np.testing.assert_allclose(frames.pose("/camera"), np.linalg.solve(base, camera), atol=1e-12)
    np.testing.assert_allclose(frames.pose("map"), np.linalg.inv(base), atol=1e-12)
    fixed = rne.forward_kinematics(robot, robot.neutral)["base_link"]
    np.testing.assert_allclose(frames.pose("base_link"), fixed, atol=1e-12)
    for moving in ("wrist_1_link", "gripper_camera"):
        with pytest.raises(ControlError, match="moves with link 'wrist_"):
            frames.pose(moving)
    with pytest.raises(ControlError, match="no static transform"):
        frames.pose("shelf")
    with pytest.raises(ArgumentError, match="static frame 'x'"):
        frames.add("map", "x", (0.0, 0.0, np.nan), turn)
    frames.add("a", "b", (0.0, 0.0, 0.0), turn)
    frames.add("b", "a", (0.0, 0.0, 0.0), turn)
    with pytest.raises(ControlError, match="loop"):
        frames.pose("a")


def test_messages_of_static_transforms_are_noted_and_a_target_without_a_pose_is_refused():
    said: list[str] = []
    logger = SimpleNamespace(warning=lambda text, **_: said.append(text))
    node = SimpleNamespace(in_force=SimpleNamespace(pose=None), get_logger=lambda: logger)
    targets = PoseTargets(node, ROBOT)
    transform = SimpleNamespace(
        translation=SimpleNamespace(x=1.0, y=2.0, z=3.0), rotation=SimpleNamespace(x=0.0, y=0.0, z=0.0, w=1.0)
    )
    header = SimpleNamespace(frame_id=ROBOT.tree.root)
    targets.on_static(SimpleNamespace(
        transforms=[SimpleNamespace(header=header, child_frame_id="table", transform=transform)]
    ))
    assert targets._frames.pose("table")[:3, 3].tolist() == [1.0, 2.0, 3.0]
    bad = PoseStamped()
    bad.pose.position.x = float("nan")
    targets._on_pose(bad)
    assert said == [f"pose target {targets.status()['last pose target']}"]
    assert "refused: the position of the target pose has a number that is not finite" in said[0]
