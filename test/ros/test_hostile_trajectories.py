"""Thousands of hostile trajectory messages through the real message classes; no node, no network."""

from __future__ import annotations

import numpy as np
import pytest
from builtin_interfaces.msg import Duration, Time
from hypothesis import given, settings
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from support.hostile_trajectories import (
    BLEND,
    JOINTS,
    LIMITS,
    STAMP,
    N,
    Request,
    Row,
    follow_and_look,
    look_at_all,
    requests,
    split,
)
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.motion.acceptance import Accepted, CurrentMotion, Rules, accept_points
from rne_dynamics.errors import TrajectoryError

REST = Reference(np.array([0.1, 0.2, 0.3]), np.zeros(N), np.zeros(N))
any_number = st.floats(-2.0, 2.0) | st.floats()
any_list = st.lists(any_number, min_size=N, max_size=N) | st.lists(any_number, max_size=N + 1)
any_time = st.tuples(st.integers(0, 3), st.integers(0, 10**9)) | st.tuples(
    st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**32 - 1)
)
any_row = st.builds(Row, any_list, any_list | st.just([]), any_list | st.just([]), any_time)
any_request = st.builds(
    Request,
    st.just(list(JOINTS)) | st.lists(st.sampled_from([*JOINTS, "", "other"]), max_size=N + 1),
    st.lists(any_row, min_size=1, max_size=4),
    st.just((0, 0)) | st.just(split(STAMP)) | any_time,
    st.just(REST),
)


def message_of(request: Request) -> JointTrajectory:
    points = [
        JointTrajectoryPoint(
            positions=row.positions, velocities=row.velocities, accelerations=row.accelerations, effort=row.effort,
            time_from_start=Duration(sec=row.time[0], nanosec=row.time[1]),
        )
        for row in request.rows
    ]
    message = JointTrajectory(joint_names=request.names, points=points)
    message.header.stamp = Time(sec=request.header[0], nanosec=request.header[1])
    return message


def offer(request: Request, message: JointTrajectory | None = None) -> Accepted:
    motion = CurrentMotion(STAMP, lambda stamp: request.now)
    sent = message or message_of(request)
    return accept_points(sent.joint_names, sent.points, sent.header.stamp, motion, Rules(LIMITS, BLEND))


@pytest.mark.parametrize("number", [400, pytest.param(1500, marks=pytest.mark.slow)])
def test_hostile_messages_are_refused_with_a_text_or_stay_within_limits(number):
    count, refusals = look_at_all(requests(100, number), offer, 0)
    assert 0.2 < count / number < 0.6
    assert len(refusals) > 15


def outcome(request: Request, message: JointTrajectory) -> object:
    try:
        accepted = offer(request, message)
    except TrajectoryError as error:
        return str(error)
    return accepted.start, accepted.begin, accepted.path.base.coefficients.tobytes(), accepted.path.offsets.tobytes()


def test_messages_off_the_wire_are_read_alike():
    for request in requests(7, 60):
        message = message_of(request)
        received = deserialize_message(serialize_message(message), JointTrajectory)
        assert outcome(request, message) == outcome(request, received)


@pytest.mark.slow
@settings(max_examples=100, derandomize=True)
@given(any_request, st.integers(0, 2**32 - 1))
def test_whatever_a_message_holds_it_is_refused_or_stays_within_limits(request_, seed):
    try:
        accepted = offer(request_)
    except TrajectoryError:
        return
    follow_and_look(accepted, REST, np.random.default_rng(seed), looks=10)
