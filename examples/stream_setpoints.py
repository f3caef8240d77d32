"""Stream setpoints to a controller, a slow sine as a policy would, then send a trajectory back to the start.

    python examples/stream_setpoints.py --rate 250 --seconds 5
    python examples/stream_setpoints.py --controller /arm/computed_torque_controller

Without --controller a simulated arm and its controller are started, and the largest tracking error is printed.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import time

os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")

import rclpy
from rclpy.duration import Duration
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rne_dynamics.ros.messages.topic_wait import LATCHED
from rne_dynamics.ros.sessions.processes import NodeProcess

#: Half of the range of each joint, rad or m, and its angular frequency, 1/s.
AMPLITUDE, FREQUENCY = 0.2, 1.5
PATIENCE = 180.0


def main() -> int:
    """Stream, then move back; 0 if the arm followed both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=100.0, help="setpoints per second")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--controller", default="", help="name of a controller that runs")
    options = parser.parse_args()
    controller = options.controller or f"/example{os.getpid()}/computed_torque_controller"
    space = controller.rpartition("/")[0]
    with contextlib.ExitStack() as stack:
        if not options.controller:
            for node, more in (("simulator", ()), ("computed_torque_controller", ("-p", "state_timeout:=1.0"))):
                arguments = ["--ros-args", "-r", f"__ns:={space}", "-p", "robot_description:=planar2", *more]
                stack.enter_context(NodeProcess(node, arguments))
        rclpy.init()
        stack.callback(rclpy.try_shutdown)
        return stream(controller, f"{space}/joint_states", options.rate, options.seconds)


def stream(controller: str, states: str, rate: float, seconds: float) -> int:
    """Wait until the arm is held, then send."""
    node = rclpy.create_node("sender")
    modes: list[str] = []
    arm: list[JointState] = []
    node.create_subscription(String, f"{controller}/state", lambda message: modes.append(message.data), LATCHED)
    node.create_subscription(JointState, states, arm.append, qos_profile_sensor_data)
    setpoints = node.create_publisher(JointState, f"{controller}/setpoints", 1)
    trajectories = node.create_publisher(JointTrajectory, f"{controller}/joint_trajectory", 1)
    deadline = time.monotonic() + PATIENCE
    while not (arm and modes[-1:] == ["holding"] and setpoints.get_subscription_count()
               and trajectories.get_subscription_count()):
        rclpy.spin_once(node, timeout_sec=0.1)
        if time.monotonic() > deadline:
            print(f"{controller} does not hold an arm: {modes[-1:] or 'no ~/state received'}")
            return 1
    names, home = list(arm[-1].name), list(arm[-1].position)
    message, begin, worst = JointState(name=names), 0.0, 0.0
    while (now := time.monotonic()) < deadline and (not begin or now < begin + seconds):
        if not begin:  # until the start-up check lets it begin: the arm may move before it is held
            home = list(arm[-1].position)
        t = now - begin if begin else 0.0
        wave, slope = AMPLITUDE * (1.0 - math.cos(FREQUENCY * t)), AMPLITUDE * FREQUENCY * math.sin(FREQUENCY * t)
        message.position, message.velocity = [q + wave for q in home], [slope] * len(names)
        setpoints.publish(message)
        del arm[:-1]
        while time.monotonic() < now + 1.0 / rate:
            rclpy.spin_once(node, timeout_sec=max(now + 1.0 / rate - time.monotonic(), 0.0))
        if not begin and modes[-1] == "tracking":
            begin = time.monotonic()
        if begin:
            worst = max(worst, *(abs(a - b) for a, b in zip(arm[-1].position, message.position, strict=True)))
    print(f"streamed for {seconds:g} s at {rate:g} Hz; largest distance between setpoint and joint state {worst:.2e}")
    while modes[-1] == "tracking" and time.monotonic() < deadline:
        rclpy.spin_once(node, timeout_sec=0.1)
    print(f"without setpoints: {modes[-1]}")
    if not begin or modes[-1] != "holding":
        return 1
    rest = [0.0] * len(names)
    back = JointTrajectoryPoint(positions=home, velocities=rest, time_from_start=Duration(seconds=1.0).to_msg())
    del modes[:-1]
    trajectories.publish(JointTrajectory(joint_names=names, points=[back]))
    while modes[-2:] != ["tracking", "holding"] and time.monotonic() < deadline:
        rclpy.spin_once(node, timeout_sec=0.1)
    print(f"moved back: {modes[-1]}, {max(abs(a - b) for a, b in zip(arm[-1].position, home, strict=True)):.2e} away")
    return 0 if modes[-2:] == ["tracking", "holding"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
