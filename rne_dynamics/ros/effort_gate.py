"""The node `effort_gate`: between any effort controller and the driver, in a process of its own.

Decisions are made by `EffortGate`; docs/effort_gate.md describes what the gate covers and what it cannot.
"""

from __future__ import annotations

import gc
import math
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from rclpy.parameter import Parameter as RosParameter
from sensor_msgs.msg import JointState

from rne_dynamics.control.effort_gate import DRIVE_PERIOD, EffortGate
from rne_dynamics.control.gate_parts import (
    FAULT,
    PASSING,
    STOPPING,
    CommandProblem,
    GateEffort,
    GateMode,
    GateSettings,
)
from rne_dynamics.control.guards.state_limits import StateLimits
from rne_dynamics.control.motion.limits import continuous, described_velocity
from rne_dynamics.control.supervision.states import StopPlan
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.errors import ControlError, StateError
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.loop.hot_loop import LONGEST_WAIT, SERVICE_PERIOD, STANDSTILL, LoopClock, NodeExecutor
from rne_dynamics.ros.loop.statistics import Histogram, percentile
from rne_dynamics.ros.messages.answers import SeenPublisher, number_of, seen_topic
from rne_dynamics.ros.messages.cdr import stamp_in
from rne_dynamics.ros.messages.joint_states import NO_VELOCITY, OTHER_JOINTS, StateReader
from rne_dynamics.ros.messages.publishers import COMMAND_MESSAGE, EffortPublisher, effort_reader, effort_type
from rne_dynamics.ros.messages.topic_wait import NEWEST, TopicWait, polled_subscription, take
from rne_dynamics.ros.node.command_line import read_command_line
from rne_dynamics.ros.node.diagnostics import LOG_PERIOD, WARN, News, gate_status
from rne_dynamics.ros.node.driving import DrivingNode
from rne_dynamics.ros.node.process import run
from rne_dynamics.ros.parameters.controller import CONTROLLER, effort_scales, limits_of
from rne_dynamics.ros.parameters.files import Parameter, Values, declared_parameters, filled
from rne_dynamics.ros.parameters.table import payload

#: Parameters with the same meaning as those of the controllers.
SHARED = (
    "state_timeout", "velocity_filter", "hardware_compensates", "effort_scale.{joint}", "stop.policy", "stop.hold_time",
    "stop.ramp_time", "stop.damping", "limits.{joint}.effort", "limits.{joint}.effort_rate", "limits.{joint}.velocity",
)  # fmt: skip

SCHEMA: tuple[Parameter, ...] = (
    *declared_parameters(GateSettings, ""),
    COMMAND_MESSAGE,
    *(replace(p, read_only=True) if p.name.startswith("effort_scale") else p for p in CONTROLLER if p.name in SHARED),
)


def gate_settings(robot: RigidRobot, values: Values) -> GateSettings:
    """Settings of the gate for a robot. Raises ParameterError, ControlError: the parameters do not fit together."""
    return filled(
        GateSettings, values, "",
        robot=robot,
        limits=limits_of(robot, values, margin=np.zeros(robot.n)),
        states=filled(
            StateLimits, values, "", velocity=described_velocity(robot), continuous=continuous(robot),
            joints=robot.joint_names,
        ),
        stop=filled(StopPlan, values, "stop."),
        compensated=frozenset(values["hardware_compensates"]),
    )


#: Topic of a controller's efforts.
COMMANDS = "~/commands"


