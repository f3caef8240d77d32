"""Launch files: their arguments, known drivers, and the nodes that each starts; without ROS's launch."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rne_dynamics.control.laws import DEFAULT_LAW, law_names
from rne_dynamics.control.parameters import Parameter
from rne_dynamics.description.share import share_file, shipped_models, shipped_robots
from rne_dynamics.description.sources import names_model_file
from rne_dynamics.errors import ArgumentError, DescriptionError, refuse, unknown
from rne_dynamics.ros.node.robot import description_text
from rne_dynamics.ros.parameters.files import applies, node_keys, settings_for, simulated
from rne_dynamics.ros.recorder import TOPICS

SIMULATOR, GATE, TRACKING = "simulator", "effort_gate", "computed_torque_controller"
VIEWER, RECORDER = "viewer", "recorder"
RVIZ, STATE_PUBLISHER = "rviz2", "robot_state_publisher"
#: Topics as the nodes name them; `ros.messages.publishers` has them too, but imports the whole client library.
STATE_TOPIC, EFFORT_TOPIC, DESCRIPTION_TOPIC = "joint_states", "effort_controller/commands", "robot_description"
#: Where the gate takes efforts.
GATE_TOPIC = "effort_gate/commands"


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

URDF = Parameter("urdf", "", "robot description: path of a .urdf or .xacro, package:// URI, or one of "
                 + ", ".join(shipped_robots()) + "; without urdf and model it is read from the topic")
MODEL = Parameter("model", "", "instead of urdf, a model file, which may describe closed loops or flexible links: "
                  "path, package:// URI, or one of " + ", ".join(shipped_models()))
ARM = (
    URDF,
    Parameter("xacro_args", "", "arguments of a .xacro: \"NAME:=VALUE NAME:=VALUE\""),
    MODEL,
    Parameter("description_topic", "robot_description", "topic of the latched description (std_msgs/String)"),
    Parameter("hardware", "", "driver whose topics and file in config/hardware are used; other arguments override "
              "it", choices=tuple(DRIVERS)),
    Parameter("config", "", "parameter file; by default the one of the hardware or of a shipped robot"),
    Parameter("namespace", "", "namespace of all nodes"),
    Parameter("joint_states", "", "topic of the joint states; by default the hardware's, or joint_states"),
)
EFFORTS = Parameter("efforts", "", "topic on which the driver takes efforts; by default the hardware's, or "
                    "effort_controller/commands")
VIEWERS = (
    Parameter("record", "", "record the arm's topics: an .mcap, or a folder for one named by the date"),
    Parameter("robot_state_publisher", "", "start a robot_state_publisher, where it is installed; by default only "
              "for a simulated arm, since drivers start their own", choices=BOOLEAN),
    Parameter("view", "false", "show the arm in the browser, where viser is installed; the log has the address",
              choices=BOOLEAN),
    Parameter("rviz", "false", "show the arm in RViz, where it is installed", choices=BOOLEAN),
)
CONTROLLED = (
    Parameter("gate", "", "effort gate between controller and driver: start it here, use one that is running, or "
              "none; by default start with hardware, else none", choices=(START, RUNNING, NONE)),
    Parameter("drives", "", "topic of the drives' readiness (std_msgs/Bool); by default the hardware's"),
)
LAW = Parameter("law", "", f"control law: {', '.join(law_names())}, or the module of your own; by default that of "
                f"the parameter file, or {DEFAULT_LAW}")
SIMULATED = (
    Parameter("lockstep", "true", "simulated time waits for the controller; false is real time", choices=BOOLEAN),
)


def checked(arguments: Sequence[Parameter], given: Mapping[str, str]) -> dict[str, str]:
    """The value of every argument, given or its default; `ArgumentError` where it is not among the choices."""
    values = {}
    for argument in arguments:
        value = given.get(argument.name) or str(argument.default)
        if argument.choices and value and value not in argument.choices:
            raise ArgumentError(
                f"launch argument {argument.name}:={value} is not allowed; give one of {', '.join(argument.choices)}"
            )
        values[argument.name] = value
    return values


def check_names(arguments: Sequence[Parameter], typed: Iterable[str], file: str) -> None:
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
    def arguments(self) -> tuple[Parameter, ...]:
        """Its arguments."""
        controlled = (LAW,) * (TRACKING in self.nodes) + CONTROLLED * (GATE not in self.nodes)
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


# -- the nodes of a launch, from its arguments -------------------------------------------------------------------------


def plan(
    kind: Kind, given: Mapping[str, str], installed: Callable[[str], bool] = lambda package: True
) -> list[NodePlan]:
    """The nodes to start, by the arguments `given`; ArgumentError, DescriptionError for one that cannot be used."""
    values = checked(kind.arguments, given)
    if kind.simulated and values["hardware"] and not (values["urdf"] or values["model"]):
        raise ArgumentError(f"launch argument hardware:={values['hardware']} is given without urdf; give the arm's")
    named, arm = chosen_arm(values, kind.robot)
    driver = topics(kind, values)
    file = config_file(named, values)
    viewer = (values["robot_state_publisher"] or ("true" if kind.simulated else "false")) == "true"
    if viewer and not arm:
        raise ArgumentError(
            "launch argument robot_state_publisher:=true needs urdf or model: without them the description is read "
            f"from the topic {values['description_topic']}, where another node publishes it"
        )
    gate = values.get("gate") or (START if GATE not in kind.nodes and values["hardware"] else NONE)
    published = viewer and installed(STATE_PUBLISHER)
    started = [n for n in kind.nodes if n == SIMULATOR] + [GATE] * (gate == START)
    started += [n for n in kind.nodes if n != SIMULATOR]
    nodes = [
        NodePlan(
            "rne_dynamics", name,
            parameters=(
                *_files(name, kind, values, file), arm | _own_parameters(name, kind, values, driver, file)
            ),
            remappings=_remappings(name, kind, values, driver, gated=gate != NONE, published=published),
            guarded=gate == START and name not in (GATE, SIMULATOR),
        )
        for name in started
    ]
    return [*nodes, *_recorder_and_viewers(kind, values, driver, arm, viewer)]


def chosen_arm(values: Mapping[str, str], default: str) -> tuple[str, dict[str, Any]]:
    """Name and parameters of the arm that the arguments give, none for that of the topic; raises `ArgumentError`."""
    urdf, model, xacro = values["urdf"], values["model"], values["xacro_args"]
    refuse(
        ArgumentError,
        (urdf and model, f"launch arguments urdf:={urdf} and model:={model} are both given; give one of them"),
        (xacro and not urdf,
         f"launch argument xacro_args:={xacro!r} is given without urdf; give the .xacro as urdf"),
    )
    argument, name = ("model", model) if model else ("urdf", urdf or default)
    if not name:
        return "", {}
    try:
        is_model = names_model_file(name)
        if is_model == bool(model):
            return name, {"model": model} if model else {
                DESCRIPTION_TOPIC: description_text(name, xacro_mappings(xacro))
            }
    except DescriptionError as error:
        raise ArgumentError(f"launch argument {argument}:={name}: {error}") from None
    other, what = ("model", "a model file") if is_model else ("urdf", "no model file")
    raise ArgumentError(f"launch argument {argument}:={name} names {what}; give it as {other}:={name}")


def topics(kind: Kind, values: Mapping[str, str]) -> Driver:
    """Topics of the driver: those that are given, then those of the hardware."""
    known = DRIVERS.get(values["hardware"], PLAIN)
    efforts = values.get("efforts") or known.efforts
    if efforts == GATE_TOPIC and (GATE in kind.nodes or values.get("gate") == START or (
        values["hardware"] and not values.get("gate")
    )):
        raise ArgumentError(
            f"launch argument efforts:={efforts} is where the effort gate takes efforts; give the driver's topic, or "
            "gate:=running for a controller whose gate runs already"
        )
    # a simulator does not report whether drives act
    drives = values.get("drives") or ("" if kind.simulated else known.drives)
    return Driver(values["joint_states"] or known.joint_states, efforts, drives)


def config_file(arm: str, values: Mapping[str, str]) -> Path | None:
    """Parameter file: the one given, else that of the hardware, else that of the shipped robot of this name."""
    if values["config"]:
        if not Path(values["config"]).is_file():
            raise ArgumentError(f"launch argument config:={values['config']} names no file")
        return Path(values["config"])
    if values["hardware"]:
        return share_file(f"config/hardware/{values['hardware']}.yaml")
    return share_file(f"config/{arm}.yaml") if arm in (*shipped_robots(), *shipped_models()) else None


def _files(name: str, kind: Kind, values: Mapping[str, str], file: Path | None) -> list[Path]:
    """The parameter file for a node; of nodes that drive no real arm only if it has a section for them."""
    node = _full_name(name, values)
    optional = name == SIMULATOR or (name == GATE and kind.simulated)
    return [file] if file and (not optional or any(applies(key, node) for key in node_keys(str(file)))) else []


def _own_parameters(
    name: str, kind: Kind, values: Mapping[str, str], driver: Driver, file: Path | None
) -> dict[str, Any]:
    """Parameters of one of our nodes that do not describe the arm."""
    if name == SIMULATOR:
        rehearsal = _as_hardware(kind, values, file) if file else {}
        return dict.fromkeys(("lockstep", "publish_clock"), values["lockstep"] == "true") | rehearsal
    parameters: dict[str, Any] = _time(values)
    if kind.simulated and file:  # a simulated drive takes efforts in N m, and does not report whether it acts
        given = settings_for(str(file), _full_name(name, values))
        parameters |= {k: 1.0 for k, v in given.items() if k.startswith("effort_scale.") and v != 1.0}
        parameters |= {"drives.topic": ""} if given.get("drives.topic") else {}
    if name == TRACKING and values["law"]:
        parameters["law"] = values["law"]
    if driver.drives and name != GATE:
        parameters["drives.topic"] = driver.drives
    return parameters


def _time(values: Mapping[str, str]) -> dict[str, Any]:
    """Whether a node follows the simulator's clock, if there is a simulator."""
    return {"use_sim_time": values["lockstep"] == "true"} if "lockstep" in values else {}


