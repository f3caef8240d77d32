"""The nodes that each launch file starts, with parameters and topics, from its arguments; without ROS's launch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rne_dynamics.description.share import share_file, shipped_models, shipped_robots
from rne_dynamics.description.sources import names_model_file
from rne_dynamics.errors import ArgumentError, DescriptionError
from rne_dynamics.ros.launching.arguments import (
    DRIVERS,
    GATE,
    NONE,
    PLAIN,
    RECORDER,
    SIMULATOR,
    START,
    TRACKING,
    VIEWER,
    Driver,
    Kind,
    NodePlan,
    checked,
    xacro_mappings,
)
from rne_dynamics.ros.node.robot import description_text
from rne_dynamics.ros.parameters.files import applies, node_keys, settings_for, simulated
from rne_dynamics.ros.recorder import TOPICS

RVIZ, STATE_PUBLISHER = "rviz2", "robot_state_publisher"
#: Topics as the nodes name them; `ros.messages.publishers` has them too, but imports the whole client library.
STATE_TOPIC, EFFORT_TOPIC, DESCRIPTION_TOPIC = "joint_states", "effort_controller/commands", "robot_description"
#: Where the gate takes efforts.
GATE_TOPIC = "effort_gate/commands"


@dataclass(frozen=True)
class Arm:
    """The arm of the arguments: a model file, the text of a URDF, or neither, which means the topic."""

    name: str = ""
    model: str = ""
    urdf: str = ""

    @property
    def parameters(self) -> dict[str, Any]:
        """Its parameters for our nodes."""
        if self.model:
            return {"model": self.model}
        return {"robot_description": self.urdf} if self.urdf else {}

    def text(self) -> str:
        """The URDF, for other nodes; of a mechanism its open tree."""
        return self.urdf or (description_text(self.model) if self.model else "")


def plan(
    kind: Kind, given: Mapping[str, str], installed: Callable[[str], bool] = lambda package: True
) -> list[NodePlan]:
    """The nodes to start, by the arguments `given`; ArgumentError, DescriptionError for one that cannot be used."""
    values = checked(kind.arguments, given)
    if kind.simulated and values["hardware"] and not (values["urdf"] or values["model"]):
        raise ArgumentError(f"launch argument hardware:={values['hardware']} is given without urdf; give the arm's")
    arm = chosen_arm(values, kind.robot)
    driver = topics(kind, values)
    file = config_file(arm, values)
    viewer = (values["robot_state_publisher"] or ("true" if kind.simulated else "false")) == "true"
    if viewer and not arm.parameters:
        raise ArgumentError(
            "launch argument robot_state_publisher:=true needs urdf or model: without them the description is read "
            f"from the topic {values['description_topic']}, where another node publishes it"
        )
    gate = values.get("gate") or (START if kind.gated and values["hardware"] else NONE)
    published = viewer and installed(STATE_PUBLISHER)
    started = [n for n in kind.nodes if n == SIMULATOR] + [GATE] * (gate == START)
    started += [n for n in kind.nodes if n != SIMULATOR]
    nodes = [
        NodePlan(
            "rne_dynamics", name,
            parameters=(
                *_files(name, kind, values, file), arm.parameters | _own_parameters(name, kind, values, driver, file)
            ),
            remappings=_remappings(name, kind, values, driver, gated=gate != NONE, published=published),
            guarded=gate == START and name not in (GATE, SIMULATOR),
        )
        for name in started
    ]
    return nodes + _recorder(values, driver) + _viewers(kind, values, driver, arm, viewer)


def chosen_arm(values: Mapping[str, str], default: str) -> Arm:
    """The arm that the arguments urdf, xacro_args and model name; `ArgumentError` where they name none."""
    urdf, model, xacro = values["urdf"], values["model"], values["xacro_args"]
    if urdf and model:
        raise ArgumentError(f"launch arguments urdf:={urdf} and model:={model} are both given; give one of them")
    if xacro and not urdf:
        raise ArgumentError(f"launch argument xacro_args:={xacro!r} is given without urdf; give the .xacro as urdf")
    argument, name = ("model", model) if model else ("urdf", urdf or default)
    if not name:
        return Arm()
    try:
        is_model = names_model_file(name)
        if is_model == bool(model):
            return Arm(name, model=model) if model else Arm(name, urdf=description_text(name, xacro_mappings(xacro)))
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


def config_file(arm: Arm, values: Mapping[str, str]) -> Path | None:
    """Parameter file: the one given, else that of the hardware, else that of the shipped robot of this name."""
    if values["config"]:
        if not Path(values["config"]).is_file():
            raise ArgumentError(f"launch argument config:={values['config']} names no file")
        return Path(values["config"])
    if values["hardware"]:
        return share_file(f"config/hardware/{values['hardware']}.yaml")
    return share_file(f"config/{arm.name}.yaml") if arm.name in (*shipped_robots(), *shipped_models()) else None


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


def _viewers(kind: Kind, values: Mapping[str, str], driver: Driver, arm: Arm, viewer: bool) -> list[NodePlan]:
    states, description = (STATE_TOPIC, driver.joint_states), (DESCRIPTION_TOPIC, values["description_topic"])
    remappings = (*_clock(kind), *(pair for pair in (states, description) if pair[0] != pair[1]))
    nodes = []
    if viewer:
        parameters = {DESCRIPTION_TOPIC: arm.text(), **_time(values)}
        nodes.append(NodePlan(STATE_PUBLISHER, STATE_PUBLISHER, (parameters,), remappings))
    if values["view"] == "true":
        laws = [name for name in kind.nodes if name not in (SIMULATOR, GATE)]
        parameters = {
            "controller": laws[0] if laws else "", "simulator": SIMULATOR if kind.simulated else "",
            **arm.parameters, **_time(values),
        }
        nodes.append(NodePlan("rne_dynamics", VIEWER, (parameters,), remappings, optional=True))
    if values["rviz"] == "true":
        nodes.append(NodePlan(RVIZ, RVIZ, (_time(values),), remappings, ("-d", str(share_file("config/arm.rviz")))))
    return nodes


def _recorder(values: Mapping[str, str], driver: Driver) -> list[NodePlan]:
    """The node that records, if that is wanted."""
    if not values["record"]:
        return []
    given = {"output": values["record"], "topics": list(dict.fromkeys((*TOPICS, driver.joint_states, driver.efforts)))}
    return [NodePlan("rne_dynamics", RECORDER, (given,), optional=True)]
