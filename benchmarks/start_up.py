"""How long a controller takes from the start of its process until it is ready, and to its first effort; its memory.

    python benchmarks/start_up.py            # 5 starts in turn with the floor, kernels compiled
    python benchmarks/start_up.py --cold     # one start with no kernels on the disk too
    python benchmarks/start_up.py --json

This process publishes joint states and starts the controller; the time runs until an effort answers. The controller is
ready, by its own log, when it is configured; what follows is DDS, which discovers some nodes at once and others after
one to three seconds. The floor is what nobody gets below: a bare lifecycle node that answers the same messages, in a
process that imports rclpy and numba.
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
from contextlib import ExitStack
from statistics import median
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, NamedTuple

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
from rne_dynamics.ros.messages import write_stamp

COMMANDS = "effort_controller/commands"
PERIOD, LONGEST = 0.005, 300.0
#: What a controller logs when it is configured.
READY = re.compile(r"([0-9.]+) s after the process started")
FLOOR = f"""
import numba, rclpy
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
    """Seconds until a process was ready (NaN: it does not say) and its first effort came; memory then and later, MB."""

    ready: float
    effort: float
    first: float
    later: float


class Watch:
    """States out, and when the first effort came in."""

    def __init__(self, node: Node, robot: rne.RobotModel) -> None:
        self._node, self._efforts = node, 0
        self._states = node.create_publisher(JointState, "joint_states", QoSProfile(depth=1))
        newest = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        node.create_subscription(Float64MultiArray, COMMANDS, self._receive, newest)
        rest = [0.0] * robot.n
        self._message = JointState(
            name=list(robot.joint_names), position=list(robot.neutral), velocity=rest, effort=rest
        )

    def _receive(self, message: Float64MultiArray) -> None:
        self._efforts += 1

    def _turn(self) -> None:
        write_stamp(self._message.header, time.time_ns())
        self._states.publish(self._message)
        rclpy.spin_once(self._node, timeout_sec=PERIOD)

    def start(self, command: Sequence[str], seconds: float, **environment: str) -> Start:
        """Start a process, and let it answer for some `seconds`."""
        while self._efforts:  # those of the process before
            self._efforts = 0
            self._turn()
        began = time.monotonic()
        with TemporaryFile() as log, subprocess.Popen(
            command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=log
        ) as process:
            try:
                while not self._efforts:
                    if process.poll() is not None or time.monotonic() > began + LONGEST:
                        raise SystemExit(f"{' '.join(command[:3])} does not answer")
                    self._turn()
                taken = time.monotonic() - began
                first = memory(process.pid)
                while time.monotonic() < began + taken + seconds:
                    self._turn()
                log.seek(0)
                ready = READY.search(log.read().decode())
                return Start(float(ready[1]) if ready else math.nan, taken, first, memory(process.pid))
            finally:
                process.terminate()
                try:
                    process.wait(timeout=5.0)
                except subprocess.TimeoutExpired:  # as rclpy's nodes at times while they shut down
                    process.kill()


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--robot", default="puma560", help="a robot that ships, or a URDF (default: puma560)")
    parser.add_argument("--rounds", type=int, default=5, help="starts of each (default: 5)")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long each then answers (default: 2)")
    parser.add_argument("--cold", action="store_true", help="one start with an empty folder of kernels as well")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    rclpy.init()
    watch = Watch(rclpy.create_node("start_up"), rne.load_urdf(args.robot))
    controller = [sys.executable, "-m", "rne_dynamics.ros.computed_torque_controller", "--ros-args",
                  "-p", f"robot_description:={args.robot}"]
    found: dict[str, list[Start]] = {"floor": [], "controller": []}
    with ExitStack() as stack:
        if args.cold:
            empty = stack.enter_context(TemporaryDirectory())
            # the package's own folder is looked into as well: only another name for all makes the start a cold one
            cold = {"NUMBA_CACHE_DIR": empty, "NUMBA_CPU_FEATURES": "", "NUMBA_CPU_NAME": "generic"}
            found["controller, cold"] = [watch.start(controller, args.seconds, **cold)]
        watch.start(controller, 0.0)  # compiles what is not compiled yet
        for _ in range(args.rounds):
            found["floor"].append(watch.start([sys.executable, "-c", FLOOR], args.seconds))
            found["controller"].append(watch.start(controller, args.seconds))
    rclpy.shutdown()
    report({name: figures(starts) for name, starts in found.items()}, args.json)
    return 0


def figures(starts: Sequence[Start]) -> dict[str, float | None]:
    """What several starts come to."""
    ready, effort, first, later = zip(*starts, strict=True)
    return {
        "ready_median_s": None if math.isnan(ready[0]) else round(median(ready), 3),
        "effort_least_s": round(min(effort), 3), "effort_median_s": round(median(effort), 3),
        "effort_most_s": round(max(effort), 3), "first_mb": round(median(first), 1),
        "later_mb": round(median(later), 1),
    }


def report(found: dict[str, dict[str, Any]], as_json: bool) -> None:
    """Print a table, or JSON."""
    if as_json:
        print(json.dumps(found, indent=2))
        return
    columns = "ready: median s", "first effort: least s", "median s", "most s", "MB at first", "MB later"
    table = Table("process", *columns)
    for name, row in found.items():
        table.add_row(name, *("" if value is None else f"{value:g}" for value in row.values()))
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
