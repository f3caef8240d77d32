"""How long a joint state waits for its effort, and what that costs: three nodes, in turn, in one run.

    python benchmarks/reply_latency.py            # 3 rounds of 5 s each at 1 kHz
    python benchmarks/reply_latency.py --json
    python benchmarks/reply_latency.py --without-private-parts

echo        a bare rclpy node that sends a message of the same size back: the price of rclpy, DDS and this machine
plain       examples/plain_node.py, what one writes in an afternoon with rclpy and Pinocchio; left out without Pinocchio
controller  computed_torque_controller with every check on
documented  the same on an rclpy whose private parts have other names (test/support/renamed_rclpy.py), with
            --without-private-parts

This process publishes joint states of an arm that is held and swings a little, and waits for each answer. CPU time is
that of all threads of the answering processes over the seconds that are counted. Nothing is compared where an answer
is missing, as on a busy computer, or where plain node and controller answer calm streams differently (exit code 1).
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

os.environ.setdefault("ROS_DOMAIN_ID", "97")
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"

import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from script import options, print_rows
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from usage import cpu_seconds, memory

import rne_dynamics as rne
from rne_dynamics.description.share import share_file
from rne_dynamics.ros.loop.hot_loop import HotLoop, take

NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
COMMANDS = "effort_controller/commands"
RENAMED = Path(__file__).resolve().parents[1] / "test" / "support" / "renamed_rclpy.py"
PLAIN_NODE = Path(__file__).resolve().parents[1] / "examples" / "plain_node.py"
#: An answer that takes longer has been lost, s.
PATIENCE = 0.05
#: So many in a row from the start, and there is no connection.
UNANSWERED = 100
#: Time before what is counted, s: the controller lets its feedback grow in the first half second.
WARM_UP = 1.0
#: Age at which the controller takes the stream for lost, s.
STATE_TIMEOUT = 2.0
#: The controller's gains by default are those of this bandwidth, 1/s.
BANDWIDTH = 20.0
#: The swing, rad or m, and its frequency, Hz.
SWING, FREQUENCY = 0.01, 0.5
#: So many answers in time before a state, and the stream is calm.
CALM = 50
#: Largest difference between the efforts of plain node and controller, N·m or N.
AGREEMENT = 1e-9


class Round(NamedTuple):
    """What one node did in one round.

    Parameters
    ----------
    latencies
        s, inf for a missing answer; shape (states,).
    first
        Of the very first answer, s.
    efforts
        The answers, N·m or N, NaN where one is missing; shape (states, n).
    cpu
        Part of a core used.
    resident
        Memory at the end, MB; pages that processes share are counted once.
    """

    latencies: np.ndarray
    first: float
    efforts: np.ndarray
    cpu: float
    resident: float


def echo(joints: int) -> None:
    """The node a message needs at least: a callback that publishes."""
    rclpy.init()
    node = rclpy.create_node("echo")
    publisher = node.create_publisher(Float64MultiArray, COMMANDS, QoSProfile(depth=1))
    answer = Float64MultiArray(data=[0.0] * joints)
    node.create_subscription(JointState, "joint_states", lambda _: publisher.publish(answer), NEWEST)
    rclpy.spin(node)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a node; one that does not obey, as rclpy's at times do while they shut down, is killed."""
    process.terminate()
    try:
        process.wait(timeout=5.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Harness:
    """Publishes states and waits for answers.

    Parameters
    ----------
    node
        The publishing node.
    robot
        Whose states are published.
    rate, seconds
        States per second, and how long they are counted.
    """

    def __init__(self, node: Node, robot: rne.RobotModel, rate: float, seconds: float) -> None:
        self.node, self.robot, self.rate = node, robot, rate
        self.before, self.counted = int(WARM_UP * rate), int(rate * seconds)
        lower, upper = np.maximum(robot.lower, -1.0), np.minimum(robot.upper, 1.0)
        self.rest = 0.5 * (lower + upper)

    def state(self, k: int) -> tuple[list[float], list[float]]:
        """Position and velocity of the k-th state; at rest before the first that is counted."""
        if k < 0:
            return self.rest.tolist(), [0.0] * self.robot.n
        angle = 2.0 * np.pi * FREQUENCY * k / self.rate
        swing, speed = SWING * (1.0 - np.cos(angle)), SWING * 2.0 * np.pi * FREQUENCY * np.sin(angle)
        return (self.rest + swing).tolist(), [speed] * self.robot.n

    def measure(self, command: list[str]) -> Round:
        """One round with the node that `command` starts.

        The next state waits for the answer to the last one, so that no late answer passes for the next one's.
        """
        n, total = self.robot.n, self.before + self.counted
        answers: list[tuple[float, Any]] = []
        loop = HotLoop(self.node, Float64MultiArray, COMMANDS, NEWEST, lambda m: answers.append((time.monotonic(), m)))
        publisher = self.node.create_publisher(JointState, "joint_states", QoSProfile(depth=1))
        message = JointState(name=list(self.robot.joint_names))
        latencies, efforts = np.full(total, np.inf), np.full((total, n), np.nan)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self._await(process, publisher)
            gc.collect()
            gc.disable()
            due, busy = time.monotonic() + 0.5, 0.0
            for k in range(total):
                message.position, message.velocity = self.state(k - self.before)
                due = max(due + 1.0 / self.rate, time.monotonic())
                while (left := due - time.monotonic()) > 0.0:
                    time.sleep(left)
                if k == self.before:
                    began, busy = time.monotonic(), cpu_seconds(process.pid)
                while take(loop.subscription, Float64MultiArray) is not None:
                    pass  # one that came too late is no answer to this state
                answers.clear()
                message.header.stamp.sec, message.header.stamp.nanosec = divmod(time.time_ns(), 1_000_000_000)
                sent = time.monotonic()
                publisher.publish(message)
                while not answers and time.monotonic() < sent + PATIENCE:
                    loop.turn()
                if answers:
                    latencies[k], efforts[k] = answers[0][0] - sent, answers[0][1].data
                if k == UNANSWERED and not np.isfinite(latencies).any():
                    raise SystemExit(f"{' '.join(command)} has answered none of {k} states; run it once more")
            cpu = (cpu_seconds(process.pid) - busy) / (time.monotonic() - began)
            counted = slice(self.before, None)
            return Round(latencies[counted], latencies[0], efforts[counted], cpu, memory(process.pid))
        finally:
            gc.enable()
            end(process)
            self.node.destroy_publisher(publisher)
            self.node.destroy_subscription(loop.subscription)

    def _await(self, process: subprocess.Popen[bytes], publisher: Any) -> None:
        deadline = time.monotonic() + 120.0
        while not (publisher.get_subscription_count() and self.node.count_publishers(COMMANDS)):
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{' '.join(map(str, process.args))} does not answer")
            time.sleep(0.05)


def figures(rounds: list[Round], rate: float) -> dict[str, float]:
    """Of all rounds together; the CPU time is their median."""
    latencies = np.concatenate([part.latencies for part in rounds])
    p50, p99 = np.percentile(latencies, [50.0, 99.0], method="lower") * 1e3
    return {
        "p50_ms": float(p50), "p99_ms": float(p99),
        "late_percent": float(100.0 * np.mean(latencies > 1.0 / rate)),
        "first_ms": 1e3 * max(part.first for part in rounds),
        "cpu_percent": 100.0 * float(np.median([part.cpu for part in rounds])),
        "resident_mb": max(part.resident for part in rounds),
        "missing": int(np.isinf(latencies).sum()),
    }


def ratios(rounds: dict[str, list[Round]]) -> dict[str, dict[str, float]]:
    """The controller's figures over those of the others: the median of the rounds' ratios, round by round."""
    over: dict[str, dict[str, float]] = {}
    for name in set(rounds) - {"controller"}:
        pairs = list(zip(rounds["controller"], rounds[name], strict=True))
        over[name] = {
            f"p{percent}": float(np.median([
                np.percentile(a.latencies, percent) / np.percentile(b.latencies, percent) for a, b in pairs
            ])) for percent in (50, 99)
        }
        over[name]["cpu"] = float(np.median([a.cpu / b.cpu for a, b in pairs]))
    return over


def missing_answers(result: dict[str, dict[str, float]]) -> str:
    """Nodes whose answers are missing; empty if none are."""
    missing = {name: row["missing"] for name, row in result.items() if row["missing"]}
    return ", ".join(f"{count} of {name}" for name, count in missing.items())


def calm(part: Round, rate: float) -> np.ndarray:
    """Whether the answers to a state and to those before it came within the period; shape (states,)."""
    late = np.cumsum(part.latencies > 1.0 / rate)
    return np.concatenate((np.zeros(CALM, dtype=bool), late[CALM:] == late[:-CALM]))


def disagreement(rounds: dict[str, list[Round]], rate: float) -> float:
    """Difference between the efforts of controller and plain node for the same states of calm streams, N·m or N."""
    # of nine in ten: single answers are those to another state
    found = 0.0
    for a, b in zip(rounds["controller"], rounds.get("plain", []), strict=False):
        both = calm(a, rate) & calm(b, rate)
        if both.any():  # where the computer stalls, the controller bridges gaps
            found = max(found, float(np.nanquantile(np.abs(a.efforts - b.efforts)[both], 0.9)))
    return found


def show(result: dict[str, dict[str, float]], over: dict[str, dict[str, float]], title: str) -> None:
    """Print the tables."""
    columns = ("node", "p50 (ms)", "p99 (ms)", "late (%)", "first (ms)", "CPU (%)", "MB", "missing")
    print_rows(title, columns, result)
    for name, row in over.items():
        print(f"controller over {name}: " + ", ".join(f"{key} {value:.2f}" for key, value in row.items()))


def main() -> int:
    """Run the rounds and print the tables."""
    parser = options(__doc__, robot="panda", rate=1000.0, seconds=5.0, rounds=3)
    parser.add_argument("--set", action="append", default=[], metavar="NAME:=VALUE",
                        help="parameter of the controller, any number of times")
    parser.add_argument("--without-private-parts", action="store_true",
                        help="a controller besides that finds none of rclpy's private parts")
    parser.add_argument("--echo", type=int, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.echo:
        echo(args.echo)
        return 0
    robot = rne.load_urdf(args.robot)
    # a pause of this process is no lost stream
    parameters = [f"robot_description:={args.robot}", f"state_timeout:={STATE_TIMEOUT}", *args.set]
    controller = ["rne_dynamics.ros.computed_torque_controller", "--ros-args",
                  *(word for parameter in parameters for word in ("-p", parameter))]  # fmt: skip
    commands = {
        "echo": [sys.executable, __file__, "--echo", str(robot.n)],
        "plain": [sys.executable, str(PLAIN_NODE), str(share_file(f"urdf/{args.robot}.urdf")),
                  "--bandwidth", f"{BANDWIDTH:g}", "--joints", *robot.joint_names],
        "controller": [sys.executable, "-m", *controller],
    }
    if args.without_private_parts:
        commands["documented"] = [sys.executable, str(RENAMED), "all", *controller]
    if importlib.util.find_spec("pinocchio") is None:
        print("Pinocchio is not installed (pip install pin): no plain node", file=sys.stderr)
        del commands["plain"]
    rclpy.init()
    harness = Harness(rclpy.create_node("reply_latency"), robot, args.rate, args.seconds)
    rounds: dict[str, list[Round]] = {name: [] for name in commands}
    for _ in range(args.rounds):
        for name, command in commands.items():
            rounds[name].append(harness.measure(command))
    rclpy.shutdown()
    result = {name: figures(parts, args.rate) for name, parts in rounds.items()}
    missing, apart = missing_answers(result), disagreement(rounds, args.rate)
    over = {} if missing or apart > AGREEMENT else ratios(rounds)
    if args.json:
        print(json.dumps({**result, "controller over": over}, indent=2))
    else:
        show(result, over, f"{args.robot}, {args.rate:g} Hz")
    if missing:
        print(f"not compared: answers are missing, {missing}", file=sys.stderr)
    if apart > AGREEMENT:
        print(f"not compared: the efforts of controller and plain node differ by {apart:.3g}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
