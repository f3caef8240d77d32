"""Base of the two controllers: messages to a `Supervisor` and back. What is decided is decided there."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable

import numpy as np
from rclpy.executors import Executor
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

from rne_dynamics.control.locked_joints import PERIOD, LockedJoints
from rne_dynamics.control.supervision.output import Effort
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.states import DRIVING, SILENT, STOPPING, Mode
from rne_dynamics.control.supervision.supervisor import Supervisor
from rne_dynamics.errors import RneDynamicsError, StateError
from rne_dynamics.model.mechanism import Machine
from rne_dynamics.ros.clock_seen import MODES, ClockSeen, SeenPublisher
from rne_dynamics.ros.controller_parameters import effort_scales
from rne_dynamics.ros.controller_report import ControllerReport
from rne_dynamics.ros.diagnostics import WARN, Diagnostics
from rne_dynamics.ros.hot_loop import LONGEST_WAIT
from rne_dynamics.ros.joint_map import Reading
from rne_dynamics.ros.lifecycle import LATCHED, ArmNode, payload
from rne_dynamics.ros.loop_clock import LoopClock
from rne_dynamics.ros.loop_statistics import LoopStatistics
from rne_dynamics.ros.machine import endless, loaded, relocked
from rne_dynamics.ros.messages import EffortPublisher, TermsPublisher
from rne_dynamics.ros.parameters import Values
from rne_dynamics.ros.state_reader import StateReader

# reading a member off its class is slow in Python 3.11
FOREIGN, NO_VELOCITY = Reading.FOREIGN, Reading.NO_VELOCITY
#: How often the watchdog looks at the age of the state, s.
WATCH_PERIOD = 0.01
#: Shortest time between two lines of log about what the diagnostics warn of, s.
LOG_PERIOD = 10.0
#: Time between two efforts of a stop without states, s.
BLIND_PERIOD = 0.004
#: Round-off of times that are compared, s.
ROUNDING = 1e-9
#: Silence of /clock after which a controller that needs it says so, s.
CLOCK_SILENCE = 5.0


class EffortNode(ArmNode):
    """A controller that turns joint states into efforts.

    Subclasses give `settings`. Of a mechanism with closed loops the states of the driven joints are read, no others.

    The last effort never stays standing: see `Supervisor` for how every way to end lets the arm down.
    """

    _watch_at = 0.0
    _modes: Publisher | None = None

    @abstractmethod
    def settings(self, robot: Machine, values: Values) -> Settings:
        """What the parameters make of a robot; raises to refuse."""

    # -- lifecycle ----------------------------------------------------------------------------------------------------

    def build(self, robot: Machine) -> None:
        """Everything that can be done once, before the first state."""
        joints, n = robot.joint_names, robot.n
        self.parameters.declare_joints(joints, left_out=self.locked)
        self.reader = StateReader(joints, tuple(self.locked))
        self._others = LockedJoints(self.locked, endless(self.found.free))
        self._q, self._qd, self._reported = np.zeros(n), np.zeros(n), np.full(n, np.nan)
        self.supervisor = Supervisor(self.settings(robot, self.parameters.values), self._entered)
        self._warn(self.supervisor.settings)
        self.supervisor.warm_up()
        self._account = ControllerReport(self.supervisor)
        self.efforts = EffortPublisher(self, self.commanded, joints, effort_scales(robot, self.parameters.values))
        self.terms = TermsPublisher(self, joints, int(self.parameters.number("torque_divisor")))
        self._modes = self.keep(self.create_publisher(String, "~/state", LATCHED))
        self.diagnostics, self.statistics = Diagnostics(self), LoopStatistics(time.monotonic())
        self.clock = LoopClock(self)
        self._seen: SeenPublisher | None = None
        self._taken = 0
        if self.clock.subscription is not None:
            self.keep(self.clock.subscription)
            self._seen = SeenPublisher(self)
        rate = self.parameters.number("rate")
        self._answers_states = rate == 0.0
        self.listen(
            JointState, "joint_states", self.on_state, None if self._answers_states else 1.0 / rate, self._tick,
            raw=True, clock=self.clock, on_time=self._on_time,
        )
        for name, action in (("stop", self._on_stop), ("recover", self._on_recover)):
            self.keep(self.create_service(Trigger, f"~/{name}", action))
        if self.locked:
            self.every(PERIOD, self._follow_locked)
        self.every(self.parameters.number("diagnostics_period"), self._report)
        self.parameters.enable_changes(self._changed)
        self._say(self.supervisor.mode)

    def begin(self) -> None:
        """Wait for the first state; the arm stays where that one finds it."""
        self.statistics = LoopStatistics(time.monotonic())
        self._watch_at = 0.0
        self.supervisor.activate(self.clock.now())

    def end(self) -> None:
        """Set the arm down and release it; takes a second or two, in which it answers the states itself."""
        supervisor = self.supervisor
        if supervisor.mode in DRIVING:
            self.get_logger().info("stopping: the arm is slowed down, held and let down")
        self.clock.ending = True
        try:
            supervisor.stop(self.clock.now(), "deactivated", ending=True)
            # A transition runs inside the executor, so its timers rest meanwhile.
            while supervisor.mode is Mode.STOPPING and self.loop is not None:
                self.loop.turn(longest=BLIND_PERIOD)
                self._watch_steadily()
        finally:
            self.clock.ending = False
            self.efforts.release()
            self.get_logger().info("stopped: the arm is released")

    def release(self) -> None:
        """As the base; whoever looks at ``~/state`` sees it."""
        self._say(Mode.UNCONFIGURED)
        self._modes = None
        super().release()

    # -- the hot path -------------------------------------------------------------------------------------------------

    def on_state(self, data: bytes) -> None:
        """One joint state as it came: check it, and answer it."""
        if self.clock.started:  # nothing can be answered without a time
            self._take_state(data)
        self._taken += 1
        self._acknowledge()

    def _take_state(self, data: bytes) -> None:
        arrived, now = time.monotonic(), self.clock.now()
        supervisor, reader = self.supervisor, self.reader
        try:
            reading = reader.read(data, self._q, self._qd, self._reported)
        except StateError as error:
            supervisor.refuse(error)
            return
        if reading is FOREIGN:
            supervisor.counters.foreign += 1
            return
        if self.efforts.scaled:
            np.divide(self._reported, self.efforts.scale, out=self._reported)
        usable = supervisor.observe(
            reader.stamp, now, self._q, self._qd, self._reported, velocity_missing=reading is NO_VELOCITY,
            sequence=None if self.loop is None else self.loop.sequence,
        )
        if usable and (self._answers_states or supervisor.mode is STOPPING):
            self._send(supervisor.effort(supervisor.stamp, now), arrived)
        self.statistics.arrived(arrived)  # after the answer, which must not wait for it

    def _tick(self, late: bool) -> None:
        """One cycle at the fixed rate: the newest state, if it is not stale."""
        supervisor = self.supervisor
        if supervisor.mode not in DRIVING:
            return
        arrived, now = time.monotonic(), self.clock.now()
        if late:
            self.statistics.overrun()
        self._send(supervisor.effort(supervisor.stamp + int((now - supervisor.arrival) * 1e9), now), arrived)

    def _send(self, effort: Effort | None, arrived: float) -> None:
        """Publish an effort and what it is made of."""
        if effort is None:
            return
        self.efforts.publish(effort.command)
        if effort.last:
            self.efforts.release()
        self.statistics.replied(time.monotonic(), arrived)
        self.terms.publish(self.supervisor.stamp, effort.terms, effort.command)
        self.after_effort(effort, arrived)

    def after_effort(self, effort: Effort, now: float) -> None:
        """Called when an effort that answers a state has gone out; `now` is monotonic, s."""

    def turn(self, executor: Executor) -> None:
        """As the base, and look after the age of the state: without a timer, which would need the executor."""
        if self.loop is None:
            super().turn(executor)
            return
        self.loop.turn(executor, BLIND_PERIOD if self.supervisor.blind else LONGEST_WAIT)
        self._watch_steadily()

    def _watch_steadily(self) -> None:
        """Look after the age of the state by the steady clock, where simulated time does not do it."""
        if not self.clock.simulated or self.clock.running_on:
            self._watch(self.clock.now())

    def _on_time(self) -> None:
        """A simulated time has come."""
        self._watch(self.clock.now())
        self._acknowledge()

    def _acknowledge(self) -> None:
        """Report to a simulation in lock-step what has been dealt with."""
        if self._seen is not None:
            self._seen.publish(
                ClockSeen(self.clock.stamp, self._taken, self.efforts.count, MODES.index(self.supervisor.mode))
            )

    def _watch(self, now: float) -> None:
        if now < self._watch_at - ROUNDING:
            return
        effort = self.supervisor.tick(now)
        if effort is not None:
            self.efforts.publish(effort.command)
            self.statistics.sent()
            if effort.last:
                self.efforts.release()
        self._watch_at = now + (BLIND_PERIOD if self.supervisor.blind else WATCH_PERIOD)

    # -- what is asked of it ------------------------------------------------------------------------------------------

    def asked(self, response: Trigger.Response, what: Callable[[], None]) -> Trigger.Response:
        """Do what a service asks; a refusal is its answer."""
        try:
            what()
            response.success, response.message = True, self.supervisor.mode.value
        except RneDynamicsError as error:
            response.success, response.message = False, str(error)
        return response

    def _on_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self.asked(response, lambda: self.supervisor.stop(self.clock.now(), "~/stop was called"))

    def _on_recover(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self.asked(response, lambda: self.supervisor.recover(self.clock.now()))

    # -- joints of the robot that are not controlled ------------------------------------------------------------------

    def _follow_locked(self) -> None:
        """Lock them in the model where they are."""
        now = time.monotonic()
        positions = self._others.update(now, self.reader.others())
        obstacle = self._others.too_fast(now)
        if positions:
            try:
                self.take(relocked(self.found, positions))
                self._changed(self.parameters.values)()
            except RneDynamicsError as error:
                obstacle = f"no model with {self._others.report(now)}: {error}"
        if obstacle and not self.supervisor.obstacle:
            self.get_logger().error(f"no motion is allowed: {obstacle}")
        self.supervisor.obstruct(obstacle)

    # -- parameters and reports ---------------------------------------------------------------------------------------

    def _changed(self, values: Values) -> Callable[[], None]:
        """A change at run time; the payload is the one change that makes a new model."""
        robot = loaded(self.bare_robot, payload(values))
        settings = self.settings(robot, values)

        def adopt() -> None:
            self.supervisor.adopt(settings)
            self._warn(settings)
            self.adopted(values)

        return adopt

    def _warn(self, settings: Settings) -> None:
        for text in settings.warnings:
            self.get_logger().warning(text)

    def adopted(self, values: Values) -> None:
        """Called with the parameters that are in force now."""

    def _entered(self, mode: Mode, cause: str) -> None:
        """The supervisor has entered a mode, or found a cause to stay in it."""
        text = f"{mode.value}: {cause}" if cause else mode.value
        if mode is Mode.FAULT:  # one line for each severity: rclpy tells calls apart by their place
            self.get_logger().error(text)
        elif mode is Mode.STOPPING or self.supervisor.gate.failed:
            self.get_logger().warning(text)
        else:
            self.get_logger().info(text)
        self._say(mode)

    def _say(self, mode: Mode) -> None:
        if self._modes is not None:
            self._modes.publish(String(data=mode.value))

    def status(self) -> dict[str, object]:
        """Further values for the diagnostics."""
        return {}

    def _report(self) -> None:
        level, message, values = self._account.next()
        if self.clock.silence > CLOCK_SILENCE and (not self.clock.started or self.supervisor.mode not in SILENT):
            level, message = WARN, (
                f"use_sim_time is set and nothing has come on /clock for {self.clock.silence:.0f} s: the controller "
                "waits; start or continue the simulation, or set use_sim_time to false"
            )
        if level == WARN:
            self.get_logger().warning(message, throttle_duration_sec=LOG_PERIOD)
        self.diagnostics.publish(
            level, message,
            values | {"locked joints": self._others.report(time.monotonic())}
            | self.statistics.report(time.monotonic()) | self.status(),
        )
        self.collect_garbage()
