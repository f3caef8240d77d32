"""Base of the two controllers: joint state in, law, limited effort out, and a stop that sets the arm down."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray
from rclpy.executors import Executor
from sensor_msgs.msg import JointState

from rne_dynamics.closed_chain.coordinates import NEAR_SINGULAR
from rne_dynamics.closed_chain.following import Follower
from rne_dynamics.control.safety import StopRamp, limit_effort
from rne_dynamics.control.terms import TorqueTerms
from rne_dynamics.errors import RneDynamicsError, StateError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Machine
from rne_dynamics.ros.diagnostics import ERROR, OK, WARN, Diagnostics
from rne_dynamics.ros.effort_limits import effort_limits
from rne_dynamics.ros.joint_map import JointMap
from rne_dynamics.ros.lifecycle import ArmNode, payload
from rne_dynamics.ros.machine import follower, inertia, loaded
from rne_dynamics.ros.messages import EffortPublisher, TermsPublisher, stamp_of
from rne_dynamics.ros.parameters import Parameter, Values, number

#: How often the watchdog looks at the age of the state, s.
WATCH_PERIOD = 0.01

CONTROLLER: tuple[Parameter, ...] = (
    Parameter("command_interfaces", ("effort",), "What is commanded.", choices=("effort",), length=(1,), kind=str,
              read_only=True),
    Parameter("rate", 0.0, "Efforts per second; 0 answers every joint state, which is fastest.", "Hz", 0.0, 10000.0,
              read_only=True),
    Parameter("state_timeout", 0.1, "Age at which the last joint state is stale; 0 never.", "s", 0.0, 60.0),
    Parameter("friction_compensation", 1.0, "Fraction of the modelled joint friction that is compensated.", "",
              0.0, 1.0),
    Parameter("friction_velocity_threshold", 0.005, "Speed around zero over which Coulomb friction fades.",
              "rad/s or m/s", 1e-6, 10.0),
    Parameter("stop.hold_time", 0.5, "How long a stop holds the arm against gravity.", "s", 0.0, 60.0),
    Parameter("stop.ramp_time", 1.0, "How long the support then takes to fade out.", "s", 0.05, 60.0),
    Parameter("stop.damping", 10.0, "Damping while stopping, as a rate: times the inertia each joint feels.", "1/s",
              0.0, 200.0),
    Parameter("torque_divisor", 10, "Cycles between two messages on ~/torque/*; 0 publishes none.", "", 0, 1_000_000,
              read_only=True),
    Parameter("limits.{joint}.effort", 0.0, "Largest effort; 0 takes the description's.", "N m or N", 0.0, 1e6),
)


class Mode(Enum):
    """What a controller is doing."""

    OFF = "inactive"
    WAITING = "waiting for joint states"
    RUNNING = "running"
    FADING = "state stream lost, fading gravity out"
    STOPPING = "stopping"
    FAULT = "fault"


@dataclass
class Counters:
    """What happened since activation."""

    states: int = 0
    efforts: int = 0
    rejected: int = 0
    clamped: int = 0
    lost: int = 0
    overruns: int = 0
    longest: float = 0.0


class EffortNode(ArmNode):
    """A controller that turns joint states into efforts.

    Subclasses give `law`, called with each accepted state, and `settings`, and may use `anchor`, `brake` and
    `after_effort`.

    Of a mechanism with closed loops the states of the driven joints are read, no others; `loops` follows them, so that
    the loops stay on their branch. Each activation starts from the posture of the model file.

    The last effort never stays standing. A stop (deactivation, SIGINT, SIGTERM) brakes, holds the arm with gravity
    torque and damping for ``stop.hold_time``, fades that out over ``stop.ramp_time`` and ends with zeros. Where the
    state stream breaks off no effort is computed any more: the gravity torque of the last good state fades out over
    ``stop.ramp_time``.
    """

    mode = Mode.OFF
    loops: Follower | None = None  # of a mechanism: all joints of its tree at the state at hand
    _watch_at = 0.0

    # -- to be filled in ----------------------------------------------------------------------------------------------

    @abstractmethod
    def law(self, stamp: int, q: Array, qd: Array) -> TorqueTerms:
        """Torque for a state; `stamp` in ns, `q` and `qd` of shape (n,)."""

    @abstractmethod
    def settings(self, robot: Machine, values: Values) -> Callable[[], None]:
        """Make everything that depends on parameters and return what swaps it in; raises to refuse."""

    def anchor(self, stamp: int, q: Array, qd: Array) -> None:
        """Called with the first state after activation and after every gap in the stream."""

    def brake(self) -> float:
        """Called when a stop begins: let `law` slow the arm down; the time it will take, s."""
        return 0.0

    def after_effort(self, stamp: int, clamped: NDArray[np.bool_]) -> None:
        """Called after an effort went out, with the joints whose effort was clamped; shape (n,)."""

    # -- lifecycle ----------------------------------------------------------------------------------------------------

    def build(self, robot: Machine) -> None:
        """Everything that can be done once, before the first state."""
        joints, n = robot.joint_names, robot.n
        self.parameters.declare_joints(joints)
        self.joint_map = JointMap(joints)
        self._q, self._qd = np.zeros(n), np.zeros(n)
        self._held = np.zeros(n)  # gravity torque of the last good state: what a lost stream fades out from
        self._stamp, self._arrival, self._ramp_began = 0, 0.0, 0.0
        self._fault = self._refusal = ""
        self.counters, self._reported, self._reported_at = Counters(), Counters(), time.monotonic()
        self.robot = robot
        self._prepare(robot, self.parameters.values)()
        self._warm_up()
        self.efforts = EffortPublisher(self, self.commanded, joints)
        self.terms = TermsPublisher(self, joints, int(self.parameters.number("torque_divisor")))
        self.diagnostics = Diagnostics(self)
        rate = self.parameters.number("rate")
        self._answers_states = rate == 0.0
        self.listen(
            JointState, "joint_states", self.on_state, None if self._answers_states else 1.0 / rate, self._tick
        )
        self.every(self.parameters.number("diagnostics_period"), self._report)
        self.parameters.enable_changes(self._changed)

    def begin(self) -> None:
        """Wait for the first state; the arm stays where that one finds it."""
        self.counters, self._reported, self._reported_at = Counters(), Counters(), time.monotonic()
        self._fault = self._refusal = ""
        self._arrival = time.monotonic()
        self.loops = follower(self.robot)
        self.mode = Mode.WAITING

    def end(self) -> None:
        """Set the arm down and release it; takes a second or two, in which it answers the states itself."""
        try:
            if self.mode in (Mode.RUNNING, Mode.FADING):
                self.get_logger().info("stopping: the arm is slowed down, held and let down")
                self._set_down()
        finally:
            self.mode = Mode.OFF
            self.efforts.release()
            self.get_logger().info("stopped: the arm is released")

    def _set_down(self) -> None:
        if self.mode is Mode.RUNNING:
            self._answer_until(time.monotonic() + self.brake(), Mode.RUNNING)
        if self.mode is Mode.RUNNING:
            try:
                self._ramp = self._stop_ramp(self._q)
            except RneDynamicsError as error:  # loops that do not close at a state no effort has answered yet
                self._fail(str(error))
                return
            self._ramp_began, self.mode = time.monotonic(), Mode.STOPPING
            self._answer_until(self._ramp_began + self._ramp.duration, Mode.STOPPING)
        while self.mode is Mode.FADING:  # states that come back now are too late
            time.sleep(WATCH_PERIOD)
            self._watch()

    def _answer_until(self, deadline: float, mode: Mode) -> None:
        """Answer states until a time (monotonic, s) while the mode stays as it is.

        A transition runs inside the executor, so its timers rest meanwhile and the watchdog is looked after here.
        """
        while self.mode is mode and time.monotonic() < deadline and self.loop is not None:
            self.loop.turn(longest=WATCH_PERIOD)
            self._watch()

    def _warm_up(self) -> None:
        """Run the control cycle once at rest, so that the first real one is as fast as the others."""
        q, zero = self.robot.neutral.copy(), np.zeros(self.robot.n)
        self.loops = follower(self.robot)
        if self.loops is not None:
            self.loops.follow(q, zero)
        self.anchor(0, q, zero)
        limit_effort(self.law(0, q, zero).total, self.effort_limit, self.robot.joint_names)
        self._stop_ramp(q).effort(0.0, q, zero, posture=self.posture)

    @property
    def posture(self) -> Array | None:
        """Positions of all joints of a mechanism's tree at the state at hand; None for an open arm."""
        return None if self.loops is None else self.loops.posture

    # -- the hot path -------------------------------------------------------------------------------------------------

    def on_state(self, message: JointState) -> None:
        """One joint state: check it, and answer it."""
        if self.mode is Mode.OFF or self.mode is Mode.FAULT:
            return
        now = time.monotonic()
        self.counters.states += 1
        try:
            self.joint_map.read(message, self._q, self._qd)
        except StateError as error:
            self.counters.rejected += 1
            self._refusal = str(error)
            return
        self._stamp, self._arrival = stamp_of(message), now
        if self.mode is Mode.WAITING or self.mode is Mode.FADING:
            self.anchor(self._stamp, self._q, self._qd)
            self.mode = Mode.RUNNING
        if self._answers_states or self.mode is Mode.STOPPING:
            self._answer(self._stamp, now)

    def _tick(self, late: bool) -> None:
        """One cycle at the fixed rate: the newest state, if it is not stale."""
        self.counters.overruns += late
        if self.mode is Mode.RUNNING:
            now = time.monotonic()
            self._answer(self._stamp + int((now - self._arrival) * 1e9), now)

    def _answer(self, stamp: int, now: float) -> None:
        """Compute, limit and publish the effort for the state at hand."""
        terms = None
        try:
            if self.loops is not None:
                self.loops.follow(self._q, self._qd)
            if self.mode is Mode.STOPPING:
                total = self._ramp.effort(now - self._ramp_began, self._q, self._qd, posture=self.posture)
            else:
                terms = self.law(stamp, self._q, self._qd)
                total, self._held = terms.total, terms.gravity
            command, clamped = limit_effort(total, self.effort_limit, self.robot.joint_names)
        except RneDynamicsError as error:
            self._fail(str(error))
            return
        self.efforts.publish(command)
        counters = self.counters
        counters.efforts += 1
        counters.clamped += bool(clamped.any())
        if terms is not None:
            self.after_effort(stamp, clamped)
            self.terms.publish(stamp, terms, command)
        counters.longest = max(counters.longest, time.monotonic() - now)

    def turn(self, executor: Executor) -> None:
        """As the base, and look after the age of the state: without a timer, which would need the executor."""
        super().turn(executor)
        now = time.monotonic()
        if now >= self._watch_at:
            self._watch_at = now + WATCH_PERIOD
            self._watch()

    # -- what can go wrong --------------------------------------------------------------------------------------------

    def _fail(self, reason: str) -> None:
        """An effort that must not be sent: release the arm, stay silent until activated again."""
        self.mode, self._fault = Mode.FAULT, reason
        self.efforts.release()
        self.get_logger().error(f"{reason}; the arm is released. Deactivate and activate to go on")

    def _watch(self) -> None:
        """Where the state stream has broken off, fade the gravity torque out and fall silent."""
        if self.mode in (Mode.RUNNING, Mode.STOPPING):
            age = time.monotonic() - self._arrival
            if self._state_timeout == 0.0 or age < self._state_timeout:
                return
            self.mode, self._ramp_began = Mode.FADING, time.monotonic()
            self.counters.lost += 1
            why = f" (the last one was refused: {self._refusal})" if self._refusal else ""
            self.get_logger().warning(
                f"no usable joint state for {age:.3f} s{why}: gravity fades out over {self._fade_time:g} s"
            )
        if self.mode is Mode.FADING:
            left = 1.0 - (time.monotonic() - self._ramp_began) / self._fade_time
            if left <= 0.0:
                self.mode = Mode.WAITING
                self.efforts.release()
                return
            command, _ = limit_effort(left * self._held, self.effort_limit, self.robot.joint_names)
            self.efforts.publish(command)

    # -- parameters and reports ---------------------------------------------------------------------------------------

    def _prepare(self, robot: Machine, values: Values) -> Callable[[], None]:
        """Make everything that depends on parameters; nothing is changed until the returned function runs."""
        limit = effort_limits(robot, values)
        swap = self.settings(robot, values)

        def adopt() -> None:
            self.robot, self.effort_limit, self.loops = robot, limit, follower(robot, self.posture)
            self._state_timeout, self._fade_time = number(values, "state_timeout"), number(values, "stop.ramp_time")
            swap()

        return adopt

    def _stop_ramp(self, q: Array) -> StopRamp:
        """How the arm is set down from `q`, shape (n,)."""
        values = self.parameters.values
        damping = number(values, "stop.damping") * np.diag(inertia(self.robot, q, self.posture))
        return StopRamp(self.robot, damping, number(values, "stop.hold_time"), self._fade_time)

    def _changed(self, values: Values) -> Callable[[], None]:
        """A change at run time; the payload is the one change that makes a new model."""
        return self._prepare(loaded(self.bare_robot, payload(values)), values)

    def status(self) -> dict[str, object]:
        """Further values for the diagnostics."""
        return {}

    def _report(self) -> None:
        now, c, before = time.monotonic(), self.counters, self._reported
        period = now - self._reported_at
        rejected, clamped = c.rejected - before.rejected, c.clamped - before.clamped
        level, message = OK, self.mode.value
        if self.mode is Mode.FAULT:
            level, message = ERROR, f"fault: {self._fault}"
        elif self.mode is Mode.FADING or (self.mode is Mode.WAITING and c.lost):
            level, message = ERROR, f"no usable joint states{f': {self._refusal}' if rejected else ''}"
        elif rejected:
            level, message = WARN, f"{rejected} joint states refused: {self._refusal}"
        elif clamped:
            level, message = WARN, f"{clamped} efforts clamped"
        elif self.loops is not None and self.loops.smallest < NEAR_SINGULAR:
            level, message = WARN, "near a singular posture, in which the motors do not hold the mechanism"
        self.diagnostics.publish(level, message, {
            "state": self.mode.name.lower(),
            "state rate (Hz)": (c.states - before.states) / period,
            "effort rate (Hz)": (c.efforts - before.efforts) / period,
            "longest cycle (ms)": 1e3 * c.longest,
            "joint states": c.states, "efforts": c.efforts, "refused joint states": c.rejected,
            "clamped efforts": c.clamped, "lost streams": c.lost, "overruns": c.overruns,
            **({} if self.loops is None else {"distance to a singular posture": self.loops.smallest}),
            **self.status(),
        })
        if rejected:
            self.get_logger().warning(f"{rejected} joint states refused, the last because: {self._refusal}")
        self._reported, self._reported_at = Counters(**vars(c)), now
        c.longest = 0.0
        self.collect_garbage()