class EffortGateNode(DrivingNode):
    """Connects an `EffortGate` to its topics: efforts in the driver's unit, limits in the model's, N m or N."""

    _messages: TopicWait | None = None

    def __init__(self, overrides: Sequence[RosParameter] = ()) -> None:
        super().__init__("effort_gate", SCHEMA, overrides)

    # -- lifecycle ----------------------------------------------------------------------------------------------------

    def build(self, robot: RigidRobot) -> None:
        """Everything that can be done once, before the first message."""
        joints, n = robot.joint_names, robot.n
        self.parameters.declare_joints(joints)
        values = self.parameters.values
        message = self.parameters["command_message"]
        self.gate = EffortGate(gate_settings(robot, values), self._entered)
        self.gate.warm_up()
        self._news = News()
        self._reader, self._numbers = StateReader(joints, tuple(self.locked)), effort_reader(message, self.commanded)
        self._q, self._qd, self._reported = np.zeros(n), np.zeros(n), np.zeros(n)
        self._order = np.array([self.commanded.index(joint) for joint in joints], dtype=np.intp)
        self.efforts = EffortPublisher(self, self.commanded, joints, effort_scales(robot, values), message)
        self._latency = Histogram()
        self.clock, self._taken, self._stamp, self._command, self._service_at = LoopClock(self), 0, 0, 0, 0.0
        self._seen = (
            SeenPublisher(self, seen_topic(self), self.clock, self.efforts) if self.clock.simulated else None
        )
        self._command_type = effort_type(message)
        self._commands = polled_subscription(self, self._command_type, COMMANDS, NEWEST, raw=True)
        self._states = polled_subscription(self, JointState, "joint_states", NEWEST, raw=True)
        self._messages = TopicWait(
            self, *map(self.keep, (self._commands, self._states, *self.clock.subscriptions))
        )
        self.open(lambda: self.gate.mode, {
            "stop": lambda request: self.gate.stop(self.clock.now(), "~/stop was called"),
            "recover": lambda request: self.gate.recover(self.clock.now()),
        }, report=self._report, changed=self._changed, follow_locked=self._follow_locked)  # fmt: skip

    def begin(self) -> None:
        """Wait for joint states and for a controller."""
        self.clock.patience = math.inf
        self.gate.activate(self.clock.now())

    def end(self) -> None:
        """Hold the arm, release it and send zeros, if any effort was sent."""
        gate = self.gate
        if gate.mode in (PASSING, STOPPING):
            self.get_logger().info("stopping: the gate holds the arm and releases it; a second signal does so at once")
        try:
            self.clock.patience = STANDSTILL
            gate.stop(self.clock.now(), "deactivated", ending=True)
            while gate.mode is STOPPING and not self.finished:
                if self.signalled_again():
                    self.clock.hurry()
                    gate.let_go(self.clock.now(), "a second signal has come")
                self._turn(DRIVE_PERIOD)
        finally:
            if gate.counters.passed or gate.counters.own:
                self.efforts.release()
                self.get_logger().info("stopped: the arm is released")

    def release(self) -> None:
        """As the base, and wait for messages no more."""
        self._messages = None
        super().release()

    # -- the hot path -------------------------------------------------------------------------------------------------

    def turn(self, executor: NodeExecutor) -> None:
        """One turn of the process's loop; the executor does one thing after a command, or if none has come for long."""
        if self._messages is None:
            super().turn(executor)
            return
        pause, now = self._turn(LONGEST_WAIT), time.monotonic()
        due = now >= self._service_at and (pause or now >= self._service_at + SERVICE_PERIOD)
        if due and not executor.serve(now):
            self._service_at = now + SERVICE_PERIOD

    def _turn(self, longest: float) -> bool:
        """Wait for messages and serve them; whether a command was among them. An internal error releases the arm."""
        assert self._messages is not None
        gate, now = self.gate, self.clock.now()
        steady = not self.clock.simulated
        try:
            self._messages.wait(gate.deadline(now + longest) - now if steady else longest)
            command = take(self._commands, self._command_type, raw=True)  # first: it must not wait for a joint state
            if command is not None:
                self._on_command(command[0], command[1].get("publication_sequence_number", 0))
            state = take(self._states, JointState, raw=True)
            if state is not None:
                self._on_state(state[0], state[1].get("publication_sequence_number"))
            if self.clock.take():
                self._send(gate.tick(self.clock.now()))
                self._acknowledge()
            if steady or self.clock.running_on:  # simulated time: done when the next time comes
                self._send(gate.tick(self.clock.now()))
        except Exception:  # noqa: BLE001 logged, and the arm is released
            self.get_logger().error(
                f"internal error, the arm is released:\n{traceback.format_exc()}", throttle_duration_sec=LOG_PERIOD
            )
            self._release_arm()
            return False
        return command is not None

    def _release_arm(self) -> None:
        """Bring the effort to zero at its rate; if that fails too, send zeros at once and end the process."""
        try:
            now = self.clock.now()
            self.gate.let_go(now, "internal error, see the log")
            self._send(self.gate.tick(now))
        except Exception:  # noqa: BLE001 as above
            self.get_logger().fatal(f"internal error, zeros are sent at once:\n{traceback.format_exc()}")
            self.efforts.release()
            self.finished, self.exit_code = True, 1

    def _acknowledge(self) -> None:
        """Acknowledge to a simulation in lock-step."""
        if self._seen is not None:
            self._seen.publish(
                self.gate.mode, self._taken, self._stamp, source=number_of(self._commands.topic_name),
                commands=self._command,
            )

    def _on_command(self, data: bytes, sequence: int) -> None:
        if self.clock.started:
            self._take_command(data)
        self._taken, self._command = self._taken + 1, sequence
        self._acknowledge()

    def _on_state(self, data: bytes, sequence: int | None) -> None:
        now, reader = self.clock.now(), self._reader
        if self.clock.started:
            try:
                reading = reader.read(data, self._q, self._qd, self._reported)
            except StateError as error:
                self.gate.states.refuse(error)
            else:
                if reading != OTHER_JOINTS:
                    self._send(self.gate.observe(
                        reader.stamp, now, self._q, self._qd, velocity_missing=reading == NO_VELOCITY, sequence=sequence
                    ))
        self._taken, self._stamp = self._taken + 1, stamp_in(data)
        self._acknowledge()

    def _take_command(self, data: bytes) -> None:
        arrived, now = time.monotonic(), self.clock.now()
        try:
            effort = self._numbers.read(data)
        except ControlError as error:
            self.gate.commands.refuse(CommandProblem.UNREADABLE, str(error))
            return
        if self._numbers.stamp and self._too_old(self._numbers.stamp):
            return
        if effort.shape == self._order.shape:
            effort = effort[self._order]
            if self.efforts.scaled:
                effort /= self.efforts.scale
        passed = self.gate.command(now, effort)
        if passed is not None:
            self.efforts.publish(passed.command)
            self._latency.add(time.monotonic() - arrived)

    def _too_old(self, stamp: int) -> bool:
        """Whether a command sent at `stamp`, ns, is older than `command_timeout`, or as far ahead; refuses it then."""
        age = (self.get_clock().now().nanoseconds - stamp) / NANOSECONDS
        longest = self.gate.settings.command_timeout
        if abs(age) <= longest:
            return False
        self.gate.commands.refuse(
            CommandProblem.TOO_OLD,
            f"stamp is {age:.3f} s old; at most {longest:g} s (command_timeout) are allowed, either way: check the "
            "delay, and that both computers have the same time",
        )
        return True

    def _send(self, effort: GateEffort | None) -> None:
        if effort is None:
            return
        self.efforts.publish(effort.command)
        if effort.last:
            self.efforts.release()

    # -- requests -----------------------------------------------------------------------------------------------------

    def _changed(self, values: Values) -> Callable[[], None]:
        settings = gate_settings(self.bare_robot.with_payload(payload(values)), values)
        return lambda: self.gate.adopt(settings)

    def _follow_locked(self) -> None:
        """Lock the joints that are not controlled at their measured positions."""
        if why := self.relock(self.others, self._reader.others(), self._changed):
            self.get_logger().warning(why, throttle_duration_sec=LOG_PERIOD)

    # -- reports ------------------------------------------------------------------------------------------------------

    def _entered(self, mode: GateMode, cause: str) -> None:
        self.enter(mode, cause, error=mode is FAULT, warning=mode is STOPPING)

    def _report(self) -> None:
        level, message, values = gate_status(
            self.gate, self._news, self.clock.now(), commanders=self.count_publishers(self._commands.topic_name),
            bypasses=self.count_publishers(self.efforts.topic) - 1,
            listeners=self.count_subscribers(self.efforts.topic),
        )
        if level == WARN:
            self.diagnostics.warn(message)
        recent = self._latency.recent()
        self.diagnostics.publish(level, message, values | {
            "locked joints": self.others.report(time.monotonic()),
            "time to pass an effort p50 (ms)": 1e3 * percentile(recent, 50.0),
            "time to pass an effort p99 (ms)": 1e3 * percentile(recent, 99.0),
        })
        gc.collect()  # 0.03 ms, because the start's objects are frozen


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; returns the exit code."""
    read_command_line("effort_gate", __doc__, EffortGateNode.all_parameters(SCHEMA), argv)
    return run(EffortGateNode, argv)


if __name__ == "__main__":
    raise SystemExit(main())
