"""The effort of a controller in each mode: at a joint state, between two, and by dead reckoning."""

from __future__ import annotations

import numpy as np

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.control.control_law import FEEDBACK, GRAVITY, Reference, TorqueTerms
from rne_dynamics.control.guards.effort_limiter import EFFORT, RATE, STOP, VELOCITY, Limited
from rne_dynamics.control.supervision.contact_reaction import ContactReaction
from rne_dynamics.control.supervision.inputs import WrenchInput
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.control.supervision.output import Effort, Runaway
from rne_dynamics.control.supervision.state_machine import StateMachine
from rne_dynamics.control.supervision.states import DRIVING, FAULT, FLOATING, HOLDING, STOPPING, TRACKING, Stop
from rne_dynamics.control.thresholds import GAP, INERTIA_PERIOD, NANOSECONDS, OVERSPEED, ROUNDING
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.inertia import Array

#: Age of the last state up to which feedforward accelerates the arm, s: the arm must not stay behind in the gaps of a
#: stream that comes in bursts; in a long one nothing may make it faster.
BURST = 0.05
#: Distance between the reference and an arm that is pushed away while held, as a fraction of `holding_error`.
LEASH = 0.9
_new = tuple.__new__  # a quarter of the time of a named tuple's own


@kernel
def _within(held: Array, q: Array, bound: Array) -> bool:
    """Whether no joint is beyond its bound. One call instead of five of NumPy's."""
    beyond = 0
    for j in range(q.shape[0]):
        beyond += abs(held[j] - q[j]) > bound[j]
    return beyond == 0


