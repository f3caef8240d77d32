"""Controllers against a plant that is not ours: the arm of `mujoco_arm.py`, moved by our node and by `plain_node.py`.

Plant and controller run as processes of their own. The arm makes a quintic move of all joints, and what is printed is
how far the plant's own positions are from the quintic, both at the plant's stamps.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import rclpy
import yaml
from mujoco_arm import ARMS, OFFERED, Arm, Array, compiled, names_of
from rich.console import Console
from rich.table import Table
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

import rne_dynamics as rne
from rne_dynamics.cli.start import clean_stdout
from rne_dynamics.figures.style import canvas, legend_below
from rne_dynamics.ros.messages.publishers import stamp_of
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.sessions.demonstration import move_message
from rne_dynamics.ros.sessions.processes import START_PATIENCE, NodeProcess, wait_until
from rne_dynamics.ros.sessions.recorder import PATIENCE

HERE = Path(__file__).resolve().parent
#: Names of the controllers' nodes.
NODES = {"rne": "computed_torque_controller", "plain": "plain_node"}
#: The move is announced this long before it begins, ns, and so many times where the arm does not follow.
NOTICE, ATTEMPTS = 300_000_000, 20


class Tracking(NamedTuple):
    """How a controller did; errors in rad over the move, of all joints together and one by one."""

    robot: str
    controller: str
    rms: float
    largest: float
    worst: str
    joints: dict[str, float]
    missed: int  # periods of the move for which no reply had come, so that the effort before was held
    longest_gap: int  # so many of them in a row
    standstill: float  # s by which the simulation fell behind real time during the move
    time: Array
    error: Array


class Options(NamedTuple):
    """Arguments of the command line."""

    seconds: float
    bandwidth: float
    late: int


class Script:
    """A Python script as a process, ended by SIGINT when the context is left."""

    def __init__(self, *arguments: str) -> None:
        self._name = Path(arguments[0]).name
        # a session of its own, as `NodeProcess` has: Linux shares the processor out among sessions
        self._process = subprocess.Popen(
            [sys.executable, *arguments], stdin=subprocess.DEVNULL, stdout=sys.stderr, start_new_session=True
        )

    def check(self) -> None:
        """`RneDynamicsError` if it has ended."""
        if self._process.poll() is not None:
            raise rne.RneDynamicsError(f"{self._name} has ended with code {self._process.returncode}")

    def __enter__(self) -> Script:
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(10.0)
        except subprocess.TimeoutExpired:
            self._process.kill()


def controller(
    kind: str, arm: Arm, joints: list[str], options: Options, ros: list[str], folder: Path
) -> Script | NodeProcess:
    """The process of a controller."""
    if kind == "plain":
        names = ("--joints", *joints, "--bandwidth", str(options.bandwidth))
        return Script(str(HERE / "plain_node.py"), str(arm.path), *names, *ros)
    p, d = options.bandwidth**2, 2.0 * options.bandwidth
    parameters = {
        "robot_description": str(arm.path), "joints": joints, "gains": {j: {"p": p, "d": d} for j in joints},
        "state_timeout": 1.0,  # the plant may stand still for a while where the machine is busy
        "stop": {"hold_time": 0.0, "ramp_time": 0.2},
    }  # fmt: skip
    file = folder / "controller.yaml"
    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}}), encoding="utf-8")
    return NodeProcess("computed_torque_controller", [*ros, "--params-file", str(file)])


class Experiment:
    """Sends the move to a controller that drives the plant."""

    def __init__(self, namespace: str, kind: str, processes: Sequence[Script | NodeProcess]) -> None:
        self.processes = processes
        self.node = rclpy.create_node("experiment", namespace=namespace, start_parameter_services=False)
        self.states = TopicRecorder(self.node, JointState, "joint_states", depth=1)
        topic = f"{NODES[kind]}/joint_trajectory"
        self.trajectories = self.node.create_publisher(JointTrajectory, topic, OFFERED)

    def newest(self) -> JointState:
        """The plant's newest state."""
        for process in self.processes:
            process.check()
        self.states.samples.clear()
        wait_until(lambda: self.states.latest() is not None, PATIENCE, "a joint state", period=0.001)
        return self.states.latest()

    def send(self, joints: list[str], move: rne.Quintic) -> int:
        """Send the move until the arm follows it, since controllers may take their time; when it has begun, ns."""
        wait_until(lambda: any(self.newest().effort), START_PATIENCE, "efforts")
        wait_until(self.trajectories.get_subscription_count, PATIENCE, "the controller's trajectory topic")
        for _ in range(ATTEMPTS):
            begin = stamp_of(self.newest()) + NOTICE
            self.trajectories.publish(move_message(joints, move, begin))
            while stamp_of(state := self.newest()) < begin + int(1e9 * 0.1 * move.duration):
                time.sleep(0.01)
            if np.abs(np.array(state.position) - move.start).max() > 1e-3:
                return begin
        raise rne.RneDynamicsError(f"the controller does not follow the move, sent {ATTEMPTS} times")

    def run(self, joints: list[str], move: rne.Quintic) -> int:
        """Send the move and see it through; when it has begun, ns of the stamps."""
        begin = self.send(joints, move)
        end = begin + int(1e9 * move.duration)
        wait_until(
            lambda: stamp_of(self.newest()) > end, 3.0 * move.duration + PATIENCE, "the end of the move", period=0.05
        )
        return begin


