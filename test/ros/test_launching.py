"""The launch files under ROS's own `launch`, and the end of nodes whose parent dies.

`launch` is not on PyPI, so the first half runs on ROS machines alone; the second needs nothing but Linux.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from rne_dynamics.ros.parent import VARIABLE
from rne_dynamics.ros.processes import wait_until

from .conftest import START

ROOT = Path(__file__).resolve().parents[2]
# PyPI has an unrelated package of this name; ROS's has launch_ros beside it
HAS_LAUNCH = find_spec("launch_ros") is not None
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
PARENT = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", sys.argv[1]])
time.sleep(60.0)
"""
CHILD = """
import sys, time
from rne_dynamics.ros.parent import end_with_parent
end_with_parent()
print("ready", flush=True)
try:
    time.sleep(60.0)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


class Process:
    """A child with its output in a file, in a process group of its own."""

    def __init__(self, command: list[str], output: Path, environment: dict[str, str]) -> None:
        self.output = output
        with output.open("w") as file:
            self._process = subprocess.Popen(
                command, stdout=file, stderr=subprocess.STDOUT, env={**os.environ, **environment},
                start_new_session=True,
            )

    def said(self, text: str, count: int = 1) -> bool:
        return self.output.read_text(errors="replace").count(text) >= count

    def signal(self, number: int) -> int:
        """Send it to the process alone, not to its children; the exit code."""
        self._process.send_signal(number)
        return self._process.wait(30.0)

    def close(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)


@pytest.fixture
def run(tmp_path):
    made = []

    def start(command, environment):
        made.append(Process(command, tmp_path / f"{len(made)}.txt", environment))
        return made[-1]

    yield start
    for process in made:
        process.close()


@pytest.mark.skipif(not HAS_LAUNCH, reason="ROS's launch is not on PyPI; it comes with a ROS 2 installation")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize(("file", "arguments", "nodes"), [
    ("simulated_arm", ["urdf:=planar2", "namespace:=left"], 2),
    ("controller", ["urdf:=planar2"], 1),
    ("gravity_compensation", ["urdf:=planar2"], 1),
    ("effort_gate", ["urdf:=planar2", "efforts:=driver/commands"], 1),
])
def test_nodes_come_up_and_end_with_launch(run, file, arguments, nodes, number):
    command = [sys.executable, "-c", SERVICE, str(ROOT / "launch" / f"{file}.launch.py"), *arguments]
    launch = run(command, {})
    wait_until(lambda: launch.said("ready: ", nodes), START, "the nodes")
    code = launch.signal(number)
    if number == signal.SIGINT:
        assert code == 0
        assert launch.said("process has finished cleanly", nodes)
    else:  # launch itself says nothing more, and the nodes' pipe to it is gone
        group = launch._process.pid
        wait_until(lambda: not members(group), 20.0, "the end of the nodes")


def members(group: int) -> list[int]:
    """Processes of a group, zombies aside."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, number = path.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(number) == group and state != "Z":
            found.append(int(path.parent.name))
    return found


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel's help is Linux's")
def test_a_process_is_interrupted_when_its_parent_is_killed(run):
    parent = run([sys.executable, "-c", PARENT, CHILD], {VARIABLE: "1"})
    wait_until(lambda: parent.said("ready"), 20.0, "the child")
    parent.signal(signal.SIGKILL)
    wait_until(lambda: parent.said("interrupted"), 5.0, "the child's end")


def test_without_the_variable_it_lives_on(run):
    parent = run([sys.executable, "-c", PARENT, CHILD], {VARIABLE: ""})
    wait_until(lambda: parent.said("ready"), 20.0, "the child")
    group = parent._process.pid
    parent.signal(signal.SIGKILL)
    time.sleep(0.3)
    assert not parent.said("interrupted")
    assert members(group)
    os.killpg(group, signal.SIGKILL)