class Efforts:
    """Computes the effort of a controller; `machine`: its mode and parts."""

    def __init__(self, machine: StateMachine) -> None:
        self._machine, self._stream, self._queue = machine, machine.stream, machine.queue
        self._torques, self._output = machine.torques, machine.output
        n = machine.settings.robot.n
        # the last effort: as sent, its terms, and the fraction of gravity in them
        self._command, self._support = np.full(n, np.nan), 1.0
        self._terms: TorqueTerms | Array = np.zeros((len(TorqueTerms._fields), n))
        self.contact, self.wrenches = ContactReaction(machine), WrenchInput(machine)
        self._acting = 0  # stamp for which the effort is computed
        self._along = False  # whether the last answer was along a reference
        self._yielding = False  # whether the held position follows an arm that is pushed away
        #: Whether the last effort was for a reference or a hand, so that `settle` has something to do.
        self.followed = False

    def prepare(self, now: float) -> None:
        """Bring loops and inertia to the measured state; AssemblyError, SingularPostureError where that cannot be."""
        stream, torques, machine = self._stream, self._torques, self._machine
        if now >= torques.inertia_at:
            torques.change.act_after(machine.loop.assumed_delay, torques.period.longest)
            self._output.limiter.update_inertia(torques.update_inertia(stream.q, machine.loop.known_delay))
            torques.inertia_at = now + INERTIA_PERIOD
        torques.follow(stream.q, stream.qd)

    def answer(self, stamp: int, now: float) -> Effort:
        """The answer to the measured state, for the time `stamp`."""
        machine, stream, torques, queue = self._machine, self._stream, self._torques, self._queue
        q, qd, late, ramp = stream.q, stream.qd, stream.filter.late, machine.ramp
        self._acting = stamp
        if self._output.velocity.slowing:
            self._output.slow(now, np.zeros(len(q)) if machine.mode is FLOATING else queue.reference.qd)
        if machine.mode in (FLOATING, STOPPING) or machine.runaway is not None or not machine.drives:
            effort = self._without_reference(now)
            if effort is not None:
                return effort
        reference, ended = queue.advance(stamp, machine.speed), None
        if queue.moving:
            ended = queue.judge(stamp, q, qd)
            if ended is Ending.PATH:
                reference = queue.advance(stamp, machine.speed)
        if machine.mode is not STOPPING:
            if ended is not None or queue.moving is not (machine.mode is TRACKING):
                self._note_motion(now, ended)
            if machine.mode is HOLDING:
                reference = self._near(stamp, reference)
        if self.wrenches.active:
            self.wrenches.advance(now)
        if ramp.part < 1.0:
            ramp.grow(stamp, machine.settings, qd, reference.qd)
        feedback = ramp.part * machine.loop.part(late)
        self.followed = True
        expected: tuple[Array, Array] | None = None
        if torques.predictor is not None:
            expected = torques.predictor.predict(q, qd, stream.stamp, stamp, reference.qd)
            reference = queue.ahead(stamp + torques.predictor.ahead)
        if torques.quick is None or torques.change.former:
            at = expected or (q, qd)
            terms = torques.tracking(at[0], at[1], reference, feedback)
            stream.filter.expect(now, reference, terms, torques.held)
            return self._limited(terms, now)
        rows, limited, runaway = self._output.track(
            torques, torques.quick, q, qd, reference, feedback, now, machine.counters, expected
        )
        stream.filter.expect(now, reference, rows, torques.held)
        return self._answered(rows, limited, runaway, now)

    def _without_reference(self, now: float) -> Effort | None:
        """The effort where no reference is followed; None where one is: in a stop that still decelerates along it."""
        machine, stream, torques = self._machine, self._stream, self._torques
        if machine.runaway is not None and (machine.mode is STOPPING or self._let_go(machine.runaway, now)):
            return self._take_energy(machine.runaway, now)
        if not machine.drives and machine.mode is not STOPPING:
            held = torques.damped(stream.q, stream.qd)
            return self._limited(held._replace(feedback=np.zeros(len(stream.q))), now)
        if machine.mode is FLOATING:
            self.followed = True
            return self._limited(torques.floating(stream.q, stream.qd, machine.loop.damping), now)
        if machine.mode is STOPPING and machine.at_rest(now):
            return self._limited(self._damped(now), now, machine.stop.support(now))
        return None

    def _limited(self, terms: TorqueTerms, now: float, fade: float = 1.0) -> Effort:
        stream = self._stream
        limited = self._output.answer(terms, now, stream.q, stream.qd, self._machine.counters, fade)
        runaway = bool((np.abs(stream.qd) > OVERSPEED * self._output.velocity.now).any())
        return self._answered(terms, limited, runaway, now, fade)

    def _answered(
        self, terms: TorqueTerms | Array, limited: Limited, runaway: bool, now: float, support: float = 1.0
    ) -> Effort:
        """Let every part take note of an effort, with a fraction of gravity."""
        machine, stream, torques, mode = self._machine, self._stream, self._torques, self._machine.mode
        late, command = stream.filter.late, limited.command
        self._terms, self._support = terms, support
        self._along = along = self.followed and mode is not FLOATING
        if not along and self.wrenches.active:
            self.wrenches.rest()
        if not self.followed:
            self.contact.rest()
        if now >= torques.missed.due and along and late < GAP:  # feedback to an old state says nothing of the model
            self._learn(now, terms, limited)
        if limited.any and (limited.flags & (EFFORT | STOP | VELOCITY)).any():
            stream.filter.doubt(now)
        if torques.predictor is not None:
            torques.predictor.note(self._acting, command)
        if machine.ramp.part < 1.0:  # errors that a part of the feedback leaves are not learnt
            torques.tracked = None
        torques.integrate((stream.stamp - torques.integrated) / NANOSECONDS, late, limited)
        torques.integrated = stream.stamp
        if machine.runaway is not None:
            machine.runaway.command = command
        elif runaway and machine.drives:
            machine.stop_runaway(now, command)
        self._command = command
        return _new(Effort, (command, terms, machine.mode is STOPPING and machine.through(now, limited)))

    def _learn(self, now: float, terms: TorqueTerms | Array, limited: Limited) -> None:
        """Note an effort along a reference; a wrench, and a change as fast as may be, say nothing of the model."""
        # those of gaps too: what is missing is the mean of what was sent, and answers alone are more than that
        if not self.wrenches.active and not (limited.any and (limited.flags & RATE).any()):
            self._torques.missed.note(now, terms, limited.command)

    def _damped(self, now: float) -> TorqueTerms:
        """Gravity and damping of a stop, as far as it still supports the arm."""
        stream, torques, support = self._stream, self._torques, self._machine.stop.support(now)
        terms = torques.damped(stream.q, stream.qd, support)
        # for dead reckoning of joints whose reading is frozen: the damping of the others moves them too
        own = torques.held * torques.inverse.dot(terms.feedback)
        stream.filter.expect(now, None, terms._replace(feedback=own), torques.held)
        missed = torques.missed.weight(terms.gravity)
        return terms._replace(feedback=terms.feedback + support * stream.filter.borne + missed)

    def _note_motion(self, now: float, ended: Ending | None) -> None:
        """The mode that belongs to the state of the queue."""
        machine, queue = self._machine, self._queue
        if ended in (Ending.PATH, Ending.CANCELLED) and machine.settings.stop.after_cancel == "stop":
            machine.begin_stop(now, ended.value)
        elif queue.moving is not (machine.mode is TRACKING):  # not where one motion has followed another
            cause = queue.followed or (ended.value if ended else "")
            machine.enter(TRACKING if queue.moving else HOLDING, cause)

    def _near(self, stamp: int, reference: Reference) -> Reference:
        """`reference` of a held arm, moved to within `LEASH` of `holding_error` of the measured position."""
        machine, queue, q, settings = self._machine, self._queue, self._stream.q, self._machine.settings
        bound = settings.holding_error
        if bound is None or settings.tracking is None:
            return reference
        if _within(reference.q, q, bound):
            self._yielding = False
            return reference
        error = reference.q - q
        if not self._yielding:
            self._yielding, j = True, int(np.argmax(np.abs(error) > bound))
            machine.counters.held_anew += 1
            machine.cause = (
                f"joint {settings.robot.joint_names[j]!r} was {-error[j]:.4g} away from where it was held; "
                f"{bound[j]:g} is allowed: its place follows the arm"
            )
        there = Reference(q + np.clip(error, -LEASH * bound, LEASH * bound), *np.zeros((2, len(q))))
        machine.loop.shift(queue.reference, there)
        queue.anchor(self._stream.stamp, there, machine.cause)
        return queue.advance(stamp, machine.speed)

    # -- a joint that is too fast -------------------------------------------------------------------------------------

    def _let_go(self, runaway: Runaway, now: float) -> bool:
        """Whether an arm that a hand has made too fast gets no efforts, because its motors may not brake it."""
        machine, qd, limits = self._machine, self._stream.qd, self._machine.settings.limits
        if not (np.abs(qd) > limits.velocity).any():
            machine.runaway = None
            return False
        self._allowed(runaway, now, self._command)
        if runaway.proved:
            machine.begin_stop(now, limits.fastest(qd), after=FAULT)
            machine.runaway = runaway
        return runaway.cut

    def _allowed(self, runaway: Runaway, now: float, effort: Array) -> Array:
        q, qd, late = self._stream.q, self._stream.qd, self._machine.loop.acts_after + self._stream.filter.late
        return runaway.allow(now, late, qd, effort, lambda qdd: self._torques.explaining(q, qd, qdd))

    def _take_energy(self, runaway: Runaway, now: float) -> Effort:
        """The effort of a stop after a joint was too fast, and while the motors of a guided arm are tested."""
        machine, stream = self._machine, self._stream
        support = machine.stop.support(now)
        terms = self._torques.damped(stream.q, stream.qd, support, hard=True)
        allowed = self._allowed(runaway, now, terms.total)
        if runaway.proved and machine.mode is STOPPING and not machine.stop.over(now):
            machine.stop = Stop(now, now, 0.0)
            machine.cause += "; the motors do not brake it, so the efforts are cut"
        machine.at_rest(now)
        self._terms, self._support, self._along = terms, support, False
        limited = self._output.approach(allowed, terms, now, stream.q, machine.counters)
        runaway.command = limited.command
        return Effort(limited.command, terms, machine.through(now, limited))

    # -- without joint states -----------------------------------------------------------------------------------------

    @property
    def _gravity(self) -> Array:
        """The model's gravity where the last effort was for, N·m or N; shape (n,)."""
        return np.asarray(self._terms[GRAVITY] / max(self._support, ROUNDING))

    def bridge(self, now: float) -> Effort | None:
        """Feedforward along the reference until the next state or the time-out; None if that is what was sent last.

        What the last answer had of feedback besides the support fades until `BURST`.
        """
        machine, stream, torques = self._machine, self._stream, self._torques
        if self.followed:  # nobody has called `settle`
            self.settle()
        age, answer = now - stream.arrival, self._terms[FEEDBACK] if self._along else None
        if machine.mode is FLOATING or not machine.drives or machine.at_rest(now):
            terms, answer = torques.only_support(self._gravity, machine.stop.support(now)), None
        else:
            try:
                ahead = self._queue.ahead(stream.stamp + round(age * NANOSECONDS))
                terms = torques.along(ahead, braking=False, faster=age < BURST)
            except RneDynamicsError:  # loops that do not close there: the last effort stays
                return None
        if answer is not None and age < BURST:
            terms = terms._replace(feedback=terms.feedback + machine.loop.kept(age) * (answer - terms.feedback))
        if (np.abs(terms.total - self._command) <= ROUNDING * machine.settings.limits.effort).all():
            return None
        limited = self._output.approach(terms.total, terms, now, stream.q, machine.counters)
        self._command = limited.command
        self.contact.bridge(limited.command)
        if answer is not None and age < BURST and now >= torques.missed.due:
            self._learn(now, terms, limited)
        return Effort(limited.command, terms, machine.through(now, limited))

    def reckoned(self, now: float) -> Effort:
        """Dead reckoning: along the braking reference, then the support of where it ends, released in time."""
        machine, (began, arrival) = self._machine, self._machine.reckoned
        terms = self._torques.only_support(self._gravity, machine.stop.support(now))
        if not machine.at_rest(now):
            try:
                stamp = began + round((now - arrival) * NANOSECONDS)
                terms = self._torques.along(self._queue.advance(stamp, machine.speed, reckoning=True), braking=True)
                self._terms, self._support = terms, 1.0
            except RneDynamicsError:  # loops that do not close there: gravity of the last good state stays
                machine.counters.refusal = "the braking motion has no solution"
        machine.counters.dead_reckoned += 1
        limited = self._output.approach(terms.total, terms, now, self._stream.q, machine.counters)
        return Effort(limited.command, terms, machine.through(now, limited))

    # -- after an effort ----------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """What an effort leaves to do for the next state; measure the delay of the loop, and look for oscillations."""
        self._stream.filter.settle()
        if not self.followed:
            return
        self.followed = False
        self.contact.take(self._command)
        machine, stream, loop, guided = self._machine, self._stream, self._machine.loop, self._machine.mode is FLOATING
        locked = ""
        if loop.measuring and not guided:
            locked = loop.measure(stream.stamp, self._command, stream.reported)
        cause = loop.oscillates(
            self._queue.reference, stream.stamp, stream.q, stream.qd, stream.filter.finest, guided=guided
        )
        if not (cause or locked) or machine.mode not in DRIVING:
            return
        if locked:
            self._queue.cancel(locked)
        if cause and loop.spent:
            machine.begin_stop(self._output.at, cause, after=FAULT)
        else:
            machine.on_change(machine.mode, cause or locked)
