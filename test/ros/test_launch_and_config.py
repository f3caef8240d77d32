"""Launch files and the parameter files that ship.

Where ROS's `launch` is installed, the launch files are run by it. It is not on PyPI, so without it they are read as
Python: their executables must be the nodes that exist. The parameter files are always given to real nodes.
"""

from __future__ import annotations

import ast
import importlib
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

import rne_dynamics as rne
from rne_dynamics.description.share import share_file, shipped_models, shipped_robots
from rne_dynamics.errors import ArgumentError
from rne_dynamics.ros.lifecycle import COMMON
from rne_dynamics.ros.processes import NodeProcess, wait_until

from .conftest import START

ROOT = Path(__file__).resolve().parents[2]
LAUNCH_FILES = sorted((ROOT / "launch").glob("*.launch.py"))
# PyPI has an unrelated package of this name; ROS's has launch_ros beside it
HAS_LAUNCH = find_spec("launch_ros") is not None


def flat(tree: object, prefix: str = "") -> dict[str, object]:
    if not isinstance(tree, dict):
        return {prefix: tree}
    return {k: v for name, sub in tree.items() for k, v in flat(sub, f"{prefix}.{name}" if prefix else name).items()}


@pytest.mark.parametrize("name", [*shipped_robots(), *shipped_models()])
def test_the_shipped_parameters_are_known_and_fit_the_robot(name):
    robot = rne.load_model(name)
    sections = yaml.safe_load(share_file(f"config/{name}.yaml").read_text())
    assert set(sections) == {f"/**/{n}" for n in ("computed_torque_controller", "gravity_compensation", "simulator",
                                                  "move")}
    for section, content in sections.items():
        node = section.rpartition("/")[2]
        schema = (*COMMON, *importlib.import_module(f"rne_dynamics.ros.{node}").SCHEMA)
        known = {p.name.replace("{joint}", j): p for p in schema for j in robot.joint_names}
        values = flat(content["ros__parameters"])
        assert values["joints"] == list(robot.joint_names)
        # without its model file a mechanism would be taken for its open tree
        assert values.get("model", "") == (name if name in shipped_models() else "")
        for key, value in values.items():
            assert key in known, f"{name}.yaml: {node} has no parameter {key}"
            known[key].parse(key, value)
        for j, limit in zip(robot.joint_names, robot.effort_limit, strict=True):
            assert values.get(f"limits.{j}.effort", limit) <= limit * (1 + 1e-9)


def test_a_shipped_file_reaches_a_node_in_any_namespace(make_peer, namespace):
    file = share_file("config/scara.yaml")
    arguments = ["--ros-args", "--params-file", str(file), "-p", "robot_description:=scara", "-r", f"__ns:={namespace}"]
    with NodeProcess("computed_torque_controller", arguments) as process:
        wait_until(lambda: "ready: " in process.output(), START, "the controller", [process])
        assert make_peer([]).get_double("computed_torque_controller", "gains.joint1.p") == 1600.0


@pytest.mark.parametrize("file", LAUNCH_FILES, ids=lambda f: f.name)
def test_launch_files_start_nodes_that_exist(file):
    tree = ast.parse(file.read_text())
    lists = [n.value for n in ast.walk(tree) if isinstance(n, ast.Assign) and n.targets[0].id == "nodes"]
    nodes = ast.literal_eval(lists[0])
    assert nodes
    for node in nodes:
        assert callable(importlib.import_module(f"rne_dynamics.ros.{node}").main)


@pytest.mark.skipif(not HAS_LAUNCH, reason="ROS's launch is not on PyPI; it comes with a ROS 2 installation")
@pytest.mark.parametrize("file", LAUNCH_FILES, ids=lambda f: f.name)
def test_launch_itself_reads_them(file):
    from launch.actions import DeclareLaunchArgument, OpaqueFunction
    from launch_ros.actions import Node

    from launch import LaunchContext

    namespace: dict[str, object] = {}
    exec(compile(file.read_text(), str(file), "exec"), namespace)
    description = namespace["generate_launch_description"]()
    declared = [e for e in description.entities if isinstance(e, DeclareLaunchArgument)]
    assert {d.name for d in declared} == {"urdf", "model", "config", "namespace", "rviz"}
    context = LaunchContext()
    opaque = next(e for e in description.entities if isinstance(e, OpaqueFunction))
    common = {"config": "", "namespace": "a", "rviz": "true"}
    named = [("puma560", ""), ("", "pantograph"), ("", "flexible_arm")]
    for robot in ({"urdf": urdf, "model": model} for urdf, model in named):
        context.launch_configurations.update({**common, **robot})
        assert any(isinstance(a, Node) for a in opaque.execute(context))
    context.launch_configurations.update({**common, "urdf": "puma560", "model": "pantograph"})
    with pytest.raises(ArgumentError, match="give one of them"):
        opaque.execute(context)
