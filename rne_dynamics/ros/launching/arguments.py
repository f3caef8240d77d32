"""Launch files, their nodes, arguments and known drivers, as tables that do not need ROS's launch."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rne_dynamics.control.laws import DEFAULT_LAW, law_names
from rne_dynamics.description.share import shipped_models, shipped_robots
from rne_dynamics.errors import ArgumentError, unknown

SIMULATOR, GATE, TRACKING = "simulator", "effort_gate", "computed_torque_controller"
VIEWER, RECORDER = "viewer", "recorder"


@dataclass(frozen=True)
class LaunchArgument:
    """One ``NAME:=VALUE`` of a launch file; `choices` is empty where any value may be given."""

    name: str
    default: str
    text: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Driver:
    """Topics of one driver, relative to the namespace of the nodes."""

    #: Where it publishes sensor_msgs/JointState at its full rate.
    joint_states: str = "joint_states"
    #: Where its effort controller takes std_msgs/Float64MultiArray.
    efforts: str = "effort_controller/commands"
    #: Where it reports whether its drives act, std_msgs/Bool; empty if it has no such topic.
    drives: str = ""


#: A driver without remappings, like our simulator.
PLAIN = Driver()
DRIVERS: dict[str, Driver] = {
    "franka": Driver(joint_states="franka/joint_states", efforts="forward_effort_controller/commands"),
    "kinova_gen3": PLAIN,
    "kuka_lbr": PLAIN,
    "ros2_control": PLAIN,
    "ur": Driver(
        efforts="forward_effort_controller/commands", drives="io_and_status_controller/robot_program_running"
    ),
}

BOOLEAN = ("true", "false")
#: Values of the argument `gate`.
START, RUNNING, NONE = "start", "running", "none"

URDF = LaunchArgument("urdf", "", "robot description: path of a .urdf or .xacro, package:// URI, or one of "
                      + ", ".join(shipped_robots()) + "; without urdf and model it is read from the topic")
MODEL = LaunchArgument("model", "", "instead of urdf, a model file, which may describe closed loops or flexible links: "
                       "path, package:// URI, or one of " + ", ".join(shipped_models()))
ARM = (
    URDF,
    LaunchArgument("xacro_args", "", "arguments of a .xacro: \"NAME:=VALUE NAME:=VALUE\""),
    MODEL,
    LaunchArgument("description_topic", "robot_description", "topic of the latched description (std_msgs/String)"),
    LaunchArgument("hardware", "", "driver whose topics and file in config/hardware are used; other arguments override "
                   "it", tuple(DRIVERS)),
    LaunchArgument("config", "", "parameter file; by default the one of the hardware or of a shipped robot"),
    LaunchArgument("namespace", "", "namespace of all nodes"),
    LaunchArgument("joint_states", "", "topic of the joint states; by default the hardware's, or joint_states"),
)
EFFORTS = LaunchArgument("efforts", "", "topic on which the driver takes efforts; by default the hardware's, or "
                         "effort_controller/commands")
VIEWERS = (
    LaunchArgument("record", "", "record the arm's topics: an .mcap, or a folder for one named by the date"),
    LaunchArgument("robot_state_publisher", "", "start a robot_state_publisher, where it is installed; by default only "
                   "for a simulated arm, since drivers start their own", BOOLEAN),
    LaunchArgument("view", "false", "show the arm in the browser, where viser is installed; the log has the address",
                   BOOLEAN),
    LaunchArgument("rviz", "false", "show the arm in RViz, where it is installed", BOOLEAN),
)
CONTROLLED = (
    LaunchArgument("gate", "", "effort gate between controller and driver: start it here, use one that is running, or "
                   "none; by default start with hardware, else none", (START, RUNNING, NONE)),
    LaunchArgument("drives", "", "topic of the drives' readiness (std_msgs/Bool); by default the hardware's"),
)
LAW = LaunchArgument("law", "", f"control law: {', '.join(law_names())}, or the module of your own; by default that of "
                     f"the parameter file, or {DEFAULT_LAW}")
SIMULATED = (
    LaunchArgument("lockstep", "true", "simulated time waits for the controller; false is real time", BOOLEAN),
)


def checked(arguments: Sequence[LaunchArgument], given: Mapping[str, str]) -> dict[str, str]:
    """The value of every argument, given or its default; `ArgumentError` where it is not among the choices."""
    values = {}
    for argument in arguments:
        value = given.get(argument.name) or argument.default
        if argument.choices and value and value not in argument.choices:
            raise ArgumentError(
                f"launch argument {argument.name}:={value} is not allowed; give one of {', '.join(argument.choices)}"
            )
        values[argument.name] = value
    return values


def check_names(arguments: Sequence[LaunchArgument], typed: Iterable[str], file: str) -> None:
    """Refuse arguments NAME:=VALUE that the launch file does not have: ROS's launch would ignore them silently."""
    known = [argument.name for argument in arguments]
    for name in (word.partition(":=")[0] for word in typed if ":=" in word):
        if name not in known and not name.startswith("launch-prefix"):  # these two are options of `ros2 launch`
            raise ArgumentError(unknown("launch argument", name, known, file))


def xacro_mappings(text: str) -> dict[str, str]:
    """Arguments for xacro by name; `ArgumentError` where the text is not a list of ``NAME:=VALUE``."""
    mappings = {}
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ArgumentError(f"launch argument xacro_args:={text!r}: {error}; close the quotes") from None
    for word in words:
        name, assigned, value = word.partition(":=")
        if not (name and assigned):
            raise ArgumentError(f"launch argument xacro_args:={text!r} has {word!r}; write NAME:=VALUE NAME:=VALUE")
        mappings[name] = value
    return mappings


@dataclass(frozen=True)
class Kind:
    """One launch file: the nodes it starts, whether the arm is simulated, and its default `robot`."""

    nodes: tuple[str, ...]
    simulated: bool = False
    robot: str = ""

    @property
    def gated(self) -> bool:
        """Whether it can put the effort gate behind its controller."""
        return GATE not in self.nodes

    @property
    def arguments(self) -> tuple[LaunchArgument, ...]:
        """Its arguments."""
        controlled = (LAW,) * (TRACKING in self.nodes) + CONTROLLED * self.gated
        return (*ARM, EFFORTS, *controlled, *VIEWERS, *SIMULATED * self.simulated)


#: By the name of the file in launch/, without its ending.
KINDS = {
    "controller": Kind((TRACKING,)),
    "gravity_compensation": Kind(("gravity_compensation",)),
    "effort_gate": Kind((GATE,)),
    "simulated_arm": Kind((SIMULATOR, TRACKING), simulated=True, robot="puma560"),
}


@dataclass(frozen=True)
class NodePlan:
    """One node: later parameters override earlier ones; remappings are (from, to)."""

    package: str
    executable: str
    parameters: tuple[Path | dict[str, Any], ...] = ()
    remappings: tuple[tuple[str, str], ...] = ()
    arguments: tuple[str, ...] = ()
    #: Whether the launch goes on without it: it only shows or records something.
    optional: bool = False
    #: Whether the launch goes on when it ends, because an effort gate takes the arm over.
    guarded: bool = False
