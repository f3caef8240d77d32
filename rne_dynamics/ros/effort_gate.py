"""The node `effort_gate`: between any effort controller and the driver, in a process of its own.

What is decided is decided in `EffortGate`; docs/effort_gate.md says what the gate covers and what it cannot.
"""

from __future__ import annotations

import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType

import numpy as np
from rclpy.parameter import Parameter as RosParameter
from rclpy.publisher import Publisher
from std_msgs.msg import String
from std_srvs.srv import Trigger

from rne_dynamics.control.gate.effort_gate import DRIVE_PERIOD, EffortGate
from rne_dynamics.control.gate.settings import (
    FAULT,
    PASSING,
    STOPPING,
    UNCONFIGURED,
    CommandProblem,
    GateEffort,
    GateMode,
    GateSettings,
)
from rne_dynamics.control.guards.effort_limits import EffortLimits
from rne_dynamics.control.guards.state_filter import StateLimits
from rne_dynamics.control.locked_joints import PERIOD, LockedJoints
from rne_dynamics.control.supervision.stop_plan import StopPlan
from rne_dynamics.errors import ControlError, RneDynamicsError, StateError
from rne_dynamics.model.mechanism import Machine
from rne_dynamics.ros.cdr import NANOSECONDS, stamp_in
from rne_dynamics.ros.clock_seen import MODES, ClockSeen, SeenPublisher, number_of, seen_topic
from rne_dynamics.ros.command_line import read_command_line
from rne_dynamics.ros.controller_parameters import (
    CONTROLLER,
    RATE_TIME,
    continuous,
    described_velocity,
    effort_scales,
    velocity_limits,
)
from rne_dynamics.ros.described_robot import endless, loaded, relocked
from rne_dynamics.ros.diagnostics import WARN, Diagnostics
from rne_dynamics.ros.effort_limits import effort_limits
from rne_dynamics.ros.effort_message import COMMAND_MESSAGE, effort_reader, effort_type
from rne_dynamics.ros.gate_loop import GateLoop
from rne_dynamics.ros.gate_report import GateReport, Neighbours
from rne_dynamics.ros.histogram import Histogram, Recent, percentile
from rne_dynamics.ros.hot_loop import LONGEST_WAIT
from rne_dynamics.ros.joint_map import Reading
from rne_dynamics.ros.lifecycle import LATCHED, ArmNode, payload
from rne_dynamics.ros.loop_clock import LoopClock
from rne_dynamics.ros.messages import EffortPublisher
from rne_dynamics.ros.node_executor import NodeExecutor
from rne_dynamics.ros.parameters import Parameter, Values, number, per_joint
from rne_dynamics.ros.process import run
from rne_dynamics.ros.state_reader import StateReader

#: Where a controller's efforts come in.
COMMANDS = "~/commands"
#: Shortest time between two lines of log about the same, s.
LOG_PERIOD = 10.0
#: Parameters of the controllers that mean the same here.
SHARED = (
    "state_timeout", "velocity_filter", "hardware_compensates", "effort_scale.{joint}", "stop.policy", "stop.hold_time",
    "stop.ramp_time", "stop.damping", "limits.{joint}.effort", "limits.{joint}.effort_rate", "limits.{joint}.velocity",
)  # fmt: skip

SCHEMA: tuple[Parameter, ...] = (
    Parameter("command_timeout", 0.02, "Age of the last good effort at which the gate takes over: a few periods of the "
              "controller.", "s", 0.001, 10.0),
    Parameter("recover_automatically", False, "Whether efforts are passed again after recover_after good ones in a "
              "row; otherwise ~/recover is needed. Not after ~/stop, nor after an overspeed in a take-over."),
    Parameter("recover_after", 100, "Good efforts in a row after which recover_automatically passes them.", "", 1,
              1_000_000),
    Parameter("hand_back_time", 0.5, "Time over which the gate's own effort fades into the controller's when a held "
              "arm is handed back.", "s", 0.0, 60.0),
    COMMAND_MESSAGE,
    *(replace(p, read_only=True) if p.name.startswith("effort_scale") else p for p in CONTROLLER if p.name in SHARED),
)


