"""Simulated hardware in lock-step: an arm with drives behind the topics of a real one; joint states can be falsified.

A turn is one period: physics, the new time, the joint state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from faults.drive_faults import DriveFaults, FaultySimulator
from faults.effort_checks import EffortLog
from faults.foreign import ForeignSimulator
from faults.lockstep import Lockstep
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.dynamics.newton_euler.newton_euler import gravity_torque
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.ros.messages.publishers import write_stamp
from rne_dynamics.ros.messages.topic_wait import OFFERED
from rne_dynamics.simulation.plant.plant import ArmPlant

#: Joint states per second, and steps of the physics between two.
RATE, SUBSTEPS = 250.0, 2
#: One period, ns.
PERIOD = round(NANOSECONDS / RATE)
#: Age of a command at which the drives drop it and the brakes close, simulated s.
COMMAND_TIMEOUT = 0.2
#: Turns the true joint state into the messages that are sent in its place; none for silence.
Falsify = Callable[[JointState], Iterable[JointState]]


def honest(message: JointState) -> Iterable[JointState]:
    """Return the true joint state."""
    return (message,)


class Driver(Lockstep):
    """An arm and its drives, advanced by calls of `turn`.

    The brakes hold the arm until the first command, and again once the last one is older than `COMMAND_TIMEOUT`.

    Parameters
    ----------
    node, controller
        As for `Lockstep`.
    robot
        The arm.
    home
        Where it starts, rad or m; shape (n,).
    foreign
        Whether the true arm deviates from `robot`, see `foreign`.
    """

    def __init__(self, node: Node, controller: str, robot: RobotModel, home: Array, *, foreign: bool = False) -> None:
        super().__init__(node, controller)
        self.robot, self.home, self._foreign = robot, home, foreign
        #: The efforts that reached the topic.
        self.log = EffortLog()
        self.on_effort = self._follow
        #: Computes each effort that an upstream controller sends to the gate; None for nothing.
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
        """Reset the arm to its home or another posture: at rest, brakes on, reports true.

        Simulated time goes on. `plant` is the true arm where it differs from the model. For `stop_stiffness` see
        `FaultySimulator`.
        """
        self.simulator = (ForeignSimulator if self._foreign else FaultySimulator)(
            ArmPlant(plant or self.robot), self.home if home is None else home, dt=1.0 / (RATE * SUBSTEPS),
            command_timeout=COMMAND_TIMEOUT, on_timeout="brake", stop_stiffness=stop_stiffness,
        )
        self.restart_reports()
        #: True positions and velocities after each turn, and the efforts of the motors in it; (n,) each.
        self.positions: list[Array] = []
        self.speeds: list[Array] = []
        self.motor_efforts: list[Array] = []

    def restart_reports(self) -> None:
        """Reports are true again; no pushes, no drive faults."""
        self.falsify: Falsify = honest
        self.wrenches: dict[str, Array] = {}
        self.simulator.push = None
        self.simulator.faults = DriveFaults.none(self.robot.n)

    @property
    def time(self) -> float:
        """Simulated time since the beginning, s, not affected by setting the clock."""
        return self._turns / RATE

    @property
    def q(self) -> Array:
        """True position, (n,)."""
        return self.simulator.state.q

    @property
    def qd(self) -> Array:
        """True velocity, (n,)."""
        return self.simulator.state.qd

    @property
    def driven(self) -> bool:
        """Whether a command that is not too old, and not zero, drives the arm."""
        return not self.simulator.braked and bool(self.simulator.applied_effort.any())

    def weight(self) -> Array:
        """Gravity torque of the model at the present position, N·m or N; (n,)."""
        return gravity_torque(self.robot, self.q)

    # -- time ---------------------------------------------------------------------------------------------------------

    def turn(self) -> None:
        """One period: the physics under the last command, the new time, a joint state."""
        self.listen()
        self.motor_efforts.append(self.simulator.given_effort)
        self.simulator.advance(SUBSTEPS, self.wrenches or None)
        self.positions.append(self.q)
        self.speeds.append(self.qd)
        self.stamp += PERIOD
        self._turns += 1
        if not self.linked:  # a frozen controller finds only the last states, sent by `link` and the next turn
            self._publish_time()
            return
        self.publish_time()
        if (command := self.feed()) is not None:
            self.publish(self._fed, Float64MultiArray(data=[float(effort) for effort in command]))
        for message in self.falsify(self.report()):
            self.publish(self.states, message)

    def _follow(self, number: int, effort: list[float]) -> None:
        """The drives follow the last command."""
        self.log.add(self.time, number, effort)
        if len(effort) == self.robot.n and np.isfinite(effort).all():  # as drives do; the log has all efforts
            self.simulator.command(effort)

    def report(self, q: Array | None = None) -> JointState:
        """The joint state as it truly is, or with other positions, (n,)."""
        message = JointState(
            name=list(self.robot.joint_names), position=(self.q if q is None else q).tolist(),
            velocity=self.qd.tolist(), effort=self.simulator.applied_effort.tolist(),
        )
        write_stamp(message.header, self.stamp)
        return message
