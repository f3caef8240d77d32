"""Two simulated arms in two namespaces, each with simulator, effort gate and controller: do they keep up?

    python benchmarks/two_arms.py                # lock-step, then real time: 500 Hz, 10 s of motion each
    python benchmarks/two_arms.py --busy 2       # the same with two busy processes
    python benchmarks/two_arms.py --json

Both arms follow trajectories of their own at the same time. In lock-step each has its own clock (/clock is remapped to
the namespace), in real time both have this computer's. rms is the tracking error of all joints over the motion, missed
the joint states that were left without their effort, take-overs and faults those of gates and controllers, leaks the
topics of our nodes outside their namespaces, /diagnostics and ROS's own topics excepted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from typing import Any

import numpy as np

os.environ.setdefault("ROS_DOMAIN_ID", "97")
os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from script import options, print_table
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import rne_dynamics as rne
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.ros.messages.publishers import stamp_of
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.messages.topic_wait import OFFERED
from rne_dynamics.ros.messages.trajectory_message import duration_message
from rne_dynamics.ros.sessions.processes import NodeProcess, wait_until

ARMS = ("left", "right")
NODES = ("simulator", "effort_gate", "computed_torque_controller")
#: One move, s; and how far ahead the motion is sent.
MOVE, NOTICE = 1.0, 0.5
PATIENCE = 120.0
#: Topics that all nodes of a computer share.
SHARED = ("/diagnostics", "/rosout", "/parameter_events", "/clock", "/clock_seen")


class Arm:
    """One arm's processes and what they report; `seed` gives it a motion of its own."""

    def __init__(self, node: Node, name: str, args: argparse.Namespace, *, real_time: bool, seed: int) -> None:
        self.name, self.node, self.robot = name, node, rne.load_urdf(args.robot)
        robot, rng = self.robot, np.random.default_rng(seed)
        middle, reach = 0.5 * (robot.lower + robot.upper), 0.15 * (robot.upper - robot.lower)
        moves = round(args.seconds / MOVE)
        way = np.minimum(reach, 0.4 * robot.velocity_limit * MOVE)
        self.places = [middle, *(middle + way * rng.uniform(-1.0, 1.0, robot.n) / 2.0 for _ in range(moves))]
        self.real_time, self.start = real_time, 0.0  # start of the motion, on this process's clock
        joints = robot.joint_names
        common = ["--ros-args", "-r", f"__ns:=/{name}", "-p", f"robot_description:={args.robot}", "-p",
                  "diagnostics_period:=0.5"]  # fmt: skip
        # a computer with other work to do is none for a real arm: what is late is counted, and stops nothing
        common += [] if real_time else ["-r", "/clock:=clock"]
        follow = [*common, "-p", "state_timeout:=5.0", *([] if real_time else ["-p", "use_sim_time:=true"])]
        initial = [w for j, q in zip(joints, middle, strict=True) for w in ("-p", f"initial_position.{j}:={q:.9f}")]
        arguments = {
            "simulator": [*common, *initial, "-p", f"rate:={args.rate}", "-p", "on_command_timeout:=brake",
                          *([] if real_time else ["-p", "lockstep:=true", "-p", "publish_clock:=true"])],
            "effort_gate": [*follow, "-p", f"command_timeout:={2.0 if real_time else 0.02}"],
            "computed_torque_controller": [*follow, "-r", "effort_controller/commands:=effort_gate/commands",
                                           "-p", "min_rate:=0.0", "-p", "state_lateness:=0.0"],
        }  # fmt: skip
        self.processes = {module: NodeProcess(module, words) for module, words in arguments.items()}
        self.states = TopicRecorder(node, JointState, f"/{name}/joint_states", 20000)
        self.modes = {
            module: TopicRecorder(node, String, f"/{name}/{module}/state", 100, latched=True) for module in NODES[1:]
        }
        self.trajectories = node.create_publisher(
            JointTrajectory, f"/{name}/computed_torque_controller/joint_trajectory", OFFERED
        )

    def mode(self, module: str) -> str:
        """The last one reported."""
        message = self.modes[module].latest()
        return message.data if message is not None else ""

    @property
    def ready(self) -> bool:
        """Whether the arm is held through the gate, and may move."""
        law = self.processes["computed_torque_controller"].output()
        return (
            self.mode("effort_gate") == "passing" and self.mode("computed_torque_controller") == "holding"
            # not checked: the gate began to pass after the check, on a busy computer
            and ("agree with the model's gravity" in law or "not checked" in law)
            and self.trajectories.get_subscription_count() > 0
        )

    def stamp(self) -> int:
        """Of the newest joint state, ns."""
        message = self.states.latest()
        return stamp_of(message) if message is not None else 0

    def send(self) -> None:
        """Send the motion, and forget the joint states before it."""
        now = max(self.stamp(), time.time_ns() if self.real_time else 0)  # a busy computer's simulator may be behind
        self.begin = now + int(NOTICE * 1e9)
        message = JointTrajectory(joint_names=list(self.robot.joint_names))
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(self.begin, 1_000_000_000)
        still = [0.0] * self.robot.n
        message.points = [
            JointTrajectoryPoint(positions=q.tolist(), velocities=still, accelerations=still,
                                 time_from_start=duration_message(k * MOVE))
            for k, q in enumerate(self.places)
        ]  # fmt: skip
        self.trajectories.publish(message)

    def moves(self) -> bool:
        """Whether the controller has begun to follow the motion, which is sent again where it came too late."""
        if not self.start and self.mode(NODES[2]) == "tracking":
            self.start = time.monotonic()
        if not self.start and self.stamp() > self.begin + int(NOTICE * 1e9):
            self.send()
        return self.start > 0.0

    @property
    def over(self) -> bool:
        """Whether the motion has ended, or the arm no longer moves as it should."""
        return self.stamp() > self.begin + int(1e9 * MOVE * (len(self.places) - 1)) or self.mode(NODES[2]) == "fault"

    def figures(self, reports: dict[str, dict[str, str]], wall: float) -> dict[str, Any]:
        """Of the motion, which took `wall` seconds."""
        messages = [self.states.decode(sample) for sample in self.states.samples]
        times = 1e-9 * (np.array([stamp_of(m) for m in messages]) - self.begin)
        moves = [Quintic(a, b, MOVE) for a, b in zip(self.places, self.places[1:], strict=False)]
        errors = []
        for t, message in zip(times, messages, strict=True):
            if 0.0 <= t < MOVE * len(moves):
                k = int(t / MOVE)
                places = [message.name.index(joint) for joint in self.robot.joint_names]
                errors.append(np.array(message.position)[places] - moves[k].sample(t - k * MOVE).q)
        plant, gate, law = (reports[f"/{self.name}/{module}"] for module in NODES)
        return {
            "states": len(errors), "rate": len(errors) / wall, "rms": float(np.sqrt(np.mean(np.square(errors)))),
            "answered": int(plant["answered states"]), "missed": int(plant["missed replies"]),
            "overruns": int(plant["overruns"]), "p50_ms": float(plant["reply latency p50 (ms)"]),
            "p99_ms": float(plant["reply latency p99 (ms)"]), "passed": int(gate["passed efforts"]),
            "take_overs": int(gate["take-overs"]), "faults": int(law["faults"]), "stops": int(law["stops"]),
            "state": f"{self.mode(NODES[2])}, {self.mode(NODES[1])}",
        }  # fmt: skip


