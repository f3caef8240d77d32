"""Messages between the two processes of a controller, and what is absorbed in front of the loop."""

from __future__ import annotations

import numpy as np
import pytest
from rclpy.serialization import serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rne_dynamics.control.motion.acceptance import MOST_POINTS
from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.control.motion.motion import Motion
from rne_dynamics.control.trajectory import SampledTrajectory
from rne_dynamics.errors import TrajectoryError
from rne_dynamics.ros.loop.messages import LARGEST_MESSAGE, Link, LinkClosedError
from rne_dynamics.ros.loop.process import LoopSilentError, Throttle
from rne_dynamics.ros.messages.cdr import trajectory_points
from rne_dynamics.ros.messages.trajectory_message import read_trajectory


@pytest.fixture
def ends():
    one, other = Link.pair(0.2)
    yield one, other
    one.close()
    other.close()


@pytest.mark.parametrize("size", [0, 100, LARGEST_MESSAGE - 100, LARGEST_MESSAGE, 10 * LARGEST_MESSAGE])
def test_messages_of_any_size_arrive_whole_and_in_order(ends, size):
    one, other = ends
    for k in range(3):
        assert one.send((k, b"x" * size, np.arange(size)))
    for k in range(3):
        number, text, table = other.receive()
        assert number == k
        assert text == b"x" * size
        np.testing.assert_array_equal(table, np.arange(size))
    assert other.receive() is None


def test_a_motion_of_many_points_is_followed_bit_for_bit(ends):
    one, other = ends
    times = 1e-3 * np.arange(MOST_POINTS)
    trajectory = SampledTrajectory(times, np.sin(times)[:, None] * np.ones(7))
    motion = Motion(trajectory, 5, Tolerances(tuple("abcdefg")), blend_time=0.1)
    one.send(motion)
    copy = other.receive()
    for name in ("knots", "coefficients"):
        ours, theirs = (getattr(m._base, name) for m in (motion, copy))
        np.testing.assert_array_equal(ours, theirs)
        assert ours.flags.writeable == theirs.flags.writeable, "kernels are compiled for the one or the other"
    now = trajectory.sample(0.0)
    for m in (motion, copy):
        m.begin(5, now)
    for stamp in range(5, 10_000_000_000, 500_000_000):
        np.testing.assert_array_equal(motion.advance(stamp), copy.advance(stamp))


def test_what_does_not_fit_is_not_waited_for(ends):
    one, other = ends
    sent = 0
    while other.send(b"x" * 1000, block=False):
        sent += 1
        assert sent < 100_000
    for _ in range(sent):
        assert one.receive() == b"x" * 1000
    assert other.send(b"again", block=False)
    while one.send(b"x" * 1000):  # gives up after its patience
        pass


def test_a_closed_link_is_found_after_all_that_was_sent(ends):
    one, other = ends
    one.send("last")
    one.close()
    assert other.wait(0.0)
    assert other.receive() == "last"
    for attempt in (other.receive, lambda: other.send("answer")):
        with pytest.raises(LinkClosedError):
            attempt()


def test_only_the_newest_value_is_handed_on_and_not_too_often():
    handed = []
    latest = Throttle(handed.append, 0.1)
    for k in range(1000):
        latest.put(k, 0.001 * k)
    assert handed[0] == 0
    assert 9 <= len(handed) <= 11
    latest.flush(1.2)
    assert handed[-1] == 999
    latest.flush(2.0)
    latest.flush(2.0, always=True)
    assert handed[-1] == 999
    latest.put(5, 2.0)
    latest.put(6, 2.0)
    latest.flush(2.0, always=True)
    assert handed[-2:] == [5, 6]


def test_a_value_that_could_not_be_handed_on_is_handed_on_later():
    handed = []

    def refuse_once(value):
        if not handed:
            handed.append(None)
            raise LoopSilentError
        handed.append(value)

    latest = Throttle(refuse_once, 0.0)
    with pytest.raises(LoopSilentError):
        latest.put(1, 0.0)
    latest.flush(0.1)
    latest.flush(0.2)
    assert handed == [None, 1]


def test_the_points_of_a_trajectory_are_counted_in_its_bytes():
    for points in (0, 1, 3, MOST_POINTS + 1):
        message = JointTrajectory(joint_names=["a", "elbow"], points=[JointTrajectoryPoint()] * points)
        message.header.frame_id = "base"
        data = serialize_message(message)
        assert trajectory_points(data) == points
        if points <= MOST_POINTS:
            assert read_trajectory(data) == message
        else:
            with pytest.raises(TrajectoryError, match=f"{points} points"):
                read_trajectory(data)
    for size in range(len(data[:60])):
        assert trajectory_points(data[:size]) is None or size > 40
    with pytest.raises(TrajectoryError, match=r"no trajectory_msgs/JointTrajectory"):
        read_trajectory(data[:10])
