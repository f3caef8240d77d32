"""Setpoints on both topics: real nodes, a simulated arm whose time goes on as the controller follows it."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from support.streams import Sines, arrivals
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import rne_dynamics as rne
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.messages.topic_wait import OFFERED
from rne_dynamics.ros.messages.trajectory_message import duration_message
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import AT_ONCE, START
from .stepped_arm import SteppedArm

ROBOT = rne.load_urdf("planar2")
JOINTS = list(ROBOT.joint_names)
NODE = "computed_torque_controller"
HOME = np.array([-0.7, 0.4])
MOTION = Sines.random(2, 4)
#: Joint states per second.
RATE = 250.0
#: Limits of the controller, per s, s² and s³.
VELOCITY, ACCELERATION, JERK = 2.0, 10.0, 200.0


class Arm(SteppedArm):
    """The sender of setpoints to a controller and its simulated arm."""

    def __init__(self, process, peer) -> None:
        super().__init__(process, peer, ROBOT, HOME, RATE)
        self.setpoints = peer.node.create_publisher(JointState, f"{NODE}/setpoints", OFFERED)
        self.trajectories = peer.node.create_publisher(JointTrajectory, f"{NODE}/joint_trajectory", OFFERED)
        self.inertia = TopicRecorder(peer.node, JointState, f"{NODE}/torque/inertia", 20)
        wait_until(
            lambda: self.setpoints.get_subscription_count() and self.trajectories.get_subscription_count(), START,
            "the topics of setpoints", [process],
        )
        self.home = HOME
        self.way: list[np.ndarray] = []
        self.speeds: list[np.ndarray] = []
        self.asked: list[np.ndarray] = []

    def received(self, state) -> None:
        self.inertia.drain()
        if self.inertia.samples:  # M q̈ of the reference, at the measured posture
            effort = self.inertia.decode(self.inertia.samples[-1]).effort
            self.asked.append(np.linalg.solve(rne.mass_matrix(ROBOT, state.q), effort))
            self.inertia.samples.clear()
        self.way.append(state.q.copy())
        self.speeds.append(state.qd.copy())

    def send(self, t: float, ahead: float | None = None) -> None:
        """Send the motion's setpoint of the time `t`, as a trajectory of one point where it is due so much later."""
        q, qd = MOTION.at(t if ahead is None else t + ahead)
        if ahead is None:
            state = JointState(name=JOINTS, position=(self.home + q).tolist(), velocity=qd.tolist())
            self.deliver(self.setpoints, state)
            return
        point = JointTrajectoryPoint(
            positions=(self.home + q).tolist(), velocities=qd.tolist(), time_from_start=duration_message(ahead)
        )
        self.deliver(self.trajectories, JointTrajectory(joint_names=JOINTS, points=[point]))

    def deliver(self, publisher, message) -> None:
        """Publish a setpoint, and wait until the controller has dealt with it: time stands still meanwhile."""
        lockstep = self.peer.lockstep
        before, again, deadline = lockstep.setpoints, 0.0, time.monotonic() + START
        while lockstep.setpoints == before:
            assert time.monotonic() < deadline, self.process.output()
            if time.monotonic() > again:  # the first may be lost while both sides discover each other
                publisher.publish(message)
                again = time.monotonic() + 30.0  # later than any busy machine delivers: twice would count twice
            time.sleep(2e-4)
            lockstep.publish_time()

    def stream(self, messages: list[tuple[float, float]], ahead: float | None = None) -> np.ndarray:
        """Send what `arrivals` says; what the arm should have done meanwhile."""
        self.home = self.way[-1]
        wanted, waiting, t = [], iter(messages), 0.0
        following = next(waiting, None)
        while following is not None:
            while following is not None and following[0] <= t:
                self.send(following[1], ahead)
                following = next(waiting, None)
            wanted.append(self.home + MOTION.at(t)[0])
            self.run(self.period)
            t += self.period
        return np.array(wanted)


@pytest.fixture(scope="module")
def arm(in_lockstep):
    limits = {"velocity": VELOCITY, "acceleration": ACCELERATION, "jerk": JERK, "position_margin": 0.05}
    process, peer = in_lockstep(
        NODE, JOINTS, robot_description="planar2", limits={joint: dict(limits) for joint in JOINTS}, torque_divisor=1,
        **AT_ONCE,
    )
    yield Arm(process, peer)
    peer.hurry()


