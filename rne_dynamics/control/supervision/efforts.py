"""The effort of a controller in each mode: at a joint state, between two, and by dead reckoning."""

from __future__ import annotations

import numpy as np

from rne_dynamics.control.guards.effort_limiter import EFFORT, STOP, VELOCITY, Limited
from rne_dynamics.control.reference import FEEDBACK, FRICTION, GRAVITY, Reference, TorqueTerms
from rne_dynamics.control.supervision.loop_watch import Measured
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.control.supervision.output import Effort
from rne_dynamics.control.supervision.runaway import Runaway
from rne_dynamics.control.supervision.stop_plan import (
    DRIVING,
    FAULT,
    FLOATING,
    HOLDING,
    STOPPING,
    TRACKING,
    Stage,
    Stop,
)
from rne_dynamics.control.supervision.transitions import Transitions
from rne_dynamics.control.thresholds import GAP, INERTIA_PERIOD, LONGEST_GAP, NANOSECONDS, OVERSPEED, ROUNDING
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.inertia import Array

#: Age of the last state up to which feedforward accelerates the arm, s: the arm must not stay behind in the gaps of a
#: stream that comes in bursts; in a long one nothing may make it faster.
BURST = 0.05
#: Deviation from the reference's velocity, in velocity limits, at which all feedback acts: the arm has other masses.
SLIP = 0.2


