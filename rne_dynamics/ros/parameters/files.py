"""Node parameters: from what settings declare, under names of other controllers, and in parameter files."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rne_dynamics.control.parameters import Parameter, Value, declared
from rne_dynamics.description.yaml_nodes import MOST_BYTES, plain
from rne_dynamics.errors import ParameterError
from rne_dynamics.input_file import read_limited
from rne_dynamics.model.inertia import Array

if TYPE_CHECKING:
    from rclpy.node import Node
    from rclpy.parameter import Parameter as RosParameter


__all__ = [
    "JOINT", "JTC", "OF_HARDWARE", "OF_THE_ARM", "SIMULATED", "Parameter", "ParameterAlias", "Value", "Values",
    "agreed", "applies", "declared_parameters", "filled", "flat", "given_to", "given_to_another", "listed",
    "lost_settings", "node_keys", "per_joint", "refusal", "refuse_undeclared", "ros_settings",
    "settings_for", "simulated", "translate", "unclaimed", "words_of",
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


#: Labels and values of settings by the names of our parameters.
Labelled = dict[str, list[tuple[str, object]]]


def translate(
    given: Mapping[str, Any], aliases: Iterable[ParameterAlias], joints: Sequence[str]
) -> tuple[Labelled, list[str], list[str]]:
    """Find the `aliases` among the settings `given`: those of each of `joints`; those of no joint if there are none.

    Returns the values of our parameters that are given under such names, with those under their own; settings without
    effect, for the log; reasons why others are refused.
    """
    ours, without_effect, faults = Labelled(), list[str](), list[str]()
    for entry in (entry for entry in aliases if (JOINT in entry.name) == bool(joints)):
        for joint in joints or ("",):
            name = entry.name.replace(JOINT, joint)
            if name not in given:
                continue
            value = given[name]
            if entry.ours:
                negated = entry.negated and isinstance(value, (int, float)) and not isinstance(value, bool)
                ours.setdefault(entry.ours.replace(JOINT, joint), []).append(
                    (f"{name}, negated,", -value) if negated else (name, value)
                )
            elif entry.accepts is None or value in entry.accepts:
                without_effect.append(f"{name} ({entry.does})")
            else:
                faults.append(f"parameter {name} is {value!r}, which this controller cannot do: {entry.does}")
    for name, values in ours.items():
        if name in given:
            values.append((name, given[name]))
    return ours, without_effect, faults


def agreed(name: str, labelled: Iterable[tuple[str, object]], parse: Callable[[str, object], Value]) -> Value | None:
    """The value of our parameter `name` under all its names, None for none; `ParameterError` where two differ."""
    found = [(label, parse(label, value)) for label, value in labelled]
    if any(value != found[0][1] for _, value in found):
        listed = " and ".join(f"{label} {value!r}" for label, value in found)
        raise ParameterError(f"parameters {listed} mean the same and differ; give {name} alone")
    return found[0][1] if found else None


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
    for own in (x.name for x in fields(kind)):  # type: ignore[arg-type]
        name = known[own].name if own in known else ""
        if own not in given and JOINT in name:
            given[own] = per_joint(values, name, others.get("joints") or others["robot"].joint_names)
        elif own not in given and (name or prefix + own) in values:
            given[own] = values[name or prefix + own]
    return kind(**given)


SECTION = "ros__parameters"
#: Parameters of hardware that a simulated arm does not have, and the terms that it can add to the efforts as hardware.
OF_HARDWARE = ("effort_scale.", "drives.topic", "base_motion.", "realtime_priority", "cpu_affinity", "lock_memory")
SIMULATED = ("gravity", "friction")
#: What the arm has as its model does, unless the file gives the simulator something else.
OF_THE_ARM = ("gravity", "payload.link", "payload.mass", "payload.com", "payload.inertia")
#: Gravity in simulation of an arm that compensates it itself, m/s^2: with none at all its efforts are exactly 0, which
#: counts as not reported.
NEXT_TO_NONE = [0.0, 0.0, -0.001]

_FLAGS = {"--params-file": "--params-file", "-p": "-p", "--param": "-p"}
#: ``NODE:NAME:=VALUE``, a setting for one node.
_FOR_ONE_NODE = re.compile(r"(?P<node>[^:=]+):(?P<name>[^:=]+):=")


def lost_settings(arguments: Sequence[str], name: str, namespace: str) -> Iterator[str]:
    """Warnings about parameter files and settings of the command line that are for other nodes only."""
    full = f"{namespace.rstrip('/')}/{name}"
    for flag, value in ros_settings(arguments):
        if flag == "-p":
            found = _FOR_ONE_NODE.match(value)
            if found and f"/{found['node']}" != full:
                yield (
                    f"{flag} {value} is for node /{found['node']}, and this one is {full}: it is not set. Give it as "
                    f"{flag} {value.partition(':')[2]}"
                )
            continue
        keys = list(node_keys(value))
        if not any(applies(key, full) for key in keys):
            theirs = f"they are for {', '.join(keys)}" if keys else f"it has no {SECTION}"
            yield (
                f"no parameter in {value} is for this node, {full}: {theirs}. Give them under the key {full} or, for "
                f"any namespace, /**/{name}"
            )


def ros_settings(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Parameter files (``--params-file``) and single parameters (``-p``) among ROS arguments."""
    words = words_of(arguments, ros=True)
    for word in words:
        if word in _FLAGS and (value := next(words, None)) is not None:
            yield _FLAGS[word], value


