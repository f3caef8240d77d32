"""The launch files under ROS's own `launch`, started and ended as users do.

It is not on PyPI: these tests run where a ROS 2 installation, or a build of its sources, is at hand.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest
from support.children import children, members

from rne_dynamics.ros.sessions.processes import wait_until

from .peer import PATIENCE, START

pytest.importorskip("launch_ros", reason="ROS's launch is not installed; it comes with a ROS 2 installation")

ROOT = Path(__file__).resolve().parents[2]
SERVICE = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource as Source
file, *arguments = sys.argv[1:]
service = LaunchService(argv=arguments, noninteractive=True)
pairs = [tuple(a.split(":=", 1)) for a in arguments]
service.include_launch_description(LaunchDescription([IncludeLaunchDescription(Source(file), launch_arguments=pairs)]))
sys.exit(service.run())
"""


@pytest.fixture
def launch(tmp_path):
    """Start a launch file: `launch("controller", "urdf:=planar2")`."""
    with children(tmp_path) as start:
        yield lambda file, *arguments: start(
            [sys.executable, "-c", SERVICE, str(ROOT / "launch" / f"{file}.launch.py"), *arguments],
            {"ROS_LOG_DIR": str(tmp_path / "log")},
        )


@pytest.mark.parametrize(("file", "arguments", "nodes"), [
    ("simulated_arm", ["urdf:=planar2", "namespace:=left"], 2),
    ("controller", ["urdf:=planar2"], 1),
    ("gravity_compensation", ["urdf:=planar2", "gate:=start"], 2),
    ("effort_gate", ["urdf:=planar2", "efforts:=driver/commands"], 1),
])
@pytest.mark.parametrize("number", [
    signal.SIGINT,
    pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
    pytest.param(signal.SIGKILL, marks=pytest.mark.slow),
])
def test_nodes_come_up_and_end_with_launch(launch, file, arguments, nodes, number):
    started = launch(file, *arguments)
    wait_until(lambda: started.said("ready: ", nodes), START, "the nodes")
    code = started.signal(number)
    if number == signal.SIGINT:
        assert code == 0
        assert started.said("process has finished cleanly", nodes)
    else:  # launch itself says nothing more, and the nodes' pipe to it is gone
        wait_until(lambda: not members(started.group), PATIENCE, "the end of the nodes")


@pytest.mark.parametrize(("arguments", "said"), [
    (["hardwear:=franka"], "no launch argument named 'hardwear'; did you mean 'hardware'?"),
    (["urdf:=nosuch.urdf"], "launch argument urdf:=nosuch.urdf: nosuch.urdf does not exist"),
])
def test_an_error_names_what_was_typed_and_ends_the_launch(launch, arguments, said):
    started = launch("controller", *arguments)
    wait_until(lambda: not members(started.group), START, "the end of the launch")
    assert started.said(said), started.output.read_text()
    assert not started.said("Traceback")
