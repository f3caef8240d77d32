"""What following setpoints costs: memory and time for each message and each cycle, and CPU time of the real nodes.

    python benchmarks/setpoints.py
    python benchmarks/setpoints.py --nodes

The first part runs in this process: a message is read from its bytes and taken, a cycle makes the next reference. The
second starts the simulator and the controller at 1 kHz in real time, and sends to either topic.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
import tracemalloc
from collections.abc import Callable

os.environ.setdefault("ROS_DOMAIN_ID", "97")
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"

import numpy as np
import rclpy
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from usage import cpu_seconds

from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.control.streaming.limits import StreamLimits
from rne_dynamics.control.streaming.setpoints import Setpoints, warm_up
from rne_dynamics.ros.messages.topic_wait import OFFERED
from rne_dynamics.ros.messages.trajectory_message import SetpointReader, duration_message
from rne_dynamics.ros.sessions.processes import NodeProcess, wait_until

JOINTS = tuple(f"joint{k}" for k in range(1, 8))
#: Messages of a round, and rounds of which the fastest counts.
COUNT, ROUNDS = 2000, 6


def messages(joints: tuple[str, ...], q: float = 0.0) -> dict[type, JointState | JointTrajectory]:
    """A setpoint of either type."""
    still, place = [0.0] * len(joints), [q] * len(joints)
    point = JointTrajectoryPoint(positions=place, velocities=still, time_from_start=duration_message(0.001))
    return {
        JointState: JointState(name=list(joints), position=place, velocity=still),
        JointTrajectory: JointTrajectory(joint_names=list(joints), points=[point]),
    }


def measure(what: str, call: Callable[[int], object]) -> None:
    """Print CPU time and memory of a call; `call` is given its number."""
    rounds = []
    for r in range(ROUNDS):
        begin = time.thread_time()
        for k in range(r * COUNT, (r + 1) * COUNT):
            call(k)
        rounds.append((time.thread_time() - begin) / COUNT)
    each, first, *numbers = min(rounds), *range(ROUNDS * COUNT, (ROUNDS + 1) * COUNT)
    tracemalloc.start()
    call(first)
    tracemalloc.reset_peak()
    before, blocks = tracemalloc.get_traced_memory()[0], sys.getallocatedblocks()
    for k in numbers:
        call(k)
    after, peak = tracemalloc.get_traced_memory()
    blocks = sys.getallocatedblocks() - blocks
    tracemalloc.stop()
    print(f"{what:44} {1e6 * each:8.2f} µs {(after - before) / COUNT:10.3f} {blocks / COUNT:10.3f} {peak - before:10}")


def parts() -> None:
    """Cost of a message and of a cycle in this process."""
    n = len(JOINTS)
    warm_up(n)
    limits = StreamLimits(JOINTS, np.full(n, -3.0), np.full(n, 3.0), np.full(n, 2.0))
    print(f"{n} joints{'':36} {'CPU time':>11} {'bytes kept':>10} {'blocks':>10} {'peak bytes':>10}")
    for kind, message in messages(JOINTS).items():
        data, reader = serialize_message(message), SetpointReader(JOINTS)
        setpoints, rest = Setpoints(limits, Tolerances(JOINTS)), Reference(np.zeros(n), np.zeros(n), np.zeros(n))

        def take(k: int, data=data, kind=kind, reader=reader, setpoints=setpoints, rest=rest) -> None:
            reader.read(data, kind)
            setpoints.take(
                0, reader.q, reader.qd, stamp=reader.stamp, ahead=reader.ahead, at=10**18 + 10**6 * k, sequence=k,
                begin=lambda: rest,
            )

        measure(f"a message, {kind.__name__}", take)
    stream = setpoints.stream
    stream.begin(10**18, rest)
    measure("a cycle, with the array of its reference", lambda k: stream.advance(10**18 + 10**6 * k))


def nodes(seconds: float) -> None:
    """CPU time of the controller for each setpoint, over real DDS."""
    space, joints = f"/setpoints{os.getpid()}", ("joint1", "joint2")
    name = f"{space}/computed_torque_controller"
    with contextlib.ExitStack() as stack:
        processes = [
            stack.enter_context(NodeProcess(module, [
                "--ros-args", "-r", f"__ns:={space}", "-p", "robot_description:=planar2", *more,
            ])) for module, more in (
                ("simulator", ("-p", "rate:=1000.0")),
                ("computed_torque_controller", ("-p", "state_timeout:=1.0", "-p", "startup_check.duration:=0.0")),
            )
        ]
        rclpy.init()
        stack.callback(rclpy.try_shutdown)
        node = rclpy.create_node("sender")
        arm: list[JointState] = []
        node.create_subscription(JointState, f"{space}/joint_states", arm.append, 1)
        topics = {
            JointState: node.create_publisher(JointState, f"{name}/setpoints", OFFERED),
            JointTrajectory: node.create_publisher(JointTrajectory, f"{name}/joint_trajectory", OFFERED),
        }
        wait_until(lambda: all(t.get_subscription_count() for t in topics.values()), 180.0, "the nodes", processes)
        time.sleep(2.0)
        while not arm:
            rclpy.spin_once(node, timeout_sec=0.1)
        place, controller = arm[-1].position[0], processes[1].pid
        idle = None
        print(f"{'topic':20} {'Hz sent':>8} {'CPU of the controller':>22} {'each message':>14}")
        for kind, rate in ((None, 0.0), *((kind, rate) for kind in topics for rate in (50.0, 250.0, 1000.0))):
            sent, began, before = 0, time.monotonic(), cpu_seconds(controller)
            message = None if kind is None else messages(joints, place)[kind]
            while (now := time.monotonic()) < began + seconds:
                if kind is None:
                    time.sleep(0.1)
                    continue
                topics[kind].publish(message)
                sent += 1
                time.sleep(max(began + sent / rate - time.monotonic(), 0.0))
            share = (cpu_seconds(controller) - before) / (now - began)
            idle = share if idle is None else idle
            cost = f"{1e6 * (share - idle) * (now - began) / sent:11.0f} µs" if sent else ""
            topic = "none" if kind is None else kind.__name__
            print(f"{topic:20} {sent / (now - began):8.0f} {share:21.1%} {cost:>14}")


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", action="store_true", help="with the real nodes")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measurement with nodes")
    options = parser.parse_args()
    parts()
    if options.nodes:
        nodes(options.seconds)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
