"""A simulated base that moves as a topic says."""

from __future__ import annotations

import time

import numpy as np
from sensor_msgs.msg import Imu

from rne_dynamics.control.guards.base_filter import BaseFilter, BaseSensor
from rne_dynamics.dynamics.declared.base_motion import BaseMotion
from rne_dynamics.errors import StateError
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.base_imu import read_imu
from rne_dynamics.ros.lifecycle import NEWEST, ArmNode
from rne_dynamics.ros.topic_wait import polled_subscription, take

#: Time without usable messages after which the base rests, s: one that goes on accelerating would throw the arm.
TIMEOUT = 0.5


class BaseListener:
    """A `BaseTrajectory` whose motion is that of the newest usable sensor_msgs/Imu, whatever the simulated time.

    At rest and upright until the first one; where they stop, at rest and tilted as last seen. The position, which
    changes no effort, stays zero.

    Parameters
    ----------
    node, topic
        Who listens, and to what.
    gravity
        In the world, m/s²; shape (3,).
    """

    def __init__(self, node: ArmNode, topic: str, gravity: Array) -> None:
        self._node = node
        self._filter = BaseFilter(BaseSensor(timeout=TIMEOUT), gravity)
        self._motion = BaseMotion()
        self.refused = 0
        self._subscription = node.keep(polled_subscription(node, Imu, topic, NEWEST, raw=True))

    def update(self) -> None:
        """Take what has come."""
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
