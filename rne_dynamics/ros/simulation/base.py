"""Motion of a simulated base: published as a sensor on it measures it, or taken from a topic."""

from __future__ import annotations

import time

import numpy as np
from sensor_msgs.msg import Imu

from rne_dynamics.control.guards.base_filter import BaseFilter, BaseSensor
from rne_dynamics.dynamics.declared.base_motion import BaseMotion
from rne_dynamics.dynamics.kinematics.rotations import rotation_quaternions
from rne_dynamics.errors import StateError
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.messages.base_imu import read_imu
from rne_dynamics.ros.messages.publishers import write_stamp
from rne_dynamics.ros.messages.qos import NEWEST, OFFERED
from rne_dynamics.ros.messages.topic_wait import polled_subscription, take
from rne_dynamics.ros.node.lifecycle import ArmNode
from rne_dynamics.simulation.plant.base_trajectory import BaseTrajectory

#: The topic.
BASE_TOPIC = "base_imu"
#: Time without usable messages after which the base rests, s: constant acceleration would throw the arm.
TIMEOUT = 0.5


class BasePublisher:
    """A simulated sensor at the root link's origin, along its axes, without noise.

    `node`: the node that publishes. `trajectory`: motion of the base. `gravity`: in the world, m/s²; shape (3,).
    `frame`: name of the root link.
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


class BaseListener:
    """A `BaseTrajectory` whose motion is that of the newest usable sensor_msgs/Imu, whatever the simulated time.

    At rest and upright until the first one; after the last one at rest, tilted as it was. The position, which
    affects no effort, stays zero.

    `node`, `topic`: the simulator, and the topic. `gravity`: in the world, m/s²; shape (3,).
    """

    def __init__(self, node: ArmNode, topic: str, gravity: Array) -> None:
        self._node = node
        self._filter = BaseFilter(BaseSensor(timeout=TIMEOUT), gravity)
        self._motion = BaseMotion()
        self.refused = 0
        self._subscription = node.keep(polled_subscription(node, Imu, topic, NEWEST, raw=True))

    def update(self) -> None:
        """Take the newest message, if any."""
        now = time.monotonic()
        taken = take(self._subscription, Imu, True)
        if taken is not None:
            try:
                self._filter.accept(read_imu(taken[0]), now)
            except StateError as error:
                self.refused += 1
                self._node.get_logger().warning(f"refused: {error}", throttle_duration_sec=2.0)
        if self._filter.motion is not None:
            self._motion = self._filter.still() if self._filter.stale(now) else self._filter.motion

    def position(self, t: float) -> Array:
        """As `BaseTrajectory.position`; not known."""
        return np.zeros(3)

    def motion(self, t: float) -> BaseMotion:
        """As `BaseTrajectory.motion`: the newest."""
        return self._motion