def gate_settings(robot: Machine, values: Values) -> GateSettings:
    """What the parameters make of a robot.

    Raises
    ------
    ParameterError, ControlError
        What does not fit together.
    """
    joints, effort = robot.joint_names, effort_limits(robot, values)
    rate = np.array(per_joint(values, "limits.{joint}.effort_rate", joints))
    compensated = values["hardware_compensates"]
    assert isinstance(compensated, tuple)  # the schema has seen to it
    return GateSettings(
        robot=robot,
        limits=EffortLimits(
            effort=effort, rate=np.where(rate > 0.0, rate, effort / RATE_TIME), velocity=velocity_limits(robot, values),
            lower=robot.lower, upper=robot.upper, margin=np.zeros(robot.n), joints=joints,
        ),
        states=StateLimits(
            velocity=described_velocity(robot), continuous=continuous(robot), timeout=number(values, "state_timeout"),
            filter_frequency=number(values, "velocity_filter"), joints=joints,
        ),
        stop=StopPlan(
            policy=values["stop.policy"],  # type: ignore[arg-type]  # one of its choices
            hold_time=number(values, "stop.hold_time"), ramp_time=number(values, "stop.ramp_time"),
            damping=number(values, "stop.damping"),
        ),
        command_timeout=number(values, "command_timeout"),
        compensated=frozenset(str(term) for term in compensated),
        recover_automatically=bool(values["recover_automatically"]),
        recover_after=int(number(values, "recover_after")),
        blend_time=number(values, "hand_back_time"),
    )


