"""The hardware, played: an arm with drives behind the topics of a real one, whose reports can be falsified."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from rne_dynamics.dynamics.gravity import gravity_torque
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.ros.cdr import NANOSECONDS
from rne_dynamics.ros.faults.judge import Heard
from rne_dynamics.ros.glance import TakenByHand
from rne_dynamics.ros.lifecycle import OFFERED
from rne_dynamics.ros.messages import EFFORT_TOPIC
from rne_dynamics.simulation.plant import ArmPlant
from rne_dynamics.simulation.simulator import Simulator

#: Joint states per second, and steps of the physics between two.
RATE, SUBSTEPS = 250.0, 2
#: Where the controller has answered so far, time stands still until it answers, s at most: a machine that is busy with
#: other things then makes everything slower, and nothing else. Waits in vain after which that ends.
PATIENCE, VAIN = 0.1, 2.0
#: A pause of this process after which the clock of the arm is set to that of the machine again, s.
PAUSE = 0.45
#: Age at which the drives let a command go and the brakes bite, s.
COMMAND_TIMEOUT = 0.2
#: Every effort must be heard, so that every step between two is known.
EVERYTHING = QoSProfile(depth=5000, reliability=ReliabilityPolicy.RELIABLE)

#: Makes of the true joint state the messages that go out instead; none for silence.
Falsify = Callable[[JointState], Iterable[JointState]]


def honest(message: JointState) -> Iterable[JointState]:
    """The joint state as it is."""
    return (message,)


class Driver:
    """An arm and its drives, moved on by whoever calls `turn`.

    The brakes hold the arm until the first command, and again once the last one is older than `COMMAND_TIMEOUT`.

    Parameters
    ----------
    node
        Where it publishes and listens; no executor may spin it.
    robot
        The arm.
    home
        Where it starts, rad or m; shape (n,).
    """

    def __init__(self, node: Node, robot: RobotModel, home: Array) -> None:
        self.node, self.robot, self.home = node, robot, home
        self.states = node.create_publisher(JointState, "joint_states", OFFERED)
        self._commands = node.create_subscription(
            Float64MultiArray, EFFORT_TOPIC, lambda message: None, EVERYTHING, callback_group=TakenByHand()
        )
        self.heard = Heard()
        self.time, self._origin, self._deadline = 0.0, 0, 0.0
        self._answered, self._vain = False, 0.0
        self.restart()
        self._warm_up()

    def _warm_up(self) -> None:
        """Compile what a turn needs, so that the arm never stands still for it."""
        self.simulator.warm_up()
        self.simulator.command(self.weight())
        self.simulator.advance(1, {self.robot.link_names[-1]: np.zeros(6)})
        self.restart()

    def restart(self, plant: RobotModel | None = None) -> None:
        """Back home at rest, brakes on, honest; `plant` is the arm as it truly is, if other than everybody thinks."""
        truth = plant or self.robot
        self.simulator = Simulator(
            ArmPlant(truth), self.home, dt=1.0 / (RATE * SUBSTEPS), command_timeout=COMMAND_TIMEOUT, on_timeout="brake",
        )
        self.restart_reports()
        self.way: list[Array] = []
        self._start_clock()
        self._vain = 0.0

    def restart_reports(self) -> None:
        """Honest again, and nobody pushes."""
        self.falsify: Falsify = honest
        self.wrenches: dict[str, Array] = {}

    @property
    def q(self) -> Array:
        """Where the arm truly is, (n,)."""
        return self.simulator.state.q

    @property
    def qd(self) -> Array:
        """How fast it truly moves, (n,)."""
        return self.simulator.state.qd

    @property
    def driven(self) -> bool:
        """Whether a command that is not too old drives the arm, and not only with zeros."""
        return not self.simulator.braked and bool(self.simulator.applied_effort.any())

    def weight(self) -> Array:
        """What it takes to hold the arm of the model where it is, N·m or N; (n,)."""
        return gravity_torque(self.robot, self.q)

    def turn(self) -> None:
        """One period: the physics under the last command, a joint state, and the wait for what answers it."""
        time.sleep(max(self._deadline - time.monotonic(), 0.0))
        self._await_answer()
        now = time.monotonic()
        late = now - self._deadline
        if late > PAUSE:
            self._start_clock()
        self._deadline = (self._deadline if late < 2.0 / RATE else now) + 1.0 / RATE
        self.simulator.advance(SUBSTEPS, self.wrenches or None)
        self.time += 1.0 / RATE
        self.way.append(self.q)
        self._answered = False
        for message in self.falsify(self.report()):
            self.states.publish(message)

    def _start_clock(self) -> None:
        self._deadline = time.monotonic()
        self._origin, self.time = time.time_ns(), 0.0

    def _await_answer(self) -> None:
        """Take the commands that have come; wait for one if that is not in vain."""
        self.listen()
        until = time.monotonic() + PATIENCE
        while not self._answered and self._vain < VAIN and time.monotonic() < until:
            time.sleep(0.0005)
            self.listen()
        self._vain = max(self._vain - 0.05, 0.0) if self._answered else min(self._vain + 1.0, 2.0 * VAIN)

    def listen(self) -> None:
        """Take the commands that have come; the drives follow the last."""
        handle = self._commands.handle
        with handle:
            while (taken := handle.take_message(Float64MultiArray, False)) is not None:
                message, info = taken
                self._answered = True
                effort = list(message.data)
                self.heard.add(
                    info["source_timestamp"] / NANOSECONDS, info["publication_sequence_number"], effort
                )
                if len(effort) == self.robot.n and np.isfinite(effort).all():  # as drives do; the judge sees all
                    self.simulator.command(effort)

    def report(self, q: Array | None = None) -> JointState:
        """The joint state as it truly is, or with other positions, (n,)."""
        message = JointState(
            name=list(self.robot.joint_names), position=(self.q if q is None else q).tolist(),
            velocity=self.qd.tolist(), effort=self.simulator.applied_effort.tolist(),
        )
        now = self._origin + round(self.time * NANOSECONDS)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(now, NANOSECONDS)
        return message

    @property
    def publishers(self) -> int:
        """How many nodes publish efforts."""
        return int(self.node.count_publishers(EFFORT_TOPIC))
