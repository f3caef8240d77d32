"""A node on a computer without llvmlite: slower, as exact, and one line of log that says so."""

from __future__ import annotations

import os

import numpy as np
import pytest

import rne_dynamics as rne
from rne_dynamics.interrupted import EXIT_INTERRUPTED
from rne_dynamics.ros.sessions.processes import NodeProcess, wait_until

from .peer import START

Q = (0.3, -0.8)
AT_ONCE = ("-p", "startup_check.duration:=0.0", "-p", "start.ramp_time:=0.0")


def test_it_comes_up_and_logs_once_that_it_is_slow(make_peer, namespace, tmp_path):
    (tmp_path / "llvmlite.py").write_text("raise ImportError('no llvmlite here')\n")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    arguments = ["--ros-args", "-p", "robot_description:=planar2", "-r", f"__ns:={namespace}", *AT_ONCE]
    robot = rne.load_urdf("planar2")
    with NodeProcess("gravity_compensation", arguments, {"PYTHONPATH": path}) as process:
        peer = make_peer(robot.joint_names)
        wait_until(lambda: "ready: " in process.output(), START, "the node", [process])
        peer.connect(process)
        assert peer.answer(Q) == pytest.approx(rne.gravity_torque(robot, np.array(Q)).tolist(), rel=1e-9)
        said = process.output()
        assert process.stop() in (0, EXIT_INTERRUPTED)  # the line comes just before its start is over
    assert said.count("llvmlite is not installed") == 1
    assert "[WARN]" in next(line for line in said.splitlines() if "llvmlite is not installed" in line)
    assert "Warning:" not in said, said
