"""The parameters of the effort gate, and the settings that they make."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rne_dynamics.control.gate.settings import GateSettings
from rne_dynamics.control.guards.state_limits import StateLimits
from rne_dynamics.control.motion.limits import continuous
from rne_dynamics.control.supervision.stop_plan import StopPlan
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.messages.effort_message import COMMAND_MESSAGE
from rne_dynamics.ros.parameters.common import described_velocity
from rne_dynamics.ros.parameters.controller import CONTROLLER, limits_of
from rne_dynamics.ros.parameters.schema import Parameter, Values, filled

#: Parameters with the same meaning as those of the controllers.
SHARED = (
    "state_timeout", "velocity_filter", "hardware_compensates", "effort_scale.{joint}", "stop.policy", "stop.hold_time",
    "stop.ramp_time", "stop.damping", "limits.{joint}.effort", "limits.{joint}.effort_rate", "limits.{joint}.velocity",
)  # fmt: skip

SCHEMA: tuple[Parameter, ...] = (
    Parameter("command_timeout", 0.02, "Age of the last good effort at which the gate takes over: a few periods of the "
              "controller.", "s", 0.001, 10.0),
    Parameter("recover_automatically", False, "Whether efforts are passed again after recover_after good ones in a "
              "row; otherwise ~/recover is needed. Not after ~/stop, nor after an overspeed in a take-over."),
    Parameter("recover_after", 100, "Good efforts in a row after which recover_automatically passes them.", "", 1,
              1_000_000),
    Parameter("hand_back_time", 0.5, "Time over which the gate's own effort fades into the controller's when a held "
              "arm is handed back.", "s", 0.0, 60.0),
    COMMAND_MESSAGE,
    *(replace(p, read_only=True) if p.name.startswith("effort_scale") else p for p in CONTROLLER if p.name in SHARED),
)


def gate_settings(robot: RigidRobot, values: Values) -> GateSettings:
    """Settings of the gate for a robot. Raises ParameterError, ControlError: the parameters do not fit together."""
    return filled(
        GateSettings, values, "",
        robot=robot,
        limits=limits_of(robot, values, np.zeros(robot.n)),
        states=StateLimits(
            velocity=described_velocity(robot), continuous=continuous(robot), timeout=values["state_timeout"],
            filter_frequency=values["velocity_filter"], joints=robot.joint_names,
        ),
        stop=filled(StopPlan, values, "stop."),
        compensated=frozenset(values["hardware_compensates"]),
        blend_time=values["hand_back_time"],
    )
