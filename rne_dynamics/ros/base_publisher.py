"""Simulated sensor on the base: publishes its motion as sensor_msgs/Imu."""

from __future__ import annotations

import numpy as np
from sensor_msgs.msg import Imu

from rne_dynamics.dynamics.kinematics.rotations import rotation_quaternions
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.lifecycle import ArmNode
from rne_dynamics.ros.messages import write_stamp
from rne_dynamics.ros.qos import OFFERED
from rne_dynamics.simulation.plant.base_trajectory import BaseTrajectory

#: The topic.
BASE_TOPIC = "base_imu"


class BasePublisher:
    """A simulated sensor at the root link's origin, along its axes, without noise.

    Parameters
    ----------
    node
        The node that publishes.
    trajectory
        Motion of the base.
    gravity
        In the world, m/s²; shape (3,).
    frame
        Name of the root link.
    """

    def __init__(self, node: ArmNode, trajectory: BaseTrajectory, gravity: Array, frame: str) -> None:
        self._trajectory, self._gravity = trajectory, gravity
        self._message = Imu()
        self._message.header.frame_id = frame
        self._publisher = node.keep(node.create_publisher(Imu, BASE_TOPIC, OFFERED))

    def publish(self, stamp: int, t: float) -> None:
        """Send the motion at the simulated time `t`, s, with the `stamp` of the joint state at that time, ns."""
        message, motion = self._message, self._trajectory.motion(t)
        q, w, a = message.orientation, message.angular_velocity, message.linear_acceleration
        write_stamp(message.header, stamp)
        packed = motion.packed(self._gravity).tolist()
        q.x, q.y, q.z, q.w = rotation_quaternions(np.asarray(motion.rotation)[None])[0].tolist()
        w.x, w.y, w.z = packed[3:6]
        a.x, a.y, a.z = packed[6:9]
        self._publisher.publish(message)
