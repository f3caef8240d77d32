"""Time of one control cycle without DDS: from the bytes of a joint state to the bytes of the effort.

    python benchmarks/control_cycle.py
    python benchmarks/control_cycle.py --robot puma560 --json
    python benchmarks/control_cycle.py --laws

The controller is the real one, in this process; states are passed to its loop as bytes, 1 ms apart by their stamps
and by the loop's clock, and its effort is taken where it would be published. An arm that is held, and one that
follows a trajectory. With ``--laws`` law, limits and guards of all laws take turns, and the observer of contact.
Times are the smallest of all rounds: this process may share its core. In a loop that sleeps between two messages
everything is colder, see benchmarks/reply_parts.py.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "OFF"

import numpy as np
import rclpy
from local_loop import LocalLoop
from rclpy.serialization import serialize_message
from rclpy.signals import SignalHandlerOptions
from script import options, print_table
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rne_dynamics.control.supervision.contact_reaction import ContactReaction
from rne_dynamics.control.supervision.supervisor import Supervisor
from rne_dynamics.ros.computed_torque_controller import ComputedTorqueController
from rne_dynamics.ros.messages.publishers import write_stamp
from rne_dynamics.ros.messages.trajectory_message import duration_message
from rne_dynamics.ros.node.process import settle
from rne_dynamics.ros.parameters.tracking import law_of

PERIOD = 1_000_000
#: States before the first that counts: start-up check and growth of the feedback.
WARM_UP = 3000
#: Row of what observes external efforts, after a cycle.
OBSERVER = "contact observer"
#: Length of the trajectory, s.
LONG = 100


class Bench:
    """The loop of a controller, with a clock that is set and efforts that are kept.

    Parameters
    ----------
    robot
        A robot that ships, or a URDF.
    """

    def __init__(self, robot: str) -> None:
        settings = {"robot_description": robot, "startup_check.duration": "0.0"}  # no efforts are reported
        arguments = ["controller", "--ros-args", "--log-level", "error"]
        for name, value in settings.items():
            arguments += ["-p", f"{name}:={value}"]
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
        control = LocalLoop()
        self.node, self.loop = ComputedTorqueController(control), control.loop
        if not self.node.start() or self.loop.cycle is None:
            raise SystemExit("the controller does not start")
        self.cycle = self.loop.cycle
        self.now, self.stamp, self.published = time.monotonic(), time.time_ns(), 0
        self.cycle.clock.now = lambda: self.now  # type: ignore[method-assign]
        self.cycle.efforts._publisher = self
        supervisor = self.loop.supervisor
        self._message = JointState(name=list(supervisor.settings.robot.joint_names))
        self._q, self._qd = np.array(supervisor.settings.robot.neutral), np.zeros(supervisor.settings.robot.n)

    def publish(self, data: bytes) -> None:
        """Take an effort."""
        self.published = time.perf_counter_ns()

    def state(self) -> bytes:
        """The next state: where the reference is."""
        self.now += 1e-9 * PERIOD
        self.stamp += PERIOD
        if self.loop.supervisor.stamp:
            reference = self.loop.supervisor.queue.ahead(self.stamp)
            self._q, self._qd = reference.q, reference.qd
        write_stamp(self._message.header, self.stamp)
        self._message.position, self._message.velocity = self._q.tolist(), self._qd.tolist()
        data: bytes = serialize_message(self._message)
        return data

    def follow(self) -> None:
        """Begin a trajectory of `LONG` seconds, in the middle of the joints' ranges."""
        limits = self.node._rules.limits
        middle = 0.5 * (np.maximum(limits.lower, -1.0) + np.minimum(limits.upper, 1.0))
        goal = np.clip(self._q + 0.5, np.minimum(middle, self._q), np.maximum(middle, self._q))
        point = JointTrajectoryPoint(
            positions=goal.tolist(), velocities=[0.0] * len(goal), time_from_start=duration_message(LONG)
        )
        message = JointTrajectory(joint_names=list(self._message.name), points=[point])
        self.node.prepare(message)(lambda ending, text: None)

    def run(self, count: int) -> tuple[float, float]:
        """Smallest time of `count` states until the effort is published, and until the cycle is over, µs."""
        on_state, clock = self.cycle.on_state, time.perf_counter_ns
        sent = over = sys.maxsize
        for _ in range(count):
            data = self.state()
            self.published = 0
            began = clock()
            on_state(data)
            ended = clock()
            if not self.published:
                raise SystemExit(f"no effort: {self.loop.supervisor.cause or self.loop.supervisor.counters.refusal}")
            sent, over = min(sent, self.published - began), min(over, ended - began)
        return 1e-3 * sent, 1e-3 * over

    def parts(self, count: int) -> dict[str, float]:
        """Smallest time of each part, µs; a clock around each of them adds 0.1 µs."""
        supervisor, cycle = self.loop.supervisor, self.cycle
        spent: dict[str, int] = {}
        watched = (
            (cycle.reader, "read", "read the bytes"), (supervisor, "observe", "check the state"),
            (supervisor, "effort", "law and limits"), (cycle.efforts, "publish", "write the message"),
        )

        def timed(method: Callable[..., Any], label: str) -> Callable[..., Any]:
            def call(*args: Any, **kwargs: Any) -> Any:
                began = time.perf_counter_ns()
                answer = method(*args, **kwargs)
                spent[label] = min(spent.get(label, sys.maxsize), time.perf_counter_ns() - began)
                return answer

            return call

        for where, name, label in watched:
            setattr(where, name, timed(getattr(where, name), label))
        self.run(count)
        for where, name, _ in watched:
            delattr(where, name)
        return {label: 1e-3 * value for label, value in spent.items()}


