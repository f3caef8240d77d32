"""Common part of the launch files: turns a plan into actions of ROS's launch."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction, Shutdown
from launch.launch_context import LaunchContext
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchDescription
from rne_dynamics.advice import extra
from rne_dynamics.ros.launch_plan import KINDS, VIEWER, Kind, NodePlan, check_names, plan
from rne_dynamics.ros.node.process import VARIABLE

#: Time that launch grants a node to stop the arm, s; its default of 5 s may be shorter than a ramp.
STOP_TIME = "60"


def described(file: str) -> LaunchDescription:
    """The description of one of our launch files, given its path."""
    kind = KINDS[Path(file).name.removesuffix(".launch.py")]
    declared = [
        DeclareLaunchArgument(
            argument.name, default_value=argument.default,
            description=argument.description + (f" ({', '.join(argument.choices)})" if argument.choices else ""),
        )
        for argument in kind.arguments
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=_actions, args=[kind, Path(file).name])])


def _actions(context: LaunchContext, kind: Kind, file: str) -> list[Any]:
    """Our nodes, and robot_state_publisher and RViz if they are installed."""
    if any(Path(word).name == file for word in sys.argv):  # not if another launch file includes it
        check_names(kind.arguments, context.argv, file)
    given = {argument.name: LaunchConfiguration(argument.name).perform(context) for argument in kind.arguments}
    return [_action(node) for node in plan(kind, given, _installed)]


def _installed(package: str) -> bool:
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return False
    return True


def _action(plan: NodePlan) -> Any:
    """One node, or a log line if its package is not installed."""
    if plan.executable == VIEWER and importlib.util.find_spec("viser") is None:
        return LogInfo(msg=f"viser is not installed ({extra('view')}): going on without the viewer")
    if plan.package != "rne_dynamics" and not _installed(plan.package):
        return LogInfo(msg=f"{plan.package} is not installed: going on without it")
    keywords: dict[str, Any] = {
        "package": plan.package, "executable": plan.executable,
        "namespace": LaunchConfiguration("namespace"),
        "parameters": [_parameters(p) for p in plan.parameters], "remappings": list(plan.remappings),
        "arguments": list(plan.arguments),
    }
    if plan.package != "rne_dynamics":
        return Node(**keywords, output="log")
    return Node(
        **keywords, name=plan.executable, output="screen", emulate_tty=True,
        sigterm_timeout=STOP_TIME, sigkill_timeout=STOP_TIME,
        # If launch is killed, or gets SIGTERM as from systemd or docker, our nodes end too: launch by itself
        # would leave them running; see `rne_dynamics.ros.node.process`.
        additional_env={VARIABLE: "1"}, on_exit=_on_exit(plan),
    )


def _parameters(given: Path | dict[str, Any]) -> str | dict[str, Any]:
    if isinstance(given, Path):
        return str(given)
    # a string in any case: YAML would split a text with a colon
    return {k: ParameterValue(v, value_type=str) if isinstance(v, str) else v for k, v in given.items()}


def _on_exit(plan: NodePlan) -> Any:
    """The end of a node ends the launch, so that an arm without its controller is noticed."""
    # not of a node that only shows or records, nor of a controller behind this launch's gate, which holds the arm
    if plan.optional:
        return [LogInfo(msg=f"{plan.executable} has ended: going on without it")]
    if not plan.guarded:
        return Shutdown(reason=f"{plan.executable} has ended")

    def report(context: LaunchContext) -> list[Any]:
        text = (
            f"{plan.executable} has ended. The effort gate goes on and has taken the arm over if it was driven: see "
            "effort_gate/state. Start the controller again by a launch of its own with gate:=running, or end this one"
        )
        return [] if context.is_shutdown else [LogInfo(msg=text)]

    return OpaqueFunction(function=report)
