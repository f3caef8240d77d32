"""The node `effort_gate` in front of a simulated arm whose drives keep the last effort for ever, as most drives do.

What happens is tested here, with time-outs that a busy machine keeps; how soon is tested in one process, in
`test/unit/control/gate/test_effort_gate.py`.
"""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from rclpy.parameter import Parameter as RosParameter
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from support.forked import ForkedNode

import rne_dynamics as rne
from rne_dynamics.compiling.jit import COMPILED
from rne_dynamics.control.gate_parts import FAULT, PASSING
from rne_dynamics.control.thresholds import LOCK_PERIOD
from rne_dynamics.errors import ModelError
from rne_dynamics.ros.effort_gate import EffortGateNode
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.messages.topic_wait import OFFERED
from rne_dynamics.ros.sessions.processes import NodeProcess, wait_until

from .peer import PATIENCE, START

ROBOT = rne.load_urdf("puma560")
Q = np.array([0.2, -0.4, 0.3, 0.1, 0.5, 0.0])
HELD = rne.gravity_torque(ROBOT, Q)
#: Patient, so that a pause of this machine is no silent controller.
TIMEOUT = 2.0
STOP = {"hold_time": 0.2, "ramp_time": 0.2}


class Bench:
    """A simulated arm, a gate, and whatever sends efforts to the gate."""

    def __init__(self, peer, namespace: str) -> None:
        self.peer, self.namespace = peer, namespace
        start = [w for j, q in zip(ROBOT.joint_names, Q, strict=True) for w in ("-p", f"initial_position.{j}:={q}")]
        self.simulator = ForkedNode("simulator", [
            *self.arguments(), "-p", "rate:=250.0", "-p", "command_timeout:=0.0", *start,
        ])  # fmt: skip
        given = {"command_timeout": TIMEOUT, "state_timeout": 2.0 * TIMEOUT, "diagnostics_period": 0.5}
        given |= {f"stop.{name}": value for name, value in STOP.items()}
        self.gate = ForkedNode("effort_gate", [
            *self.arguments(), *(w for name, value in given.items() for w in ("-p", f"{name}:={value}")),
        ], {"RNE_DYNAMICS_SHOW_CACHE": "1", "PYTHONUNBUFFERED": "1"})  # fmt: skip
        self.processes = [self.simulator, self.gate]
        self.reports = TopicRecorder(peer.node, DiagnosticArray, "/diagnostics", 20)
        self.commands = peer.node.create_publisher(Float64MultiArray, "effort_gate/commands", OFFERED)

        self._begun = 0

    def restart(self) -> None:
        """The arm at its start, held by its brakes; the gate waits, and has said nothing."""
        for process in self.processes[2:]:
            process.signal(signal.SIGKILL)
            process.stop()
        del self.processes[2:]
        if self.peer.lifecycle_state("effort_gate") == "inactive":
            assert self.peer.transition("effort_gate", Transition.TRANSITION_ACTIVATE)
        assert self.peer.call(Trigger, "effort_gate/stop", Trigger.Request()).success
        wait_until(lambda: self.peer.mode("effort_gate") in ("released", "fault"), PATIENCE, "the stop", self.processes)
        assert self.peer.call(Trigger, "simulator/reset", Trigger.Request()).success
        self.peer.recover("effort_gate")
        self.await_mode("waiting")
        self.peer.efforts()
        self.reports.drain()
        self.reports.samples.clear()
        self._begun = len(self.gate.output())

    def log(self) -> str:
        """What the gate has said since the arm was set up, or restarted."""
        return self.gate.output()[self._begun:]

    def arguments(self) -> list[str]:
        return ["--ros-args", "-r", f"__ns:={self.namespace}", "-p", "robot_description:=puma560"]

    def controller(self) -> NodeProcess:
        self.processes.append(ForkedNode("computed_torque_controller", [
            *self.arguments(), "-r", "effort_controller/commands:=effort_gate/commands",
            "-p", "startup_check.duration:=0.0", "-p", "state_timeout:=5.0",
        ]))  # fmt: skip
        return self.processes[-1]

    def await_mode(self, mode: str, seconds: float = PATIENCE) -> None:
        wait_until(lambda: self.peer.mode("effort_gate") == mode, seconds, f"{mode}; {self.gate.output()}",
                   [self.simulator])

    def ready(self) -> None:
        wait_until(self.commands.get_subscription_count, START, "the gate's topic", self.processes)
        self.await_mode("waiting", START)

    def feed(self, effort: np.ndarray, seconds: float) -> None:
        """A third-party controller: plain messages, every 4 ms."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.commands.publish(Float64MultiArray(data=[float(value) for value in effort]))
            time.sleep(0.004)

    def feed_until(self, mode: str, effort: np.ndarray = HELD) -> None:
        until = time.monotonic() + PATIENCE
        while self.peer.mode("effort_gate") != mode and time.monotonic() < until:
            self.feed(effort, 0.02)
        assert self.peer.mode("effort_gate") == mode, self.gate.output()

    def feed_until_sent(self, expected: np.ndarray, joints: slice = slice(None)) -> None:
        """Feed `HELD` until the gate sends `expected` to these joints."""
        sent: list[np.ndarray] = []
        until = time.monotonic() + PATIENCE
        while not (sent and np.allclose(sent[-1][joints], expected, rtol=0.0, atol=1e-12)) and time.monotonic() < until:
            self.feed(HELD, 0.02)
            sent += self.peer.efforts()
        np.testing.assert_allclose(sent[-1][joints], expected, atol=1e-12)

    def said(self, level: bytes, words: str) -> bool:
        self.reports.drain()
        name = f"{self.namespace}/effort_gate"
        statuses = [s for sample in self.reports.samples for s in self.reports.decode(sample).status if s.name == name]
        return any(s.level == level and words in s.message for s in statuses)

    def close(self) -> None:
        for process in reversed(self.processes):
            process.stop()


@pytest.fixture(scope="module")
def bench(make_peer, namespace):
    """An arm and its gate; the last test of the module ends the gate."""
    bench = Bench(make_peer(ROBOT.joint_names), namespace)
    bench.ready()
    yield bench
    bench.close()


@pytest.fixture
def arm(bench) -> Bench:
    bench.restart()
    return bench


def assert_taken_over(arm: Bench) -> None:
    """The arm is held and released, and zeros are the last efforts."""
    wait_until(lambda: arm.peer.mode("effort_gate") in ("stopping", "fault"), PATIENCE, "the take-over", [arm.gate])
    arm.await_mode("fault")
    time.sleep(0.2)
    efforts = np.array(arm.peer.efforts())
    assert not efforts[-1].any()
    assert np.isfinite(efforts).all()
    assert (np.abs(efforts) <= ROBOT.effort_limit).all()
    assert "command_timeout" in arm.log()
    arm.feed(HELD, 0.1)
    assert arm.peer.efforts() == [], "silent until ~/recover"


@pytest.mark.slow
def test_a_controller_of_ours_that_is_killed_is_replaced(arm):
    controller = arm.controller()
    arm.await_mode("passing", START)
    time.sleep(0.5)
    assert arm.peer.efforts()
    controller.signal(signal.SIGKILL)
    assert_taken_over(arm)


def test_the_gate_takes_over_from_a_silent_controller_and_hands_back_on_request(arm):
    assert arm.peer.efforts() == [], "silent before the first effort"
    ready = len(arm.gate.output())
    arm.feed_until("passing")
    arm.feed_until_sent(HELD)
    assert_taken_over(arm)
    arm.peer.recover("effort_gate")
    arm.await_mode("waiting")
    assert arm.peer.efforts() == []
    arm.feed_until("passing")
    wait_until(lambda: arm.said(b"\x02", "no good effort"), PATIENCE, "the error on /diagnostics", [arm.gate])
    text = arm.gate.output()
    assert "[cache]" in text[:ready] or not COMPILED
    assert "[cache]" not in text[ready:], "nothing is compiled or loaded once the gate is active"


def test_a_stop_on_request_releases_the_arm_whatever_the_controller_sends(arm):
    arm.feed_until("passing")
    client = arm.peer.client(Trigger, "effort_gate/stop")
    future = client.call_async(Trigger.Request())
    arm.feed_until("released")
    arm.peer.executor.spin_until_future_complete(future, 5.0)
    assert future.result().success
    time.sleep(0.1)
    assert not np.any(arm.peer.efforts()[-1])
    arm.feed(HELD, 0.2)
    assert arm.peer.efforts() == []


def test_limits_change_live_and_the_effort_scale_does_not(arm):
    arm.feed_until("passing")
    assert arm.peer.set_parameters("effort_gate", limits__joint2__effort=20.0).successful
    arm.feed_until_sent(np.clip(HELD[1:2], -20.0, 20.0), slice(1, 2))
    refused = arm.peer.set_parameters("effort_gate", effort_scale__joint2=3.0)
    assert not refused.successful
    assert arm.peer.set_parameters("effort_gate", limits__joint2__effort=0.0).successful


def test_a_controller_that_bypasses_the_gate_is_warned_about(arm):
    past = arm.peer.node.create_publisher(Float64MultiArray, "effort_controller/commands", OFFERED)
    wait_until(lambda: arm.said(b"\x01", "past the gate"), PATIENCE, "the warning", [arm.gate])
    arm.peer.node.destroy_publisher(past)


def test_a_deactivated_gate_releases_the_arm(arm):
    arm.feed_until("passing")
    assert arm.peer.transition("effort_gate", Transition.TRANSITION_DEACTIVATE)
    assert arm.peer.lifecycle_state("effort_gate") == "inactive"
    time.sleep(0.1)
    assert not np.any(arm.peer.efforts()[-1])


def test_a_second_signal_lets_go_at_once(arm):
    """The gate is gone afterwards."""
    assert arm.peer.set_parameters("effort_gate", stop__hold_time=60.0).successful
    arm.feed_until("passing")
    arm.gate.signal(signal.SIGINT)
    arm.await_mode("stopping")
    time.sleep(0.3)
    assert np.abs(arm.peer.efforts()[-1]).max() > 1.0, "held"
    began = time.monotonic()
    arm.gate.signal(signal.SIGINT)
    assert arm.gate.wait(PATIENCE) == 0, arm.gate.output()
    assert time.monotonic() - began < 10.0, "not the 60 s of stop.hold_time"
    assert not np.any(arm.peer.efforts()[-1])


@pytest.fixture
def node():
    """The node in this process, without its loop, which passes the efforts for an arm at rest."""
    gate = EffortGateNode([RosParameter("robot_description", value="puma560")])
    gate.trigger_configure()
    gate.trigger_activate()
    now = time.monotonic()
    for k in range(20):
        gate.gate.observe(10**18 + k * 10**6, now - 0.02 + 1e-3 * k, Q.copy(), np.zeros(6))
    gate._send(gate.gate.command(now, HELD))
    assert gate.gate.mode is PASSING
    yield gate
    gate.destroy_node()


@pytest.mark.slow
def test_joints_that_are_left_out_are_locked_where_they_are_measured(monkeypatch, capfd):
    """A shoulder that is not controlled but pitched: gravity of the joints behind it is the one there."""
    names = list(ROBOT.joint_names)
    driven = [name for name in names if name != "joint2"]
    gate = EffortGateNode([
        RosParameter("robot_description", value="puma560"), RosParameter("joints", value=driven),
    ])  # fmt: skip
    gate.trigger_configure()
    gate.trigger_activate()
    for k in range(3):
        message = JointState(name=names, position=Q.tolist(), velocity=[0.0] * 6)
        message.header.stamp.sec, message.header.stamp.nanosec = 1000, k * 10**6
        gate._on_state(serialize_message(message), None)
    gate._follow_locked()
    there = [names.index(name) for name in driven]
    held = rne.gravity_torque(gate.gate.settings.robot, Q[there])
    np.testing.assert_allclose(held, HELD[there], atol=1e-9)

    def refused(*arguments: object) -> None:
        raise ModelError("loops do not close")

    monkeypatch.setattr("rne_dynamics.ros.node.lifecycle.relocked", refused)
    monkeypatch.setattr("rne_dynamics.ros.effort_gate.LOG_PERIOD", 0.0)
    message.position[1] += 0.1
    for k in range(2):
        message.header.stamp.sec = 1002 + k
        gate._on_state(serialize_message(message), None)
        time.sleep(LOCK_PERIOD)
        gate._follow_locked()
    assert capfd.readouterr().err.count("loops do not close") == 2, "as long as there is none"
    gate.destroy_node()


def test_an_unforeseen_error_releases_the_arm_and_is_logged_with_its_traceback(node, monkeypatch, capfd):
    monkeypatch.setattr(node._messages, "wait", lambda longest: 1 / 0)
    until = time.monotonic() + 5.0
    while node.gate.mode is not FAULT and time.monotonic() < until:
        node._turn(0.01)
    assert node.gate.mode is FAULT
    assert not node.efforts._values.any()
    assert not node.finished
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_an_error_in_that_too_sends_zeros_at_once_and_ends_the_process(node, monkeypatch, capfd):
    monkeypatch.setattr(node.gate, "tick", lambda now: 1 / 0)
    node._turn(0.01)
    assert not node.efforts._values.any()
    assert node.finished
    assert node.exit_code == 1
    assert "zeros are sent at once" in capfd.readouterr().err
