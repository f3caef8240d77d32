"""The hardware, played in lock-step: an arm with drives behind the topics of a real one; its reports can be falsified.

A turn is one period: physics, the new time, the joint state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from rne_dynamics.dynamics.newton_euler.gravity import gravity_torque
from rne_dynamics.faults.judge import Heard
from rne_dynamics.faults.lockstep import Lockstep
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.ros.cdr import NANOSECONDS
from rne_dynamics.ros.lifecycle import OFFERED
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.drive_faults import DriveFaults, FaultySimulator

#: Joint states per second, and steps of the physics between two.
RATE, SUBSTEPS = 250.0, 2
#: One period, ns.
PERIOD = round(NANOSECONDS / RATE)
#: Age at which the drives let a command go and the brakes bite, simulated s.
COMMAND_TIMEOUT = 0.2
#: Makes of the true joint state the messages that go out instead; none for silence.
Falsify = Callable[[JointState], Iterable[JointState]]


def honest(message: JointState) -> Iterable[JointState]:
    """The joint state as it is."""
    return (message,)


class Driver(Lockstep):
    """An arm and its drives, moved on by whoever calls `turn`.

    The brakes hold the arm until the first command, and again once the last one is older than `COMMAND_TIMEOUT`.

    Parameters
    ----------
    node, controller
        As for `Lockstep`.
    robot
        The arm.
    home
        Where it starts, rad or m; shape (n,).
    """

    def __init__(self, node: Node, controller: str, robot: RobotModel, home: Array) -> None:
        super().__init__(node, controller)
        self.robot, self.home = robot, home
        self.heard = Heard()
        self.on_effort = self._follow
        #: Gives each effort that another controller sends to the gate; None for nothing.
        self.feed: Callable[[], Iterable[float] | None] = lambda: None
        self._fed = node.create_publisher(Float64MultiArray, f"{controller}/commands", OFFERED)
        self._turns = 0
        self.restart()
        self._warm_up()

    def _warm_up(self) -> None:
        """Compile what a turn needs."""
        self.simulator.warm_up()
        self.simulator.command(self.weight())
        self.simulator.advance(1, {self.robot.link_names[-1]: np.zeros(6)})
        self.restart()

    def restart(
        self, plant: RobotModel | None = None, home: Array | None = None, stop_stiffness: Array | None = None
    ) -> None:
        """Back home, or elsewhere, at rest, brakes on, honest; `plant` is the arm as it truly is, if not the model.

        Time goes on. For `stop_stiffness` see `FaultySimulator`.
        """
        truth = plant or self.robot
        self.simulator = FaultySimulator(
            ArmPlant(truth), self.home if home is None else home, dt=1.0 / (RATE * SUBSTEPS),
            command_timeout=COMMAND_TIMEOUT, on_timeout="brake", stop_stiffness=stop_stiffness,
        )
        self.restart_reports()
        #: Positions, speeds and what the motors truly gave, after each turn; (n,) each.
        self.way: list[Array] = []
        self.speeds: list[Array] = []
        self.given: list[Array] = []

    def restart_reports(self) -> None:
        """Honest again, and nobody pushes."""
        self.falsify: Falsify = honest
        self.wrenches: dict[str, Array] = {}
        self.simulator.push = None
        self.simulator.faults = DriveFaults.none(self.robot.n)

    @property
    def time(self) -> float:
        """Simulated time that has passed since the beginning, s, wherever the clock was set meanwhile."""
        return self._turns / RATE

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

    # -- time ---------------------------------------------------------------------------------------------------------

    def turn(self) -> None:
        """One period: the physics under the last command, the new time, a joint state."""
        self.listen()
        self.given.append(self.simulator.given_effort)
        self.simulator.advance(SUBSTEPS, self.wrenches or None)
        self.way.append(self.q)
        self.speeds.append(self.qd)
        self.stamp += PERIOD
        self._turns += 1
        if not self.linked:  # what is frozen finds only the last messages, which `link` and the next turn send
            return
        self.tell_time()
        if (command := self.feed()) is not None:
            self.publish(self._fed, Float64MultiArray(data=[float(effort) for effort in command]))
        for message in self.falsify(self.report()):
            self.publish(self.states, message)

    def _follow(self, number: int, effort: list[float]) -> None:
        """The drives follow the last command."""
        self.heard.add(self.time, number, effort)
        if len(effort) == self.robot.n and np.isfinite(effort).all():  # as drives do; the judge sees all
            self.simulator.command(effort)

    def report(self, q: Array | None = None) -> JointState:
        """The joint state as it truly is, or with other positions, (n,)."""
        message = JointState(
            name=list(self.robot.joint_names), position=(self.q if q is None else q).tolist(),
            velocity=self.qd.tolist(), effort=self.simulator.applied_effort.tolist(),
        )
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(self.stamp, NANOSECONDS)
        return message