class Efforts(Transitions):
    """The effort of a controller at each joint state, and between them."""

    def effort(self, stamp: int, now: float) -> Effort | None:
        """The answer to the last state, for the time `stamp`; None where there is nothing to send."""
        if self._base is not None:
            self._watch_base(now)
        if self._dead_reckoning or not (self.mode in DRIVING or self.mode is STOPPING):
            return None
        if self._unseen(now):
            return self._bridge(now)
        try:
            if now >= self._update_inertia_at:
                self._output.limiter.update_inertia(self._torques.update_inertia(self.q, self.loop.known_delay))
                self._update_inertia_at = now + INERTIA_PERIOD
            if self._torques.loops is not None:
                self._torques.follow(self.q, self.qd)
            return self._answer(stamp, now)
        except RneDynamicsError as error:
            self._fail(now, str(error))
            return self.tick(now)

    def settle(self) -> None:
        """What an effort leaves to do for the check of the next state: to be called when it has been sent."""
        self._filter.settle()
        if self._followed:
            self._followed = False
            self._watch_loop()

    def _watch_loop(self) -> None:
        """Measure the delay of the loop, and look for oscillations."""
        loop, guided = self.loop, self.mode is FLOATING
        locked = "" if guided else loop.measure(self.stamp, self._command, self._reported)
        state = Measured(self.stamp, self.q, self.qd, self._filter.finest)
        cause = loop.oscillates(self.queue.reference, state, guided=guided)
        if self.mode not in DRIVING:
            return
        if locked:
            self.queue.cancel(locked)
        if cause and loop.spent:
            self._begin_stop(self._output.at, cause, after=FAULT)
        elif cause or locked:
            self._on_change(self.mode, cause or locked)

    def tick(self, now: float) -> Effort | None:
        """To be called every few milliseconds: looks for a broken stream; the effort of a stop without states."""
        self._watch_base(now)
        if self._stale(now):
            self._lose(now)
        if self._dead_reckoning:
            return self._reckoned_effort(now)
        return self._bridge(now) if self._unseen(now) else None

    def _answer(self, stamp: int, now: float) -> Effort:
        q, qd, torques, counters = self.q, self.qd, self._torques, self.counters
        self._acting = stamp
        if self._output.velocity.slowing:
            self._output.slow(now, np.zeros(len(q)) if self.mode is FLOATING else self.queue.reference.qd)
        if self._runaway is not None and (self.mode is STOPPING or self._let_go(self._runaway, now)):
            return self._take_energy(self._runaway, now)
        if not self._drives and self.mode is not STOPPING:
            return self._limited(torques.damped(q, qd)._replace(feedback=np.zeros(len(q))), now)
        if self.mode is FLOATING:
            self._followed = True
            return self._limited(torques.floating(q, qd, self.loop.damping), now)
        if self.mode is STOPPING and self._at_rest(now):
            return self._limited(self._damped(now), now, self._stop.support(now))
        reference = self.queue.advance(stamp, self.speed)
        ended = self.queue.judge(stamp, q, qd)
        if ended is not None and ended is Ending.PATH:
            reference = self.queue.advance(stamp, self.speed)
        if self.mode is not STOPPING:
            if ended is not None or self.queue.moving is not (self.mode is TRACKING):
                self._note_motion(now, ended)
            if self.mode is HOLDING:
                reference = self._near(stamp, reference)
        feedback = self._grown(stamp, reference.qd) * self.loop.part(self._filter.late)
        self._followed = True
        if torques.quick is None:
            terms = torques.tracking(q, qd, reference, feedback)
            self._filter.expect(now, reference, terms.friction, terms.feedback, torques.held)
            return self._limited(terms, now)
        expected = None
        if torques.predictor is not None:
            expected = torques.predictor.predict(q, qd, self.stamp, stamp, reference.qd)
            reference = self.queue.ahead(stamp + torques.predictor.ahead)
        rows, limited, runaway = self._output.track(
            torques, torques.quick, q, qd, reference, feedback, now, counters, expected
        )
        self._filter.expect(now, reference, rows[FRICTION], rows[FEEDBACK], torques.held)
        return self._answered(rows, rows[GRAVITY], limited, runaway, now)

    def _limited(self, terms: TorqueTerms, now: float, fade: float = 1.0) -> Effort:
        limited = self._output.answer(terms, now, self.q, self.qd, self.counters, fade)
        runaway = bool((np.abs(self.qd) > OVERSPEED * self._output.velocity.now).any())
        return self._answered(terms, terms.gravity, limited, runaway, now)

    def _answered(
        self, terms: TorqueTerms | Array, gravity: Array, limited: Limited, runaway: bool, now: float
    ) -> Effort:
        self._gravity = gravity
        follows = self._followed and self.mode is not FLOATING
        if follows and self._filter.late < GAP:  # feedback to an old state says nothing of the model
            self._torques.missed.note(now, terms, limited.command)
        if limited.any and (limited.flags & (EFFORT | STOP | VELOCITY)).any():
            self._filter.doubt(now)
        if self._torques.predictor is not None:
            self._torques.predictor.note(self._acting, limited.command)
        self._torques.integrate((self.stamp - self._integrated) / NANOSECONDS, self._filter.late, limited)
        self._integrated = self.stamp
        if self._runaway is not None:
            self._runaway.sent(limited.command)
        elif runaway and self._drives:
            self._stop_runaway(now, limited.command)
        self._command = limited.command
        return Effort(limited.command, terms, self.mode is STOPPING and self._through(now, limited))

    def _damped(self, now: float) -> TorqueTerms:
        """Gravity and damping of a stop, as far as it still supports the arm."""
        support, torques = self._stop.support(now), self._torques
        terms = torques.damped(self.q, self.qd, support)
        # for dead reckoning of joints whose reading is frozen: the damping of the others moves them too
        own = torques.held * torques.inverse.dot(terms.feedback)
        self._filter.expect(now, None, terms.friction, own, torques.held)
        missed = torques.missed.weight(terms.gravity)
        return terms._replace(feedback=terms.feedback + support * self._filter.borne + missed)

    def _note_motion(self, now: float, ended: Ending | None) -> None:
        """The mode that belongs to the state of the queue."""
        off = ended is not None and ended in (Ending.PATH, Ending.CANCELLED)
        if off and self.settings.stop.after_cancel == "stop":
            self._begin_stop(now, str(ended.value) if ended else "")
        elif self.queue.moving is not (self.mode is TRACKING):  # not where one motion has followed another
            cause = self.queue.followed or (ended.value if ended else "")
            self._enter(TRACKING if self.queue.moving else HOLDING, cause)

    def _near(self, stamp: int, reference: Reference) -> Reference:
        """`reference` of a held arm, moved to within `LEASH` of `holding_error` of the measured position."""
        if self.settings.tracking is None:
            return reference
        moved = self._holding.moved(reference.q, self.q, self.settings)
        if moved is None:
            return reference
        place, cause = moved
        if cause:
            self.counters.held_anew += 1
            self.cause = cause
        there = Reference(place, *np.zeros((2, len(place))))
        self.loop.shift(self.queue.reference, there)
        self.queue.anchor(self.stamp, there, self.cause)
        return self.queue.advance(stamp, self.speed)

    def _grown(self, stamp: int, speed: Array) -> float:
        """Fraction of the feedback at `stamp`: it grows after every start, faster where the arm is off the `speed`."""
        if self._feedback < 1.0:
            ramp, step = self.settings.feedback_ramp, min(max(stamp - self._ramped, 0) / NANOSECONDS, LONGEST_GAP)
            slip = float((np.abs(self.qd - speed) / self.settings.limits.velocity).max()) / SLIP
            self._feedback = min(max(self._feedback + step / ramp, slip), 1.0) if ramp > 0.0 else 1.0
        self._ramped = stamp
        return self._feedback

    def _let_go(self, runaway: Runaway, now: float) -> bool:
        """Whether an arm that a hand has made too fast gets no efforts, because its motors may not brake it."""
        if not (np.abs(self.qd) > self.settings.limits.velocity).any():
            self._runaway = None
            return False
        self._allowed(runaway, now, self._command)
        if runaway.proved:
            self._begin_stop(now, self.settings.limits.fastest(self.qd), after=FAULT)
            self._runaway = runaway
        return runaway.cut

    def _allowed(self, runaway: Runaway, now: float, effort: Array) -> Array:
        late, q, qd = self.loop.acts_after + self._filter.late, self.q, self.qd
        return runaway.allow(now, late, qd, effort, lambda qdd: self._torques.explaining(q, qd, qdd))

    def _take_energy(self, runaway: Runaway, now: float) -> Effort:
        """The effort of a stop after a joint was too fast, and while the motors of a guided arm are tested."""
        terms = self._torques.damped(self.q, self.qd, self._stop.support(now), hard=True)
        allowed = self._allowed(runaway, now, terms.total)
        if runaway.proved and self.mode is STOPPING and self._stop.stage(now) is not Stage.OVER:
            self._stop = Stop(now, now, 0.0)
            self.cause += "; the motors do not brake it, so the efforts are cut"
        self._at_rest(now)
        self._gravity = terms.gravity
        limited = self._output.approach(allowed, terms, now, self.q, self.counters)
        runaway.sent(limited.command)
        return Effort(limited.command, terms, self._through(now, limited))

    def _bridge(self, now: float) -> Effort | None:
        """Feedforward along the reference until the next state or the time-out; None if that is what was sent last."""
        if self.mode is FLOATING or not self._drives or self._at_rest(now):
            terms = self._torques.only_support(self._gravity, self._stop.support(now))
        else:
            try:
                ahead = self.queue.ahead(self.stamp + round((now - self.arrival) * NANOSECONDS))
                terms = self._torques.along(ahead, braking=False, faster=now - self.arrival < BURST)
            except RneDynamicsError:  # loops that do not close there: the last effort stays
                return None
        if (np.abs(terms.total - self._command) <= ROUNDING * self.settings.limits.effort).all():
            return None
        limited = self._output.approach(terms.total, terms, now, self.q, self.counters)
        self._command = limited.command
        return Effort(limited.command, terms, self._through(now, limited))

    def _reckoned_effort(self, now: float) -> Effort:
        """Dead reckoning: along the braking reference, then the support of where it ends, released in time."""
        stamp = self._reckoned[0] + round((now - self._reckoned[1]) * NANOSECONDS)
        terms = self._torques.only_support(self._gravity, self._stop.support(now))
        if not self._at_rest(now):
            try:
                terms = self._torques.along(self.queue.advance(stamp, self.speed, reckoning=True), braking=True)
                self._gravity = terms.gravity
            except RneDynamicsError:  # loops that do not close there: gravity of the last good state stays
                self.counters.refusal = "the braking motion has no solution"
        self.counters.dead_reckoned += 1
        limited = self._output.approach(terms.total, terms, now, self.q, self.counters)
        return Effort(limited.command, terms, self._through(now, limited))

    def clamp_text(self) -> str:
        """As of `Output`."""
        return self._output.clamp_text()
