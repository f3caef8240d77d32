"""The parameters of the controller that follows references, and what they make: settings, limits, units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from rne_dynamics.control.contact_watch import THRESHOLD_SHARE, ContactSettings, MomentumObserver
from rne_dynamics.control.control_law import ControlLaw, LawTolerances
from rne_dynamics.control.laws import DEFAULT_LAW, LawKind, find_law, law_names
from rne_dynamics.control.motion.limits import MotionLimits, Tolerances, continuous
from rne_dynamics.control.streaming.limits import StreamLimits, default_acceleration
from rne_dynamics.control.streaming.pose_following import PoseLimits
from rne_dynamics.control.supervision.settings import Settings, WrenchRates
from rne_dynamics.dynamics.kinematics.inverse_kinematics import pose_task
from rne_dynamics.errors import ControlError, ParameterError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.parameters.controller import (
    CONTROLLER,
    controller_settings,
    damping_parameter,
    friction_compensation,
    lowest_rate,
    velocity_limits,
)
from rne_dynamics.ros.parameters.files import JOINT, Parameter, Values, declared_parameters, filled, per_joint

#: The law of the reaction "comply".
COMPLIANT = "joint_impedance"
#: The parameter of each joint's damping while a hand leads the arm.
GUIDING_DAMPING = "hand_guiding.{joint}.damping"

CONTACT: tuple[Parameter, ...] = (
    Parameter("contact.observe", True, "Whether external efforts may be observed: for a reaction, for "
              "subscribers of their topics, and for ~/tare.", at_configure=True),
    *declared_parameters(ContactSettings, "contact."),
    *declared_parameters(MomentumObserver, "contact."),
)


def contact_settings(robot: RigidRobot, values: Values, effort: Array) -> ContactSettings | None:
    """Settings of contact with limits `effort`, (n,); None where external efforts are not observed."""
    reaction, link = values["contact.reaction"], values["contact.link"]
    reasons = (
        (not values["contact.observe"], "contact.observe is false"),
        (robot.kind != "arm" or robot.nq != robot.n, "that needs an open arm on a fixed base"),
        (values["base_motion.topic"], "that needs a base at rest, and base_motion.topic is set"),
        ("coriolis" in values["hardware_compensates"], "hardware_compensates names coriolis"),
    )
    why = next((text for holds, text in reasons if holds), "")
    if why:
        if reaction != "none" or link:
            name = "contact.link" if link else "contact.reaction"
            raise ParameterError(f"parameter {name} is {values[name]!r}, but external efforts are not observed: {why}")
        return None
    if reaction == "comply" and COMPLIANT not in (values["law"], *values["prepared_laws"]):
        raise ParameterError(
            f"parameter contact.reaction is 'comply'; it needs the law {COMPLIANT!r}: add it to prepared_laws"
        )
    if link:
        robot.open_tree.link_index(link)
    given = per_joint(values, "contact.{joint}.threshold", robot.joint_names)
    observer = filled(
        MomentumObserver, values, "contact.", robot=robot, compensated=frozenset(values["hardware_compensates"])
    )
    return filled(
        ContactSettings, values, "contact.", observer=observer,
        threshold=np.where(given < 0.0, THRESHOLD_SHARE * effort, given),
    )


#: Largest distance of the first setpoint from the arm if constraints.start is 0, rad or m.
SMALLEST_START = 1e-6

#: The parameters that `LawTolerances` are defaults of.
TOLERANCES = "limits.{joint}.holding_error", "constraints.{joint}.trajectory", "constraints.{joint}.goal"

#: Value of full speed, by the value of the parameter `speed_scaling_unit`.
FULL_SPEED = {"fraction": 1.0, "percent": 100.0}


def law_parameters(kind: LawKind) -> tuple[Parameter, ...]:
    """The parameters of a law."""
    return tuple(replace(kind.parameters[key], name=name) for name, key in kind.node_names().items())


SCHEMA: tuple[Parameter, ...] = (
    *CONTROLLER,
    Parameter("law", DEFAULT_LAW, f"Control law: {', '.join(law_names())}, or the Python module of your own law. "
              "Tolerances that are not set are those that fit it."),
    Parameter("prepared_laws", (), "Laws to which parameter law and services may change while the arm is driven; each "
              "takes up to 2 s of the first start.", choices=law_names(), kind=str, at_configure=True),
    *(parameter for name in law_names() for parameter in law_parameters(find_law(name))),
    damping_parameter(GUIDING_DAMPING, "Damping in hand guiding."),
    Parameter("speed_scaling", 1.0, "Speed of trajectories, as a fraction of their own; ~/speed_scaling changes it "
              "too.", "", 0.0, 1.0),
    Parameter("speed_scaling_unit", "fraction", "Unit of ~/speed_scaling: 0 to 1 (fraction), or 0 to 100 (percent).",
              choices=tuple(FULL_SPEED), read_only=True),
    *(p for p in declared_parameters(Settings, "") if p.name == "command_delay"),
    Parameter("allow_nonzero_velocity_at_trajectory_end", False, "Whether the last point of a trajectory may have a "
              "velocity; the arm then comes to rest beyond it, within constraints.blend_time."),
    *declared_parameters(MotionLimits, ""),
    Parameter("constraints.blend_time", 0.3, "Time of the blend from the present motion to a new trajectory.", "s",
              0.01, 10.0),
    *declared_parameters(Tolerances, "constraints."),
    *declared_parameters(StreamLimits, "setpoints."),
    Parameter("target_pose.link", "", "Link that ~/target_pose moves; empty for no such topic.", at_configure=True),
    Parameter("target_pose.tool", (0.0, 0.0, 0.0), "Point of that link which is brought to the pose, in its frame.",
              "m", -10.0, 10.0, length=(3,)),
    *declared_parameters(PoseLimits, "target_pose."),
    Parameter("target_pose.detour", True, "Whether a single target that the straight way does not reach is "
              "approached joint by joint."),
    *declared_parameters(WrenchRates, "target_wrench."),
    *CONTACT,
)


def tracking_settings(robot: RigidRobot, values: Values) -> Settings:
    """Settings of the controller that follows references; errors as of `controller_settings`, and of tolerances."""
    law = law_of(robot, values, values["law"])
    tolerances = tolerances_of(robot, values)
    plain = controller_settings(robot, values, law=law, damping=GUIDING_DAMPING)
    stream, why_not = stream_limits(robot, values, plain.limits.effort)
    return replace(
        plain, stream=stream, no_stream=why_not, stream_tolerances=tolerances, pose=pose_limits(robot, values),
        wrench=filled(WrenchRates, values, "target_wrench."),
        contact=contact_settings(robot, values, plain.limits.effort),
        no_pose="" if values["target_pose.link"] else "no pose is followed: set target_pose.link",
    )


def law_of(robot: RigidRobot, values: Values, name: str) -> ControlLaw:
    """The law of that name by the parameters; ParameterError, ControlError where it is none, or not declared."""
    kind = find_law(name)
    if missing := [p.name for p in law_parameters(kind) if p.name.replace(JOINT, robot.joint_names[0]) not in values]:
        raise ParameterError(f"law {name!r} has parameters of its own ({missing[0]}, …): start the node with it")
    given = {
        key: per_joint(values, name, robot.joint_names) if JOINT in name else values[name]
        for name, key in kind.node_names().items()
    }
    return kind.law(robot, given, friction_compensation(values), lowest_rate(values))


def fitting(values: Values, started: str, joints: Sequence[str]) -> Values:
    """The values with the tolerances of the present law, where they are those of the law that the node started with."""
    before, now = (_tolerances(find_law(name)) for name in (started, values["law"]))
    names = [(name.replace(JOINT, joint), k) for k, name in enumerate(TOLERANCES) for joint in joints]
    return {**values, **{name: now[k] for name, k in names if values[name] == before[k]}}


def _tolerances(kind: LawKind) -> LawTolerances:
    return getattr(kind.make, "tolerances", LawTolerances())


def with_law(schema: Sequence[Parameter], name: str) -> tuple[Parameter, ...]:
    """The schema with the parameters of a law of one's own, and with the tolerances that fit the law."""
    kind = find_law(Parameter("law", DEFAULT_LAW, "").parse("law", name))
    own = () if name in law_names() else law_parameters(kind)
    if own and kind.prefix in {p.name.partition(".")[0] for p in schema}:
        raise ParameterError(
            f"law {name!r}: its parameters would begin with {kind.prefix!r}, as others do; give the class a `prefix`"
        )
    defaults = dict(zip(TOLERANCES, _tolerances(kind), strict=True))
    return (*(replace(p, default=defaults.get(p.name, p.default)) for p in schema), *own)


