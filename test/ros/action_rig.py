"""A simulated arm, its controller and a client of ~/follow_joint_trajectory; needs control_msgs."""

from __future__ import annotations

import time

import numpy as np
from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from support.frozen import program
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.messages.topic_wait import OFFERED
from rne_dynamics.ros.messages.trajectory_message import duration_message
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import PATIENCE, START

NODE = "computed_torque_controller"
ACTION = f"{NODE}/follow_joint_trajectory"
JOINTS = ["joint1", "joint2"]
HOME = np.array([-0.7, 0.4])
SECOND = 1_000_000_000
Result = FollowJointTrajectory.Result


def home(*off: float) -> np.ndarray:
    """Positions so far from home."""
    return HOME + np.array(off)


class Goal:
    """A goal that has been sent: its feedback, and its result when it comes."""

    def __init__(self, rig: Rig, message: FollowJointTrajectory.Goal) -> None:
        self._rig = rig
        self.feedback: list[FollowJointTrajectory.Feedback] = []
        rig.logged = len(rig.controller.output())
        future = rig.client.send_goal_async(message, lambda m: self.feedback.append(m.feedback))
        rig.spin_until(future.done, "the answer to the goal")
        self.handle = future.result()
        self._future = self.handle.get_result_async() if self.handle.accepted else None

    @property
    def over(self) -> bool:
        self._rig.spin()
        return self._future.done()

    def rejected(self) -> str:
        """Why it was, which only the node's log says."""
        assert not self.handle.accepted
        words = "trajectory refused: "
        wait_until(lambda: words in self._rig.said(), PATIENCE, "the reason", self._rig.processes)
        return self._rig.said().rpartition(words)[2].splitlines()[0]

    def result(self) -> tuple[int, int, str]:
        """Its status, error code and text; a rejected goal has none of the first two."""
        if not self.handle.accepted:
            return GoalStatus.STATUS_UNKNOWN, Result.INVALID_GOAL, self.rejected()
        self._rig.spin_until(self._future.done, "the goal's result")
        answer = self._future.result()
        return answer.status, answer.result.error_code, answer.result.error_string

    def aborted(self) -> tuple[int, str]:
        """The error code and text of a goal that must have been aborted."""
        status, code, text = self.result()
        assert status == GoalStatus.STATUS_ABORTED, text
        return code, text

    def cancel(self) -> int:
        """Ask for it; how many goals the server says it cancels."""
        future = self.handle.cancel_goal_async()
        self._rig.spin_until(future.done, "the answer to the cancel request")
        return len(future.result().goals_canceling)


class Rig:
    """Simulator, controller and client."""

    logged = 0

    def __init__(self, start, peer) -> None:
        self.peer = peer
        self.simulator = start(
            "simulator", script=program("simulator"), robot_description="planar2", rate=500.0, friction=False,
            lockstep=True, publish_clock=True, initial_position=dict(zip(JOINTS, HOME.tolist(), strict=True)),
        )
        self.processes = [self.simulator]
        self._start = start
        self.client = ActionClient(peer.caller, FollowJointTrajectory, ACTION)
        self.states = TopicRecorder(peer.node, JointState, "joint_states")
        self.trajectories = peer.node.create_publisher(JointTrajectory, f"{NODE}/joint_trajectory", OFFERED)
        self.start_controller(use_sim_time=True)
        self.go_home()

    def start_controller(self, use_sim_time: bool) -> None:
        """Start it and wait until it answers."""
        self.controller = self._start(
            NODE, robot_description="planar2", state_timeout=2.0, use_sim_time=use_sim_time,
            friction_compensation=0.0, gains={j: {"p": 2500.0, "d": 100.0} for j in JOINTS},
            start={"ramp_time": 0.0}, startup_check={"duration": 0.1}, torque_divisor=5,
            stop={"brake_time": 0.5, "hold_time": 0.1, "ramp_time": 0.1}, diagnostics_period=0.5,
            # no tolerance on the path: a busy computer loses efforts, and the arm lags behind
            constraints={"goal_time": 10.0, **{j: {"trajectory": 0.0, "goal": 1e-3} for j in JOINTS}},
        )
        self.processes.append(self.controller)
        wait_until(lambda: self.trajectories.get_subscription_count() and self.peer.efforts(), START, "efforts",
                   self.processes)
        self.spin_until(self.client.server_is_ready, "the action server")

    def go_home(self) -> None:
        """Go there as soon as motions are allowed; recover where the arm has been released."""
        last = ""

        def arrived() -> bool:
            nonlocal last
            away = float(np.abs(np.array(self.state().position) - HOME).max())  # an arm that nobody drives falls
            _, code, last = self.goal(seconds=0.5 + away).result()
            if code != Result.SUCCESSFUL:
                self.call("recover")
            return code == Result.SUCCESSFUL

        try:
            self.spin_until(arrived, "the way home")
        except Exception as error:
            raise AssertionError(f"{last}\n{self.controller.output()[-1500:]}") from error

    def said(self) -> str:
        """The controller's log since the last goal was sent."""
        return self.controller.output()[self.logged:]

    def spin(self) -> None:
        self.peer.executor.spin_once(timeout_sec=0.0)

    def spin_until(self, condition, what: str, seconds: float = PATIENCE) -> None:
        def met() -> bool:
            self.spin()
            return condition()

        wait_until(met, seconds, what, self.processes, period=0.001)

    def spin_for(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        self.spin_until(lambda: time.monotonic() > deadline, "the time")

    def state(self) -> JointState:
        self.states.drain()
        self.states.samples.clear()
        wait_until(lambda: self.states.latest() is not None, PATIENCE, "a joint state", self.processes)
        return self.states.latest()

    def trajectory(self, goal, seconds: float = 0.5, names=JOINTS, begin: int = 0) -> JointTrajectory:
        zero = [0.0] * len(goal)
        point = JointTrajectoryPoint(
            positions=[float(v) for v in goal], velocities=zero, accelerations=zero,
            time_from_start=duration_message(seconds),
        )
        message = JointTrajectory(joint_names=list(names), points=[point])
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(begin, SECOND)
        return message

    def goal(self, target=HOME, seconds: float = 0.5, names=JOINTS, begin: int = 0, **fields) -> Goal:
        """Send a goal; `fields` are further fields of the message."""
        trajectory = self.trajectory(target, seconds, names, begin)
        return Goal(self, FollowJointTrajectory.Goal(**{"trajectory": trajectory, **fields}))

    def at(self, target, tolerance: float = 1e-3) -> bool:
        return bool(np.abs(np.array(self.state().position) - target).max() < tolerance)

    def moving(self) -> bool:
        return bool(np.abs(self.state().velocity).max() > 0.05)

    def call(self, name: str) -> Trigger.Response:
        return self.peer.call(Trigger, f"{NODE}/{name}", Trigger.Request(), once=True)
