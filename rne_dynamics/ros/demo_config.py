"""A parameter file for the session of a simulated arm: what it gives the controller and the simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rne_dynamics.control.gains import Gains
from rne_dynamics.errors import ArgumentError, ParameterError
from rne_dynamics.model.flexible.arm import AnyRobot
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.common_parameters import COMMON, effort_limits, payload
from rne_dynamics.ros.controller_parameters import velocity_limits
from rne_dynamics.ros.parameter_files import settings_for, simulated
from rne_dynamics.ros.parameters import Parameter, Values, per_joint
from rne_dynamics.ros.tracking_parameters import SCHEMA


@dataclass(frozen=True, eq=False)
class ArmConfig:
    """Parameters of one file by their dotted names, for the controller and for the simulator.

    The simulated arm has the payload and the gravity of the controller's model. Terms that the hardware compensates
    are left out of it, as they are in efforts; other parameters of hardware are left out of the controller.
    """

    #: For messages.
    file: str
    #: As the file has them, unchecked: the nodes check them.
    controller: Mapping[str, Any]
    simulator: Mapping[str, Any]
    #: Parameters of hardware that were left out.
    left_out: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: str | Path, controller: str, simulator: str) -> ArmConfig:
        """Read a file; `controller` and `simulator` are the nodes' full names.

        Raises
        ------
        ArgumentError
            It cannot be read, is no YAML, or has no parameters for that controller.
        """
        try:
            given, own = settings_for(str(path), controller), settings_for(str(path), simulator)
        except ParameterError as error:
            raise ArgumentError(f"--config {error}") from None
        if not given:
            name = controller.rpartition("/")[2]
            raise ArgumentError(f"--config {path} has no parameters of /**/{name}; see config/puma560.yaml for one")
        kept, arm, left_out = simulated(given)
        return cls(str(path), kept, arm | own, left_out)

    def arm(self, robot: AnyRobot, values: Values) -> AnyRobot:
        """The controlled robot, by the values of the controller's parameters, with the gravity of the simulated arm."""
        gravity = self.simulator.get("gravity", ())
        return (robot.with_gravity(gravity) if len(gravity) else robot).with_payload(payload(values))

    def with_parameters(self, given: Mapping[str, Any]) -> ArmConfig:
        """The same with these parameters of both nodes."""
        return replace(self, controller={**self.controller, **given}, simulator={**self.simulator, **given})

    def values(self, robot: RigidRobot, schema: Sequence[Parameter] = SCHEMA) -> Values:
        """The parameters that `schema` declares for the controller, with the defaults of those left out.

        Raises
        ------
        ParameterError
            Other joints than the robot's, a value that is not allowed, or a joint without effort limit.
        """
        joints = self.controller.get("joints")
        if joints and sorted(map(str, joints)) != sorted(robot.joint_names):
            raise ParameterError(
                f"{self.file}: joints are {', '.join(map(str, joints))}; the command drives all joints of robot "
                f"{robot.name!r}: {', '.join(robot.joint_names)}"
            )
        names = {p.name.replace("{joint}", j): p for p in (*COMMON, *schema) for j in robot.joint_names}
        try:
            given = self.controller
            values = {n: p.parse(n, given[n]) if n in given else p.default for n, p in names.items()}
            effort_limits(robot, values)
        except ParameterError as error:
            raise ParameterError(f"{self.file}: {error}" if self.file else str(error)) from None
        return values


@dataclass(frozen=True, eq=False)
class ConfiguredArm:
    """What a demo takes from a configuration: the robot, limits, (n,), gains, and how its friction is compensated.

    `friction` is the fraction that the law compensates; `rubs` is whether the simulated arm has any.
    """

    robot: AnyRobot

    effort: Array
    velocity: Array
    margin: Array
    gains: Gains
    friction: float
    rubs: bool

    @classmethod
    def of(cls, config: ArmConfig, machine: AnyRobot) -> ConfiguredArm:
        """Of a configuration for a robot; raises as `ArmConfig.values`."""
        values = config.values(machine.rigid)
        machine = config.arm(machine, values)
        robot = machine.rigid
        limit, joints = effort_limits(robot, values), robot.joint_names
        p, i, d = (per_joint(values, f"gains.{{joint}}.{k}", joints) for k in ("p", "i", "d"))
        return cls(
            machine.with_effort_limit(limit), limit, velocity_limits(robot, values),
            per_joint(values, "limits.{joint}.position_margin", joints),
            Gains(p, i, d), values["friction_compensation"], bool(config.simulator.get("friction", True)),
        )
