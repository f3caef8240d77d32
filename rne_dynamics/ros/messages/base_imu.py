"""Reader of sensor_msgs/Imu for the motion of the base.

REP 145: the linear acceleration is what an accelerometer measures, v̇ − g; a covariance that begins with −1 says that
its quantity is not given.
"""

from __future__ import annotations

import numpy as np
from sensor_msgs.msg import Imu

from rne_dynamics.control.guards.base_filter import BaseReading
from rne_dynamics.errors import StateError, StateProblem
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.messages.cdr import deserialised, imu_numbers, stamp_in


def read_imu(data: bytes) -> BaseReading:
    """Read a serialised message. Raises StateError: bytes that are no sensor_msgs/Imu."""
    numbers = imu_numbers(data)
    if numbers is None:
        numbers = _deserialised(data)
    orientation, angular_velocity, acceleration = numbers[0:4], numbers[13:16], numbers[25:28]
    return BaseReading(
        stamp_in(data),
        None if numbers[4] == -1.0 else orientation,
        None if numbers[16] == -1.0 else angular_velocity,
        None if numbers[28] == -1.0 else acceleration,
    )


def _deserialised(data: bytes) -> Array:
    message = deserialised(data, Imu, lambda why: StateError(f"base motion: {why}", StateProblem.UNREADABLE))
    q, w, a = message.orientation, message.angular_velocity, message.linear_acceleration
    return np.concatenate([
        [q.x, q.y, q.z, q.w], message.orientation_covariance, [w.x, w.y, w.z], message.angular_velocity_covariance,
        [a.x, a.y, a.z], message.linear_acceleration_covariance,
    ])  # fmt: skip
