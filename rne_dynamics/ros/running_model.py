"""The robot of a running controller, and its limits, read from the controller's parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from rcl_interfaces.srv import GetParameters
from rclpy.parameter import parameter_value_to_python

from rne_dynamics.errors import ControlError, RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.common_parameters import smaller_limit
from rne_dynamics.ros.described_robot import load_robot
from rne_dynamics.ros.running_nodes import RunningNode, RunningNodes

#: Longest wait for a description on its topic, s.
DESCRIPTION = 3.0


@dataclass(frozen=True, eq=False)
class RunningModel:
    """What a controller controls."""

    #: The model, without payload.
    robot: RigidRobot
    #: The parameters that describe it to another node.
    parameters: dict[str, Any]
    #: Limits in force, infinite for none; (n,), rad or m, rad/s or m/s, N·m or N.
    lower: Array
    upper: Array
    velocity: Array
    effort: Array

    @property
    def home(self) -> Array:
        """The zero position, or the nearest one inside the limits; of a mechanism its posture; (n,)."""
        return np.clip(self.robot.neutral, self.lower, self.upper)


def read_model(nodes: RunningNodes, controller: RunningNode) -> RunningModel:
    """The model of a controller.

    Raises
    ------
    ControlError
        The controller does not answer, or its description cannot be read here.
    """
    model, description, joints, gravity = _parameters(nodes, controller, "model", "robot_description", "joints",
                                                      "gravity")
    if not (model or description):
        topic = f"{controller.namespace.rstrip('/')}/robot_description"
        description = nodes.latched_text(topic, DESCRIPTION)
        if not description:
            raise ControlError(
                f"the description of {controller.name} is not known: its parameters name none, and nothing comes on "
                f"{topic}"
            )
    try:
        robot = load_robot(model or "", description or "", tuple(joints or ()), tuple(gravity or ())).robot.rigid
    except RneDynamicsError as error:
        raise ControlError(
            f"the description of {controller.name} cannot be read here: {error}. If it is a relative path, go to the "
            "folder in which the controller was started"
        ) from None
    margin, velocity, effort = (
        np.array(_parameters(nodes, controller, *(f"limits.{name}.{key}" for name in robot.joint_names)), dtype=float)
        for key in ("position_margin", "velocity", "effort")
    )
    named = {"model": model} if model else {"robot_description": description}
    return RunningModel(
        robot, {**named, "joints": list(robot.joint_names)}, robot.lower + margin, robot.upper - margin,
        smaller_limit(velocity, robot.velocity_limit), smaller_limit(effort, robot.effort_limit),
    )


def _parameters(nodes: RunningNodes, controller: RunningNode, *names: str) -> list[Any]:
    """Values of parameters, in their order."""
    request = GetParameters.Request(names=list(names))
    response = nodes.call(GetParameters, f"{controller.name}/get_parameters", request)
    if response is None or len(response.values) != len(names):
        raise ControlError(f"{controller.name} does not answer for its parameters ({names[0]}, …)")
    return [parameter_value_to_python(value) for value in response.values]
