"""Arms on a moving base over real topics: what sensors say reaches the efforts, and silence stops the arm."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import numpy as np
import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray

import rne_dynamics as rne
from rne_dynamics.dynamics.kinematics.kinematics import rotation_quaternions
from rne_dynamics.errors import StateError
from rne_dynamics.ros.messages.joint_states import read_imu
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.messages.topic_wait import OFFERED
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import AT_ONCE, FOLLOWING, IN_STEP, START

ROBOT = rne.load_urdf("puma560")
Q = np.array([0.3, -0.6, 0.5, 0.2, 0.4, -0.1])
TURN = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
BASE = rne.BaseMotion((0.5, -1.0, 2.0), (0.1, -0.2, 0.3), rotation=TURN * np.sign(np.linalg.det(TURN)))
SHIP = Path(__file__).parents[2] / "examples" / "ship_motion.csv"


def imu(base: rne.BaseMotion, stamp: int = 1, frame: str = "base_link") -> Imu:
    packed = base.packed(ROBOT.gravity).tolist()
    message = Imu()
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 1_000_000_000)
    q, w, a = message.orientation, message.angular_velocity, message.linear_acceleration
    q.x, q.y, q.z, q.w = rotation_quaternions(np.asarray(base.rotation)[None])[0].tolist()
    w.x, w.y, w.z = packed[3:6]
    a.x, a.y, a.z = packed[6:9]
    return message


@pytest.mark.parametrize("frame", ["", "a", "imu", "base_link", "the_frame_of_a_ship/imu"])
def test_bytes_are_read_as_rclpy_reads_them(frame):
    message = imu(BASE, 12_345_678_901, frame)
    message.orientation_covariance[3] = 7.0
    reading = read_imu(serialize_message(message))
    q, w, a = message.orientation, message.angular_velocity, message.linear_acceleration
    assert reading.stamp == 12_345_678_901
    assert reading.orientation.tolist() == [q.x, q.y, q.z, q.w]
    assert reading.angular_velocity.tolist() == [w.x, w.y, w.z]
    assert reading.acceleration.tolist() == [a.x, a.y, a.z]
    message.orientation_covariance[0] = message.linear_acceleration_covariance[0] = -1.0
    reading = read_imu(serialize_message(message))
    assert reading.orientation is None
    assert reading.acceleration is None
    assert reading.angular_velocity is not None
    for bad in (b"", b"\x00\x01\x00\x00", serialize_message(message)[:200], serialize_message(JointState(name=["a"]))):
        with pytest.raises(StateError, match=r"base motion: \d+ bytes that are no sensor_msgs/Imu"):
            read_imu(bad)


@pytest.mark.slow
def test_the_measured_base_is_in_the_efforts_until_it_is_silent(in_lockstep):
    module = "computed_torque_controller"
    process, peer = in_lockstep(
        module, ROBOT.joint_names, robot_description="puma560", friction_compensation=0.0, torque_divisor=0,
        base_motion={"topic": "ship/imu", "timeout": 0.5, "filter": 0.0},
        stop={"brake_time": 0.1, "ramp_time": 0.2, "hold_time": 0.1}, **AT_ONCE,
    )
    try:
        sensor = peer.node.create_publisher(Imu, "ship/imu", OFFERED)
        wait_until(sensor.get_subscription_count, START, "the controller's subscription", [process])
        peer.silence(Q)  # the base is not known yet
        plain, sending = peer._send, [True]

        def send(message: JointState) -> None:
            if sending[0]:
                sensor.publish(imu(BASE, peer.now()))
            plain(message)

        peer._send = send
        still = np.zeros(6)
        expected = rne.inverse_dynamics(ROBOT, Q, still, still, base_motion=BASE)
        assert np.abs(expected - rne.gravity_torque(ROBOT, Q)).max() > 5.0
        peer.answer(Q)
        efforts = peer.stream(Q, 0.3)
        np.testing.assert_allclose(efforts[-1], expected, rtol=1e-9, atol=1e-9)
        sending[0] = False
        efforts = peer.stream(Q, 1.5, until=lambda: peer.mode(module) == "fault")
        assert peer.mode(module) == "fault"
        np.testing.assert_allclose(efforts[0], expected, rtol=1e-9, atol=1e-9)
        assert (np.array(efforts[-1]) == 0.0).all()
        sending[0] = True
        peer.silence(Q)
    finally:
        process.signal(signal.SIGINT)
        peer.end(process)


@pytest.mark.slow
def test_a_simulated_arm_on_a_ship_is_held(start, make_peer):
    peer = make_peer(ROBOT.joint_names)
    at = dict(zip(ROBOT.joint_names, Q.tolist(), strict=True))
    simulator = start(
        "simulator", robot_description="puma560", rate=250.0, friction=False, initial_position=at,
        base_motion={"file": str(SHIP)}, **IN_STEP,
    )
    controller = start(
        "computed_torque_controller", friction_compensation=0.0, base_motion={"topic": "base_imu", "timeout": 0.5},
        gains={j: {"p": 36.0, "d": 12.0} for j in ROBOT.joint_names}, **FOLLOWING, **AT_ONCE,
    )
    states = TopicRecorder(peer.node, JointState, "joint_states", 2000)
    both = [simulator, controller]
    wait_until(peer.efforts, START, "efforts", both)
    states.drain()  # those of a start that took long are without efforts
    begin = len(states.samples)
    wait_until(lambda: (states.drain(), len(states.samples) > begin + 750)[1], START, "3 s of motion", both)
    for process in both:
        process.stop()
    received = [states.decode(sample) for sample in states.samples[begin:]]
    assert np.abs(np.array([message.position for message in received]) - Q).max() < 2e-3
    waist = np.array([message.effort[0] for message in received])
    assert np.abs(waist).max() > 2.0, "on land its axis is vertical and nothing turns it"


@pytest.mark.slow
def test_a_simulated_base_moves_as_a_topic_says(start, make_peer):
    """The first joint of a SCARA turns about the vertical: only a tilted base makes it fall."""
    robot = rne.load_urdf("scara")
    peer = make_peer(robot.joint_names)
    process = start(
        "simulator", robot_description="scara", rate=250.0, friction=False, stops=False, command_timeout=0.0,
        base_motion={"topic": "sea/imu"},
    )
    states = TopicRecorder(peer.node, JointState, "joint_states")
    sensor = peer.node.create_publisher(Imu, "sea/imu", OFFERED)
    commands = peer.node.create_publisher(Float64MultiArray, "effort_controller/commands", 1)
    found = lambda: sensor.get_subscription_count() and commands.get_subscription_count()  # noqa: E731
    wait_until(found, START, "the simulator", [process])
    upright, c, s = rne.BaseMotion(), np.cos(0.3), np.sin(0.3)
    tilted = rne.BaseMotion(rotation=[[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])

    def velocity(base: rne.BaseMotion) -> np.ndarray:
        """Of the arm without efforts; zero before the first message."""
        commands.publish(Float64MultiArray(data=[0.0] * robot.n))
        sensor.publish(imu(base, time.time_ns()))
        states.drain()
        latest = states.latest()
        return np.array(latest.velocity) if latest is not None and len(latest.name) == robot.n else np.zeros(robot.n)

    wait_until(lambda: velocity(upright)[2] > 0.5, START, "the quill to fall", [process])
    assert velocity(upright)[0] == 0.0
    wait_until(lambda: abs(velocity(tilted)[0]) > 0.1, START, "the arm to fall towards the lower side", [process])
    time.sleep(1.0)  # without messages the base stays tilted and rests
    states.drain()
    assert np.isfinite(states.latest().velocity).all()
