"""A driver that does not count turns: trajectories, `rne send` and `rne state` over DDS, in lock-step."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator

import pytest

pytest.importorskip("rclpy", reason="ROS 2's client library is not installed: pip install 'rne_dynamics[ros]'")

import rclpy
from faults.arm import COMPUTED_TORQUE, TWO_LINKS
from faults.rig import Rig
from rclpy.context import Context
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rne_dynamics.ros.messages.trajectory_message import duration_message

from .peer import PATIENCE

ELBOW = 0.4


def within_half_a_turn(message: JointState) -> Iterable[JointState]:
    message.position[0] = math.remainder(message.position[0], math.tau)
    return (message,)


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    """An arm whose shoulder has been turned to 3.4 rad; -2.883 is reported."""
    context = Context()
    rclpy.init(context=context)
    rig = Rig(context, TWO_LINKS, COMPUTED_TORQUE, {"torque_divisor": 1}, lambda: False)
    try:
        rig.configure()
        rig.driver.falsify = within_half_a_turn
        rig.activate()
        send(rig, 3.4, 2.5)
        yield rig
    finally:
        rig.close()
        rclpy.try_shutdown(context=context)


def send(rig: Rig, shoulder: float, seconds: float, start: float | None = None) -> float:
    """Send a trajectory, wait for its end; how far the shoulder has turned, rad."""
    before, log = rig.driver.q[0], rig.controller.process.output
    reached = log().count("trajectory succeeded")
    points = [JointTrajectoryPoint(positions=[shoulder, ELBOW], velocities=[0.0, 0.0],
                                   time_from_start=duration_message(seconds))]
    if start is not None:
        points.insert(0, JointTrajectoryPoint(positions=[start, ELBOW], velocities=[0.0, 0.0]))
    rig.reach("holding")
    assert rig.send(JointTrajectory(joint_names=list(rig.robot.joint_names), points=points))
    rig.reach("tracking", seconds=3.0)
    rig.reach("holding", seconds=seconds + 3.0)
    rig.wait(lambda: log().count("trajectory succeeded") > reached, "the report of success")
    return float(rig.driver.q[0] - before)


def rne(rig: Rig, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command while the arm's time passes."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rne_dynamics.cli.main", *words, "--node", rig.controller.name], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ),
    )  # fmt: skip
    while process.poll() is None:
        rig.turn()
    out, error = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, out, error)


@pytest.mark.slow
def test_send_and_state(rig):
    report: dict = {}
    deadline = time.monotonic() + PATIENCE
    while not report.get("joints"):  # it waits for them for 3 s, which a busy computer may need to discover them
        assert time.monotonic() < deadline, report
        report = json.loads(rne(rig, "state", "--json").stdout)[0]
    assert report["joints"][0]["position"] == pytest.approx(3.4 - math.tau, abs=0.01)
    for goal, way, said in (("2.9", -0.5, "joint1 to -3.38319"), ("-2.883", 0.5, "moving for")):
        before = rig.driver.q[0]
        done = rne(rig, "send", f"joint1={goal}", "--duration", "1")
        assert done.returncode == 0, done.stderr
        assert said in done.stdout
        assert "arrived" in done.stdout
        assert rig.driver.q[0] - before == pytest.approx(way, abs=0.02)