def _as_hardware(kind: Kind, values: Mapping[str, str], file: Path) -> dict[str, Any]:
    """Parameters with which the simulator replaces the hardware of a file, less those that the file gives it."""
    law = next(name for name in kind.nodes if name not in (SIMULATOR, GATE))
    given = settings_for(str(file), _full_name(law, values))
    _, arm, _ = simulated(given)
    if given.get("joints"):
        arm["joints"] = given["joints"]
    own = settings_for(str(file), _full_name(SIMULATOR, values))
    return {k: v for k, v in arm.items() if k not in own}


def _full_name(name: str, values: Mapping[str, str]) -> str:
    return f"/{values['namespace'].strip('/')}/{name}".replace("//", "/")


def _remappings(
    name: str, kind: Kind, values: Mapping[str, str], driver: Driver, *, gated: bool, published: bool
) -> tuple[tuple[str, str], ...]:
    efforts = GATE_TOPIC if gated and name not in (GATE, SIMULATOR) else driver.efforts
    # one publisher of the description: if robot_state_publisher runs, the simulator uses a topic of its own
    description = f"~/{DESCRIPTION_TOPIC}" if name == SIMULATOR and published else values["description_topic"]
    pairs = ((STATE_TOPIC, driver.joint_states), (EFFORT_TOPIC, efforts), (DESCRIPTION_TOPIC, description))
    return (*_clock(kind), *(pair for pair in pairs if pair[0] != pair[1]))