def leaks(node: Node) -> list[str]:
    """Topics and services of our nodes outside their namespaces, and those of one arm that the other uses."""
    found = []
    for name, space in node.get_node_names_and_namespaces():
        arm = space.strip("/").split("/")[0]
        if arm not in ARMS:
            continue
        ways = (node.get_publisher_names_and_types_by_node, node.get_subscriber_names_and_types_by_node,
                node.get_service_names_and_types_by_node)  # fmt: skip
        for way in ways:
            found += [
                f"{space}/{name}: {topic}" for topic, _ in way(name, space)
                if not topic.startswith(f"/{arm}/") and topic not in SHARED
            ]
    return found


def clocks(node: Node) -> dict[str, int]:
    """Publishers of each topic of time."""
    return {topic: node.count_publishers(topic) for topic in ("/clock", *(f"/{arm}/clock" for arm in ARMS))}


def session(args: argparse.Namespace, *, real_time: bool) -> dict[str, Any]:
    """Run both arms once."""
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node("two_arms", context=context)
    reports = TopicRecorder(node, DiagnosticArray, "/diagnostics", 1000)
    with contextlib.ExitStack() as stack:
        stack.callback(lambda: rclpy.try_shutdown(context=context))
        stack.callback(node.destroy_node)
        arms = [Arm(node, name, args, real_time=real_time, seed=k) for k, name in enumerate(ARMS)]
        for module in NODES:  # ended last first: controllers release the arms while the simulators still answer
            for arm in arms:
                stack.enter_context(arm.processes[module])
        every = [process for arm in arms for process in arm.processes.values()]
        wait_until(lambda: all(arm.ready for arm in arms), PATIENCE, "both arms to be held", every)
        for _ in range(args.busy):
            busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(busy.wait)
            stack.callback(busy.kill)
        for arm in arms:
            arm.send()
        wait_until(lambda: min(map(Arm.moves, arms)), PATIENCE, "the motions", every)
        walls: dict[str, float] = {}

        def over() -> bool:
            for arm in arms:
                if arm.over:
                    walls.setdefault(arm.name, time.monotonic() - arm.start)
            return len(walls) == len(arms)

        wait_until(over, 20.0 * args.seconds + PATIENCE, "the end of the motions", every, 0.05)
        reports.drain()
        reports.samples.clear()
        newest: dict[str, dict[str, str]] = {}

        def reported() -> bool:
            reports.drain()
            for sample in reports.samples:
                status = reports.decode(sample).status[0]
                newest[status.name] = {value.key: value.value for value in status.values}
            return len(newest) == len(every)

        wait_until(reported, PATIENCE, "a report of each node", every)
        result: dict[str, Any] = {arm.name: arm.figures(newest, walls[arm.name]) for arm in arms}
        result |= {"leaks": leaks(node), "clocks": clocks(node)}
        result["exit codes"] = [arm.processes[module].stop() for module in reversed(NODES) for arm in arms]
        return result


