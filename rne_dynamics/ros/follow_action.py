"""The action ``~/follow_joint_trajectory``, as MoveIt uses it, where control_msgs is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.control.supervision.motion_queue import Ending, OnEnd
from rne_dynamics.errors import RneDynamicsError, TrajectoryError
from rne_dynamics.ros.messages.publishers import write_stamp

try:  # not among the wheels on PyPI; part of every ROS 2 installation that has controllers
    from control_msgs.action import FollowJointTrajectory
except ImportError:
    FollowJointTrajectory = None

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
        self._controller.cancel_motion("the client cancelled its goal")
        return CancelResponse.ACCEPT

    def report(self, stamp: int, now: float) -> None:
        """Send feedback, if a goal is active and feedback is due; `stamp` of the last joint state, ns; `now`, s."""
        if not self._goals or now < self._feedback_at:
            return
        self._feedback_at = now + FEEDBACK_PERIOD
        reference, q, qd = self._controller.present()
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


def follow_action(controller: Any, joints: tuple[str, ...]) -> FollowAction | None:
    """The action of a node; None where control_msgs is not installed."""
    return None if FollowJointTrajectory is None else FollowAction(controller, joints)


def read_goal(goal: Any, defaults: Tolerances) -> tuple[JointTrajectory, Tolerances]:
    """The trajectory of a goal and its tolerances; `TrajectoryError` where they cannot be followed or kept."""
    if not goal.trajectory.points:
        raise TrajectoryError("it has no points; cancel a goal to bring the arm to rest")
    several = goal.multi_dof_trajectory.joint_names or goal.component_path_tolerance or goal.component_goal_tolerance
    if several or goal.multi_dof_trajectory.points:
        raise TrajectoryError("it has joints of several degrees of freedom; this controller has none")
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