def measure(robot: str, count: int) -> dict[str, dict[str, float]]:
    """Times in µs of an arm that is held and of one that moves."""
    bench = Bench(robot)
    for _ in range(WARM_UP):
        bench.cycle.on_state(bench.state())
    settle()
    found = {}
    for case in ("held", "in motion"):
        if case == "in motion":
            bench.follow()
            bench.run(100)
        sent, over = bench.run(count)
        found[case] = {**bench.parts(count), "state to effort": sent, "whole cycle": over}
    bench.node.destroy_node()
    rclpy.try_shutdown()
    return found


def by_law(robot: str, count: int) -> dict[str, dict[str, float]]:
    """Time of law, limits and guards in one call, µs, smallest and median: laws take turns at the same states."""
    bench = Bench(robot)
    settings, values = bench.loop.supervisor.settings, bench.node.parameters.values
    supervisors = {}
    for name in ("computed_torque", "disturbance_observer", "joint_impedance", "cartesian_impedance"):
        law = law_of(settings.robot, values, name)
        supervisors[name] = Supervisor(replace(settings, tracking=law))
        supervisors[name].warm_up()
        supervisors[name].activate(0.0)
    settle()
    rng, n = np.random.default_rng(0), settings.robot.n
    q, spent = np.clip(np.array(settings.robot.neutral) + 0.2, settings.robot.lower, settings.robot.upper), {}
    times: dict[str, list[int]] = {name: [] for name in (*supervisors, OBSERVER)}
    observer = ContactReaction(supervisors["computed_torque"].machine)
    for k in range(1, count + WARM_UP):
        noise = 1e-5 * rng.normal(size=(2, n))
        for name, supervisor in supervisors.items():
            supervisor.observe(k * PERIOD, 1e-3 * k, q + noise[0], noise[1], np.full(n, np.nan))
            began = time.perf_counter_ns()
            effort = supervisor.effort(k * PERIOD, 1e-3 * k)
            times[name].append(time.perf_counter_ns() - began)
            if effort is None:
                raise SystemExit(f"no effort under {name}: {supervisor.cause}")
            supervisor.settle()
            if name == "computed_torque":
                began = time.perf_counter_ns()
                observer.take(effort.command)
                times[OBSERVER].append(time.perf_counter_ns() - began)
    for name, each in times.items():
        late = np.array(each[WARM_UP:]) / 1e3
        spent[name] = {"smallest": float(late.min()), "median": float(np.median(late))}
    bench.node.destroy_node()
    rclpy.try_shutdown()
    return spent


def main() -> int:
    """Measure and print the table."""
    parser = options(__doc__, robot="panda")
    parser.add_argument("--count", type=int, default=10_000, help="states of each case (default: 10000)")
    parser.add_argument("--laws", action="store_true", help="compare the laws")
    args = parser.parse_args()
    found = by_law(args.robot, args.count) if args.laws else measure(args.robot, args.count)
    if args.json:
        print(json.dumps(found, indent=2))
        return 0
    if args.laws:
        first = found["computed_torque"]
        table = (
            (name, *(f"{x:.1f}" for x in times.values()), f"{times['median'] / first['median']:.2f}")
            for name, times in found.items()
        )
        print_table(args.robot, ("law", "smallest (µs)", "median (µs)", "to computed torque"), table)
        return 0
    rows = ((label, *(f"{times[label]:.1f}" for times in found.values())) for label in found["held"])
    print_table(args.robot, ("part", *(f"{case} (µs)" for case in found)), rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
