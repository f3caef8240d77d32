"""A simulated arm or mechanism and the test's side of its topics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.messages.topic_wait import OFFERED
from rne_dynamics.ros.messages.trajectory_message import duration_message
from rne_dynamics.ros.sessions.processes import NodeProcess, wait_until

from .peer import IN_STEP, PATIENCE, START

CONTROLLER = "computed_torque_controller"


class SimulatedMechanism:
    """A simulator in lock-step; `parameters` are its own."""

    def __init__(self, start: Any, peer: Any, **parameters: Any) -> None:
        self.peer, self.start = peer, start
        self.simulator = start("simulator", **parameters, **IN_STEP)
        self.processes: list[NodeProcess] = [self.simulator]
        self.states = TopicRecorder(peer.node, JointState, "joint_states", 20000)
        self.trajectories = peer.node.create_publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory", OFFERED)
        wait_until(lambda: self.states.latest() is not None, START, "joint states", self.processes)

    def now(self) -> JointState:
        """The next joint state."""
        self.states.drain()
        self.states.samples.clear()
        wait_until(lambda: self.states.latest() is not None, PATIENCE, "a joint state", self.processes)
        return self.states.latest()

    def send(self, joints: Sequence[str], *points: tuple[float, Iterable[float]], begin: int = 0) -> None:
        """Publish a trajectory through (time, s, positions), at rest at each, that begins at the stamp `begin`, ns."""
        message = JointTrajectory(joint_names=list(joints))
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(begin, 1_000_000_000)
        zero = [0.0] * len(joints)
        message.points = [
            JointTrajectoryPoint(
                positions=list(q), velocities=zero, accelerations=zero, time_from_start=duration_message(t)
            )
            for t, q in points
        ]
        self.trajectories.publish(message)
