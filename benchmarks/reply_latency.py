"""How long a joint state waits for its effort: the controller beside a bare rclpy echo, in turn, in one run.

    python benchmarks/reply_latency.py            # 3 rounds of 5 s each at 1 kHz
    python benchmarks/reply_latency.py --json

This process publishes joint states and waits for each answer. The echo node only sends a message of the same size
back: what it needs is the price of rclpy, DDS and this machine. The rest is the controller's.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import time
from typing import Any

import numpy as np

os.environ.setdefault("ROS_DOMAIN_ID", "97")
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"

import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rich.console import Console
from rich.table import Table
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

import rne_dynamics as rne
from rne_dynamics.ros.hot_loop import HotLoop

NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
#: An answer that takes longer has been lost, s.
PATIENCE = 0.05
#: So many in a row from the start, and there is no connection.
UNANSWERED = 100
COMMANDS = "effort_controller/commands"


def echo(joints: int) -> None:
    """The node a message needs at least: a callback that publishes."""
    rclpy.init()
    node = rclpy.create_node("echo")
    publisher = node.create_publisher(Float64MultiArray, COMMANDS, QoSProfile(depth=1))
    answer = Float64MultiArray(data=[0.0] * joints)
    node.create_subscription(JointState, "joint_states", lambda _: publisher.publish(answer), NEWEST)
    rclpy.spin(node)


def measure(node: Node, robot: rne.RobotModel, command: list[str], rate: float, seconds: float) -> np.ndarray:
    """Latencies of one answering process, s, the very first one in front.

    The next state waits for the answer to the last one, so that no late answer passes for the next one's.
    """
    arrived: list[float] = []
    loop = HotLoop(node, Float64MultiArray, COMMANDS, NEWEST, lambda _: arrived.append(time.monotonic()))
    publisher = node.create_publisher(JointState, "joint_states", QoSProfile(depth=1))
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120.0
        while not (publisher.get_subscription_count() and node.count_publishers(COMMANDS)):
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{' '.join(command)} does not answer")
            time.sleep(0.05)
        message = JointState(name=list(robot.joint_names), position=[0.0] * robot.n, velocity=[0.0] * robot.n)
        latencies = np.empty(1 + int(rate * seconds))
        gc.collect()
        gc.disable()
        due, heard = time.monotonic() + 0.5, False
        for k in range(-int(rate), len(latencies) - 1):  # the first second is not counted
            due = max(due + 1.0 / rate, time.monotonic())
            while (left := due - time.monotonic()) > 0.0:
                time.sleep(left)
            arrived.clear()
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(time.time_ns(), 1_000_000_000)
            sent = time.monotonic()
            publisher.publish(message)
            while not arrived and time.monotonic() < sent + PATIENCE:
                loop.turn()
            if k + int(rate) == UNANSWERED and not heard:
                raise SystemExit(f"{' '.join(command)} has answered none of {UNANSWERED} states; run it once more")
            heard = heard or bool(arrived)
            if k >= 0 or k == -int(rate):
                latencies[max(k, -1) + 1] = (arrived[0] if arrived else np.inf) - sent
        return latencies
    finally:
        gc.enable()
        process.terminate()
        process.wait()
        node.destroy_publisher(publisher)
        node.destroy_subscription(loop.subscription)


def figures(rounds: list[np.ndarray], rate: float) -> dict[str, float]:
    """Median, 99th percentile (ms), replies that took longer than a period (%), and the slowest first reply (ms)."""
    latencies = np.concatenate([part[1:] for part in rounds])
    p50, p99 = np.percentile(latencies, [50.0, 99.0], method="lower") * 1e3
    late = 100.0 * np.mean(latencies > 1.0 / rate)
    first = 1e3 * max(part[0] for part in rounds)
    return {"p50_ms": float(p50), "p99_ms": float(p99), "late_percent": float(late), "first_ms": float(first)}


def main() -> int:
    """Run the rounds and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robot", default="panda", help="shipped robot (default: panda, seven joints)")
    parser.add_argument("--rate", type=float, default=1000.0, help="joint states per second (default: 1000)")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each round (default: 5)")
    parser.add_argument("--rounds", type=int, default=3, help="of each node, in turn (default: 3)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--echo", type=int, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.echo:
        echo(args.echo)
        return 0
    robot = rne.load_urdf(args.robot)
    controller = [sys.executable, "-m", "rne_dynamics.ros.computed_torque_controller", "--ros-args"]
    commands = {
        "echo": [sys.executable, __file__, "--echo", str(robot.n)],
        "controller": [*controller, "-p", f"robot_description:={args.robot}"],
    }
    rclpy.init()
    node = rclpy.create_node("reply_latency")
    rounds: dict[str, list[np.ndarray]] = {name: [] for name in commands}
    for _ in range(args.rounds):
        for name, command in commands.items():
            rounds[name].append(measure(node, robot, command, args.rate, args.seconds))
    result: dict[str, Any] = {name: figures(parts, args.rate) for name, parts in rounds.items()}
    rclpy.shutdown()
    if args.json:
        print(json.dumps(result, indent=2))
        return 0
    columns = ("node", "median (ms)", "99th percentile (ms)", "late (%)", "first (ms)")
    table = Table(*columns, title=f"{args.robot}, {args.rate:g} Hz")
    for name, row in result.items():
        table.add_row(name, *(f"{value:.3f}" for value in row.values()))
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