def main() -> int:
    """Run both ways and print a table."""
    parser = options(__doc__, robot="panda", rate=500.0, seconds=10.0)
    parser.add_argument("--busy", type=int, default=0, help="busy processes alongside (default: 0)")
    parser.add_argument("--only", choices=("lockstep", "realtime"), help="one of both ways")
    args = parser.parse_args()
    ways = [args.only] if args.only else ["lockstep", "realtime"]
    result = {way: session(args, real_time=way == "realtime") for way in ways}
    if args.json:
        print(json.dumps(result, indent=2))
        return 0
    columns = ("way", "arm", "rate (Hz)", "rms (rad)", "answered", "missed", "overruns", "p50 (ms)", "p99 (ms)",
               "take-overs", "faults", "leaks")  # fmt: skip
    rows = (
        (way, arm, f"{r['rate']:.0f}", f"{r['rms']:.3e}", str(r["answered"]), str(r["missed"]), str(r["overruns"]),
         f"{r['p50_ms']:.2f}", f"{r['p99_ms']:.2f}", str(r["take_overs"]), str(r["faults"]), str(len(both["leaks"])))
        for way, both in result.items() for arm in ARMS for r in (both[arm],)
    )  # fmt: skip
    title = f"two {args.robot}s at {args.rate:g} Hz, {args.busy} busy processes alongside"
    print_table(title, columns, rows, left=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
