"""What the launch files share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch.actions import DeclareLaunchArgument, LogInfo, Shutdown
from launch.launch_context import LaunchContext
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from rne_dynamics.description.share import share_file, shipped_models, shipped_robots
from rne_dynamics.errors import ArgumentError
from rne_dynamics.ros.description import description_text
from rne_dynamics.ros.parent import VARIABLE

#: Time a node gets to set the arm down before launch loses patience, s; launch's own 5 s may be shorter than a ramp.
STOP_TIME = "60"
#: As in `rne_dynamics.ros.messages`, which loads the whole client library.
EFFORT_TOPIC = "effort_controller/commands"


def arguments(default: str = "") -> list[DeclareLaunchArgument]:
    """The arguments every launch file takes; `default` is the robot where none is given, empty for none."""
    return [
        DeclareLaunchArgument(
            "urdf", default_value="", description=f"path, package:// URI, or one of {', '.join(shipped_robots())}"
            + (f"; {default} where neither urdf nor model is given" if default else "")
        ),
        DeclareLaunchArgument(
            "model", default_value="", description="instead of urdf, a model file, which may describe closed loops or "
            f"flexible links: path, package:// URI, or one of {', '.join(shipped_models())}"
        ),
        DeclareLaunchArgument(
            "config", default_value="", description="parameter file; empty takes the shipped one of a shipped robot"
        ),
        DeclareLaunchArgument("namespace", default_value="", description="namespace of all nodes"),
        DeclareLaunchArgument(
            "efforts", default_value=EFFORT_TOPIC, description="topic of the efforts: the driver's, or "
            "effort_gate/commands where the gate is started by a launch of its own"
        ),
        DeclareLaunchArgument("rviz", default_value="false", description="show the arm in RViz, where it is installed"),
    ]


def actions(
    context: LaunchContext, executables: Sequence[str], default: str = "", simulated: bool = False
) -> list[Any]:
    """Our nodes, robot_state_publisher and RViz as far as installed.

    The end of any of our nodes ends the launch: an arm without its controller must not look as if all were well. And
    a launch that is killed, or gets SIGTERM as from systemd or docker, takes our nodes with it: launch by itself would
    leave them running; see `rne_dynamics.ros.parent`.

    Where the arm is `simulated`, all nodes follow its ``/clock``, which is in the namespace if there is one, so that
    several simulated arms do not set each other's time.
    """
    urdf, model, config, namespace, efforts, rviz = (
        LaunchConfiguration(name).perform(context)
        for name in ("urdf", "model", "config", "namespace", "efforts", "rviz")
    )
    robot = chosen(urdf, model, default)
    if rviz.lower() not in ("true", "false"):
        raise ArgumentError(f"launch argument rviz is {rviz!r}; it must be true or false")
    # a string whatever it looks like: YAML would take a text with a colon apart
    description = {"robot_description": ParameterValue(description_text(robot), value_type=str)}
    ours = {"model": ParameterValue(model, value_type=str)} if model else description
    parameters: list[Any] = [ours]
    if file := config_file(robot, config):
        parameters.insert(0, str(file))
    clock = [{"use_sim_time": True}] if simulated else []
    remappings = [("/clock", "clock")] if simulated else []
    drives = [(EFFORT_TOPIC, efforts)]
    result: list[Any] = [
        Node(
            package="rne_dynamics", executable=name, name=name, namespace=namespace,
            remappings=[*remappings, *drives],
            parameters=[*parameters, *([{"publish_clock": True}] if name == "simulator" else clock)],
            output="screen", emulate_tty=True, sigterm_timeout=STOP_TIME, sigkill_timeout=STOP_TIME,
            additional_env={VARIABLE: "1"}, on_exit=Shutdown(reason=f"{name} has ended"),
        )
        for name in executables
    ]
    result += optional("robot_state_publisher", namespace, parameters=[description, *clock], remappings=remappings)
    if rviz.lower() == "true":
        result += optional("rviz2", namespace, parameters=clock, remappings=remappings,
                           arguments=["-d", str(share_file("config/arm.rviz"))])
    return result


def chosen(urdf: str, model: str, default: str) -> str:
    """The robot or model that the launch arguments name."""
    if urdf and model:
        raise ArgumentError(f"launch arguments urdf ({urdf!r}) and model ({model!r}) are both given; give one of them")
    if not (urdf or model or default):
        raise ArgumentError("neither launch argument urdf nor model is given; give one of them")
    return urdf or model or default


def config_file(robot: str, config: str) -> Path | None:
    """The parameter file: the one named, else the shipped one of what ships under that name, else none."""
    if config:
        if not Path(config).is_file():
            raise ArgumentError(f"launch argument config is {config!r}; there is no such file")
        return Path(config)
    return share_file(f"config/{robot}.yaml") if robot in (*shipped_robots(), *shipped_models()) else None


def optional(package: str, namespace: str, **keywords: Any) -> list[Any]:
    """A node of another package where that is installed, else a line that says so."""
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return [LogInfo(msg=f"{package} is not installed: going on without it")]
    return [Node(package=package, executable=package, namespace=namespace, output="log", **keywords)]
