"""Where the CPU time of a reply goes: the controller in this process, fed over DDS by another one at 1 kHz.

    python benchmarks/reply_parts.py
    python benchmarks/reply_parts.py --json

Each part is the CPU time of the thread that answers, a message, measured where it is spent: in a loop that sleeps
between two messages everything is cold, and takes several times what it takes in a tight loop. Measuring adds about a
microsecond to each part.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("ROS_DOMAIN_ID", "98")
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"

import rclpy
from local_loop import LocalLoop
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from script import options, print_table
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

import rne_dynamics as rne
from rne_dynamics.ros.computed_torque_controller import ComputedTorqueController
from rne_dynamics.ros.loop import hot_loop
from rne_dynamics.ros.node.process import settle

RATE = 1000.0
#: Time from the first answer to what is counted, s: start-up check and all.
WARM_UP = 3.0
#: Longest wait for the first answer, s: on a busy machine the process that feeds the node starts slowly.
PATIENCE = 60.0


class Meter:
    """CPU time of this thread inside some methods, those that they call included."""

    def __init__(self) -> None:
        self.spent: dict[str, int] = {}

    def watch(self, where: Any, name: str, label: str) -> None:
        """Replace a method by itself with a clock around it."""
        method: Callable[..., Any] = getattr(where, name)
        self.spent[label] = 0

        def timed(*args: Any, **kwargs: Any) -> Any:
            began = time.thread_time_ns()
            try:
                return method(*args, **kwargs)
            finally:
                self.spent[label] += time.thread_time_ns() - began

        setattr(where, name, timed)


def feed(robot: rne.RobotModel) -> None:
    """Publish states of an arm at rest until killed."""
    rclpy.init()
    node = rclpy.create_node("feed")
    publisher = node.create_publisher(JointState, "joint_states", QoSProfile(depth=1))
    newest = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    node.create_subscription(Float64MultiArray, "effort_controller/commands", lambda message: None, newest)
    rest = 0.5 * (robot.lower.clip(-1.0) + robot.upper.clip(max=1.0))
    message = JointState(name=list(robot.joint_names), position=rest.tolist(), velocity=[0.0] * robot.n)
    due = time.monotonic()
    while True:
        due = max(due + 1.0 / RATE, time.monotonic())
        while (left := due - time.monotonic()) > 0.0:
            time.sleep(left)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(time.time_ns(), 1_000_000_000)
        publisher.publish(message)


def measure(robot: str, seconds: float) -> dict[str, float]:
    """CPU time a message of each part, µs."""
    arguments = ["controller", "--ros-args", "-p", f"robot_description:={robot}"]
    rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    control = LocalLoop()
    node, meter, loop = ComputedTorqueController(control), Meter(), control.loop
    if not node.start() or loop.cycle is None:
        raise SystemExit("the controller does not start")
    meter.watch(loop.cycle.hot, "_on_message", "all of the answer")
    for where, name, label in (
        (hot_loop, "take", "take the bytes from DDS"), (loop.cycle.reader, "read", "read them"),
        (loop.supervisor, "observe", "check the state"), (loop.supervisor, "effort", "law and limits"),
        (loop.cycle.efforts, "publish", "publish the effort"),
    ):
        meter.watch(where, name, label)
    feeder = subprocess.Popen([sys.executable, __file__, "--feed", "--robot", robot])
    try:

        def run(duration: float) -> None:
            end = time.monotonic() + duration
            while time.monotonic() < end:
                loop.cycle.turn()

        patience = time.monotonic() + PATIENCE
        while not loop.cycle.statistics.efforts and time.monotonic() < patience:
            loop.cycle.turn()
        run(WARM_UP)
        settle()
        meter.spent = dict.fromkeys(meter.spent, 0)
        before, thread, process = loop.cycle.statistics.efforts, time.thread_time_ns(), time.process_time_ns()
        run(seconds)
        count = loop.cycle.statistics.efforts - before
        spent = {"the whole process": time.process_time_ns() - process, "this thread": time.thread_time_ns() - thread}
        if not count:
            raise SystemExit("no state was answered")
        return {label: 1e-3 * value / count for label, value in (spent | meter.spent).items()}
    finally:
        feeder.kill()
        feeder.wait()
        node.destroy_node()
        rclpy.try_shutdown()


def main() -> int:
    """Measure and print the table."""
    parser = options(__doc__, robot="panda", seconds=5.0)
    parser.add_argument("--feed", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.feed:
        feed(rne.load_urdf(args.robot))
    parts = measure(args.robot, args.seconds)
    if args.json:
        print(json.dumps(parts, indent=2))
        return 0
    rows = ((label, f"{value:.1f}") for label, value in parts.items())
    print_table(f"{Path(args.robot).stem}, {RATE:g} Hz", ("part", "CPU time a message (µs)"), rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
