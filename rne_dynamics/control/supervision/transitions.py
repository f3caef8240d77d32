"""Transitions of a controller between its modes, and what it remembers between two joint states."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from rne_dynamics.control.guards.base_filter import BaseFilter
from rne_dynamics.control.guards.effort_limiter import Limited
from rne_dynamics.control.guards.state_filter import StateFilter
from rne_dynamics.control.reference import Reference
from rne_dynamics.control.supervision.holding import HoldingBound
from rne_dynamics.control.supervision.loop_watch import LoopWatch
from rne_dynamics.control.supervision.motion_queue import Ending, MotionQueue
from rne_dynamics.control.supervision.output import Counters, Output
from rne_dynamics.control.supervision.runaway import Runaway
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.start_gate import StartGate
from rne_dynamics.control.supervision.stop_plan import (
    ALLOWED,
    DRIVING,
    FAULT,
    FLOATING,
    HOLDING,
    INACTIVE,
    NO_STOP,
    RELEASED,
    STOPPING,
    WAITING,
    Mode,
    Stage,
    Stop,
)
from rne_dynamics.control.supervision.torques import Torques
from rne_dynamics.control.supervision.watch import StateRates
from rne_dynamics.control.thresholds import CUT, GAP, LONGEST_GAP, NANOSECONDS, PERIODS, TRIAL
from rne_dynamics.model.inertia import Array


class Transitions:
    """What the modes of a controller share, and what changes with them.

    `settings`: what parameters decide; `on_change`: called with each new mode and its cause.
    """

    def __init__(self, settings: Settings, on_change: Callable[[Mode, str], None] = lambda mode, cause: None) -> None:
        robot = settings.robot
        self._on_change = on_change
        self.mode, self.cause = INACTIVE, ""
        self.counters = Counters()
        self.stamp, self.arrival = 0, -math.inf
        self.speed = 1.0
        self._torques = Torques(settings)
        self._base = None if settings.base is None else BaseFilter(settings.base, robot.open_tree.gravity)
        self._filter = StateFilter(settings.states)
        self.q, self.qd = self._filter.place, self._filter.speed  # written by each good state, and by no other
        self.q[:] = robot.neutral
        self._output = Output(settings)
        self.gate = StartGate(settings)
        self._holding = HoldingBound()
        self._stop = NO_STOP
        self._after = INACTIVE
        self._dead_reckoning = self._lost = self._stopped_by_loss = self._doubted = self._base_lost = False
        self._reckoned = 0, -math.inf  # stamp and arrival from which dead reckoning goes on
        self._requested = False  # whether a stop was requested since the last start or recovery
        self._runaway: Runaway | None = None
        self._drives = True  # whether the drives act on what is sent
        self._good, self._needed = 0, 1  # usable states in a row, and after how many the arm is held
        self._gravity = np.zeros(robot.n)
        self._period = math.inf  # between two usable states of late, s
        self._command = np.full(robot.n, np.nan)  # the last one
        self._integrated, self._update_inertia_at = 0, -math.inf
        self._acting = 0  # stamp for which the effort is computed
        self._feedback, self._ramped = 0.0, 0  # fraction of the feedback, and the stamp to which it has grown
        self.settings = settings
        self.queue = MotionQueue(self.q, *self._range(), settings.stop.brake_time)
        self._rates = StateRates(settings)
        self.loop, self._followed, self._reported = LoopWatch(settings), False, np.zeros(robot.n)

    def _range(self) -> tuple[Array, Array, Array]:
        limits = self.settings.limits
        return limits.lower + limits.margin, limits.upper - limits.margin, limits.velocity

    def _enter(self, mode: Mode, cause: str) -> None:
        if mode is self.mode:
            self.cause = cause or self.cause
            return
        assert (self.mode, mode) in ALLOWED, f"{self.mode} to {mode}"
        self.mode, self.cause = mode, cause
        self._runaway = self._runaway if mode is STOPPING else None
        if mode is FLOATING:
            self.loop.begin_guiding()
        self._on_change(mode, cause)

    def _wait(self, now: float, cause: str, needed: int = 1) -> None:
        self._requested = False
        self._good, self._needed, self._doubted = 0, needed, False
        self._filter.reset()
        self._rates.restart()
        self._stop, self._runaway, self._dead_reckoning, self._lost = NO_STOP, None, False, False
        self.gate = StartGate(self.settings)
        self.loop = LoopWatch(self.settings, self.loop.acts_after)
        self.arrival, self._period = now, math.inf
        self._enter(WAITING, cause)

    def _hold(self, cause: str, *, soft: bool = True) -> None:
        """Hold the arm where it is now."""
        self._anchor(cause, soft=soft)
        self._enter(HOLDING, cause)

    def _anchor(self, why: str, *, soft: bool = True, late: float = 0.0) -> None:
        """Come to rest from what was measured `late` s ago; if `soft`, the feedback grows from nothing."""
        self._torques.forget()
        now = Reference(self.q + late * self.qd, self.qd.copy(), np.zeros(len(self.q)))
        self.loop.shift(self.queue.reference, now)
        self.queue.anchor(self.stamp + round(late * NANOSECONDS), now, why)
        self._ramped = self._integrated = self.stamp
        if soft:
            self._feedback = 0.0
            self._torques.missed.forget()
        self._update_inertia_at = -math.inf

    def _begin_check(self) -> None:
        """Begin the start-up check."""
        self.gate = StartGate(self.settings, self._torques.posture)
        self._go_on()

    def _go_on(self) -> None:
        """The arm is held: a controller that knows nothing else lets it float as soon as it may move."""
        if self.settings.tracking is None and self.gate.open:
            self._enter(FLOATING, self.cause)

    def _begin_stop(self, now: float, why: str, *, after: Mode = RELEASED, ending: bool = False) -> None:
        """Bring the reference to rest and plan the rest of the stop."""
        if self.mode is FLOATING or not self._drives:  # the reference is not followed there
            self._anchor(why)
        else:
            self.queue.cancel(why, Ending.STOPPED)
        self._stopped_by_loss = False
        braking = self.settings.tracking is not None
        self._stop = self.settings.stop.begin(now, braking=braking, ending=ending)
        self._after, self._lost, self._runaway = after, False, None
        self._update_inertia_at = -math.inf
        self.counters.stops += 1
        self._enter(STOPPING, why)

    def _at_rest(self, now: float) -> bool:
        """Whether a stop is beyond its deceleration; no motion is under way any more then."""
        if self.mode is not STOPPING or (self._stop.stage(now) is Stage.BRAKE and self._runaway is None):
            return False
        self.queue.drop(self.cause)
        return True

    def _through(self, now: float, limited: Limited) -> bool:
        """Whether a stop has come to its end with this effort; the mode follows."""
        over = self.mode is STOPPING and self._stop.stage(now) is Stage.OVER
        if not over or limited.command.any():
            return False
        if self._after is FAULT:
            self.counters.faults, self.counters.fault = self.counters.faults + 1, self.cause
        self._stop, self._runaway, self._dead_reckoning = NO_STOP, None, False
        self._enter(self._after, self.cause)
        return True

    def _stop_runaway(self, now: float, command: Array) -> None:
        """Brake a joint that is too fast; in hand guiding that may be the hand's doing, which is no fault."""
        if self.mode is STOPPING:
            self.cause += f"; then {self.settings.limits.fastest(self.qd)}"
        elif self.mode is not FLOATING:
            self._begin_stop(now, self.settings.limits.fastest(self.qd), after=FAULT)
        guided, limits = self.mode is FLOATING, self.settings.limits
        self._runaway = Runaway(now, self.qd, command, limits, self._torques.moving, guided)

    def _fail(self, now: float, why: str) -> None:
        """A state for which there is no effort: stop by dead reckoning, without return."""
        if self.mode is not STOPPING:
            self._begin_stop(now, why, after=FAULT)
        self._begin_dead_reckoning(now, lost=False)

    def _lose(self, now: float) -> None:
        """No usable state any more: stop by dead reckoning."""
        refused = self._good == 0 and self.counters.refusal  # after the last usable one
        last = f" (the last one was refused: {self.counters.refusal})" if refused else ""
        why = f"no usable joint state for {now - self.arrival:.3f} s{last}"
        self.counters.lost += 1
        self._filter.reset()
        if self.mode is not STOPPING:
            runaway = self._runaway
            self._begin_stop(now, why, after=FAULT)
            self._stopped_by_loss, self._runaway = True, runaway
        self._begin_dead_reckoning(now, lost=not self._doubted)

    def _begin_dead_reckoning(self, now: float, *, lost: bool) -> None:
        """Go on with a stop without states; it always ends, since the arm is not observed."""
        self._stop = self._stop.ended_by(now, self.settings.stop)
        if self._runaway is not None:  # too fast, and now unseen: nothing that is sent can be trusted
            self._stop = Stop(now, now, 0.0)
        self._dead_reckoning, self._lost, self._good = True, lost, 0
        self._reckoned = self.stamp, self.arrival  # states that come back may have another time base
        if not self._at_rest(now):  # each joint by itself: along a path a joint may become faster while others brake
            self._anchor(self.cause, soft=False, late=now - self.arrival)

    def _stale(self, now: float) -> bool:
        timeout = self.settings.states.timeout or math.inf
        if self.mode is STOPPING or self._runaway is not None:
            unseen = CUT if math.isinf(self._period) else max(TRIAL, 2.0 * self._period)  # of an arm that was too fast
            timeout = min(timeout, LONGEST_GAP if self._runaway is None or self.mode is FLOATING else unseen)
        seeing = not self._dead_reckoning and (self.mode in DRIVING or self.mode is STOPPING)
        return seeing and now - self.arrival >= timeout

    def _unseen(self, now: float) -> bool:
        """Whether states have been missing for longer than `GAP` and `PERIODS` while efforts are sent."""
        runaway = self._runaway
        known = runaway is not None and (self.mode is STOPPING or runaway.cut)
        driven = (self.mode in DRIVING or self.mode is STOPPING) and not known
        return driven and now - self.arrival > max(GAP, PERIODS * self._period)

    def _watch_base(self, now: float) -> None:
        """Stop where the motion of the base is not known any more; gravity stays where it was last.

        The arm can still see its joints, so the stop is that of `stop`, not one by dead reckoning.
        """
        if self._base is None or self._base_lost or not self._base.stale(now):
            return
        if self.mode not in DRIVING and self.mode is not STOPPING:
            return
        self._base_lost = True
        self._torques.move_base(self._base.still())
        self.counters.lost += 1
        if self.mode is not STOPPING:
            last = f" (the last one was refused: {self.counters.base_refusal})" if self.counters.base_refused else ""
            self._begin_stop(now, f"no usable base motion for {now - self._base.arrival:.3f} s{last}", after=FAULT)
        self._stop = self._stop.ended_by(now, self.settings.stop)  # the direction of gravity becomes uncertain

    @property
    def dead_reckoning(self) -> bool:
        """Whether the arm is being stopped without usable states: `tick` gives the efforts."""
        return self._dead_reckoning

    @property
    def posture(self) -> Array | None:
        """Positions of all joints of a mechanism's tree at the state at hand; None of an open arm."""
        return self._torques.posture

    @property
    def distance(self) -> float | None:
        """Of a mechanism, a lower bound of its distance to a singular posture; None of an open arm."""
        return None if self._torques.loops is None else self._torques.loops.smallest