def track(robot: str, kind: str, options: Options) -> Tracking:
    """Plant and controller as processes, one move, and what the plant has recorded of it."""
    arm = ARMS[robot]
    joints = names_of(compiled(arm))
    namespace = f"/mujoco_plant_{os.getpid()}_{kind}"
    ros = ["--ros-args", "-r", f"__ns:={namespace}"]
    move = rne.Quintic(np.array(arm.start), np.array(arm.end), options.seconds)
    with tempfile.TemporaryDirectory() as name:
        record = Path(name) / "record.npz"
        plant = (str(HERE / "mujoco_arm.py"), "--robot", robot, "--late", str(options.late), "--record", str(record))
        # entered last, ended first: the controller releases the arm while the plant still answers
        with Script(*plant, *ros) as first, controller(kind, arm, joints, options, ros, Path(name)) as second:
            begin = Experiment(namespace, kind, (first, second)).run(joints, move)
        return judged(robot, kind, np.load(record), begin, move, joints)


def judged(robot: str, kind: str, record: Any, begin: int, move: rne.Quintic, joints: list[str]) -> Tracking:
    """The record's positions against the move, both at the record's stamps."""
    t = 1e-9 * (record["stamps"] - begin)
    during = (t >= 0.0) & (t <= move.duration)
    error = np.array([move.sample(x).q for x in t[during]]) - record["q"][during]
    missed = record["missed"][during]
    gaps = np.diff(np.flatnonzero(np.concatenate([[True], ~missed, [True]]))) - 1
    return Tracking(
        robot, kind, rms(error), float(np.abs(error).max()), joints[int(np.abs(error).max(axis=0).argmax())],
        {joint: rms(column) for joint, column in zip(joints, error.T, strict=True)},
        int(missed.sum()), int(gaps.max()), float(record["standstill"][during].sum()), t[during], error,
    )  # fmt: skip


def rms(error: Array) -> float:
    """Root mean square of all entries."""
    return float(np.sqrt(np.mean(error**2)))


def report(runs: list[Tracking], options: Options) -> None:
    """A table of the runs."""
    table = Table(
        "arm", "controller", "RMS (rad)", "largest (rad)", "its joint", "no reply (ms)", "in a row", "standstill (ms)",
        title=f"{options.seconds:g} s move on MuJoCo's arm at 1 kHz, efforts {options.late} ms late, "
        f"p = {options.bandwidth**2:g}, d = {2.0 * options.bandwidth:g}",
    )
    for run in runs:
        table.add_row(
            run.robot, run.controller, f"{run.rms:.1e}", f"{run.largest:.1e}", run.worst, str(run.missed),
            str(run.longest_gap), f"{1e3 * run.standstill:.1f}",
        )
    Console(width=110).print(table)


def draw(file: Path, runs: list[Tracking]) -> None:
    """The error of each joint over time, one panel a run."""
    with canvas(file, 6.0 * len(runs), 4.0) as figure:
        for axes, run in zip(figure.subplots(1, len(runs), sharey=True, squeeze=False)[0], runs, strict=True):
            axes.plot(run.time, 1e6 * run.error, linewidth=0.9, label=list(run.joints))
            axes.set(title=f"{run.robot}, {run.controller}: RMS {run.rms:.1e} rad", xlabel="time (s)")
        legend_below(figure, figure.axes[0], 7)
        figure.axes[0].set_ylabel("quintic − position (µrad)")


def main() -> None:
    """Run the experiment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robot", choices=ARMS, default="ur5")
    parser.add_argument("--controller", choices=(*NODES, "both"), default="both")
    parser.add_argument("--seconds", type=float, default=3.0, help="duration of the move")
    parser.add_argument("--bandwidth", type=float, default=40.0, help="ω in rad/s: p = ω², d = 2 ω")
    parser.add_argument("--late", type=int, choices=(0, 1), default=1, help="periods until an effort acts")
    parser.add_argument("--json", action="store_true", help="print the figures for a program")
    parser.add_argument("--plot", type=Path, help="write a picture of the errors")
    arguments = parser.parse_args()
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    rclpy.init()
    options = Options(arguments.seconds, arguments.bandwidth, arguments.late)
    kinds = tuple(NODES) if arguments.controller == "both" else (arguments.controller,)
    runs = [track(arguments.robot, kind, options) for kind in kinds]
    rclpy.shutdown()
    if arguments.json:
        plain = [{k: v for k, v in run._asdict().items() if k not in ("time", "error")} for run in runs]
        print(json.dumps(plain))
    else:
        report(runs, options)
    if arguments.plot is not None:
        draw(arguments.plot, runs)


if __name__ == "__main__":
    with clean_stdout():
        main()
