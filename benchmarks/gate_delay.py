"""Delay that `effort_gate` adds to an effort on its way from a controller to the driver.

    python benchmarks/gate_delay.py            # 3 rounds of 5 s each at 1 kHz
    python benchmarks/gate_delay.py --json

direct  the efforts go from this process to a receiving process: one hop of rclpy and DDS
relay   a bare rclpy node between them, whose callback publishes what it receives
gate    `effort_gate` between them, with joint states at the same rate

Each effort carries a number, and both ends read the same monotonic clock. The delay added by relay and gate is their
time minus the direct one of the same round. Joint states go out 0.25 ms before the efforts, as before a controller's.
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
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("ROS_DOMAIN_ID", "96")
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"

import rclpy
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from script import options, print_rows
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

import rne_dynamics as rne
from rne_dynamics.ros.messages.cdr import NumbersReader, PreparedMessage

DRIVER, GATE = "effort_controller/commands", "effort_gate/commands"
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
#: Effort of joint 1 in the k-th message, N m: k times this.
STEP = 1e-4
#: Time from a joint state to the effort that follows it, s.
LEAD = 250e-6
#: Time before what is counted, s.
WARM_UP = 1.0


def receive(file: Path) -> None:
    """The driver's side: write down which effort came when, until SIGTERM."""
    going = [True]
    signal.signal(signal.SIGTERM, lambda *_: going.clear())
    rclpy.init(signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
    node = rclpy.create_node("driver")
    subscription = node.create_subscription(Float64MultiArray, DRIVER, lambda _: None, NEWEST, raw=True)
    wait_set = rclpy_implementation.WaitSet(1, 0, 0, 0, 0, 0, node.context.handle)
    reader, came = NumbersReader(), []
    while going:
        with subscription.handle:
            wait_set.clear_entities()
            wait_set.add_subscription(subscription.handle)
            wait_set.wait(10_000_000)
            taken = subscription.handle.take_message(Float64MultiArray, True)
        if taken is not None:
            now, effort = time.monotonic(), reader.read(taken[0])
            came.append((now, effort[0]))
    np.save(file, np.array(came).reshape(-1, 2))


def relay() -> None:
    """What passes messages on with rclpy alone."""
    rclpy.init()
    node = rclpy.create_node("relay")
    publisher = node.create_publisher(Float64MultiArray, DRIVER, QoSProfile(depth=1))
    node.create_subscription(Float64MultiArray, GATE, publisher.publish, NEWEST)
    rclpy.spin(node)


def until(moment: float) -> None:
    """Wait without sleeping through the moment."""
    while (left := moment - time.monotonic()) > 0.0:
        if left > 2e-4:
            time.sleep(left - 1e-4)


def measure(node: Node, robot: rne.RobotModel, between: list[str], rate: float, seconds: float) -> np.ndarray:
    """Times from publishing to receiving, s; inf where an effort has not come. `between` is the command of a node."""
    n, count = robot.n, int((WARM_UP + seconds) * rate)
    topic = GATE if between else DRIVER
    efforts = node.create_publisher(Float64MultiArray, topic, QoSProfile(depth=1))
    states = node.create_publisher(JointState, "joint_states", QoSProfile(depth=1))
    effort = PreparedMessage(Float64MultiArray(data=[0.0] * n), "data")
    place = np.clip(np.zeros(n), robot.lower, robot.upper).tolist()
    state = PreparedMessage(JointState(name=list(robot.joint_names), position=place, velocity=[0.0] * n), "position")
    sent = np.zeros(count)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "came.npy"
        processes = [subprocess.Popen([sys.executable, __file__, "--receive", str(file)])]
        try:
            if between:
                processes.append(subprocess.Popen(between, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            connected(node, topic, processes)
            due = time.monotonic() + 0.5
            for k in range(count):
                due = max(due + 1.0 / rate, time.monotonic())
                until(due)
                state.stamp(time.time_ns())
                state.publish(states)
                until(due + LEAD)
                effort.numbers[0][0] = STEP * k
                sent[k] = time.monotonic()
                effort.publish(efforts)
            time.sleep(0.2)
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(20.0)
        came = np.load(file)
    node.destroy_publisher(efforts)
    node.destroy_publisher(states)
    # the gate's own efforts of its stop at the end carry no number
    numbers = np.rint(came[:, 1] / STEP).astype(int)
    real = (np.abs(came[:, 1] - STEP * numbers) < 1e-9) & (came[:, 0] < sent[-1] + 0.1)
    times = np.full(count, np.inf)
    for moment, k in zip(came[real, 0], numbers[real], strict=True):
        if 0 <= k < count and moment >= sent[k]:
            times[k] = min(times[k], moment - sent[k])
    return times[int(WARM_UP * rate) :]


def connected(node: Node, topic: str, processes: list[subprocess.Popen[bytes]]) -> None:
    """Wait until all processes are on the topics."""
    deadline = time.monotonic() + 120.0
    while not (node.count_subscribers(topic) and node.count_subscribers(DRIVER) and node.count_publishers(DRIVER)):
        if any(process.poll() is not None for process in processes) or time.monotonic() > deadline:
            raise SystemExit("a process has ended, or the topics were not connected within 120 s")
        time.sleep(0.05)
    time.sleep(1.0)


def figures(rounds: dict[str, list[np.ndarray]], rate: float) -> dict[str, dict[str, float]]:
    """Of each way: times over all rounds, and what it adds to the direct way: the median over the rounds.

    An effort that was replaced by the next one before anybody took it is missing, and in no percentile.
    """
    arrived = {name: [part[np.isfinite(part)] for part in parts] for name, parts in rounds.items()}
    result: dict[str, dict[str, Any]] = {}
    for name, parts in arrived.items():
        together = np.concatenate(parts)
        row = {f"p{p}_ms": 1e3 * float(np.percentile(together, p)) for p in (50, 99)}
        for p in (50, 99):
            row[f"added_p{p}_ms"] = 1e3 * float(np.median([
                np.percentile(part, p) - np.percentile(direct, p)
                for part, direct in zip(parts, arrived["direct"], strict=True)
            ]))
        row["late_percent"] = 100.0 * float(np.mean(together > 1.0 / rate))
        row["missing"] = int(sum(np.isinf(part).sum() for part in rounds[name]))
        result[name] = row
    return result


def main() -> int:
    """Run the rounds and print the table."""
    parser = options(__doc__, robot="panda", rate=1000.0, seconds=5.0, rounds=3)
    parser.add_argument("--receive", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--relay", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.receive:
        receive(args.receive)
        return 0
    if args.relay:
        relay()
        return 0
    robot = rne.load_urdf(args.robot)
    ways = {
        "direct": [],
        "relay": [sys.executable, __file__, "--relay"],
        # a pause of this process is no silent controller
        "gate": [sys.executable, "-m", "rne_dynamics.ros.effort_gate", "--ros-args", "-p",
                 f"robot_description:={args.robot}", "-p", "command_timeout:=2.0", "-p", "state_timeout:=2.0"],
    }  # fmt: skip
    rclpy.init()
    node = rclpy.create_node("gate_delay")
    rounds: dict[str, list[np.ndarray]] = {name: [] for name in ways}
    for _ in range(args.rounds):
        for name, between in ways.items():
            rounds[name].append(measure(node, robot, between, args.rate, args.seconds))
    rclpy.shutdown()
    result = figures(rounds, args.rate)
    if args.json:
        print(json.dumps(result, indent=2))
        return 0
    columns = ("way", "p50 (ms)", "p99 (ms)", "added p50 (ms)", "added p99 (ms)", "late (%)", "missing")
    print_rows(f"{args.robot}, {args.rate:g} Hz", columns, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
