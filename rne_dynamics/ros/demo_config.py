"""A parameter file for the session of `rne demo`: what it gives the controller and the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from rne_dynamics.control.gains import Gains
from rne_dynamics.errors import ArgumentError, ParameterError
from rne_dynamics.model.flexible.arm import AnyRobot
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.common_parameters import COMMON, payload
from rne_dynamics.ros.controller_parameters import velocity_limits
from rne_dynamics.ros.effort_limits import effort_limits
from rne_dynamics.ros.parameter_files import SECTION, applies
from rne_dynamics.ros.parameters import Values, number, per_joint
from rne_dynamics.ros.tracking_parameters import SCHEMA

#: Parameters of hardware that a simulated arm does not have, and the terms that it can add to the efforts as hardware.
OF_HARDWARE = ("effort_scale.", "drives.topic", "base_motion.", "realtime_priority", "cpu_affinity", "lock_memory")
SIMULATED = ("gravity", "friction")
#: What the arm has as its model does, unless the file gives the simulator something else.
OF_THE_ARM = ("gravity", "payload.link", "payload.mass", "payload.com", "payload.inertia")
#: Where the hardware compensates gravity, m/s²: with exactly 0 the start-up check would find no reported efforts.
NEXT_TO_NONE = [0.0, 0.0, -0.001]


@dataclass(frozen=True, eq=False)
class ArmConfig:
    """Parameters of one file by their dotted names, for the controller and for the simulator.

    The simulated arm has the payload and the gravity of the controller's model. Terms that the hardware compensates
    are left out of it, as they are in efforts; other parameters of hardware are left out of the controller.

    Parameters
    ----------
    file
        For messages.
    controller, simulator
        As the file has them, unchecked: the nodes check them.
    left_out
        Parameters of hardware that were left out.
    """

    file: str
    controller: Mapping[str, Any]
    simulator: Mapping[str, Any]
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
            content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise ArgumentError(f"--config {path} cannot be read: {error.strerror}") from None
        except (ValueError, yaml.YAMLError) as error:
            raise ArgumentError(f"--config {path} is no YAML: {' '.join(str(error).split())}") from None
        given = _parameters(content, "", controller)
        if not given:
            name = controller.rpartition("/")[2]
            raise ArgumentError(f"--config {path} has no parameters of /**/{name}; see config/puma560.yaml for one")
        kept = {k: v for k, v in given.items() if not k.startswith(OF_HARDWARE)}
        arm = {k: given[k] for k in OF_THE_ARM if k in given}
        compensated = [str(term) for term in given.get("hardware_compensates", ())]
        if compensated:
            kept["hardware_compensates"] = [term for term in compensated if term in SIMULATED]
            arm |= {"gravity": NEXT_TO_NONE} if "gravity" in compensated else {}
            arm |= {"friction": False} if "friction" in compensated else {}
        left_out = (*sorted({k.partition(".")[0] for k in given if k not in kept and given[k] not in (1.0, "", [])}),
                    *(f"hardware_compensates: {term}" for term in compensated if term not in SIMULATED))  # fmt: skip
        return cls(str(path), kept, arm | _parameters(content, "", simulator), left_out)

    def arm(self, robot: AnyRobot, values: Values) -> AnyRobot:
        """The controlled robot, by the values of the controller's parameters, with the gravity of the simulated arm."""
        gravity = self.simulator.get("gravity", ())
        return (robot.with_gravity(gravity) if len(gravity) else robot).with_payload(payload(values))

    def values(self, robot: RigidRobot) -> Values:
        """The controller's parameters with the defaults of those left out.

        Raises
        ------
        ParameterError
            Other joints than the robot's, a value that is not allowed, or a joint without effort limit.
        """
        joints = self.controller.get("joints")
        if joints and sorted(map(str, joints)) != sorted(robot.joint_names):
            raise ParameterError(
                f"{self.file}: joints are {', '.join(map(str, joints))}; the demo drives all joints of robot "
                f"{robot.name!r}: {', '.join(robot.joint_names)}"
            )
        names = {p.name.replace("{joint}", j): p for p in (*COMMON, *SCHEMA) for j in robot.joint_names}
        try:
            given = self.controller
            values = {n: p.parse(n, given[n]) if n in given else p.default for n, p in names.items()}
            effort_limits(robot, values)
        except ParameterError as error:
            raise ParameterError(f"{self.file}: {error}") from None
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
        limit = effort_limits(robot, values)

        def column(pattern: str) -> Array:
            return np.array(per_joint(values, pattern, robot.joint_names))

        return cls(
            machine.with_effort_limit(limit), limit, velocity_limits(robot, values),
            column("limits.{joint}.position_margin"),
            Gains(column("gains.{joint}.p"), column("gains.{joint}.i"), column("gains.{joint}.d")),
            number(values, "friction_compensation"), bool(config.simulator.get("friction", True)),
        )


def _parameters(content: Any, above: str, node: str) -> dict[str, Any]:
    """Parameters of all sections of a file that are for a node; later ones override earlier ones."""
    found: dict[str, Any] = {}
    for key, below in content.items() if isinstance(content, Mapping) else ():
        if key != SECTION:
            found |= _parameters(below, f"{above}/{str(key).strip('/')}", node)
        elif applies(above, node):
            found |= flat(below)
    return found


def flat(tree: Any, prefix: str = "") -> dict[str, Any]:
    """Nested parameters by their dotted names."""
    if not isinstance(tree, Mapping):
        return {prefix: tree} if prefix and tree is not None else {}
    found: dict[str, Any] = {}
    for name, below in tree.items():
        found |= flat(below, f"{prefix}.{name}" if prefix else str(name))
    return found
