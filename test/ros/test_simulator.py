"""The simulator process and what one can do to it."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

import rne_dynamics as rne
from rne_dynamics.ros.messages.publishers import stamp_of
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.messages.topic_wait import OFFERED
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import PATIENCE, START, fresh

ROBOT = rne.load_urdf("puma560")
JOINTS = ["joint3", "joint1", "joint2", "joint4", "joint5", "joint6"]  # not the model's order, on purpose
START_AT = {"joint2": 0.2, "joint3": -0.4}


class Arm:
    """The simulator from outside."""

    def __init__(self, process, peer) -> None:
        self.process, self.peer = process, peer
        self.states = TopicRecorder(peer.node, JointState, "joint_states")
        self.clock = TopicRecorder(peer.node, Clock, "clock")
        self.commands = peer.node.create_publisher(Float64MultiArray, "effort_controller/commands", OFFERED)
        self.wrenches = peer.node.create_publisher(WrenchStamped, "simulator/wrench", 10)
        wait_until(lambda: self.states.latest() is not None and self.commands.get_subscription_count(), START,
                   "the simulator", [process])

    def now(self) -> JointState:
        """A state from after this call."""
        return fresh(self.states, [self.process])

    def call(self, name: str, request=None) -> object:
        kind = Trigger if request is None else SetBool
        # a step asked for twice would be two steps
        return self.peer.call(kind, f"simulator/{name}", request or Trigger.Request(), once=name == "step")

    def pause(self, yes: bool) -> None:
        assert self.call("pause", SetBool.Request(data=yes)).success

    def command(self, efforts: list[float]) -> None:
        self.commands.publish(Float64MultiArray(data=efforts))

    def command_until(self, efforts: list[float], happens: Callable[[JointState], object], what: str) -> None:
        """Repeat a command until it has an effect; one command may be lost or over before the effect is seen."""

        def seen() -> object:
            self.command(efforts)
            return happens(self.now())

        wait_until(seen, PATIENCE, what, [self.process])

    def hold(self, seconds: float) -> JointState:
        """Command gravity for so much of the arm's time; the last state."""
        end = stamp_of(self.now()) + round(seconds * 1e9)
        return self.hold_until(lambda state: stamp_of(state) >= end, f"{seconds} s")

    def hold_until(self, happens: Callable[[JointState], object], what: str) -> JointState:
        """Command gravity until something happens; the state in which it does."""

        def seen() -> object:
            state = self.states.latest()
            if state is None:
                return False
            tau = rne.gravity_torque(ROBOT, np.array(state.position))
            self.command([tau[2], tau[0], tau[1], *tau[3:]])
            return happens(state)

        wait_until(seen, PATIENCE, what, [self.process], period=0.001)
        return self.states.latest()

    def quiet(self) -> None:
        """Wait for the states that were sent before a pause."""
        while True:
            self.states.samples.clear()
            time.sleep(0.2)
            self.states.drain()
            if not self.states.samples:
                return


@pytest.fixture(scope="module")
def arm(start, make_peer):
    process = start(
        "simulator", robot_description="puma560", joints=JOINTS, rate=500.0, publish_clock=True,
        initial_position=START_AT, diagnostics_period=0.5,
        command_timeout=1.0,  # a busy computer brings commands late
    )
    return Arm(process, make_peer(ROBOT.joint_names))


@pytest.fixture(autouse=True)
def _fresh(arm):
    arm.pause(False)
    assert arm.call("reset").success


def test_the_arm_is_held_still_until_the_first_command(arm):
    first = arm.now()
    assert dict(zip(first.name, first.position, strict=True)) == {
        "joint1": 0.0, "joint2": 0.2, "joint3": -0.4, "joint4": 0.0, "joint5": 0.0, "joint6": 0.0
    }
    time.sleep(0.3)
    later = arm.now()
    assert later.position == first.position
    assert not any(later.velocity)


def test_stamps_advance_by_the_period_and_the_clock_with_them(arm):
    arm.now()
    wait_until(lambda: arm.states.latest() and len(arm.states.samples) > 100, PATIENCE, "states", [arm.process])
    stamps = [stamp_of(arm.states.decode(s)) for s in arm.states.samples]
    assert set(np.diff(stamps)) == {2_000_000}
    arm.clock.drain()
    clock = [(c.sec, c.nanosec) for c in (arm.clock.decode(s).clock for s in arm.clock.samples)]
    assert divmod(stamps[50], 1_000_000_000) in clock