def words_of(arguments: Sequence[str], *, ros: bool) -> Iterator[str]:
    """The words between ``--ros-args`` and ``--`` if `ros`, else all others."""
    inside = False
    for word in arguments:
        if word == "--ros-args" or (inside and word == "--"):
            inside = word == "--ros-args"
        elif inside == ros:
            yield word


def node_keys(file: str) -> Iterator[str]:
    """The nodes that a parameter file names, each from the root on; none where it cannot be read."""
    import yaml  # late: only nodes with files need it

    try:
        # without tags, as rcl reads it: ROS's launch writes lists as !!python/tuple
        content = plain(read_limited(file, MOST_BYTES), yaml.BaseLoader)
    except (OSError, ValueError, RecursionError, yaml.YAMLError):  # rcl reads it too and reports the fault
        return
    yield from (key for key, _ in _sections(content, ""))


def settings_for(file: str, node: str) -> dict[str, Any]:
    """Values by name, with dots, of a parameter file for a node, by its full name. Raises ParameterError."""
    import yaml

    try:
        content = plain(read_limited(file, MOST_BYTES))
    except OSError as error:
        raise ParameterError(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise ParameterError(f"{file} is no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, Mapping):
        raise ParameterError(f"{file} is no parameter file; it needs keys such as /**/simulator with {SECTION} below")
    return {name: value for key, found in _sections(content, "") if applies(key, node) for name, value in found}


def simulated(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]:
    """A controller's settings where a simulated arm replaces the hardware: its own, the simulator's, names left out."""
    kept = {k: v for k, v in given.items() if not k.startswith(OF_HARDWARE)}
    arm = {k: given[k] for k in OF_THE_ARM if k in given}
    compensated = given.get("hardware_compensates")
    compensated = compensated if isinstance(compensated, list) else []  # of another type the node refuses it
    if compensated:
        kept["hardware_compensates"] = [term for term in compensated if term in SIMULATED]
        arm |= {"gravity": NEXT_TO_NONE} if "gravity" in compensated else {}
        arm |= {"friction": False} if "friction" in compensated else {}
    left_out = (*sorted({k.partition(".")[0] for k in given if k not in kept and given[k] not in (1.0, "", [])}),
                *(f"hardware_compensates: {term}" for term in compensated if term not in SIMULATED))  # fmt: skip
    return kept, arm, left_out


def _sections(content: Any, above: str) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """Each section of settings: the nodes that it is for, and its names and values."""
    if not isinstance(content, Mapping):
        return
    for key, below in content.items():
        if key == SECTION:
            yield above, list(flat(below))
        else:
            yield from _sections(below, f"{above}/{str(key).strip('/')}")


def flat(values: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested parameters by their dotted names."""
    for name, value in values.items() if isinstance(values, Mapping) else ():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def applies(key: str, node: str) -> bool:
    """Whether rcl takes settings under `key` for `node`: ``*`` stands for one name, ``**`` for any number of them."""
    parts = [{"**": r"(/\w+)*", "*": r"/\w+"}.get(part, f"/{re.escape(part)}") for part in key.split("/")[1:]]
    return re.fullmatch("".join(parts), node) is not None


# -- settings with unknown names: found, and refused with the nearest names --------------------------------------------


#: rclpy declares such parameters with topics whose publisher or subscription allows it.
QOS = "qos_overrides."
#: Smallest similarity of suggested names, and how many there are at most.
ALIKE, NAMED = 0.6, 3


def given_to(node: Node, overrides: Sequence[RosParameter] = ()) -> dict[str, Any]:
    """Values from command line, parameter files and constructor (`overrides`) of a node, by name."""
    from rne_dynamics.ros.node.private_parts import given_parameters

    given = given_parameters(node)
    if given is None:
        given = given_to_another(node, overrides)
    return {name: listed(parameter.value) for name, parameter in given.items()}


def given_to_another(node: Node, overrides: Sequence[RosParameter] = ()) -> dict[str, RosParameter]:
    """The same, read by a second node of the same name: by rclpy's documented interface alone."""
    from rclpy.node import Node

    other = Node(
        node.get_name(), context=node.context, namespace=node.get_namespace(), enable_rosout=False,
        start_parameter_services=False, automatically_declare_parameters_from_overrides=True,
        parameter_overrides=list(overrides),
    )
    try:
        return dict(other.get_parameters_by_prefix(""))
    finally:
        other.destroy_node()


def listed(value: object) -> object:
    """Convert lists, tuples and arrays from rclpy to tuples; return other values unchanged."""
    return tuple(value) if isinstance(value, Iterable) and not isinstance(value, (str, bytes)) else value


def unclaimed(
    node: Node, names: Iterable[str], patterns: Iterable[str], joints: Sequence[str], left_out: Iterable[str]
) -> list[str]:
    """Unknown ones of `names`; settings of joints `left_out` and of QoS are logged as without effect instead."""
    # while there are no `joints`, neither are names that begin like one of `patterns` with {joint}
    rest = [name for name in names if not node.has_parameter(name)]
    per_joint = [pattern for pattern in patterns if JOINT in pattern]
    if not joints:
        beginnings = (QOS, *(pattern.partition(JOINT)[0] for pattern in per_joint))
        return [name for name in rest if not name.startswith(beginnings)]
    theirs = {pattern.replace(JOINT, joint) for pattern in per_joint for joint in left_out}
    for idle, why in (
        ([name for name in rest if name in theirs], "the parameter joints leaves these joints out"),
        ([name for name in rest if name.startswith(QOS)], "the node sets the QoS of its topics itself"),
    ):
        if idle:
            node.get_logger().warning(f"settings without effect: {', '.join(idle)}: {why}")
    return [name for name in rest if name not in theirs and not name.startswith(QOS)]


def refusal(names: Iterable[str], known: Collection[str]) -> str:
    """The message for unknown names, with suggestions."""
    texts = []
    for name in names:
        near = get_close_matches(name, known, NAMED, ALIKE)
        hint = f"nearest: {', '.join(near)}" if near else "docs/parameters.md and `ros2 param list` list all"
        texts.append(f"parameter {name} does not exist; {hint}")
    return "; ".join(texts)


def refuse_undeclared(node: Node, names: Iterable[str]) -> str:
    """As `refusal` for those of `names` that a node has not declared; empty if it has declared all."""
    missing = [name for name in names if not node.has_parameter(name)]
    return refusal(missing, node.list_parameters([], 0).names) if missing else ""