class EffortGateNode(ArmNode):
    """Messages to an `EffortGate` and back.

    Efforts on both topics are in the unit that the driver takes. Limits are those of the model's unit, N m or N, as for
    the controllers: `effort_scale` leads from one to the other.
    """

    _modes: Publisher | None = None
    _wait: GateLoop | None = None
    _hurried = False

    def __init__(self, overrides: Sequence[RosParameter] = ()) -> None:
        super().__init__("effort_gate", SCHEMA, overrides)

    # -- lifecycle ----------------------------------------------------------------------------------------------------

    def build(self, robot: Machine) -> None:
        """Everything that can be done once, before the first message."""
        joints, n = robot.joint_names, robot.n
        self.parameters.declare_joints(joints)
        values = self.parameters.values
        message = self.parameters.text("command_message")
        self.gate = EffortGate(gate_settings(robot, values), self._entered)
        self.gate.warm_up()
        self._account = GateReport(self.gate)
        self._reader, self._numbers = StateReader(joints, tuple(self.locked)), effort_reader(message, self.commanded)
        self._others = LockedJoints(self.locked, endless(self.found.free))
        self._q, self._qd, self._reported = np.zeros(n), np.zeros(n), np.zeros(n)
        self._order = np.array([self.commanded.index(joint) for joint in joints], dtype=np.intp)
        self.efforts = EffortPublisher(self, self.commanded, joints, effort_scales(robot, values), message)
        self._modes = self.keep(self.create_publisher(String, "~/state", LATCHED))
        self.diagnostics = Diagnostics(self)
        self._latency = Histogram()
        self._recent = Recent(self._latency)
        self.clock, self._taken, self._stamp, self._command = LoopClock(self), 0, 0, 0
        self._seen = SeenPublisher(self, seen_topic(self)) if self.clock.simulated else None
        self._wait = GateLoop(
            self, COMMANDS, effort_type(message), "joint_states", self._on_command, self._on_state, self.clock,
            self._on_time,
        )
        if self.clock.subscription is not None:
            self.keep(self.clock.subscription)
        self.keep(self._wait.commands)
        self.keep(self._wait.states)
        for name, action in (("stop", self._on_stop), ("recover", self._on_recover)):
            self.keep(self.create_service(Trigger, f"~/{name}", action))
        if self.locked:
            self.every(PERIOD, self._follow_locked)
        self.every(self.parameters.number("diagnostics_period"), self._report)
        self.parameters.enable_changes(self._changed)
        self._say(self.gate.mode)

    def begin(self) -> None:
        """Wait for joint states and for a controller."""
        self.clock.ending = False
        self.gate.activate(self.clock.now())

    def end(self) -> None:
        """Hold the arm, release it and send zeros, if any effort was sent."""
        gate = self.gate
        if gate.mode in (PASSING, STOPPING):
            self.get_logger().info("stopping: the gate holds the arm and releases it; a second signal lets go at once")
        try:
            self.clock.ending = True
            gate.stop(self.clock.now(), "deactivated", ending=True)
            while gate.mode is STOPPING and not self.finished:
                if self._hurried:
                    gate.let_go(self.clock.now(), "a second signal has come")
                self._turn(DRIVE_PERIOD)
        finally:
            if gate.counters.passed or gate.counters.own:
                self.efforts.release()
                self.get_logger().info("stopped: the arm is released")

    def stop(self) -> None:
        """As the base; a further SIGINT or SIGTERM meanwhile brings the effort to zero at once."""
        with noticed(self._hurry):
            super().stop()

    def _hurry(self) -> None:
        self._hurried = True

    def release(self) -> None:
        """As the base; whoever looks at ``~/state`` sees it."""
        self._say(UNCONFIGURED)
        self._modes = self._wait = None
        super().release()

    # -- the hot path -------------------------------------------------------------------------------------------------

    def turn(self, executor: NodeExecutor) -> None:
        """One turn of the process's loop."""
        if self._wait is None:
            super().turn(executor)
            return
        pause = self._turn(LONGEST_WAIT)
        if self._wait is not None:
            self._wait.serve(executor, pause=pause)

    def _turn(self, longest: float) -> bool:
        """Wait for messages and serve them; whether a command was among them. An unforeseen error releases the arm."""
        assert self._wait is not None
        gate, now = self.gate, self.clock.now()
        steady = not self.clock.simulated
        try:
            command = self._wait.turn(gate.deadline(now + longest) - now if steady else longest)
            if steady or self.clock.running_on:  # a simulated time does what is due when it comes
                self._send(gate.tick(self.clock.now()))
        except Exception:  # noqa: BLE001 whatever it was, the last effort must not stay
            self.get_logger().error(
                f"internal error, the arm is released:\n{traceback.format_exc()}", throttle_duration_sec=LOG_PERIOD
            )
            self._let_go()
            return False
        return command

    def _let_go(self) -> None:
        """Zero at the effort rate; where that fails too, zeros at once, and the process ends."""
        try:
            now = self.clock.now()
            self.gate.let_go(now, "internal error, see the log")
            self._send(self.gate.tick(now))
        except Exception:  # noqa: BLE001 as above
            self.get_logger().fatal(f"internal error, zeros are sent at once:\n{traceback.format_exc()}")
            self.efforts.release()
            self.finished, self.exit_code = True, 1

    def _on_time(self) -> None:
        """A simulated time has come."""
        self._send(self.gate.tick(self.clock.now()))
        self._acknowledge()

    def _acknowledge(self) -> None:
        """Report to a simulation in lock-step what has been dealt with."""
        if self._seen is not None and self._wait is not None:
            self._seen.publish(ClockSeen(
                self._seen.node, self.clock.stamp, self._taken, self.efforts.count, MODES.index(self.gate.mode.value),
                self._stamp, number_of(self.efforts.topic), number_of(self._wait.commands.topic_name), self._command,
            ))

    def _on_command(self, data: bytes, sequence: int) -> None:
        if self.clock.started:
            self._take_command(data)
        self._taken, self._command = self._taken + 1, sequence
        self._acknowledge()

    def _on_state(self, data: bytes, sequence: int | None) -> None:
        if self.clock.started:
            self._take_state(data, sequence)
        self._taken, self._stamp = self._taken + 1, stamp_in(data)
        self._acknowledge()

    def _take_command(self, data: bytes) -> None:
        arrived, now = time.monotonic(), self.clock.now()
        try:
            effort = self._numbers.read(data)
        except ControlError as error:
            self.gate.refuse(CommandProblem.UNREADABLE, str(error))
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
        self.gate.refuse(
            CommandProblem.TOO_OLD,
            f"stamp is {age:.3f} s old; at most {longest:g} s (command_timeout) are allowed, either way: check the "
            "delay, and that both computers have the same time",
        )
        return True

    def _take_state(self, data: bytes, sequence: int | None) -> None:
        now = self.clock.now()
        reader = self._reader
        try:
            reading = reader.read(data, self._q, self._qd, self._reported)
        except StateError as error:
            self.gate.states.refuse(error)
            return
        if reading is not Reading.FOREIGN:
            missing = reading is Reading.NO_VELOCITY
            self._send(self.gate.observe(
                reader.stamp, now, self._q, self._qd, velocity_missing=missing, sequence=sequence
            ))

    def _send(self, effort: GateEffort | None) -> None:
        if effort is None:
            return
        self.efforts.publish(effort.command)
        if effort.last:
            self.efforts.release()

    # -- requests -----------------------------------------------------------------------------------------------------

    def _asked(self, response: Trigger.Response, what: Callable[[], None]) -> Trigger.Response:
        try:
            what()
            response.success, response.message = True, self.gate.mode.value
        except RneDynamicsError as error:
            response.success, response.message = False, str(error)
        return response

    def _on_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self._asked(response, lambda: self.gate.stop(self.clock.now(), "~/stop was called"))

    def _on_recover(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self._asked(response, lambda: self.gate.recover(self.clock.now()))

    def _changed(self, values: Values) -> Callable[[], None]:
        settings = gate_settings(loaded(self.bare_robot, payload(values)), values)
        return lambda: self.gate.adopt(settings)

    def _follow_locked(self) -> None:
        """Lock the joints of the robot that are not controlled where they are."""
        positions = self._others.update(time.monotonic(), self._reader.others())
        if positions:
            try:
                self.take(relocked(self.found, positions))
                self._changed(self.parameters.values)()
            except RneDynamicsError as error:
                self.get_logger().warning(
                    f"no model with {self._others.report(time.monotonic())}: {error}", throttle_duration_sec=LOG_PERIOD
                )

    # -- reports ------------------------------------------------------------------------------------------------------

    def _entered(self, mode: GateMode, cause: str) -> None:
        text = f"{mode.value}: {cause}" if cause else mode.value
        if mode is FAULT:  # one line for each severity: rclpy tells calls apart by their place
            self.get_logger().error(text)
        elif mode is STOPPING:
            self.get_logger().warning(text)
        else:
            self.get_logger().info(text)
        self._say(mode)

    def _say(self, mode: GateMode) -> None:
        if self._modes is not None:
            self._modes.publish(String(data=mode.value))

    def _report(self) -> None:
        assert self._wait is not None
        neighbours = Neighbours(
            self.count_publishers(self._wait.commands.topic_name),
            self.count_publishers(self.efforts.topic) - 1, self.count_subscribers(self.efforts.topic),
        )
        level, message, values = self._account.next(self.clock.now(), neighbours)
        if level == WARN:
            self.diagnostics.warn(message)
        recent = self._recent.next()
        self.diagnostics.publish(level, message, values | {
            "locked joints": self._others.report(time.monotonic()),
            "time to pass an effort p50 (ms)": 1e3 * percentile(recent, 50.0),
            "time to pass an effort p99 (ms)": 1e3 * percentile(recent, 99.0),
        })
        self.collect_garbage()


@contextmanager
def noticed(what: Callable[[], None]) -> Iterator[None]:
    """Call `what` at each SIGINT and SIGTERM, after whatever handles them already."""
    before = {which: signal.getsignal(which) for which in (signal.SIGINT, signal.SIGTERM)}

    def handle(which: int, frame: FrameType | None) -> None:
        first = before[signal.Signals(which)]
        if callable(first):
            first(which, frame)
        what()

    for which in before:
        signal.signal(which, handle)
    try:
        yield
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; returns the exit code."""
    read_command_line("effort_gate", __doc__, EffortGateNode.all_parameters(SCHEMA), argv)
    return run(EffortGateNode, argv)


if __name__ == "__main__":
    raise SystemExit(main())
