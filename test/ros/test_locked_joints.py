"""Joints of the robot that are not controlled: read from joint states, locked in the model where they are."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from local_loop import LocalLoop
from rclpy.publisher import Publisher
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from trajectory_msgs.msg import JointTrajectory

import rne_dynamics as rne
from rne_dynamics.control.motion.limits import endless
from rne_dynamics.control.thresholds import LOCK_PERIOD
from rne_dynamics.errors import ModelError
from rne_dynamics.ros.gravity_compensation import GravityCompensationNode
from rne_dynamics.ros.messages.joint_states import Reading, StateReader
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.node.robot import load_robot, relocked
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import AT_ONCE, PATIENCE, STEP, fresh, through

#: Two arm joints on a torso that pitches, and a head that turns without end.
TORSO = """<robot name="torso_arm">
  <link name="base"/>
  <link name="trunk"><inertial><origin xyz="0 0 0.2"/><mass value="20"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="skull"><inertial><origin xyz="0.05 0 0.1"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="upper"><inertial><origin xyz="0.15 0 0"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="torso" type="revolute"><parent link="base"/><child link="trunk"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="500" velocity="1"/></joint>
  <joint name="head" type="continuous"><parent link="trunk"/><child link="skull"/><axis xyz="0 0 1"/>
    <origin xyz="0 0 0.5"/><limit effort="10" velocity="3"/></joint>
  <joint name="shoulder" type="revolute"><parent link="trunk"/><child link="upper"/><axis xyz="0 1 0"/>
    <origin xyz="0 0.2 0.4"/><limit lower="-3" upper="3" effort="100" velocity="3"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><axis xyz="0 1 0"/>
    <origin xyz="0.3 0 0"/><limit lower="-3" upper="3" effort="50" velocity="3"/></joint>
