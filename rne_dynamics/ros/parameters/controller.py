"""Parameters of both controllers, and the settings computed from them."""

from __future__ import annotations

import numpy as np

from rne_dynamics.control.control_law import ControlLaw, rate_warnings
from rne_dynamics.control.felt_inertia import checked_damping
from rne_dynamics.control.gravity_compensation import GravityCompensation
from rne_dynamics.control.guards.base_filter import BaseSensor
from rne_dynamics.control.guards.effort_limits import RATE_TIME, EffortLimits
from rne_dynamics.control.guards.state_limits import StateLimits
from rne_dynamics.control.motion.limits import continuous, described_velocity
from rne_dynamics.control.supervision.payload_estimate import PayloadTest
from rne_dynamics.control.supervision.settings import COMPENSATED, Settings, StartCheck
from rne_dynamics.control.supervision.states import StopPlan
from rne_dynamics.control.thresholds import ASSUMED_RATE
from rne_dynamics.control.tracking_law import FrictionCompensation
from rne_dynamics.description.urdf_tree import rotation_rpy
from rne_dynamics.errors import ParameterError
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.messages.publishers import COMMAND_MESSAGE
from rne_dynamics.ros.parameters.files import Parameter, Values, declared_parameters, filled, per_joint
from rne_dynamics.ros.parameters.table import effort_limits, smaller_limit

#: Largest natural frequency of a soft wall as a part of the rate. A wall whose damper has the rate 1 / (`CALM` T) then
#: is stable up to twice the delay of one period and a half of holding.
STIFFEST = 0.4
#: The smallest size of an effort scale: N m sent as tens of kN m.
LEAST_SCALE = 1e-4

CONTROLLER: tuple[Parameter, ...] = (
    Parameter("command_interfaces", ("effort",), "What is commanded.", choices=("effort",), length=(1,), kind=str,
              read_only=True),
    Parameter("rate", 0.0, "Efforts per second; 0 sends one for each joint state, with the lowest latency.", "Hz", 0.0,
              10000.0, read_only=True),
    *declared_parameters(StateLimits, ""),
    *(p for p in declared_parameters(Settings, "") if p.name != "command_delay"),
    *declared_parameters(StartCheck, "startup_check."),
    *declared_parameters(PayloadTest, "startup_check."),
    Parameter("hardware_compensates", (), "Terms that the arm's own electronics adds to the efforts, so that they are "
              "left out here.", choices=COMPENSATED, kind=str),
    Parameter("effort_scale.{joint}", 1.0, "Sent value per N m or N of the model: a unit, a gear ratio or a sign; "
              f"reported efforts are divided by it. At least {LEAST_SCALE:g} in size.", "", -1e4, 1e4,
              at_configure=True),
    COMMAND_MESSAGE,
    *declared_parameters(FrictionCompensation, ""),
    *declared_parameters(StopPlan, "stop."),
    Parameter("drives.topic", "", "Topic of std_msgs/Bool: whether the drives act on efforts. Motions are refused "
              "while it is false, and before its first message. Empty for none.", read_only=True),
    Parameter("base_motion.topic", "", "Topic of sensor_msgs/Imu with the motion of the base; without usable messages "
              "the arm is stopped, and not started. Empty for a base at rest.",
              read_only=True),
    *declared_parameters(BaseSensor, "base_motion."),
    Parameter("base_motion.rpy", (0.0, 0.0, 0.0), "The sensor's axes in the root link's: roll, pitch and yaw as in a "
              "URDF.", "rad", -10.0, 10.0, length=(3,)),
    Parameter("torque_divisor", 10, "Cycles between two messages on ~/torque/* and ~/reference; 0 publishes none.", "",
              0, 1_000_000, read_only=True),
    *declared_parameters(EffortLimits, "limits."),
)


def friction_compensation(values: Values) -> FrictionCompensation | None:
    """Friction compensation by the parameters; None for none."""
    return filled(FrictionCompensation, values, "") if values["friction_compensation"] > 0.0 else None


