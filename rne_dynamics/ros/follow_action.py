"""MoveIt's way in: the action ``~/follow_joint_trajectory``, where control_msgs is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectory

from rne_dynamics.control.motion.tolerances import Tolerances
from rne_dynamics.control.reference import Reference
from rne_dynamics.control.supervision.motion_queue import Ending, OnEnd
from rne_dynamics.errors import RneDynamicsError, TrajectoryError
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.controller_state import PointMemory
from rne_dynamics.ros.messages import write_stamp

try:  # not among the wheels on PyPI; part of every ROS 2 installation that has controllers
    from control_msgs.action import FollowJointTrajectory
except ImportError:
    FollowJointTrajectory = None

#: Time between two messages of feedback, s.
FEEDBACK_PERIOD = 0.05
#: How long a result is kept for a client that asks late, s: rclpy's 15 min would keep every trajectory as long.
RESULT_TIMEOUT = 10


#: Follows a trajectory that was checked, or raises `RneDynamicsError`; what it is given is called once.
Begin = Callable[[OnEnd], None]


class Controller(Protocol):
    """What the action needs of the node that follows trajectories."""

    @property
    def tolerances(self) -> Tolerances:
        """By which trajectories are judged that bring none of their own."""

    def prepare(self, message: JointTrajectory, tolerances: Tolerances) -> Begin:
        """Check `message` for following it at once; raises `RneDynamicsError`."""

    def refused(self, error: RneDynamicsError) -> None:
        """Log why a trajectory is not followed."""

    def cancel_motion(self, why: str) -> None:
        """Bring what is under way to rest; its `on_end` tells when it is."""

    def present(self) -> tuple[Reference, Array, Array]:
        """What is asked of the arm now, and its measured position and velocity."""


class FollowAction:
    """The action server; one goal moves the arm, and the newest one does.

    A goal that cannot be followed is rejected. The reason is in the node's log: a rejection carries none.

    A client that is told how its goal ended has the arm at rest or held: a cancelled goal ends when the arm has come
    to rest, not when the request came. Cancelling a goal that is to begin later brakes what is under way as well.

    A node that is cleaned up keeps the server until it is configured again: the results of goals that its deactivation
    has ended go out in the executor's next turns, and a new goal is rejected at once.

    Parameters
    ----------
    node
        The node that offers the action.
    controller
        The same node, as what follows trajectories.
    joints
        Names of the joints, in the order of the controller's vectors.
    """

    def __init__(self, node: Node, controller: Controller, joints: tuple[str, ...]) -> None:
        self._controller = controller
        self._goals: dict[bytes, tuple[ServerGoalHandle, Future]] = {}
        self._checked: tuple[Any, Begin] | None = None  # the goal that was accepted last
        self._feedback_at = 0.0
        n, feedback = len(joints), FollowJointTrajectory.Feedback(joint_names=list(joints))
        self._feedback = feedback
        self._desired = PointMemory(feedback.desired, n, "positions", "velocities", "accelerations")
        self._actual = PointMemory(feedback.actual, n, "positions", "velocities")
        self._error = PointMemory(feedback.error, n, "positions", "velocities")
        self.server = ActionServer(
            node, FollowJointTrajectory, "~/follow_joint_trajectory", self._result,
            goal_callback=self._check, handle_accepted_callback=self._begin, cancel_callback=self._cancel,
            result_timeout=RESULT_TIMEOUT,
        )

    def _check(self, goal: Any) -> GoalResponse:
        """Accept what can be followed from what the arm does now."""
        try:
            self._checked = goal, self._controller.prepare(*read_goal(goal, self._controller.tolerances))
        except RneDynamicsError as error:
            self._controller.refused(error)
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _begin(self, handle: ServerGoalHandle) -> None:
        """Follow the goal's trajectory in the executor's turn in which it came and was checked."""
        ended = Future()
        self._goals[_key(handle)] = handle, ended
        checked, self._checked = self._checked, None
        assert checked is not None
        assert checked[0] is handle.request
        try:
            checked[1](lambda *end: ended.set_result(result(*end)))
        except RneDynamicsError as error:  # what the arm does has changed since the check
            self._controller.refused(error)
            ended.set_result(result(Ending.STOPPED, str(error)))
        handle.execute()

    async def _result(self, handle: ServerGoalHandle) -> Any:
        """Wait, a glance each time the executor has its turn, until the motion has ended."""
        ending, told = await self._goals[_key(handle)][1]
        del self._goals[_key(handle)]
        if ending is Ending.SUCCEEDED:
            handle.succeed()
        elif handle.is_cancel_requested and ending in (Ending.CANCELLED, Ending.STOPPED, Ending.REPLACED):
            told.error_code = told.SUCCESSFUL  # the status says it: the client has what it asked for
            handle.canceled()
        else:
            handle.abort()
        return told

    def _cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        """Brake, if the motion is still this goal's."""
        _, ended = self._goals[_key(handle)]
        if ended.done():
            return CancelResponse.REJECT
        self._controller.cancel_motion("the client cancelled its goal")
        return CancelResponse.ACCEPT

    def report(self, stamp: int, now: float) -> None:
        """Send feedback where a goal is under way and feedback is due.

        Parameters
        ----------
        stamp
            Of the last joint state, ns.
        now
            Monotonic time, s.
        """
        if not self._goals or now < self._feedback_at:
            return
        self._feedback_at = now + FEEDBACK_PERIOD
        reference, q, qd = self._controller.present()
        write_stamp(self._feedback.header, stamp)
        self._desired.write(*reference)
        self._actual.write(q, qd)
        self._error.write(reference.q - q, reference.qd - qd)
        for handle, ended in self._goals.values():
            if not ended.done():
                handle.publish_feedback(self._feedback)


def follow_action(node: Any, joints: tuple[str, ...]) -> FollowAction | None:
    """The action of a node that is a `Controller`; None where control_msgs is not installed."""
    if FollowJointTrajectory is None:
        return None
    return FollowAction(node, node, joints)


def read_goal(goal: Any, defaults: Tolerances) -> tuple[JointTrajectory, Tolerances]:
    """The trajectory of a goal and the tolerances by which it is judged.

    Raises
    ------
    TrajectoryError
        No points, joints of several degrees of freedom, tolerances that cannot be kept.
    """
    if not goal.trajectory.points:
        raise TrajectoryError("it has no points; cancel a goal to bring the arm to rest")
    several = goal.multi_dof_trajectory.joint_names or goal.component_path_tolerance or goal.component_goal_tolerance
    if several or goal.multi_dof_trajectory.points:
        raise TrajectoryError("it has joints of several degrees of freedom; this controller has none")
    time = goal.goal_time_tolerance
    tolerances = defaults.overridden(goal.path_tolerance, goal.goal_tolerance, time.sec + 1e-9 * time.nanosec)
    return goal.trajectory, tolerances


def result(ending: Ending, text: str) -> tuple[Ending, Any]:
    """How a motion ended, and the action's result for it."""
    kind = FollowJointTrajectory.Result
    code = {
        Ending.SUCCEEDED: kind.SUCCESSFUL, Ending.PATH: kind.PATH_TOLERANCE_VIOLATED,
        Ending.GOAL: kind.GOAL_TOLERANCE_VIOLATED,
    }.get(ending, kind.INVALID_GOAL)  # there is no code for a goal that others ended; ros2_controllers take this one
    return ending, kind(error_code=code, error_string=f"{ending.value}: {text}")


def _key(handle: ServerGoalHandle) -> bytes:
    return bytes(handle.goal_id.uuid)