def _clock(kind: Kind) -> tuple[tuple[str, str], ...]:
    """Its clock is in the namespace, so that several simulated arms do not set each other's time."""
    return (("/clock", "clock"),) if kind.simulated else ()


def _recorder_and_viewers(
    kind: Kind, values: Mapping[str, str], driver: Driver, arm: Mapping[str, str], viewer: bool
) -> Iterator[NodePlan]:
    """Those that are wanted."""
    if values["record"]:
        topics = list(dict.fromkeys((*TOPICS, driver.joint_states, driver.efforts)))
        parameters: dict[str, Any] = {"output": values["record"], "topics": topics}
        yield NodePlan("rne_dynamics", RECORDER, (parameters,), optional=True)
    states, description = (STATE_TOPIC, driver.joint_states), (DESCRIPTION_TOPIC, values["description_topic"])
    remappings = (*_clock(kind), *(pair for pair in (states, description) if pair[0] != pair[1]))
    if viewer:
        urdf = arm.get(DESCRIPTION_TOPIC) or description_text(arm["model"])  # of a mechanism its open tree
        parameters = {DESCRIPTION_TOPIC: urdf, **_time(values)}
        yield NodePlan(STATE_PUBLISHER, STATE_PUBLISHER, (parameters,), remappings)
    if values["view"] == "true":
        laws = [name for name in kind.nodes if name not in (SIMULATOR, GATE)]
        parameters = {
            "controller": laws[0] if laws else "", "simulator": SIMULATOR if kind.simulated else "",
            **arm, **_time(values),
        }
        yield NodePlan("rne_dynamics", VIEWER, (parameters,), remappings, optional=True)
    if values["rviz"] == "true":
        yield NodePlan(RVIZ, RVIZ, (_time(values),), remappings, ("-d", str(share_file("config/arm.rviz"))))
