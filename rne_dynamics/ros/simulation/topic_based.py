"""The simulator as topic-based hardware of ros2_control: joint commands in, joint states out, both by joint name.

Its counterpart is the plugin `joint_state_topic_hardware_interface/JointStateTopicSystem` or its predecessor
`topic_based_ros2_control/TopicBasedSystem`; docs/hardware.md shows the URDF for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sensor_msgs.msg import JointState

from rne_dynamics.errors import ControlError, ParameterError, RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.messages.cdr import deserialised
from rne_dynamics.ros.parameters.schema import Parameter
from rne_dynamics.simulation.runs.simulator import ServoDrives, Simulator

#: The value of the parameter `command_message` that selects it.
JOINT_STATE = "sensor_msgs/JointState"
#: Topics; those of the plugins, if the simulator is in the root namespace.
COMMANDS, STATES = "robot_joint_commands", "robot_joint_states"
#: Default natural frequency of the servo loops: at most this, rad/s, and this fraction of the rate.
FREQUENCY, OF_THE_RATE = 100.0, 0.1
#: Highest natural frequency for each joint state a second: an effort held longer no longer damps.
HIGHEST_FREQUENCY = 0.25

DRIVE_FREQUENCY = Parameter(
    "drive_frequency", 0.0, "Natural frequency of the drives' servo loops where command_message is "
    f"{JOINT_STATE}; 0 takes {FREQUENCY:g} or, if less, 10 % of the rate.", "rad/s", 0.0, 1000.0, read_only=True,
)


class TopicBasedHardware:
    """The drives of a simulated arm, commanded by sensor_msgs/JointState. Raises ParameterError."""

    def __init__(
        self, robot: RigidRobot, rate: float, frequency: float, *, command_timeout: float | None, brake: bool,
        lockstep: bool,
    ) -> None:
        if lockstep:
            raise ParameterError(
                f"parameter lockstep is true and command_message is {JOINT_STATE}: the commands of topic-based "
                "hardware do not answer one joint state each. Set lockstep to false"
            )
        if frequency > HIGHEST_FREQUENCY * rate:
            raise ParameterError(
                f"parameter drive_frequency is {frequency:g} rad/s and rate is {rate:g} Hz; it must be at most "
                f"{HIGHEST_FREQUENCY:g} times the rate, {HIGHEST_FREQUENCY * rate:g} rad/s. Lower it, or raise the rate"
            )
        frequency = frequency or min(FREQUENCY, OF_THE_RATE * rate)
        self.drives = ServoDrives(robot, frequency, command_timeout=command_timeout, hold_on_timeout=brake)
        self._joints, self._names = robot.joint_names, [""]
        self._from: list[int] = []
        self._to: list[int] = []

    def take(self, data: bytes, simulator: Simulator) -> None:
        """Take a serialised command; other joints are ignored. ControlError, SimulationError: the former one stays."""
        message = deserialised(data, JointState, ControlError)
        names = list(message.name)
        if names != self._names:
            self._look_up(names)
        state = simulator.state
        self.drives.command(state.t, state.q, *(
            self._column(label, values, names)
            for label, values in (
                ("position", message.position), ("velocity", message.velocity), ("effort", message.effort)
            )
        ))  # fmt: skip

    def _look_up(self, names: list[str]) -> None:
        twice = [joint for joint in self._joints if names.count(joint) > 1]
        if twice:
            raise ControlError(f"joint {twice[0]!r} is named twice; names must be unique")
        ours = [j for j, joint in enumerate(self._joints) if joint in names]
        if not ours:
            raise ControlError(
                f"none of its joints ({', '.join(names[:20]) or 'it names none'}) is simulated; simulated are "
                f"{', '.join(self._joints)}"
            )
        self._from, self._to = [names.index(self._joints[j]) for j in ours], ours
        self._names = names

    def _column(self, label: str, values: Sequence[float], names: list[str]) -> Array:
        """The values of the simulated joints, NaN if there is none."""
        column = np.full(len(self._joints), np.nan)
        if len(values) not in (0, len(names)):
            raise ControlError(
                f"{len(values)} values of {label} for {len(names)} joints, so that their joints are unknown: give "
                f"all joints of the URDF's ros2_control tag the same command interfaces"
            )
        if len(values):
            column[self._to] = np.asarray(values, np.float64)[self._from]
        return column

    def drive(self, simulator: Simulator) -> None:
        """Apply the drives' efforts; brakes hold before the first command. RneDynamicsError in singular postures."""
        if self.drives.commanded:
            state = simulator.state
            simulator.command(self.drives.effort(state.t, state.q, state.qd, state.posture))

    def warm_up(self, simulator: Simulator) -> None:
        """Compile what a cycle needs."""
        state = simulator.state
        try:
            self.drives.effort(state.t, state.q, state.qd, state.posture)
        except RneDynamicsError:  # a start at a singular posture: the kernels have run
            return
