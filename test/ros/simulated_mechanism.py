"""A simulated arm or mechanism and the test's side of its topics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.messages.topic_wait import OFFERED
from rne_dynamics.ros.sessions.processes import NodeProcess, wait_until

from .peer import IN_STEP, START, fresh, through

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
        return fresh(self.states, self.processes)

    def send(self, joints: Sequence[str], *points: tuple[float, Iterable[float]], begin: int = 0) -> None:
        """Publish a trajectory, see `through`."""
        self.trajectories.publish(through(joints, *points, begin=begin))