def of_other_laws(names: Iterable[str], laws: Sequence[str]) -> list[str]:
    """Beginnings of those of `names` that are parameters of laws of this package other than `laws`."""
    others = {f"{find_law(other).prefix}." for other in law_names() if other not in laws}
    return sorted({other for other in others for name in names if name.startswith(other)})


def tolerances_of(robot: RigidRobot, values: Values) -> Tolerances:
    """Tolerances of trajectories that bring none of their own."""
    return filled(Tolerances, values, "constraints.", joints=robot.joint_names)


def motion_limits(robot: RigidRobot, values: Values) -> MotionLimits:
    """Limits of trajectories: the description's, narrowed by the parameters."""
    margin = per_joint(values, "limits.{joint}.position_margin", robot.joint_names)
    return filled(
        MotionLimits, values, "", joints=robot.joint_names, lower=robot.lower + margin, upper=robot.upper - margin,
        velocity=velocity_limits(robot, values), continuous=continuous(robot),
    )


def stream_limits(robot: RigidRobot, values: Values, effort: Array) -> tuple[StreamLimits | None, str]:
    """Limits of setpoints; None if none are followed, and the reason."""
    if robot.loops:
        return None, "setpoints are followed on open arms only: closed loops must be checked along the whole motion"
    velocity, limits = velocity_limits(robot, values), motion_limits(robot, values)
    if not np.isfinite(velocity).all():
        name = robot.joint_names[int(np.argmin(np.isfinite(velocity)))]
        return None, (
            f"setpoints need a velocity limit of each joint; joint {name!r} has none: set limits.{name}.velocity"
        )
    given = per_joint(values, "limits.{joint}.acceleration", robot.joint_names)
    acceleration = np.where(given > 0.0, given, default_acceleration(robot.open_tree, velocity, effort))
    return filled(
        StreamLimits, values, "setpoints.", joints=robot.joint_names, lower=limits.lower, upper=limits.upper,
        velocity=velocity, acceleration=acceleration, start=values["constraints.start"] or SMALLEST_START,
        continuous=limits.continuous,
    ), ""


def pose_limits(robot: RigidRobot, values: Values) -> PoseLimits | None:
    """How a link moves to poses; None if none are followed. Raises ModelError: no such link, or none that moves."""
    if not values["target_pose.link"]:
        return None
    limits = filled(PoseLimits, values, "target_pose.")
    pose_task(robot.open_tree, limits.link, np.eye(4), tool=limits.tool)
    return limits


def speed_fraction(value: float, unit: str) -> float:
    """The fraction of full speed, 0 to 1, that a number in `unit` means; `ControlError` where it is out of range."""
    full = FULL_SPEED[unit]
    if not 0.0 <= value <= full:
        hint = ". If the sender means percent, as ur_robot_driver does, set speed_scaling_unit to percent"
        raise ControlError(
            f"speed scaling is {value:g}; it must lie between 0 and {full:g} (speed_scaling_unit is {unit})"
            f"{hint if full < value <= FULL_SPEED['percent'] else ''}"
        )
    return value / full
