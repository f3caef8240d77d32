"""The topics ``~/target_pose`` and ``~/target_wrench`` of a controller: targets of its control loop; static frames."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped

from rne_dynamics.control.streaming.pose_following import PoseFollower
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.dynamics.kinematics.inverse_kinematics import frame_of, frame_row
from rne_dynamics.errors import ControlError, RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.effort_node import EffortNode
from rne_dynamics.ros.loop.cycle import REFUSALS
from rne_dynamics.ros.messages.topic_wait import LATCHED_MANY

#: Longest chain of static transforms.
MOST_FRAMES = 1000


class StaticFrames:
    """Poses of frames in the root link's frame; `robot`: has the links."""

    def __init__(self, robot: RigidRobot) -> None:
        links = robot.links
        self._root, self._moving = robot.tree.root, {name for name, x in links.items() if x.body != BASE}
        self._above = {
            name: (self._root, _matrix(x.rotation, x.position))
            for name, x in links.items() if name not in {self._root, *self._moving}
        }  # fmt: skip

    def add(self, parent: str, child: str, position: Sequence[float], quaternion: Sequence[float]) -> None:
        """Note a pose of `child` in `parent`, m, quaternion x y z w; not of the robot's links. Raises ArgumentError."""
        parent, child = parent.lstrip("/"), child.lstrip("/")
        R, p = frame_of((position, quaternion), f"static frame {child!r}")
        assert R is not None
        if child not in self._above and child not in self._moving:
            self._above[child] = parent, _matrix(R, p)

    def pose(self, frame: str) -> Array:
        """Pose of a frame in the root link's, (4, 4); `ControlError` where it moves or is not connected to it."""
        frame = frame.lstrip("/") or self._root
        (top, pose), (base, root) = self._top(frame), self._top(self._root)
        if top != base:
            why = (
                f"it moves with link {top!r}" if top in self._moving else
                "there is no static transform of it" if top == frame else
                f"static transforms lead from it to {top!r}, and from link {self._root!r} to {base!r}"
            )
            raise ControlError(
                f"frame {frame!r} is not fixed to the robot's base: {why}. Use {self._root!r}, a link fixed to it, "
                "or a frame that /tf_static connects with it"
            )
        R, p = root[:3, :3].T, root[:3, 3]
        return _matrix(R, -R @ p) @ pose

    def _top(self, frame: str) -> tuple[str, Array]:
        """The uppermost frame over one, and the pose in it."""
        pose = np.eye(4)
        for _ in range(MOST_FRAMES):
            if frame not in self._above:
                return frame, pose
            frame, above = self._above[frame]
            pose = above @ pose
        raise ControlError(f"static transforms form a loop at frame {frame!r}: check what publishes /tf_static")


def _matrix(R: Array, p: Array) -> Array:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = R, p
    return pose


try:  # not among the wheels on PyPI; part of every ROS 2 installation
    from tf2_msgs.msg import TFMessage
except ImportError:
    TFMessage = None

#: Time without a target after which the next one is no part of a stream, s.
TARGET_PAUSE = 1.0


class PoseTargets:
    """Takes poses in any static frame for the control loop of `node`, a controller of `robot`."""

    def __init__(self, node: EffortNode, robot: RigidRobot) -> None:
        self._node, self._robot, self._frames = node, robot, StaticFrames(robot)
        self._arrived, self._refused, self._said = -np.inf, 0, ""
        if node.in_force.pose is None:
            return
        node.keep(node.create_subscription(PoseStamped, "~/target_pose", self._on_pose, 1))
        if TFMessage is not None:
            node.keep(node.create_subscription(TFMessage, "/tf_static", self.on_static, LATCHED_MANY))

    def on_static(self, message: Any) -> None:
        """Note static transforms, a tf2_msgs/TFMessage."""
        for x in message.transforms:
            p, r = x.transform.translation, x.transform.rotation
            try:
                self._frames.add(x.header.frame_id, x.child_frame_id, (p.x, p.y, p.z), (r.x, r.y, r.z, r.w))
            except RneDynamicsError as error:
                self._node.get_logger().warning(f"/tf_static: {error}")

    def _on_pose(self, message: PoseStamped) -> None:
        now = time.monotonic()
        alone, self._arrived = now - self._arrived > TARGET_PAUSE, now
        p, r = message.pose.position, message.pose.orientation
        try:
            R, position = frame_of(((p.x, p.y, p.z), (r.x, r.y, r.z, r.w)), "the target pose")
            assert R is not None
            frame = self._frames.pose(message.header.frame_id)
            target = frame_row(frame[:3, :3] @ R, frame[:3, :3] @ position + frame[:3, 3])
            detour = self._detour(target) if alone and self._node.parameters.values["target_pose.detour"] else None
            self._node.control.call("aim", target, detour)
        except RneDynamicsError as error:
            self._refused, self._said = self._refused + 1, f"refused: {error}"
            self._node.get_logger().warning(f"pose target {self._said}", throttle_duration_sec=REFUSALS)
            return
        if alone:
            way = "straight" if detour is None else "joint by joint, since the straight way does not lead there"
            self._node.get_logger().info(f"moving to a pose target, {way}")

    def _detour(self, target: Array) -> Array | None:
        """As `PoseFollower.posture_for`, from the present reference."""
        settings, reference = self._node.in_force, self._node.control.call("present", 0).followed
        if settings.pose is None or settings.stream is None:
            return None
        follower = PoseFollower(self._robot.open_tree, settings.pose, settings.stream.table)
        follower.place(reference.q, reference.qd)
        return follower.posture_for(target)

    def ended(self, ending: Ending, text: str) -> None:
        """The motion to the last target has ended."""
        self._said = f"{ending.value}: {text}"
        level = "info" if ending in (Ending.SUCCEEDED, Ending.CANCELLED, Ending.REPLACED) else "warning"
        self._node.log(level, f"pose target {self._said}")

    def status(self) -> dict[str, object]:
        """For the diagnostics."""
        return {"last pose target": self._said, "refused pose targets": self._refused}


class WrenchTargets:
    """Takes wrenches that the law of `node`, a controller, applies besides its springs."""

    def __init__(self, node: EffortNode) -> None:
        self._node, self._refused, self._said = node, 0, ""
        node.keep(node.create_subscription(WrenchStamped, "~/target_wrench", self._on_wrench, 1))

    def _on_wrench(self, message: WrenchStamped) -> None:
        f, m = message.wrench.force, message.wrench.torque
        wrench = np.array([f.x, f.y, f.z, m.x, m.y, m.z])
        try:
            self._said = self._node.control.call("apply_wrench", wrench, message.header.frame_id)
        except RneDynamicsError as error:
            self._refused, self._said = self._refused + 1, f"refused: {error}"
        if self._said:
            self._node.get_logger().warning(f"target wrench: {self._said}", throttle_duration_sec=REFUSALS)

    def status(self) -> dict[str, object]:
        """For the diagnostics."""
        return {"last target wrench": self._said, "refused target wrenches": self._refused}
