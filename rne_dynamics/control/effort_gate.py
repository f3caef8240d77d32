"""The effort gate: passes a controller's efforts on, and takes the arm over when they stop.

Efforts and joint states with their times go in, efforts come out. No ROS, no clock: `now` is monotonic s. Efforts are
in the units and the order of the model. docs/effort_gate.md has the states and what leads from one to another.

What holds of every effort that comes out (tests prove it with random input):

- It is finite and within the effort limit.
- It differs from the one before by at most rate · min(dt, 10 ms); the first one after silence counts from zero.
- A take-over ends with zeros within the times of the stop plan, plus limit / rate. Only the policy "hold" goes on, and
  only as long as joint states come.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rne_dynamics.control.gate_parts import (
    FAULT,
    INACTIVE,
    PASSING,
    RELEASED,
    STOPPING,
    UNCONFIGURED,
    WAITING,
    CommandStream,
    GateCounters,
    GateEffort,
    GateHold,
    GateMode,
    GateSettings,
    GateStates,
)
from rne_dynamics.control.guards.effort_limiter import EFFORT, RATE, EffortLimiter, Limited
from rne_dynamics.control.guards.effort_limits import VelocityInForce
from rne_dynamics.control.supervision.states import NO_STOP
from rne_dynamics.control.thresholds import BACK, GAP, LONGEST_STEP, OVERSPEED
from rne_dynamics.errors import ControlError, RneDynamicsError, refuse
from rne_dynamics.model.inertia import Array

#: Multiple of a joint's velocity limit at which the gate takes over: beyond that at which a controller stops by itself.
TAKE_OVER = 2.0
#: An arm that is faster than that at a take-over may be slowed down for so long, s, if it gets no faster than it was by
#: this factor.
GRACE, FASTER = 0.1, 1.05
#: Longest time between two efforts of a take-over, s: where joint states come more slowly.
DRIVE_PERIOD = 0.005


class EffortGate:
    """The state machine of the gate; `on_change` gets each new mode and its cause."""

    def __init__(
        self, settings: GateSettings, on_change: Callable[[GateMode, str], None] = lambda mode, cause: None
    ) -> None:
        n = settings.robot.n
        self.settings, self._on_change = settings, on_change
        self.mode, self.cause = INACTIVE, ""
        self.counters = GateCounters()
        self.states = GateStates(settings.states)
        self.q, self.qd = self.states.q, self.states.qd
        self.q[:] = settings.robot.neutral
        self._limiter, self._velocity = EffortLimiter(settings.limits), VelocityInForce(settings.limits.velocity)
        self._hold, self._allowed = self._new_hold(), np.zeros(n)
        self._after = FAULT
        self._limited: tuple[Array, Limited] | None = None
        self._sent_at = -math.inf
        self._restart(-math.inf)

    def _new_hold(self) -> GateHold:
        made = self.settings
        return GateHold(made.robot, made.stop.damping, weightless="gravity" in made.compensated)

    def _restart(self, now: float) -> None:
        """Forget what was before `now`."""
        self._hold.restart()
        self.states.restart()
        self._limiter.start(np.zeros(self.settings.robot.n))
        self.commands = CommandStream(self.settings.robot.joint_names, self.counters)
        self._began = now
        self._stop, self._blend_from, self._support = NO_STOP, math.nan, 1.0
        #: Whether a take-over goes on without usable joint states.
        self.dead_reckoning = False
        self._distrusted = self._dropped = self._asked = self._ending = False

    # -- settings -----------------------------------------------------------------------------------------------------

    def adopt(self, settings: GateSettings) -> None:
        """Other parameters from the next effort on; `ControlError` where they are for other joints."""
        self._limiter.change(settings.limits)
        self._velocity.change(settings.limits.velocity, self.qd)
        self.states.change(settings.states)
        self.settings, gravity = settings, self._hold.gravity
        self._hold = self._new_hold()
        self._hold.gravity = gravity

    def warm_up(self) -> None:
        """Compile everything that a take-over needs; changes no state."""
        robot, timeout = self.settings.robot, min(self.settings.command_timeout, GAP)  # in which states may be missing
        other = EffortGate(replace(self.settings, command_timeout=timeout))
        other.activate(0.0)
        q = np.clip(np.array(robot.neutral), self.settings.limits.lower, self.settings.limits.upper)
        for k in range(1, 4):
            other.observe(k * 1_000_000, 1e-3 * k, q.copy(), np.zeros(robot.n), velocity_missing=k == 2)
            other.command(1e-3 * k, np.zeros(robot.n))
        other.tick(0.003 + timeout)
        other.observe(4_000_000, 0.004 + timeout, q.copy(), np.zeros(robot.n))
        other.tick(100.0)

    # -- requests -----------------------------------------------------------------------------------------------------

    def activate(self, now: float) -> None:
        """Wait for joint states and for the first effort of a controller."""
        self.counters = GateCounters()
        self.states.count_anew()
        self._restart(now)
        self._enter(WAITING, "activated")

    def stop(self, now: float, why: str, *, ending: bool = False) -> None:
        """Take over, hold and release as `settings.stop` says; pass nothing any more. `ending`: inactive afterwards."""
        self._asked, self._ending = True, self._ending or ending
        if self.mode is PASSING:
            self._take_over(now, why, after=RELEASED)
        elif self.mode is STOPPING and ending:
            self._stop = self._stop.ended_by(now, self.settings.stop)
        elif self.mode is not STOPPING and self.mode not in (INACTIVE, UNCONFIGURED):
            self._enter(INACTIVE if ending else RELEASED, why)

    def let_go(self, now: float, why: str) -> None:
        """Bring the effort to zero as fast as its rate allows; nothing where nothing is driven."""
        if self.mode is PASSING:
            self._take_over(now, why)
        if self.mode is STOPPING and not self._dropped:
            self._dropped = True
            self.cause = why
            self._on_change(self.mode, why)

    def recover(self, now: float) -> None:
        """Pass efforts again, from the held arm without a jump; `ControlError` where that cannot be."""
        if self.mode in (FAULT, RELEASED):
            self._restart(now)
            self._enter(WAITING, "recovery was requested")
            return
        refuse(
            ControlError,
            (self.mode is not STOPPING, f"nothing to recover from: the gate is {self.mode.value}"),
            (self._dropped or self._ending,
             f"the arm is being released ({self.cause}); recover when the gate is released or fault"),
            (not self.commands.alive(now, self.settings.command_timeout),
             f"no good effort within {self.settings.command_timeout:g} s: start the controller first"),
            (self.states.stale(now) or self.dead_reckoning,
             "no usable joint states: an arm that is not measured is not handed back"),
        )
        self._blend_from = now  # the gate's own effort fades out
        self._stop, self._asked = NO_STOP, False
        self._enter(PASSING, "recovery was requested")

    # -- efforts of the controller ------------------------------------------------------------------------------------

    def command(self, now: float, effort: Array) -> GateEffort | None:
        """Take an effort of the controller, (n,) in the model's order; what is to be sent, None for nothing."""
        if not self.commands.take(now, effort, self.settings.command_timeout):
            return None
        if self.mode is WAITING and not self.states.stale(now):
            self._enter(PASSING, "efforts have come")
        return self._pass(now, effort) if self.mode is PASSING else None


    def _pass(self, now: float, effort: Array) -> GateEffort:
        limited = self._limiter.approach(self._blended(now, effort), min(now - self._sent_at, LONGEST_STEP))
        self._sent_at = now
        self.counters.passed += 1
        if limited.any:
            self.counters.limited += bool((limited.flags & EFFORT).any())
            self.counters.stepped += bool((limited.flags & RATE).any())
            self._limited = effort, limited
        return GateEffort(limited.command)

    def _blended(self, now: float, effort: Array) -> Array:
        """The effort, and what is left of the gate's own while it hands the arm back."""
        time = self.settings.hand_back_time
        part = (now - self._blend_from) / time if time > 0.0 else 1.0
        if not part < 1.0:  # also where nothing is handed back: NaN
            self._blend_from = math.nan
            return effort
        try:
            held = self._held(now)
        except RneDynamicsError as error:
            self.counters.failure, held = str(error), self._hold.gravity
        return part * effort + (1.0 - part) * self._support * held

    # -- joint states -------------------------------------------------------------------------------------------------

    def observe(
        self, stamp: int, now: float, q: Array, qd: Array, *, velocity_missing: bool = False,
        sequence: int | None = None,
    ) -> GateEffort | None:
        """Take a joint state; the effort that answers it during a take-over. Arguments as for `StateFilter.accept`."""
        if self.mode in (INACTIVE, UNCONFIGURED):
            return None
        self._notice_loss(now)
        if not self.states.accept(stamp, now, q, qd, velocity_missing=velocity_missing, sequence=sequence):
            return None
        if self.mode is PASSING:
            try:
                self._hold.follow(self.q, self.qd)
            except RneDynamicsError as error:  # the controller decides; a take-over would use the last gravity torque
                self.counters.failure = str(error)
            if (np.abs(self.qd) > TAKE_OVER * self._velocity.now).any():
                self._take_over(now, f"{self.settings.limits.fastest(self.qd)}: the controller does not stop it")
        self._velocity.advance(min(now - self._sent_at, LONGEST_STEP))
        if self.mode is not STOPPING:
            return None
        self.dead_reckoning &= self._distrusted or self.states.good < BACK
        return self._drive(now)

    def _notice_loss(self, now: float) -> None:
        """Detect that joint states are missing; a take-over goes on without them."""
        if not self.states.stale(now) or self.dead_reckoning:
            return
        self.states.forget()
        if self.mode is STOPPING:
            self._begin_dead_reckoning(now, for_good=self.states.doubted)

    @property
    def requested(self) -> bool:
        """Whether the gate stops because it was asked to."""
        return self._asked and self._after is RELEASED

    # -- take-over ----------------------------------------------------------------------------------------------------

    def tick(self, now: float) -> GateEffort | None:
        """To be called at `deadline`, or a few times more often: notices missing efforts; the effort of a take-over."""
        self._notice_loss(now)
        due, timeout = now - self._sent_at >= DRIVE_PERIOD, self.settings.command_timeout
        if self.mode is PASSING and not self.commands.alive(now, timeout):
            due = True
            refused = f" (the last one was refused: {self.counters.refusal})" if self.commands.good == 0 else ""
            self._take_over(
                now, f"no good effort for {now - self.commands.arrival:.3f} s, command_timeout is {timeout:g}{refused}"
            )
        return self._drive(now) if self.mode is STOPPING and due else None

    def deadline(self, longest: float) -> float:
        """Time of the next call of `tick`, monotonic s; `longest` where nothing is due before."""
        if self.mode is PASSING:
            return min(longest, self.commands.arrival + self.settings.command_timeout)
        return min(longest, self._sent_at + DRIVE_PERIOD) if self.mode is STOPPING else longest

    def _take_over(self, now: float, why: str, after: GateMode = FAULT) -> None:
        self.counters.takeovers += 1
        self._stop = self.settings.stop.begin(now, braking=False, ending=self._ending)
        self._after, self._dropped, self.dead_reckoning = after, False, False
        self._hold.renew()
        self._began, self.commands.good = now, 0
        self._blend_from, self._support = math.nan, 1.0
        self._allowed = np.maximum(OVERSPEED * self._velocity.now, FASTER * np.abs(self.qd))
        self._enter(STOPPING, why)
        if self.states.stale(now):
            self._begin_dead_reckoning(now, for_good=self.states.doubted)

    def _begin_dead_reckoning(self, now: float, *, for_good: bool) -> None:
        """Go on with the gravity torque of the last posture; an arm that is not measured is released."""
        self.dead_reckoning, self._distrusted = True, for_good
        try:
            self._hold.gravity = self._hold.torque(self.q, np.zeros(len(self.q)))[0]
        except RneDynamicsError as error:  # the gravity torque of the posture before it stays
            self.counters.failure = str(error)
        self._stop = self._stop.ended_by(now, self.settings.stop)

    def _held(self, now: float) -> Array:
        """Gravity torque and damping of the last state; gravity torque alone where that is too old."""
        if self.dead_reckoning or self.states.stale(now):
            return self._hold.gravity
        return self._hold.effort(now, self.q, self.qd, self.states.delay)

    def _drive(self, now: float) -> GateEffort:
        """The gate's own effort."""
        target = np.zeros(self.settings.robot.n)
        self._watch_speed(now)
        support = 0.0 if self._dropped else self._stop.support(now)
        if support > 0.0:
            try:
                if not self.dead_reckoning:
                    self._hold.follow(self.q, self.qd)
                target = support * self._held(now)
            except RneDynamicsError as error:
                self.counters.failure = str(error)
                self._begin_dead_reckoning(now, for_good=True)
                target = support * self._hold.gravity
        limited = self._limiter.approach(target, min(now - self._sent_at, LONGEST_STEP))
        self._sent_at, self._support, self.counters.own = now, support, self.counters.own + 1
        self.counters.dead_reckoned += self.dead_reckoning
        over = self._dropped or self._stop.over(now)
        if not over or limited.command.any():
            return GateEffort(limited.command)
        self._stop, self.dead_reckoning = NO_STOP, False
        self._enter(INACTIVE if self._ending else self._after, self.cause)
        return GateEffort(limited.command, last=True)

    def _watch_speed(self, now: float) -> None:
        """Release an arm that the gate's own effort does not slow down: its model or its signs are wrong."""
        if self.dead_reckoning or self._dropped:
            return
        allowed = self._allowed if now - self._began < GRACE else OVERSPEED * self._velocity.now
        if (np.abs(self.qd) > allowed).any():
            self._after = FAULT
            fastest = self.settings.limits.fastest(self.qd)
            self.let_go(now, f"{fastest} although the gate damps it: the effort goes to zero")

    # -- inside -------------------------------------------------------------------------------------------------------

    def _enter(self, mode: GateMode, cause: str) -> None:
        former, self.mode, self.cause = self.mode, mode, cause
        if mode is not former:
            self._on_change(mode, cause)

    def limited_text(self) -> str:
        """Which effort was limited last, and to what; empty for none since the last call."""
        if self._limited is None:
            return ""
        (asked, limited), self._limited = self._limited, None
        j = int(np.argmax(np.abs(asked - limited.command)))
        what = "effort limit" if limited.flags[j] & EFFORT else "effort rate"
        return (
            f"joint {self.settings.robot.joint_names[j]!r} was commanded {asked[j]:.4g}, {limited.command[j]:.4g} was "
            f"passed on ({what})"
        )
