"""Longest gap between two efforts while other nodes send a controller more than it can take.

    python benchmarks/storms.py                  # every storm for 5 s
    python benchmarks/storms.py --seconds 10 --storms trajectories_10000 parameters
    python benchmarks/storms.py --json

Simulator and controller run as usual; a third process storms, this one listens. A gap is the time between the instants
at which the controller's process handed two efforts to the middleware, as that stamps them: that this process or the
network is busy does not count, that the controller waits for its states or for a CPU does. "quiet" is the baseline, in
the same run. With --strict the exit code is 1 where a gap is more than 10 ms above the longest quiet one, or the arm
was stopped; a busy machine does both by itself.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

os.environ.setdefault("ROS_DOMAIN_ID", "95")
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"

import numpy as np
import rclpy
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from script import options, print_table
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import rne_dynamics as rne
from rne_dynamics.ros.loop.hot_loop import take
from rne_dynamics.ros.messages.topic_wait import LATCHED
from rne_dynamics.ros.messages.trajectory_message import duration_message
from rne_dynamics.ros.sessions.processes import NodeProcess, wait_until

CONTROLLER = "computed_torque_controller"
#: Joint states per second, and the goal: how much longer than a quiet gap one may be, s.
RATE, GOAL = 500.0, 0.010
#: States in which the arm is under control.
GOOD = {"holding", "tracking"}
#: Efforts that are kept while this process does something else.
KEPT = 5000
STORMS = ["quiet", "trajectories_3000", "trajectories_10000", "trajectories_100000", "parameters", "services", "speeds",
          *(["goals_3000"] if find_spec("control_msgs") else [])]


class Outcome(NamedTuple):
    """What one storm did.

    Parameters
    ----------
    gap, p99
        Longest gap between two efforts and their 99th percentile, s.
    late
        Longest time from the simulator's sending of a state until the next effort was sent, s.
    source
        Longest gap between two states as the simulator sends them, s: no controller can have a shorter one.
    efforts
        How many there were.
    lost
        Efforts that this process did not receive.
    states
        Of the controller meanwhile.
    sent
        What the storm consisted of.
    """

    gap: float
    p99: float
    late: float
    source: float
    efforts: int
    lost: int
    states: list[str]
    sent: int


# -- the storm, in a process of its own -------------------------------------------------------------------------------


def trajectory(node: Node, robot: rne.RobotModel, points: int) -> JointTrajectory:
    """A swing of a hundredth from where the arm is, through so many points 1 ms apart."""
    found: list[JointState] = []
    subscription = node.create_subscription(JointState, "joint_states", found.append, 1)
    while not found:
        rclpy.spin_once(node, timeout_sec=0.1)
    node.destroy_subscription(subscription)
    at = dict(zip(found[-1].name, found[-1].position, strict=True))
    q = np.array([at[joint] for joint in robot.joint_names])
    message = JointTrajectory(joint_names=list(robot.joint_names))
    times = 1e-3 * np.arange(1, points + 1)
    swing, speed = 0.01 * (1.0 - np.cos(2.0 * np.pi * times)), 0.02 * np.pi * np.sin(2.0 * np.pi * times)
    swing[-1] = speed[-1] = 0.0
    message.points = [
        JointTrajectoryPoint(positions=(q + s).tolist(), velocities=[float(v)] * robot.n,
                             time_from_start=duration_message(float(t)))
        for t, s, v in zip(times, swing, speed, strict=True)
    ]
    return message


def storm(kind: str, robot: rne.RobotModel, seconds: float) -> int:
    """Send as fast as this process can, after a line on its output; how often."""
    os.nice(10)  # it stands for other computers
    rclpy.init()
    node = rclpy.create_node("storm")
    name, _, points = kind.partition("_")
    send: Callable[[int], Any]
    if name == "trajectories":
        publisher = node.create_publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory", 1)
        data = serialize_message(trajectory(node, robot, int(points)))
        send = lambda k: publisher.publish(data)  # noqa: E731
    elif name == "goals":
        send = goals(node, trajectory(node, robot, int(points)))
    elif name == "parameters":
        client = node.create_client(SetParameters, f"{CONTROLLER}/set_parameters")
        client.wait_for_service()
        joint = robot.joint_names[0]

        def send(k: int) -> None:
            value = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=400.0 + k % 7)
            client.call_async(SetParameters.Request(parameters=[Parameter(name=f"gains.{joint}.p", value=value)]))
    elif name == "services":
        clients = [node.create_client(Trigger, f"{CONTROLLER}/{service}") for service in ("cancel", "recover")]
        reader = node.create_client(GetParameters, f"{CONTROLLER}/get_parameters")
        for client in (*clients, reader):
            client.wait_for_service()

        def send(k: int) -> None:
            clients[k % 2].call_async(Trigger.Request())
            reader.call_async(GetParameters.Request(names=["rate", "joints"]))
    elif name == "speeds":
        publisher = node.create_publisher(Float64, f"{CONTROLLER}/speed_scaling", 1)
        send = lambda k: publisher.publish(Float64(data=0.5 + 0.001 * (k % 500)))  # noqa: E731
    else:
        send = lambda k: None  # noqa: E731
    time.sleep(1.0)
    print("begins", flush=True)
    until, sent = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        send(sent)
        sent += 1
        rclpy.spin_once(node, timeout_sec=0.002)
    print(sent, flush=True)
    os._exit(0)  # what still waits for answers need not end in order


def goals(node: Node, message: JointTrajectory) -> Callable[[int], Any]:
    """What sends a goal of the action."""
    from control_msgs.action import FollowJointTrajectory
    from rclpy.action import ActionClient

    client = ActionClient(node, FollowJointTrajectory, f"{CONTROLLER}/follow_joint_trajectory")
    client.wait_for_server()
    goal = FollowJointTrajectory.Goal(trajectory=message)
    return lambda k: client.send_goal_async(goal)


# -- the listener -----------------------------------------------------------------------------------------------------


class Listener:
    """Records when efforts were sent, and what state the controller was in."""

    def __init__(self) -> None:
        self.node = rclpy.create_node("listener")
        profile = QoSProfile(depth=KEPT, reliability=ReliabilityPolicy.RELIABLE)
        self._efforts = self.node.create_subscription(
            Float64MultiArray, "effort_controller/commands", lambda m: None, profile, raw=True
        )
        self._arm = self.node.create_subscription(JointState, "joint_states", lambda m: None, profile, raw=True)
        self._states = self.node.create_subscription(String, f"{CONTROLLER}/state", lambda m: None, LATCHED)
        self.times: list[int] = []
        self.numbers: list[int] = []
        self.sources: list[int] = []
        self.states: list[str] = []

    def drain(self) -> None:
        """Take what has come."""
        while (taken := take(self._efforts, Float64MultiArray, True)) is not None:
            self.times.append(taken[1]["source_timestamp"])
            self.numbers.append(taken[1]["publication_sequence_number"])
        while (taken := take(self._arm, JointState, True)) is not None:
            self.sources.append(taken[1]["source_timestamp"])
        while (taken := take(self._states, String)) is not None:
            self.states.append(taken[0].data)

    def listen(self, kind: str, robot: str, seconds: float) -> Outcome:
        """One storm."""
        command = [sys.executable, __file__, "--storm", kind, "--robot", robot, "--seconds", str(seconds)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        if process.stdout.readline() != "begins\n":
            raise SystemExit(f"the storm {kind} does not begin")
        self.drain()
        self.sources = self.sources[-1:]
        self.times, self.numbers, self.states = self.times[-1:], self.numbers[-1:], self.states[-1:]
        until = time.monotonic() + seconds + 2.0  # what has come late is worked off
        while time.monotonic() < until:
            self.drain()
            time.sleep(0.01)
        sent = int(process.stdout.readline())
        process.wait()
        gaps = 1e-9 * np.diff(self.times)
        lost = int((np.diff(self.numbers) - 1).sum())
        if not len(gaps):
            return Outcome(np.inf, np.inf, np.inf, np.inf, 0, 0, self.states, sent)
        times, sources = np.array(self.times), np.array(self.sources)
        after = np.searchsorted(times, sources)
        answered = after < len(times)
        late = 1e-9 * (times[after[answered]] - sources[answered]).max()
        return Outcome(
            float(gaps.max()), float(np.percentile(gaps, 99.0)), float(late), float(1e-9 * np.diff(sources).max()),
            len(gaps), lost, self.states, sent,
        )


def main() -> int:
    """Run the storms and print the table."""
    parser = options(__doc__, robot="puma560", seconds=5.0)
    parser.add_argument("--storms", nargs="+", default=STORMS, choices=STORMS, metavar="STORM",
                        help=f"which (default: all): {', '.join(STORMS)}")
    parser.add_argument("--set", action="append", default=[], metavar="NAME:=VALUE",
                        help="parameter of the controller, any number of times; on a machine whose pauses are "
                        "longer than 0.1 s: state_timeout:=1.0")
    parser.add_argument("--strict", action="store_true", help="exit code 1 where the goal is missed")
    parser.add_argument("--storm", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.storm:
        return storm(args.storm, rne.load_urdf(args.robot), args.seconds)
    rclpy.init()
    listener = Listener()
    ros = ["--ros-args", "-p", f"robot_description:={args.robot}"]
    ours = [word for parameter in args.set for word in ("-p", parameter)]
    outcomes: dict[str, Outcome] = {}
    arm = NodeProcess("simulator", [*ros, "-p", f"rate:={RATE}"])
    with arm as simulator, NodeProcess(CONTROLLER, [*ros, *ours]) as node:
        both = [simulator, node]
        wait_until(lambda: (listener.drain(), "agree" in node.output())[1], 120.0, "the start-up check", both, 0.05)
        for kind in dict.fromkeys(["quiet", *args.storms]):
            for process in both:
                process.check()
            outcomes[kind] = listener.listen(kind, args.robot, args.seconds)
            if outcomes[kind].states[-1:] not in ([], ["holding"], ["tracking"]):
                break
        output = node.output()
    quiet = outcomes["quiet"].gap
    bad = [kind for kind, o in outcomes.items() if o.gap > quiet + GOAL or not set(o.states) <= GOOD]
    if args.json:
        print(json.dumps({kind: o._asdict() for kind, o in outcomes.items()}, indent=2))
    else:
        columns = ("storm", "sent", "efforts", "p99 gap (ms)", "longest (ms)", "above quiet (ms)",
                   "state to effort (ms)", "states apart (ms)", "not received", "states")  # fmt: skip
        rows = (
            (kind, str(o.sent), str(o.efforts), f"{1e3 * o.p99:.2f}", f"{1e3 * o.gap:.2f}",
             f"{1e3 * (o.gap - quiet):.2f}", f"{1e3 * o.late:.2f}", f"{1e3 * o.source:.2f}", str(o.lost),
             ", ".join(sorted(set(o.states))))
            for kind, o in outcomes.items()
        )  # fmt: skip
        print_table(f"{args.robot}, {RATE:g} Hz", columns, rows)
    if bad:
        print(f"beyond the goal of {1e3 * GOAL:g} ms above quiet, or stopped: {', '.join(bad)}", file=sys.stderr)
        if any(not set(outcomes[kind].states) <= GOOD for kind in bad):
            lines = [line for line in output.splitlines() if "WARN" in line or "ERROR" in line]
            print("\n".join(lines[:20]), file=sys.stderr)
    return 1 if bad and args.strict else 0


if __name__ == "__main__":
    sys.exit(main())
