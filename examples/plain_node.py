"""What one writes in an afternoon: computed torque with rclpy and Pinocchio, following one quintic. No checks at all.

It is the measure for `mujoco_plant.py`. Do not run it on an arm: it obeys stale, missing and non-finite states, jumps
when it starts, and leaves its last effort standing when it ends.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress

import numpy as np
import pinocchio as pin
import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from rclpy.utilities import remove_ros_args
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory


class PlainNode(Node):
    """τ = rnea(q, q̇, q̈_d + Kp e + Kd ė) + damping q̇, on every joint state."""

    def __init__(self, urdf: str, joints: list[str], bandwidth: float) -> None:
        super().__init__("plain_node")
        whole = pin.buildModelFromUrdf(urdf)
        others = [whole.getJointId(name) for name in whole.names[1:] if name not in joints]
        self.model = pin.buildReducedModel(whole, others, pin.neutral(whole))
        self.data = self.model.createData()
        self.joints, self.kp, self.kd = joints, bandwidth**2, 2.0 * bandwidth
        self.move: tuple[float, float, np.ndarray, np.ndarray] | None = None
        self.efforts = self.create_publisher(Float64MultiArray, "effort_controller/commands", 1)
        self.create_subscription(JointState, "joint_states", self.on_state, qos_profile_sensor_data)
        self.create_subscription(JointTrajectory, "~/joint_trajectory", self.on_trajectory, 1)

    def on_trajectory(self, message: JointTrajectory) -> None:
        """Take the first and the last point as the ends of a quintic."""
        first, last = message.points[0], message.points[-1]
        duration = last.time_from_start.sec + 1e-9 * last.time_from_start.nanosec
        begin = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        self.move = begin, duration, np.array(first.positions), np.array(last.positions)

    def on_state(self, message: JointState) -> None:
        """Answer a state."""
        order = [message.name.index(joint) for joint in self.joints]
        q, qd = np.array(message.position)[order], np.array(message.velocity)[order]
        if self.move is None:
            self.move = 0.0, 1.0, q, q  # stay
        begin, T, a, b = self.move
        s = min(max((message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec - begin) / T, 0.0), 1.0)
        e = a + (b - a) * (10 * s**3 - 15 * s**4 + 6 * s**5) - q
        ed = (b - a) * 30 * (s - s**2) ** 2 / T - qd
        wanted = (b - a) * 60 * s * (1 - s) * (1 - 2 * s) / T**2
        tau = pin.rnea(self.model, self.data, q, qd, wanted + self.kp * e + self.kd * ed) + self.model.damping * qd
        self.efforts.publish(Float64MultiArray(data=tau.tolist()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("urdf")
    parser.add_argument("--joints", nargs="+", required=True)
    parser.add_argument("--bandwidth", type=float, default=40.0)
    arguments = parser.parse_args(remove_ros_args(sys.argv)[1:])
    rclpy.init()
    node = PlainNode(arguments.urdf, arguments.joints, arguments.bandwidth)
    with suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(node)
    node.destroy_node()
    rclpy.try_shutdown()