def check(arm: Arm, messages: list[tuple[float, float]], ahead: float | None, error: float) -> None:
    """The arm follows, within the limits of what was commanded, and rests on its path when the stream ends."""
    peer = arm.peer
    arm.run(0.02)
    wanted = arm.stream(messages, ahead)
    got = np.array(arm.way[-len(wanted):])
    off = (got - wanted)[round(1.5 / arm.period):]
    assert peer.mode(NODE) == "tracking"
    assert np.sqrt((off**2).mean()) < error, np.sqrt((off**2).mean())
    arm.run(1.0)
    assert peer.mode(NODE) == "holding"
    assert np.abs(arm.speeds[-1]).max() < 1e-3
    assert np.abs(got[-1] - arm.way[-1]).max() < 0.3, "not far beyond the last setpoint"
    assert np.abs(arm.speeds).max() < VELOCITY * 1.01
    assert np.abs(arm.asked).max() < ACCELERATION * (1 + 1e-6)


@pytest.mark.parametrize("ahead", [
    pytest.param(None, id="own topic"), pytest.param(0.02, id="trajectory topic", marks=pytest.mark.slow),
])
def test_a_stream_is_followed_and_ends_at_rest(arm, ahead):
    check(arm, arrivals(50.0, 2.0, 1), ahead, 4e-3)


@pytest.mark.soak
@pytest.mark.parametrize("ahead", [None, 0.0], ids=["own topic", "trajectory topic"])
@pytest.mark.parametrize(("rate", "seconds"), [(50.0, 30.0), (250.0, 30.0), (1000.0, 5.0)])
def test_streams_with_jitter_and_losses(arm, rate, seconds, ahead):
    """A minute at 1000 Hz too is in the tests of the motion alone; here each message is a round of three processes."""
    check(arm, arrivals(rate, seconds, 2), ahead, 4e-3)


@pytest.mark.slow
def test_sliding_windows_are_followed(arm):
    """As newer versions of MoveIt Servo send them: from 0.1 s ago to 66 ms ahead, every 34 ms."""
    arm.run(0.2)
    home, period = arm.way[-1], 0.034
    arm.home = home
    off = []
    for k in range(60):
        now, points = arm.peer.now(), []
        for j in range(6):  # the first is due 0.1 s ago
            q, qd = MOTION.at(max(k * period - 0.1 + j * 0.033, 0.0))
            points.append(JointTrajectoryPoint(
                positions=(home + q).tolist(), velocities=qd.tolist(), time_from_start=duration_message(j * 0.033)
            ))
        message = JointTrajectory(joint_names=JOINTS, points=points)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(now - 100_000_000, 10**9)
        arm.deliver(arm.trajectories, message)
        arm.run(period)
        off.append(arm.way[-1] - home - MOTION.at((k + 1) * period)[0])
    assert np.sqrt((np.array(off)[30:] ** 2).mean()) < 5e-3
    assert arm.peer.mode(NODE) == "tracking"
    arm.run(1.0)
    assert arm.peer.mode(NODE) == "holding"


def test_a_lone_trajectory_of_one_point_and_what_is_refused(arm):
    """A trajectory that is due later is none of a stream; the log says what is wrong with a setpoint."""
    output = arm.process.output
    arm.run(0.2)
    q = arm.way[-1]
    point = JointTrajectoryPoint(positions=(q + 0.1).tolist(), time_from_start=duration_message(1.0))
    arm.trajectories.publish(JointTrajectory(joint_names=JOINTS, points=[point]))
    arm.until(lambda: "following a trajectory of 1 points" in output())
    arm.run(2.0)
    np.testing.assert_allclose(arm.way[-1], q + 0.1, atol=2e-3)
    message = JointState(name=JOINTS, position=[3.0, 0.0])
    arm.deliver(arm.setpoints, message)
    arm.until(lambda: "joint 'joint1' is to be at 3" in output())
    assert arm.peer.mode(NODE) == "holding"