</robot>"""
JOINTS = ("shoulder", "elbow")
Q = np.array([0.3, -0.4])


def gravity(torso: float, q=Q) -> np.ndarray:
    return rne.gravity_torque(rne.load_urdf(TORSO, lock={"torso": torso, "head": 0.0}), q)


# -- a model locked elsewhere -----------------------------------------------------------------------------------------


def test_a_model_locked_elsewhere_is_the_one_that_is_read_with_that_lock():
    found = load_robot("", TORSO, JOINTS, (0.0, 0.0, -1.62))
    assert found.locked == {"torso": 0.0, "head": 0.0}
    assert endless(found.free) == {"head"}
    for torso, head in ((0.4, 0.0), (-0.2, 2.0), (0.0, 0.0)):
        found = relocked(found, {"torso": torso, "head": head})
        fresh = rne.load_urdf(TORSO, lock={"torso": torso, "head": head}, gravity=(0.0, 0.0, -1.62))
        assert found.locked == {"torso": torso, "head": head}
        assert found.robot.joint_names == JOINTS
        np.testing.assert_array_equal(found.robot.parameters, fresh.parameters)
        np.testing.assert_array_equal(found.robot.gravity, fresh.gravity)
    assert relocked(found, {"torso": 0.7}).locked == {"torso": 0.7, "head": 0.0}


@pytest.mark.soak
def test_it_is_made_in_some_milliseconds():
    found = load_robot("", "panda", tuple(f"panda_joint{k}" for k in (2, 4, 6)), ())
    assert len(found.locked) >= 4
    took = []
    for k in range(20):
        began = time.process_time()
        found = relocked(found, {"panda_joint1": 0.01 * k})
        took.append(time.process_time() - began)
    assert min(took) < 0.01


@pytest.mark.parametrize("model", ["pantograph", "flexible_arm6", "scara"])
def test_of_a_mechanism_or_a_flexible_arm(model):
    names = rne.load_model(model).joint_names
    found = load_robot(model, "", names[1:], ())
    at = found.locked[names[0]]
    same, moved = (relocked(found, {names[0]: there}).robot.rigid for there in (at, at + 0.3))
    q = 0.1 * np.arange(len(names) - 1) + (found.robot.rigid.neutral if model == "pantograph" else 0.0)
    np.testing.assert_allclose(rne.gravity_torque(same, q), rne.gravity_torque(found.robot.rigid, q), atol=1e-9)
    whole = rne.load_model(model).rigid
    if model == "pantograph":
        return
    np.testing.assert_allclose(
        rne.gravity_torque(moved, q), rne.gravity_torque(whole, [at + 0.3, *q])[1:], atol=1e-9
    )


@pytest.mark.parametrize("positions", [{"shoulder": 0.1}, {"trso": 0.1}, {"torso": np.nan}])
def test_what_is_no_locked_joint_or_no_number_is_refused(positions):
    found = load_robot("", TORSO, JOINTS, ())
    with pytest.raises(ModelError):
        relocked(found, positions)


# -- read from joint states -------------------------------------------------------------------------------------------


def state(stamp: int, **positions: float) -> bytes:
    message = JointState(
        name=list(positions), position=list(positions.values()), velocity=[0.0] * len(positions),
        effort=[0.0] * len(positions),
    )
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 1_000_000_000)
    return serialize_message(message)


def read(reader: StateReader, data: bytes) -> Reading:
    return reader.read(data, np.zeros(2), np.zeros(2), np.zeros(2))


def test_other_joints_in_the_same_message_and_in_those_of_another_sender():
    reader = StateReader(JOINTS, ("torso", "head"))
    assert reader.others() == {}
    for k in range(1, 4):
        assert read(reader, state(10 * k, shoulder=0.3, head=0.1 * k, elbow=-0.4)) is Reading.WHOLE
        assert read(reader, state(10 * k + 5, torso=0.2 * k, lift=9.0)) is Reading.OTHER_JOINTS
        assert read(reader, state(10 * k + 6, gripper=1.0)) is Reading.OTHER_JOINTS
    found = reader.others()
    assert found["head"] == (pytest.approx(0.3), 30)
    assert found["torso"] == (pytest.approx(0.6), 35)
    assert set(found) == {"head", "torso"}


def test_of_two_messages_with_the_joint_the_newer_one_counts():
    reader = StateReader(JOINTS, ("torso",))
    for stamp, data in ((10, 0.1), (20, 0.2)):
        read(reader, state(stamp, torso=data))
        read(reader, state(stamp + 1, torso=-data, shoulder=0.0, elbow=0.0))
    assert reader.others()["torso"] == (-0.2, 21)
    read(reader, state(30, torso=0.3))
    assert reader.others()["torso"] == (0.3, 30)


def test_messages_of_the_same_size_with_other_names_are_not_mistaken():
    reader = StateReader(JOINTS, ("torso",))
    for k in range(3):
        read(reader, state(10 + k, torso=0.5))
        read(reader, state(20 + k, torsi=0.9))
        assert reader.others() == ({"torso": (0.5, 10 + k)} if k else {})  # the first of a kind does not count
    read(reader, state(30, torso=0.6))
    assert reader.others() == {"torso": (0.6, 30)}


# -- the node ---------------------------------------------------------------------------------------------------------


# -- without a model, or an answer of the control loop -----------------------------------------------------------------


def test_no_motion_is_allowed_until_there_is_a_model_of_what_is_measured(monkeypatch):
    node = GravityCompensationNode(LocalLoop())
    node.description = TORSO
    monkeypatch.setattr(node, "load", lambda: node.take(load_robot("", TORSO, JOINTS, ())))
    assert node.trigger_configure().name == "SUCCESS"
    loop = node.control.loop

    def measured(torso: float) -> str:
        for k in range(2):
            loop.cycle.on_state(state(round(1e9 * (1.0 + 10.0 * torso + 0.1 * k)), torso=torso))
        time.sleep(LOCK_PERIOD)
        node._follow_locked()
        node._follow_locked()
        return loop.supervisor.machine.obstacle

    def refused(*arguments: object) -> None:
        raise ModelError("loops do not close")

    try:
        assert measured(0.0) == ""
        with monkeypatch.context() as patch:
            patch.setattr("rne_dynamics.ros.node.lifecycle.relocked", refused)
            assert "no model with torso at 0.1 (measured)" in measured(0.1)
        assert measured(0.2) == ""
    finally:
        node.release()
        node.destroy_node()


#: A node whose control loop does not answer some commands for a while; it executes one that makes the arm move.
SILENT = """
import collections, os, runpy, signal
from rne_dynamics.ros.loop import process

call, silent = process.LoopProcess.call, {"others": [2, 3], "scale_speed": [1]}
calls = collections.Counter()

