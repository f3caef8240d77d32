"""How long a node takes from the start of its process until it is ready, and to its first effort; its memory.

    python benchmarks/start_up.py            # 5 starts in turn with the floor, kernels compiled
    python benchmarks/start_up.py --cold     # one start with no kernels on the disk too
    python benchmarks/start_up.py --robot pantograph --node simulator
    python benchmarks/start_up.py --json

A node is ready, by its own log, when it is configured. This process publishes joint states, and the time of the first
effort runs until a controller answers; the simulator answers nothing. What follows the configuration is DDS, which
discovers some nodes at once and others after one to three seconds. The floor is a bare lifecycle node that answers the
same messages, in a process that imports rclpy and numpy.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from statistics import median
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any, NamedTuple

os.environ.setdefault("ROS_DOMAIN_ID", "96")
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"

import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rich.console import Console
from rich.table import Table
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from usage import memory

import rne_dynamics as rne
from rne_dynamics.ros.messages.publishers import write_stamp

COMMANDS = "effort_controller/commands"
PERIOD, LONGEST = 0.005, 300.0
NODES = ("computed_torque_controller", "gravity_compensation", "effort_gate", "simulator")
#: Starts a node for which only the folder RNE_DYNAMICS_CACHE_DIR has machine code.
COLD = """
import os, runpy, sys
from pathlib import Path
from rne_dynamics.compiling import store
store._places = lambda: ((Path(os.environ[store.FOLDER]), ""),)
runpy.run_module(sys.argv.pop(1), run_name="__main__")
"""
#: The environment of what starts: Python keeps the bytecode of modules on disk, as of a package that is installed.
BYTECODE_KEPT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
#: What a node logs when it is configured.
READY = re.compile(r"([0-9.]+) s after the process started")
FLOOR = f"""
import numpy, rclpy
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
rclpy.init()
node = LifecycleNode("floor")
publisher = node.create_publisher(Float64MultiArray, {COMMANDS!r}, 1)
newest = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
node.create_subscription(JointState, "joint_states", lambda _: publisher.publish(Float64MultiArray(data=[0.0])), newest)
rclpy.spin(node)
"""


class Start(NamedTuple):
    """Seconds until a process was ready and until its first effort came, NaN where there is none; memory later, MB."""

    ready: float
    effort: float
    later: float


class Watch:
    """States out, and when the first effort came in."""

    def __init__(self, node: Node, robot: Any) -> None:
        self._node, self._efforts = node, 0
        self._states = node.create_publisher(JointState, "joint_states", QoSProfile(depth=1))
        newest = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        node.create_subscription(Float64MultiArray, COMMANDS, self._receive, newest)
        rest = [0.0] * robot.n
        q = robot.posture[robot.actuated] if robot.kind == "mechanism" else robot.neutral
        self._message = JointState(name=list(robot.joint_names), position=list(q), velocity=rest, effort=rest)

    def _receive(self, message: Float64MultiArray) -> None:
        self._efforts += 1

    def _turn(self) -> None:
        write_stamp(self._message.header, time.time_ns())
        self._states.publish(self._message)
        rclpy.spin_once(self._node, timeout_sec=PERIOD)

    def start(self, command: Sequence[str], seconds: float, answers: bool = True, **environment: str) -> Start:
        """Start a process, and let it run for some `seconds` after it is ready."""
        while self._efforts:  # those of the process before
            self._efforts = 0
            self._turn()
        began = time.monotonic()
        with TemporaryFile() as log, subprocess.Popen(
            command, env={**BYTECODE_KEPT, **environment}, stdout=subprocess.DEVNULL, stderr=log
        ) as process:
            try:
                while not (self._efforts if answers else READY.search(_text(log))):
                    if process.poll() is not None or time.monotonic() > began + LONGEST:
                        raise SystemExit(f"{' '.join(command[:3])} does not answer: {_text(log)}")
                    self._turn()
                taken = time.monotonic() - began
                while time.monotonic() < began + taken + seconds:
                    self._turn()
                ready = READY.search(_text(log))
                return Start(
                    float(ready[1]) if ready else math.nan, taken if answers else math.nan, memory(process.pid)
                )
            finally:
                process.terminate()
                try:
                    process.wait(timeout=5.0)
                except subprocess.TimeoutExpired:  # as rclpy's nodes at times while they shut down
                    process.kill()


def _text(log: IO[bytes]) -> str:
    return os.pread(log.fileno(), 1 << 20, 0).decode()


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--robot", default="puma560", help="a robot that ships, or a file (default: puma560)")
    parser.add_argument("--node", choices=NODES, default=NODES[0], help=f"what starts (default: {NODES[0]})")
    parser.add_argument("--rounds", type=int, default=5, help="starts of each (default: 5)")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long each then answers (default: 2)")
    parser.add_argument("--cold", action="store_true", help="one start with an empty folder of kernels as well")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    rclpy.init()
    robot = rne.load_model(args.robot)
    watch = Watch(rclpy.create_node("start_up"), robot.rigid)
    parameter = "robot_description" if robot.kind == "arm" else "model"
    words = [f"rne_dynamics.ros.{args.node}", "--ros-args", "-p", f"{parameter}:={args.robot}"]
    answers = args.node in NODES[:2]
    found: dict[str, list[Start]] = {"floor": [], args.node: []}
    if args.cold:
        with TemporaryDirectory() as empty:
            command = [sys.executable, "-c", COLD, *words]
            cold = watch.start(command, args.seconds, answers, RNE_DYNAMICS_CACHE_DIR=empty)
        found[f"{args.node}, cold"] = [cold]
    warm = [sys.executable, "-m", *words]
    watch.start(warm, 0.0, answers)  # compiles what is not compiled yet
    for _ in range(args.rounds):
        found["floor"].append(watch.start([sys.executable, "-c", FLOOR], args.seconds))
        found[args.node].append(watch.start(warm, args.seconds, answers))
    rclpy.shutdown()
    report({name: figures(starts) for name, starts in found.items()}, args.json)
    return 0


def figures(starts: Sequence[Start]) -> dict[str, float | None]:
    """What several starts come to."""
    ready, effort, later = zip(*starts, strict=True)
    found = {
        "ready_median_s": median(ready), "effort_least_s": min(effort), "effort_median_s": median(effort),
        "effort_most_s": max(effort), "later_mb": median(later),
    }
    return {name: None if math.isnan(value) else round(value, 3) for name, value in found.items()}


def report(found: dict[str, dict[str, Any]], as_json: bool) -> None:
    """Print a table, or JSON."""
    if as_json:
        print(json.dumps(found, indent=2))
        return
    columns = "ready: median s", "first effort: least s", "median s", "most s", "MB"
    table = Table("process", *columns)
    for name, row in found.items():
        table.add_row(name, *("" if value is None else f"{value:g}" for value in row.values()))
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
