"""What gives a controller targets: the topics ``~/target_pose`` and ``~/target_wrench``, and the action of MoveIt."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.control.streaming.pose_following import PoseFollower
from rne_dynamics.control.supervision.motion_queue import Ending, OnEnd
from rne_dynamics.dynamics.kinematics.inverse_kinematics import frame_of, frame_row
from rne_dynamics.errors import ControlError, RneDynamicsError, TrajectoryError, refuse
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.effort_node import EffortNode
from rne_dynamics.ros.loop.cycle import REFUSALS
from rne_dynamics.ros.loop.messages import Snapshot
from rne_dynamics.ros.messages.cdr import installed_type
from rne_dynamics.ros.messages.publishers import write_stamp
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


TFMessage = installed_type("tf2_msgs/msg/TFMessage")

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


FollowJointTrajectory = installed_type("control_msgs/action/FollowJointTrajectory")

#: Time between two messages of feedback, s.
FEEDBACK_PERIOD = 0.05
#: Time for which a result is kept for late clients, s: rclpy's 15 min would keep every trajectory as long.
RESULT_TIMEOUT = 10


#: Follows a checked trajectory, or raises `RneDynamicsError`; calls its argument once, at the end.
Begin = Callable[[OnEnd], None]


class FollowAction:
    """The action server; a new goal preempts the current one.

    A goal that cannot be followed is rejected. The reason is in the node's log: a rejection has no field for it.

    When a client receives the result of its goal, the arm is at rest or held: a cancelled goal ends when the arm has
    come to rest, not when the request came. Cancelling a goal that begins later also brakes the current motion.

    A node that is cleaned up keeps the server until it is configured again: the results of goals that its deactivation
    has ended are sent in the executor's next turns, and new goals are rejected.

    `controller`: the node, a `ComputedTorqueController`: offers the action, checks and follows trajectories; `joints`:
    names of the joints, in the order of the controller's vectors.
    """

    def __init__(self, controller: Any, joints: tuple[str, ...]) -> None:
        self._controller = controller
        self._goals: dict[bytes, tuple[ServerGoalHandle, Future]] = {}
        self._checked: tuple[Any, Begin] | None = None  # the goal that was accepted last
        self._feedback_at = 0.0
        self._feedback = FollowJointTrajectory.Feedback(joint_names=list(joints))
        self.server = ActionServer(
            controller, FollowJointTrajectory, "~/follow_joint_trajectory", self._result,
            goal_callback=self._check, handle_accepted_callback=self._begin, cancel_callback=self._cancel,
            result_timeout=RESULT_TIMEOUT,
        )

    def _check(self, goal: Any) -> GoalResponse:
        """Accept a goal that can be followed from the present motion."""
        try:
            self._checked = goal, self._controller.prepare(*read_goal(goal, self._controller.tolerances))
        except RneDynamicsError as error:
            self._controller.refused(error)
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _begin(self, handle: ServerGoalHandle) -> None:
        """Follow the goal's trajectory, in the same turn of the executor in which it was checked."""
        ended = Future()
        self._goals[_key(handle)] = handle, ended
        checked, self._checked = self._checked, None
        assert checked is not None
        assert checked[0] is handle.request
        try:
            checked[1](lambda *end: ended.set_result(result(*end)))
        except RneDynamicsError as error:  # the motion has changed since the check
            self._controller.refused(error)
            ended.set_result(result(Ending.STOPPED, str(error)))
        handle.execute()

    async def _result(self, handle: ServerGoalHandle) -> Any:
        """Wait until the motion has ended."""
        ending, outcome = await self._goals[_key(handle)][1]
        del self._goals[_key(handle)]
        if ending is Ending.SUCCEEDED:
            handle.succeed()
        elif handle.is_cancel_requested and ending in (Ending.CANCELLED, Ending.STOPPED, Ending.REPLACED):
            outcome.error_code = outcome.SUCCESSFUL  # the status reports the cancellation, which was requested
            handle.canceled()
        else:
            handle.abort()
        return outcome

    def _cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        """Brake, if the goal has not ended."""
        _, ended = self._goals[_key(handle)]
        if ended.done():
            return CancelResponse.REJECT
        self._controller.control.call("cancel", "the client cancelled its goal")
        return CancelResponse.ACCEPT

    def report(self, snapshot: Snapshot, now: float) -> None:
        """Send the present motion as feedback, if a goal is active and feedback is due at `now`, s."""
        if not self._goals or now < self._feedback_at:
            return
        self._feedback_at = now + FEEDBACK_PERIOD
        stamp, reference, q, qd, _ = snapshot
        write_stamp(self._feedback.header, stamp)
        self._feedback.desired = JointTrajectoryPoint(
            positions=reference.q.tolist(), velocities=reference.qd.tolist(), accelerations=reference.qdd.tolist()
        )
        self._feedback.actual, self._feedback.error = (
            JointTrajectoryPoint(positions=position.tolist(), velocities=velocity.tolist())
            for position, velocity in ((q, qd), (reference.q - q, reference.qd - qd))
        )
        for handle, ended in self._goals.values():
            if not ended.done():
                handle.publish_feedback(self._feedback)


def read_goal(goal: Any, defaults: Tolerances) -> tuple[JointTrajectory, Tolerances]:
    """The trajectory of a goal and its tolerances; `TrajectoryError` where they cannot be followed or kept."""
    several = goal.multi_dof_trajectory
    refuse(
        TrajectoryError,
        (not goal.trajectory.points, "it has no points; cancel a goal to bring the arm to rest"),
        (several.joint_names or several.points or goal.component_path_tolerance or goal.component_goal_tolerance,
         "it has joints of several degrees of freedom; this controller has none"),
    )
    time = goal.goal_time_tolerance
    tolerances = defaults.overridden(goal.path_tolerance, goal.goal_tolerance, time.sec + 1e-9 * time.nanosec)
    return goal.trajectory, tolerances


def result(ending: Ending, text: str) -> tuple[Ending, Any]:
    """Ending of a motion, and the action's result for it."""
    kind = FollowJointTrajectory.Result
    code = {
        Ending.SUCCEEDED: kind.SUCCESSFUL, Ending.PATH: kind.PATH_TOLERANCE_VIOLATED,
        Ending.GOAL: kind.GOAL_TOLERANCE_VIOLATED,
    }.get(ending, kind.INVALID_GOAL)  # no code exists for a goal that others ended; ros2_controllers use this one
    return ending, kind(error_code=code, error_string=f"{ending.value}: {text}")


def _key(handle: ServerGoalHandle) -> bytes:
    return bytes(handle.goal_id.uuid)