def late(self, name, *arguments, **more):
    if name == "follow":
        os.kill(self.process, signal.SIGSTOP)
        try:
            return call(self, name, *arguments, seconds=0.2)
        finally:
            os.kill(self.process, signal.SIGCONT)
    calls[name] += 1
    if calls[name] - 1 in silent.get(name, ()):
        raise process.LoopSilentError(f"no answer to {name!r}")
    return call(self, name, *arguments, **more)

process.LoopProcess.call = late
runpy.run_module("rne_dynamics.ros.computed_torque_controller", run_name="__main__")
"""


def test_a_control_loop_that_is_silent_for_a_while_ends_no_node_and_starts_no_motion(in_lockstep):
    process, peer = in_lockstep(
        "computed_torque_controller", JOINTS, script=SILENT, robot_description=TORSO, joints=list(JOINTS),
        diagnostics_period=0.5, **AT_ONCE,
    )
    diagnostics = TopicRecorder(peer.node, DiagnosticArray, "/diagnostics")
    peer.answer(Q)
    speed = peer.node.create_publisher(Float64, "computed_torque_controller/speed_scaling", 1)
    trajectory = peer.node.create_publisher(JointTrajectory, "computed_torque_controller/joint_trajectory", 1)

    def sent(publisher: Publisher, message: object, until: str) -> None:
        def logged() -> bool:
            publisher.publish(message)  # the first ones may come before both sides know each other
            peer.stream(Q, 0.05)
            return until in process.output()

        wait_until(logged, PATIENCE, until, [process])

    sent(speed, Float64(data=0.5), "no answer to 'scale_speed'")
    sent(trajectory, through(JOINTS, (2.0, Q + 0.5)), "trajectory refused: the control loop has not answered 'follow'")

    def said(key: str) -> str:
        peer.stream(Q, 0.1)
        values = fresh(diagnostics, [process]).status[0].values
        return next((v.value for v in values if v.key == key), "")  # not in a status without the loop's answer

    wait_until(lambda: said("speed scaling") == "0.5", PATIENCE, "the speed, sent again", [process])
    wait_until(lambda: said("tracking") == "False", PATIENCE, "the end of the motion", [process])
    assert ": its answer came too late" in process.output()
    assert "no answer to 'others'" in process.output()


@pytest.mark.slow
def test_gravity_is_that_of_a_pitched_torso_whose_state_another_publisher_sends(in_lockstep):
    process, peer = in_lockstep(
        "computed_torque_controller", JOINTS, robot_description=TORSO, joints=list(JOINTS), diagnostics_period=0.5,
        **AT_ONCE,
    )
    diagnostics = TopicRecorder(peer.node, DiagnosticArray, "/diagnostics")
    np.testing.assert_allclose(peer.answer(Q), gravity(0.0), atol=1e-9)  # not measured: locked at zero

    def publish(torso: float) -> list[list[float]]:
        peer.state([torso], names=["torso"])  # a broadcaster of its own
        peer.state(Q)
        peer.pass_time(STEP)
        return [effort for effort in peer.efforts() if np.allclose(effort, gravity(torso), atol=1e-9)]

    def wait(condition: Callable[[], object], what: str) -> None:
        wait_until(condition, PATIENCE, what, [process])

    for torso in (0.4, 0.403, 0.2):
        for _ in range(20):  # it comes and stays
            wait(lambda torso=torso: publish(torso), f"the gravity torque with the torso at {torso}")

    def said() -> list[dict[str, str]]:
        diagnostics.drain()
        found = [s for d in diagnostics.samples for s in diagnostics.decode(d).status]
        return [{v.key: v.value for v in s.values} | {"message": s.message} for s in found]

    def reported(text: str) -> bool:
        return any(text in value for values in said() for value in values.values())

    def at_rest(text: str) -> bool:
        publish(0.2)
        return reported(text)

    numbers = itertools.count()

    def fast(text: str) -> bool:
        publish(0.2 + 0.01 * (next(numbers) % 40))  # a jump back each time makes it fast on any computer
        return reported(text)

    wait(lambda: at_rest("torso at 0.2 (measured), head at 0 (not measured)"), "the report")
    wait(
        lambda: fast("joint 'torso', which is not among the controlled joints, moves at"), "the report of a fast torso"
    )