def damping_parameter(name: str, description: str) -> Parameter:
    """The parameter of a damping per joint; by default it is computed from the inertia."""
    return Parameter(
        name, -1.0, f"{description} If negative, it is computed from the inertia that the joint feels and from the "
        "rate, at most 1.", "N m s/rad or N s/m", -1.0, 1e4,
    )


def lowest_rate(values: Values) -> float:
    """Efforts per second for which gains and damping must be stable: `rate`, else `min_rate`, else `ASSUMED_RATE`."""
    return values["rate"] or values["min_rate"] or ASSUMED_RATE


def controller_settings(robot: RigidRobot, values: Values, *, law: ControlLaw | None, damping: str) -> Settings:
    """Settings of a controller; `law` None only floats; `damping`: name of the parameter of hand guiding's."""
    if robot.n == 0:
        raise ParameterError(f"robot {robot.name!r} has no joint that can be driven; check the description and joints")
    rate = lowest_rate(values)
    guiding = checked_damping(robot, per_joint(values, damping, robot.joint_names), rate, damping)
    warnings = guiding.warnings + (() if law is None else rate_warnings(law, rate))
    return filled(
        Settings, values, "",
        robot=robot,
        limits=joint_limits(robot, values),
        states=filled(
            StateLimits, values, "",
            # what the arm can do, not what it is allowed: a push may exceed low limits
            velocity=described_velocity(robot), continuous=continuous(robot), joints=robot.joint_names,
            coulomb=joint_friction(robot).static,
        ),
        tracking=law,
        floating=GravityCompensation(robot, guiding.value, friction_compensation(values) if law is None else None),
        stop=filled(StopPlan, values, "stop."),
        check=filled(StartCheck, values, "startup_check.", payload=filled(PayloadTest, values, "startup_check.")),
        compensated=frozenset(values["hardware_compensates"]),
        base=filled(BaseSensor, values, "base_motion.", rotation=rotation_rpy(*values["base_motion.rpy"]))
        if values["base_motion.topic"] else None,
        assumed_rate=rate,
        warnings=warnings,
    )


def joint_limits(robot: RigidRobot, values: Values) -> EffortLimits:
    """Limits of each joint: the description's, narrowed by the parameters."""
    limits = limits_of(robot, values)
    frequency, stiffest = limits.stop_frequency, STIFFEST * lowest_rate(values)
    if frequency > stiffest:
        raise ParameterError(
            f"parameter limits.stop_frequency is {frequency:g} 1/s; at {lowest_rate(values):g} joint states per second "
            f"walls are stable up to {stiffest:g}. Set it lower, or set min_rate to the rate at which joint states "
            "always come"
        )
    return limits


def limits_of(robot: RigidRobot, values: Values, **others: Array) -> EffortLimits:
    """As `joint_limits`, unchecked; `others` replace what parameters say."""
    effort, rate = effort_limits(robot, values), per_joint(values, "limits.{joint}.effort_rate", robot.joint_names)
    return filled(
        EffortLimits, values, "limits.", effort=effort, rate=np.where(rate > 0.0, rate, effort / RATE_TIME),
        velocity=velocity_limits(robot, values), lower=robot.lower, upper=robot.upper, joints=robot.joint_names,
        **others,
    )


def velocity_limits(robot: RigidRobot, values: Values) -> Array:
    """The smaller of the parameter's limit and the description's, infinite if there is neither; shape (n,)."""
    return smaller_limit(per_joint(values, "limits.{joint}.velocity", robot.joint_names), robot.velocity_limit)


def effort_scales(robot: RigidRobot, values: Values) -> Array:
    """Sent value per N·m or N of the model, (n,); `ParameterError` for one that is too close to 0."""
    scale = per_joint(values, "effort_scale.{joint}", robot.joint_names)
    j = int(np.argmin(np.abs(scale)))
    if abs(scale[j]) < LEAST_SCALE:
        raise ParameterError(
            f"parameter effort_scale.{robot.joint_names[j]} is {scale[j]:g}; its size must be at least "
            f"{LEAST_SCALE:g}, 1.0 for N m as they are"
        )
    return scale
