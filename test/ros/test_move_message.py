"""The motion that `move` and `rne send` send is a trajectory, however short, and no setpoint of a stream."""

from __future__ import annotations

import numpy as np
import pytest
from rclpy.serialization import serialize_message

from rne_dynamics.ros.messages.cdr import one_point_layout
from rne_dynamics.ros.messages.trajectory_message import last_setpoint
from rne_dynamics.ros.move import quintic_message


@pytest.mark.parametrize("duration", [0.01, 0.1, 3.0])
def test_it_is_never_taken_for_a_setpoint(duration):
    message = quintic_message(["joint1", "joint2"], np.array([0.1, 0.2]), duration)
    assert one_point_layout(serialize_message(message)) is None
    for now in (0, round(duration * 1e9)):
        assert last_setpoint(message, now, 0.15) is None
    assert all(list(point.positions) == [0.1, 0.2] for point in message.points)
