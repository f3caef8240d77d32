"""SIGINT while a node starts: one line and exit code 130, whatever it was doing; once it runs it ends as planned."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="ROS 2's client library is not installed: pip install '.[ros]'")

from rne_dynamics.ros import EXECUTABLES
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import START

#: Instants of the sweep.
INSTANTS = 24
#: CPU time in which Python itself has started and has come to this package, s.
PYTHON = 0.15
LINE = "{}: interrupted before it had started"


def command(executable: str, folder: Path, *, installed: bool) -> list[str]:
    name = [str(Path(sys.executable).with_name(executable))]
    own = {
        "recorder": [f"output:={folder}/{time.monotonic_ns()}.mcap"],
        "move": ["robot_description:=planar2", "goal:=[0.1, 0.1]", "timeout:=60.0"],
        "viewer": ["robot_description:=planar2", "port:=8123"],
    }.get(executable, ["robot_description:=planar2"])
    words = [word for value in own for word in ("-p", value)]
    module = [sys.executable, "-m", f"rne_dynamics.ros.{executable}"]
    return [*(name if installed else module), "--ros-args", *words, "-r", f"__ns:=/interrupted{os.getpid()}"]


class Starting:
    """One of the executables, in a process group of its own."""

    def __init__(self, executable: str, folder: Path, *, installed: bool = False) -> None:
        self.executable = executable
        self.output = (folder / "output").open("w+")
        self.process = subprocess.Popen(
            command(executable, folder, installed=installed), stdout=self.output, stderr=subprocess.STDOUT,
            start_new_session=True, stdin=subprocess.DEVNULL,
        )

    def lines(self) -> list[str]:
        return Path(self.output.name).read_text().splitlines()

    def has_loaded(self, library: str) -> bool:
        return library in Path(f"/proc/{self.process.pid}/maps").read_text()

    def ready(self) -> bool:
        return any("ready" in line or "waiting" in line for line in self.lines())

    def cpu_time(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(START)
        self.output.close()

    def interrupt(self) -> None:
        """As by Ctrl-C, to the whole group; the exit code, and what is printed besides log lines, must be right."""
        os.killpg(self.process.pid, signal.SIGINT)
        code = self.process.wait(START)
        others = ("[INFO]", "[WARN]", "(viser)")  # log lines, and what viser's server says when it ends
        printed = [line for line in self.lines() if not any(word in line for word in others)]
        if code == (1 if self.executable == "move" else 0):  # it runs; `move` has not moved the arm
            assert printed == []
            assert self.ready()
        else:
            assert (code, printed) == (130, [LINE.format(self.executable)]), self.lines()


@pytest.fixture
def begin(tmp_path):
    begun = []

    def make(executable: str, *, installed: bool = False) -> Starting:
        begun.append(Starting(executable, tmp_path, installed=installed))
        return begun[-1]

    yield make
    for starting in begun:
        starting.end()


@pytest.mark.parametrize("library", ["numpy", "_rclpy", "librmw_fast"])
def test_one_line_and_130_during_imports_and_construction(library, begin):
    starting = begin("computed_torque_controller", installed=library == "numpy")
    wait_until(lambda: starting.has_loaded(library), START, library)
    starting.interrupt()
    assert starting.process.returncode == 130


@pytest.mark.soak
@pytest.mark.parametrize("executable", EXECUTABLES)
def test_sweep_over_the_whole_start(executable, begin):
    """From Python's own start, in which nothing can be caught, to a node that runs; by CPU time, as others load it."""
    first = begin(executable)
    wait_until(lambda: first.ready() or first.process.poll() is not None, START, "the start")
    took = first.cpu_time()
    first.interrupt()
    for k in range(1, INSTANTS + 1):
        starting = begin(executable, installed=k % 2 == 0)
        instant = PYTHON + (took - PYTHON) * k / INSTANTS
        wait_until(lambda: starting.ready() or starting.cpu_time() >= instant, START, "the instant")  # noqa: B023
        starting.interrupt()
