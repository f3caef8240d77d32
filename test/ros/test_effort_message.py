"""Efforts by name with a stamp (control_msgs/JointCommand) next to the list in a fixed order."""

from __future__ import annotations

import struct
import time

import numpy as np
import pytest
from std_msgs.msg import Float64MultiArray, String
from support.forked import ForkedNode

import rne_dynamics as rne
from rne_dynamics.errors import ControlError, ParameterError
from rne_dynamics.ros.messages import publishers as effort_message
from rne_dynamics.ros.messages.publishers import FLOATS, NAMED, JointCommandReader, effort_type
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import START

JOINTS = ("a", "wrist", "b")
HAS_IT = effort_message.installed_type("control_msgs/msg/JointCommand") is not None
needs_it = pytest.mark.skipif(not HAS_IT, reason="control_msgs/JointCommand is not installed (control_msgs > 6.8.0)")


def cdr(names=JOINTS, values=(1.0, 2.0, 3.0), interface="effort", stamp=(7, 5), frame="") -> bytes:
    """The message as OMG DDS-XTypes 1.3 (7.4.1) has it, written field by field."""
    body = struct.pack("<iI", *stamp)

    def padded(size: int) -> None:
        nonlocal body
        body += b"\0" * (-len(body) % size)

    def text(word: str) -> None:
        nonlocal body
        padded(4)
        body += struct.pack("<I", len(word) + 1) + word.encode() + b"\0"

    text(frame)
    padded(4)
    body += struct.pack("<I", len(names))
    for name in names:
        text(name)
    text(interface)
    padded(4)
    body += struct.pack("<I", len(values))
    if values:
        padded(8)
    return b"\0\1\0\0" + body + struct.pack(f"<{len(values)}d", *values)


def test_efforts_are_read_by_name_whatever_the_sender_s_order():
    reader = JointCommandReader(JOINTS)
    for values in ((1.0, 2.0, 3.0), (-4.0, 5e-300, np.inf)):  # the second time from the known places
        np.testing.assert_array_equal(reader.read(cdr(values=values)), values)
    assert reader.stamp == 7_000_000_005
    np.testing.assert_array_equal(
        reader.read(cdr(("b", "a", "wrist"), (3.0, 1.0, 2.0), stamp=(8, 6), frame="base")), [1.0, 2.0, 3.0]
    )
    assert reader.stamp == 8_000_000_006
    np.testing.assert_array_equal(reader.read(cdr()), [1.0, 2.0, 3.0])


@pytest.mark.parametrize(("data", "why"), [
    (cdr(interface="position"), "interface_name is 'position'; it must be 'effort'"),
    (cdr(("a", "b"), (1.0, 2.0)), "joint_names are a, b; they must be a, wrist, b, in any order"),
    (cdr(("a", "b", "a")), "joint_names are a, b, a"),
    (cdr(("a", "b", "wrist", "c"), (1.0,) * 4), "joint_names are a, b, wrist, c"),
    (cdr((), ()), "joint_names are none"),
    (cdr(values=(1.0, 2.0)), "2 values for 3 joint_names"),
    (cdr(values=()), "0 values for 3 joint_names"),
    (cdr()[:40], "40 bytes that are no control_msgs/JointCommand"),
    (b"", "0 bytes that are no control_msgs/JointCommand"),
    (b"\0\0" + cdr()[2:], "bytes that are no control_msgs/JointCommand"),
])  # fmt: skip
def test_what_cannot_be_a_command_is_refused_and_the_next_one_is_read(data, why):
    reader = JointCommandReader(JOINTS)
    for _ in range(2):
        with pytest.raises(ControlError, match=why):
            reader.read(data)
        np.testing.assert_array_equal(reader.read(cdr()), [1.0, 2.0, 3.0])


def test_random_bytes_raise_nothing_else():
    whole, rng = cdr(), np.random.default_rng(4)
    for _ in range(3000):
        data = bytearray(whole)
        for place in rng.integers(0, len(data), 3):
            data[place] = rng.integers(256)
        reader = JointCommandReader(JOINTS)
        try:
            assert reader.read(bytes(data[: rng.integers(len(data) + 1)])).shape == (3,)
        except ControlError:
            continue


def test_without_the_message_the_refusal_says_what_to_do(monkeypatch):
    assert effort_type(FLOATS) is Float64MultiArray
    for kind in ("no_such_package/msg/JointCommand", "std_msgs/msg/JointCommand"):
        assert effort_message.installed_type(kind) is None
    monkeypatch.setattr(effort_message, "installed_type", lambda kind: None)
    with pytest.raises(ParameterError, match=r"is installed: install ros-<distribution>-control-msgs, newer than"):
        effort_type(NAMED)


@pytest.mark.skipif(HAS_IT, reason="the message is installed")
@pytest.mark.parametrize("node", [
    "effort_gate", *(pytest.param(node, marks=pytest.mark.slow) for node in ("computed_torque_controller", "simulator"))
])
def test_a_node_without_the_message_refuses_to_configure(node, namespace):
    arguments = ["--ros-args", "-r", f"__ns:={namespace}/none", "-p", "robot_description:=puma560", "-p",
                 f"command_message:={NAMED}"]  # fmt: skip
    with ForkedNode(node, arguments) as process:
        assert process.wait(START) == 1
        assert f"parameter command_message is {NAMED} and" in process.output()
        assert f"or set command_message to {FLOATS}" in process.output()
        assert "Traceback" not in process.output()


@needs_it
def test_controller_gate_and_simulator_speak_it(namespace, make_peer):
    """Stamped efforts drive the arm through the gate; those from the past and by the wrong names are not passed."""
    kind, robot, at = effort_type(NAMED), rne.load_urdf("puma560"), f"{namespace}/named"
    common = ["--ros-args", "-r", f"__ns:={at}", "-p", "robot_description:=puma560", "-p", f"command_message:={NAMED}"]
    wide = ["-p", "state_timeout:=5.0"]
    simulator = [*common, "-p", "rate:=250.0", "-p", "on_command_timeout:=brake"]
    gate = [*common, *wide, "-p", "command_timeout:=2.0", "-p", "diagnostics_period:=0.5"]
    law = [*common, *wide, "-p", "state_lateness:=0.0", "-r", "effort_controller/commands:=effort_gate/commands"]
    peer = make_peer(robot.joint_names).node
    modes = {
        name: TopicRecorder(peer, String, f"{at}/{name}/state", 10, latched=True)
        for name in ("computed_torque_controller", "effort_gate")
    }
    passed = TopicRecorder(peer, kind, f"{at}/effort_controller/commands", 1000)
    with ForkedNode("simulator", simulator) as plant, ForkedNode("effort_gate", gate) as between, \
            ForkedNode("computed_torque_controller", law) as controller:
        processes = [plant, between, controller]
        for name, mode in (("computed_torque_controller", "holding"), ("effort_gate", "passing")):
            wait_until(lambda n=name, m=mode: newest(modes[n]) == m, 2.0 * START, f"{name} {mode}", processes)
        wait_until(lambda: passed.latest() is not None, START, "an effort", processes)
        message = passed.latest()
        assert (list(message.joint_names), message.interface_name) == (list(robot.joint_names), "effort")
        age = time.time() - message.header.stamp.sec - 1e-9 * message.header.stamp.nanosec
        assert abs(age) < START
        assert np.abs(message.values).max() > 5.0  # gravity


def newest(modes: TopicRecorder) -> str:
    modes.drain()
    return modes.decode(modes.samples[-1]).data if modes.samples else ""
