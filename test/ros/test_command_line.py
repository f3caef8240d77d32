"""--help, --version and stray words of every executable; none of them starts a node or forks a loop."""

from __future__ import annotations

import contextlib
import importlib
import subprocess
import sys

import pytest
import rclpy
from faults.campaign import Campaign
from rclpy.parameter import Parameter
from support.parameter_page import NODES

import rne_dynamics
from rne_dynamics.cli.main import main as rne
from rne_dynamics.ros.move import MoveNode
from rne_dynamics.ros.sessions.processes import session_node
from rne_dynamics.ros.sessions.running_nodes import RunningNodes

from .peer import PATIENCE


def program(name):
    return rne if name == "rne" else importlib.import_module(f"rne_dynamics.ros.{name}").main


def ends(name, words):
    """The exit code of a program that ends at its command line."""
    try:
        return program(name)(words)
    except SystemExit as end:
        return end.code


@pytest.mark.parametrize("name", [*NODES, "rne"])
def test_version_and_help(name, capsys):
    assert ends(name, ["--version"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"{name} {rne_dynamics.__version__}"
    assert ends(name, ["--help"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"usage: {name} ")
    assert "--version" in said


@pytest.mark.parametrize("name", ["effort_gate", "move"])
@pytest.mark.parametrize(("word", "said"), [
    ("--verbose", "--verbose"), ("robot_description:=scara", "write --ros-args -p robot_description:=scara"),
])
def test_words_that_no_node_takes_are_refused(name, word, said, capsys):
    assert ends(name, [word]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("name", "word", "said"), [
    ("viewer", "use_sim_time:=7", "Trying to set parameter 'use_sim_time' to '7'"),
    ("recorder", "use_sim_time:=7", "Trying to set parameter 'use_sim_time' to '7'"),
    ("recorder", "words", "ROS does not start: failed to initialize rcl: Couldn't parse parameter override rule"),
])
def test_arguments_that_ros_refuses_end_with_a_line(name, word, said):
    done = subprocess.run(
        [sys.executable, "-m", f"rne_dynamics.ros.{name}", "--ros-args", "-p", word], capture_output=True, text=True,
        timeout=PATIENCE, check=False,
    )
    assert done.returncode == 1
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_two_sessions_at_the_same_time_have_namespaces_of_their_own():
    name = "rne_dynamics.ros.sessions.guiding"
    printed = subprocess.run(
        [sys.executable, "-c", f"print(__import__('importlib').import_module('{name}').NAMESPACE)"], text=True,
        capture_output=True, check=True,
    ).stdout.strip()
    here = importlib.import_module(name).NAMESPACE
    assert printed != here
    assert printed.rstrip("0123456789") == here.rstrip("0123456789")


def test_a_parameter_that_is_no_name_of_a_node_is_refused_by_name(capfd):
    given = {"robot_description": "planar2", "goal": [0.1, 0.1], "controller": "left-arm/controller"}
    node = MoveNode([Parameter(name, value=value) for name, value in given.items()])
    assert node.trigger_configure().name == "FAILURE"
    assert not node.failed
    assert "parameter controller is 'left-arm/controller', which is no ROS name" in capfd.readouterr().err
    node.destroy_node()


@pytest.mark.parametrize("made", ["session", "found nodes", "campaign"])
def test_arguments_of_xacro_remap_nothing(made, monkeypatch):
    words = ["rne", "demo", "--robot", "arm.urdf.xacro", "--arg", "joint_states:=merged", "--arg", "__ns:=/elsewhere"]
    monkeypatch.setattr("sys.argv", words)
    with contextlib.ExitStack() as stack:
        if made == "session":
            node = stack.enter_context(session_node("demo", "/rne_demo"))
        elif made == "found nodes":
            node = stack.enter_context(RunningNodes())._node
        else:
            campaign = stack.enter_context(Campaign([]))
            node = rclpy.create_node("demo", context=campaign._context)
            stack.callback(node.destroy_node)
        assert node.resolve_topic_name("joint_states").endswith("/joint_states")
        assert node.get_namespace() in ("/rne_demo", "/")