def test_commands_are_in_the_order_of_the_joints_parameter(arm):
    arm.pause(True)
    arm.quiet()

    def stepped() -> bool:
        arm.command([10.0, -20.0, 30.0, 1.0, 2.0, 3.0])
        assert arm.call("step").success
        state = arm.states.latest()
        return state is not None and any(state.effort)

    wait_until(stepped, PATIENCE, "a state after the command", [arm.process])
    assert list(arm.states.latest().effort) == [-20.0, 30.0, 10.0, 1.0, 2.0, 3.0]


def test_commands_that_are_no_efforts_are_refused(arm):
    for bad in ([float("nan")] + [0.0] * 5, [0.0] * 5, []):
        arm.command(bad)
        time.sleep(0.1)
        message = arm.now()
        assert not any(message.velocity), "the brakes are still on"
        assert np.isfinite(message.position).all()


def test_with_gravity_torque_it_stays_without_effort_it_falls_and_a_reset_brakes_it_at_its_start(arm):
    stays = arm.hold(0.3)
    np.testing.assert_allclose(stays.position, [0.0, 0.2, -0.4, 0.0, 0.0, 0.0], atol=1e-3)
    arm.command_until([0.0] * 6, lambda state: abs(state.position[1] - 0.2) > 0.05, "the arm to fall")
    before = stamp_of(arm.now())
    assert arm.call("reset").success
    after = arm.now()
    assert after.position[1] == 0.2
    assert stamp_of(after) > before - 50_000_000, "time is set back a little"


def test_pause_stops_the_stream_and_step_gives_one_state_each(arm):
    assert not arm.call("step").success
    arm.pause(True)
    arm.quiet()
    time.sleep(0.1)
    arm.states.drain()
    assert arm.states.samples == []
    for _ in range(3):
        assert arm.call("step").success
    wait_until(lambda: arm.states.latest() and len(arm.states.samples) == 3, PATIENCE, "three states", [arm.process])
    arm.pause(False)
    arm.now()


def test_a_wrench_acts_from_its_stamp_on(arm):
    push = WrenchStamped()
    push.header.frame_id = "link1"
    begin = stamp_of(arm.hold(0.2)) + 600_000_000
    for after, torque in ((0, 80.0), (200_000_000, 0.0)):
        push.header.stamp.sec, push.header.stamp.nanosec = divmod(begin + after, 1_000_000_000)
        push.wrench.torque.z = torque
        arm.wrenches.publish(push)
    moving = arm.hold_until(lambda state: state.velocity[0] != 0.0, "the wrench")
    assert stamp_of(moving) > begin
    arm.hold_until(lambda state: state.velocity[0] == 0.0, "its end, after which friction stops the joint")
    push.header.stamp.sec += 100
    arm.wrenches.publish(push)
    wait_until(lambda: "s after the last joint state" in arm.process.output(), PATIENCE, "the refusal", [arm.process])


def test_of_a_stream_of_wrenches_the_newest_is_soon_in_force(arm):
    push = WrenchStamped()
    push.header.frame_id = "link1"
    push.wrench.torque.z = 0.1  # friction holds joint 1 against it
    arm.hold(0.1)
    for _ in range(90):
        arm.wrenches.publish(push)
        still = arm.hold(1.0 / 60.0)
    assert still.velocity[0] == 0.0
    push.wrench.torque.z = 80.0
    arm.pause(True)
    arm.wrenches.publish(push)

    def stepped() -> bool:
        tau = rne.gravity_torque(ROBOT, np.array(still.position))
        arm.command([tau[2], tau[0], tau[1], *tau[3:]])
        assert arm.call("step").success
        state = arm.states.latest()
        return state is not None and state.velocity[0] != 0.0

    steps = next(k for k in range(1000) if stepped())
    assert steps < 60, "not after the 90 before it, one a step"


def test_wrenches_on_unknown_links_and_nan_are_refused(arm):
    push = WrenchStamped()
    for frame, torque in (("no_such_link", 1.0), ("link1", float("nan"))):
        push.header.frame_id, push.wrench.torque.z = frame, torque
        arm.wrenches.publish(push)
    wait_until(lambda: arm.process.output().count("wrench refused") >= 2, PATIENCE, "two refusals", [arm.process])
    assert "link" in arm.process.output()
    assert np.isfinite(arm.hold(0.1).position).all()


def test_a_command_that_is_not_renewed_times_out(arm):
    arm.command_until([0.0, 60.0, 30.0, 0.0, 0.0, 0.0], lambda state: any(state.effort), "the command")
    wait_until(lambda: not any(arm.now().effort), PATIENCE, "the time-out", [arm.process])
