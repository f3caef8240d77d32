"""Setpoints read from bytes: as rclpy reads them, by the second message of a layout without an array."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2's client library is not installed: pip install '.[ros]'")

from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rne_dynamics.control.streaming.limits import SetpointError, SetpointProblem
from rne_dynamics.ros.messages.trajectory_message import SetpointReader, duration_message

JOINTS = ("shoulder", "elbow", "wrist")


def trajectory(names, positions=(), velocities=(), seconds=0.02, stamp=0, points=1) -> JointTrajectory:
    point = JointTrajectoryPoint(
        positions=list(positions), velocities=list(velocities), accelerations=[0.0] * len(names),
        time_from_start=duration_message(seconds),
    )
    message = JointTrajectory(joint_names=list(names), points=[point] * points)
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
    return message


def state(names, positions=(), velocities=(), stamp=0) -> JointState:
    message = JointState(name=list(names), position=list(positions), velocity=list(velocities))
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
    return message


@pytest.mark.parametrize("kind", [JointState, JointTrajectory])
@pytest.mark.parametrize("given", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("names", [("wrist", "gripper", "shoulder", "elbow")])
def test_numbers_and_times_are_those_of_the_message(kind, given, names):
    rng, reader = np.random.default_rng(1), SetpointReader(JOINTS)
    places = [names.index(joint) for joint in JOINTS]
    for k in range(4):  # the first is read by rclpy, the others from their bytes
        q = rng.normal(size=len(names)) if given[0] else np.empty(0)
        qd = rng.normal(size=len(names)) if given[1] else np.empty(0)
        stamp, ahead = 1_700_000_000_123_456_789 + k, 0.01 * k
        message = (
            state(names, q, qd, stamp) if kind is JointState else trajectory(names, q, qd, ahead, stamp)
        )
        reader.read(serialize_message(message), kind)
        np.testing.assert_array_equal(reader.q, q[places] if given[0] else np.full(3, np.nan))
        np.testing.assert_array_equal(reader.qd, qd[places] if given[1] else np.full(3, np.nan))
        assert reader.stamp == stamp
        assert reader.ahead == (0 if kind is JointState else round(ahead * 1e9))
    assert len(reader._known) == 1


@pytest.mark.parametrize(("message", "text"), [
    (state(JOINTS[:2], [0.0, 0.0]), "no joint named 'wrist'; it has shoulder, elbow"),
    (state((*JOINTS, "wrist"), [0.0] * 4), "'wrist' is named twice"),
    (state(JOINTS, [0.0, 0.0]), "2 positions for 3 joints"),
    (state(JOINTS, [0.0] * 3, [0.0]), "1 velocities for 3 joints"),
    (state(JOINTS), "neither positions nor velocities"),
    (trajectory(JOINTS), "neither positions nor velocities"),
    (trajectory(JOINTS, [0.0] * 3, points=2), "a trajectory of 2 points"),
])  # fmt: skip
def test_what_is_no_setpoint_is_refused_with_the_reason(message, text):
    reader = SetpointReader(JOINTS)
    for _ in range(2):
        with pytest.raises(SetpointError, match=text) as error:
            reader.read(serialize_message(message), type(message))
        assert error.value.problem is SetpointProblem.WRONG_JOINTS


@pytest.mark.parametrize("kind", [JointState, JointTrajectory])
def test_bytes_cut_short_or_changed_are_no_crash(kind):
    rng, reader = np.random.default_rng(2), SetpointReader(JOINTS)
    good = serialize_message(
        state(JOINTS, [1.0, 2.0, 3.0]) if kind is JointState else trajectory(JOINTS, [1.0, 2.0, 3.0])
    )
    reader.read(good, kind)
    reader.read(good, kind)
    for size in range(len(good)):
        with contextlib.suppress(SetpointError):  # what is missing at the end may be padding
            reader.read(good[:size], kind)
            np.testing.assert_array_equal(reader.q, [1.0, 2.0, 3.0])
    for _ in range(500):
        changed = bytearray(good)
        changed[rng.integers(len(good))] = rng.integers(256)
        with contextlib.suppress(SetpointError):
            reader.read(bytes(changed), kind)
    reader.read(good, kind)
    np.testing.assert_array_equal(reader.q, [1.0, 2.0, 3.0])
