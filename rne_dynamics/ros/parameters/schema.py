"""Node parameters from what settings declare, their values, and names of another controller that are taken for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np

from rne_dynamics.control.parameters import Parameter, Value, declared
from rne_dynamics.errors import ParameterError
from rne_dynamics.model.inertia import Array

__all__ = [
    "JOINT", "JTC", "Parameter", "ParameterAlias", "Translation", "Value", "Values", "declared_parameters", "filled",
    "per_joint", "translate",
]

T = TypeVar("T")
#: Values of all parameters of a node by name, each of its parameter's type.
Values = Mapping[str, Any]
JOINT = "{joint}"


@dataclass(frozen=True)
class ParameterAlias:
    """One parameter of another controller."""

    #: As that controller names it; ``{joint}`` stands for every controlled joint.
    name: str
    #: Our parameter with the same meaning; empty for none.
    ours: str = ""
    #: Whether our parameter has the opposite sign.
    negated: bool = False
    #: Without such a parameter: the values that ask for what this controller does anyway; None: any value.
    accepts: tuple[Any, ...] | None = None
    #: What this controller does instead, a clause.
    does: str = ""


@dataclass(frozen=True)
class Translation:
    """Settings under names of another controller, translated."""

    #: All such names that were found.
    names: frozenset[str]
    #: Their labels and values by our names.
    aliases: Mapping[str, Sequence[tuple[str, object]]]
    #: Settings without effect, for the log.
    without_effect: tuple[str, ...]
    #: Reasons why others are refused.
    faults: tuple[str, ...]

    def agreed(self, name: str, parse: Callable[[str, object], T], given: Mapping[str, object]) -> T | None:
        """The value of our parameter `name` if given under another one; `ParameterError` where two differ."""
        found = [(label, parse(label, value)) for label, value in self.aliases.get(name, ())]
        if not found:
            return None
        if name in given:
            found.append((name, parse(name, given[name])))
        if any(value != found[0][1] for _, value in found):
            listed = " and ".join(f"{label} {value!r}" for label, value in found)
            raise ParameterError(f"parameters {listed} mean the same and differ; give {name} alone")
        return found[0][1]


def translate(given: Mapping[str, Any], aliases: Iterable[ParameterAlias], joints: Sequence[str]) -> Translation:
    """Find the `aliases` among the settings `given`: those of each of `joints`; those of no joint if there are none."""
    names: set[str] = set()
    found: dict[str, list[tuple[str, object]]] = {}
    idle: list[str] = []
    faults: list[str] = []
    for entry in aliases:
        places = joints if JOINT in entry.name else () if joints else ("",)
        for joint in places:
            name = entry.name.replace(JOINT, joint)
            if name not in given:
                continue
            names.add(name)
            value = given[name]
            if entry.ours:
                negated = entry.negated and isinstance(value, (int, float)) and not isinstance(value, bool)
                found.setdefault(entry.ours.replace(JOINT, joint), []).append(
                    (f"{name}, negated,", -value) if negated else (name, value)
                )
            elif entry.accepts is None or value in entry.accepts:
                idle.append(f"{name} ({entry.does})")
            else:
                faults.append(f"parameter {name} is {value!r}, which this controller cannot do: {entry.does}")
    return Translation(frozenset(names), found, tuple(idle), tuple(faults))


# -- joint_trajectory_controller of ros2_controllers -------------------------------------------------------------------

_ANTI_WINDUP = "the integral stops where an effort is clamped, and at gains.<joint>.i_clamp"

#: Parameters not listed here have the same name there and here: joints, command_interfaces, gains.<joint>.p, i, d and
#: i_clamp, constraints.goal_time, constraints.<joint>.trajectory and goal, allow_nonzero_velocity_at_trajectory_end.
#: Their units are those of docs/parameters.md.
JTC: tuple[ParameterAlias, ...] = (
    # the same under another name
    ParameterAlias("constraints.stopped_velocity_tolerance", "constraints.stopped_velocity"),
    ParameterAlias("speed_scaling.initial_scaling_factor", "speed_scaling"),
    ParameterAlias("gains.{joint}.i_clamp_max", "gains.{joint}.i_clamp"),
    ParameterAlias("gains.{joint}.i_clamp_min", "gains.{joint}.i_clamp", negated=True),
    # their values make no difference, or a harmless one
    ParameterAlias("state_interfaces", does="it reads positions and velocities from joint_states"),
    ParameterAlias("allow_partial_joints_goal", does="a trajectory may always leave joints out, which are held"),
    ParameterAlias("interpolate_from_desired_state",
                   does="a trajectory blends from the reference in force, see constraints.blend_time"),
    ParameterAlias("open_loop_control",
                   does="a trajectory blends from the reference in force, see constraints.blend_time"),
    ParameterAlias("set_last_command_interface_value_as_state_on_activation",
                   does="the arm is held where it is measured, from the effort that it reports"),
    ParameterAlias("action_monitor_rate", does="feedback comes every 0.05 s"),
    ParameterAlias("state_publish_rate", does="torque_divisor sets how often ~/controller_state comes"),
    ParameterAlias("cmd_timeout", does="the arm is held at the end of a trajectory"),
    ParameterAlias("constraints.decelerate_on_cancel", does="it always decelerates, within stop.brake_time"),
    ParameterAlias("gains.{joint}.angle_wraparound",
                   does="joints that the description calls continuous take the nearest turn, no others"),
    ParameterAlias("gains.{joint}.antiwindup", does=_ANTI_WINDUP),
    ParameterAlias("gains.{joint}.antiwindup_strategy", does=_ANTI_WINDUP),
    ParameterAlias("gains.{joint}.tracking_time_constant", does=_ANTI_WINDUP),
    # only one of their values is supported
    ParameterAlias("command_joints", accepts=((),),
                   does="it commands the joints of the parameter joints, in their order"),
    ParameterAlias("update_rate", accepts=(0,), does="give the parameter rate; 0 answers every joint state"),
    ParameterAlias("start_with_holding", accepts=(True,), does="the arm is held after a start"),
    ParameterAlias("allow_integration_in_goal_trajectories", accepts=(False,), does="every point needs positions"),
    ParameterAlias("interpolation_method", accepts=("splines",), does="points are joined by splines"),
    ParameterAlias("speed_scaling.state_interface", accepts=("",), does="the topic ~/speed_scaling sets the speed"),
    ParameterAlias("speed_scaling.command_interface", accepts=("",),
                   does="the topic ~/speed_scaling sets the speed"),
    ParameterAlias("constraints.{joint}.max_deceleration_on_cancel", accepts=(0.0,),
                   does="stop.brake_time sets how fast all joints come to rest"),
    ParameterAlias("gains.{joint}.ff_velocity_scale", accepts=(0.0,), does="the model computes the feedforward"),
    ParameterAlias("gains.{joint}.u_clamp_max", accepts=(float("inf"),),
                   does="limits.<joint>.effort limits the whole effort, both ways"),
    ParameterAlias("gains.{joint}.u_clamp_min", accepts=(float("-inf"),),
                   does="limits.<joint>.effort limits the whole effort, both ways"),
    ParameterAlias("gains.{joint}.error_deadband", accepts=(0.0,),
                   does="every error is integrated, where gains.<joint>.i is not 0"),
)


def declared_parameters(kind: type, prefix: str) -> tuple[Parameter, ...]:
    """The parameters that the fields of a dataclass declare: names of their own, or `prefix` and the field's."""
    return tuple(replace(known, name=known.name or prefix + name) for name, known in declared(kind).items())


def per_joint(values: Values, pattern: str, joints: Sequence[str]) -> Array:
    """The values of a per-joint parameter, such as ``gains.{joint}.p``, in the order of `joints`; shape (n,)."""
    return np.array([values[pattern.replace(JOINT, joint)] for joint in joints], np.float64)


def filled(kind: type[T], values: Values, prefix: str, **others: Any) -> T:
    """A dataclass of settings: each field is its parameter, or `prefix` + its name, if there is one; or `others`."""
    known, given = declared(kind), dict(others)
    for field in fields(kind):  # type: ignore[arg-type]
        name = known[field.name].name if field.name in known else ""
        if field.name not in given and JOINT in name:
            given[field.name] = per_joint(values, name, others.get("joints") or others["robot"].joint_names)
        elif field.name not in given and (name or prefix + field.name) in values:
            given[field.name] = values[name or prefix + field.name]
    return kind(**given)
