"""SIGINT while a node starts: one line and exit code 130, whatever it was doing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rne_dynamics.ros import EXECUTABLES

pytest.importorskip("rclpy", reason="ROS 2's client library is not installed: pip install '.[ros]'")

from rne_dynamics.ros.sessions.processes import wait_until

from .peer import START

#: Instants of the sweep.
INSTANTS = 24
#: CPU time in which Python itself has started and has come to this package, s.
PYTHON = 0.15

NODE = "computed_torque_controller"


@pytest.mark.parametrize("library", ["numpy", "_rclpy", "librmw_fast"])
def test_one_line_and_130_during_imports_and_construction(library):
    command = [sys.executable, "-m", f"rne_dynamics.ros.{NODE}"]
    if library == "numpy":  # as it is installed
        command = [str(Path(sys.executable).with_name(NODE))]
    process = subprocess.Popen(
        [*command, "--ros-args", "-p", "robot_description:=planar2", "-r", f"__ns:=/interrupted{os.getpid()}"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )
    try:
        wait_until(lambda: library in Path(f"/proc/{process.pid}/maps").read_text(), START, library)
        os.killpg(process.pid, signal.SIGINT)  # as by Ctrl-C, to the whole group
        said, _ = process.communicate(timeout=START)
        lines = [line for line in said.splitlines() if "[INFO]" not in line and "[WARN]" not in line]
        assert (process.returncode, lines) == (130, [f"{NODE}: interrupted before it had started"]), said
    finally:
        process.kill()


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
