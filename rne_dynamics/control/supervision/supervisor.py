"""The state machine of a controller: joint states and wishes in, efforts out. See `states` for its states.

Time is handed in twice, because two clocks matter: `stamp`, ns of the joint states' own clock, is the time of the
motion; `now`, monotonic s of this computer, is the time of stops and time-outs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from rne_dynamics.control.gain_check import lowest_rate
from rne_dynamics.control.guards.base_filter import BaseFilter, BaseReading
from rne_dynamics.control.guards.effort_limiter import Limited
from rne_dynamics.control.guards.state_filter import StateFilter
from rne_dynamics.control.motion.motion import Motion
from rne_dynamics.control.motion.motion import warm_up as warm_up_motion
from rne_dynamics.control.motion.tolerances import Tolerances
from rne_dynamics.control.reference import Reference
from rne_dynamics.control.streaming.problems import SetpointError, SetpointProblem
from rne_dynamics.control.streaming.setpoints import Setpoints
from rne_dynamics.control.streaming.setpoints import warm_up as warm_up_setpoints
from rne_dynamics.control.supervision.counters import Counters
from rne_dynamics.control.supervision.motion_queue import NANOSECONDS, Ending, MotionQueue, OnEnd
from rne_dynamics.control.supervision.output import Effort, Output
from rne_dynamics.control.supervision.runaway import CUT, OVERSPEED, TRIAL, Runaway
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.start_gate import StartGate
from rne_dynamics.control.supervision.states import (
    ALLOWED,
    DRIVING,
    FAULT,
    FLOATING,
    HOLDING,
    INACTIVE,
    RELEASED,
    STOPPING,
    TRACKING,
    UNCONFIGURED,
    WAITING,
    Mode,
)
from rne_dynamics.control.supervision.stop_plan import Stage, Stop
from rne_dynamics.control.supervision.torques import Torques
from rne_dynamics.control.supervision.watch import RateWatch
from rne_dynamics.control.terms import TorqueTerms
from rne_dynamics.errors import ControlError, RneDynamicsError, StateError, StateProblem
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import open_tree

#: How often the inertia that walls and dampers are made of is looked at again, s.
WEIGH_PERIOD = 0.2
#: Time without a usable joint state after which a stop goes on without states, whatever `state_timeout` is, s.
SILENCE = 0.1
#: Time without a usable joint state, in s and in usual periods, after which feedforward replaces the last effort: its
#: feedback, or the deceleration at a corner of the path, was computed for that moment only.
GAP, PERIODS = 0.01, 3.0
#: Efforts that differ by less, in effort limits, are the same.
ALIKE = 1e-9
#: Distance between the reference and an arm that is pushed away while held, as a fraction of `holding_error`.
LEASH = 0.9
#: Largest step of the stamps that lets the feedback grow, s.
LONGEST_STEP = 0.1
#: Usable joint states in a row after which a stream that was lost counts as back: a broken one has a good state too.
BACK = 5
#: A stream that was lost for these is not taken for good again unasked: after a jump the place may be wrong, and how
#: old late states are shows against earlier ones only. An arm held by such moves off or swings; somebody has to look.
DOUBTED = frozenset({
    StateProblem.POSITION_JUMP, StateProblem.DELAYED, StateProblem.CLOCK_TOO_FAST,
})


class Supervisor:
    """A controller between two joint states.

    Parameters
    ----------
    settings
        What parameters decide.
    on_change
        Told each new mode and its cause.
    """

    def __init__(self, settings: Settings, on_change: Callable[[Mode, str], None] = lambda mode, cause: None) -> None:
        robot = settings.robot
        self._on_change = on_change
        self.mode, self.cause = INACTIVE, ""
        self.counters = Counters()
        self.stamp, self.arrival = 0, -math.inf
        self.speed, self.obstacle = 1.0, ""
        self._torques = Torques(settings)
        self._base = _base_filter(settings)
        self._filter = StateFilter(settings.states)
        self.q, self.qd = self._filter.place, self._filter.speed  # written by each good state, and by no other
        self.q[:] = robot.neutral
        self._output = Output(settings)
        self.gate = StartGate(settings)
        self._stop: Stop | None = None
        self._after = INACTIVE
        self._blind = self._lost = self._stopped_by_loss = self._doubted = self._base_lost = False
        self._reckoned = 0, -math.inf  # stamp and arrival from which dead reckoning goes on
        self._requested = False  # whether a stop was requested since the last start or recovery
        self._runaway: Runaway | None = None
        self._drives = True  # whether the drives act on what is sent
        self._good, self._needed = 0, 1  # usable states in a row, and after how many the arm is held
        self._gravity = np.zeros(robot.n)
        self._period = math.inf  # between two usable states of late, s
        self._command = np.full(robot.n, np.nan)  # the last one
        self._yielding = False  # whether a held arm is beyond `holding_error`
        self._integrated, self._weigh_at = 0, -math.inf
        self._acting = 0  # stamp for which the effort is computed
        self._feedback, self._ramped = 0.0, 0  # fraction of the feedback, and the stamp to which it has grown
        self.settings = settings
        self.queue = self._new_queue()
        self.setpoints = _setpoints(settings)
        self._watch, self._gain_watch = RateWatch(settings.min_rate), _gain_watch(settings)

    # -- settings -----------------------------------------------------------------------------------------------------

    def adopt(self, settings: Settings) -> None:
        """Other parameters, from the next effort on; the rate limit softens what jumps.

        A start-up check that is under way or has failed begins anew where the robot is another one.
        """
        old, self.settings = self.settings, settings
        self._torques.adopt(settings)
        if self._base is not None and settings.base is not None:
            self._base.change(settings.base)
        self._filter.change(settings.states)
        self._output.adopt(settings)
        self._weigh_at = -math.inf
        self._gain_watch = _gain_watch(settings)
        if settings.min_rate != old.min_rate:  # else changes that come often would keep it from ever seeing a window
            self._watch = RateWatch(settings.min_rate)
        if settings.robot is not old.robot and self.mode is HOLDING and not self.gate.open:
            self._begin_check()
        self.queue.lower, self.queue.upper = self._range()
        self.queue.brake_time = settings.stop.brake_time
        if self.setpoints is None:
            self.setpoints = _setpoints(settings)
        elif settings.stream is not None:
            self.setpoints.adopt(settings.stream, _stream_tolerances(settings))

    def warm_up(self) -> None:
        """Compile everything a cycle needs, so that the first one is as fast as the others; changes no state."""
        other = Supervisor(self.settings)
        other.speed = self.speed
        n = self.settings.robot.n
        q = np.clip(np.array(self.settings.robot.neutral), *self._range())
        other.activate(0.0)
        for k in range(1, 4):
            if self.settings.base is not None:
                resting = self.settings.base.at_rest(k * 1_000_000, open_tree(self.settings.robot).gravity)
                other.sense_base(resting, 1e-3 * k)
            other.observe(k * 1_000_000, 1e-3 * k, q.copy(), np.zeros(n), np.zeros(n), velocity_missing=k == 2)
            other.effort(k * 1_000_000, 1e-3 * k)
        other._torques.along(other.queue.reference)  # the law without limits, as in a stop without states
        other.stop(0.004, "warm-up", ending=True)
        other.effort(4_000_000, 0.5)
        other.tick(100.0)
        StartGate(self.settings, self._torques.posture).warm_up()
        warm_up_motion(n)
        warm_up_setpoints(n)

    def _new_queue(self) -> MotionQueue:
        return MotionQueue(self.q, *self._range(), self.settings.stop.brake_time)

    def _range(self) -> tuple[Array, Array]:
        limits = self.settings.limits
        return limits.lower + limits.margin, limits.upper - limits.margin

    # -- what is asked of it ------------------------------------------------------------------------------------------

    def activate(self, now: float) -> None:
        """Wait for the first usable state and hold the arm where it finds it."""
        self.counters = Counters()
        self.setpoints = _setpoints(self.settings)
        self._torques.restart()
        self._filter.restart()
        self._output.start_from(np.zeros(self.settings.robot.n), np.zeros(self.settings.robot.n))
        self._wait(now, "activated")

    def recover(self, now: float) -> None:
        """After a fault or a release: as after activation.

        Raises
        ------
        ControlError
            There is nothing to recover from.
        """
        if self.mode is HOLDING and self.gate.failed:
            self._begin_check()  # it disagreed: look once more
            return
        if self._blind and self._stopped_by_loss:
            self._lost = True  # somebody vouches for the states: they are taken as soon as there are `BACK` good ones
            self._filter.restart()
            return
        if self.mode not in (FAULT, RELEASED):
            raise ControlError(f"nothing to recover from: the controller is {self.mode.value}")
        self._filter.restart()
        self._wait(now, "recovery was asked for")

    def stop(self, now: float, why: str, *, ending: bool = False, after: Mode = RELEASED) -> None:
        """Decelerate, hold and release as `settings.stop` says; nothing where nothing is driven.

        Parameters
        ----------
        now
            Present time.
        why
            Told to whoever waits for a motion, and shown.
        ending
            Whether the controller is deactivated, so that it cannot hold for ever; it is inactive afterwards.
        after
            The mode afterwards otherwise.
        """
        after = INACTIVE if ending else after
        self._requested, self._stopped_by_loss = True, False
        if self.mode is STOPPING and self._stop is not None:
            self._stop = self._stop.ended_by(now, self.settings.stop) if ending else self._stop
            self._after = after if ending else self._after
        elif self.mode in DRIVING:
            self._begin_stop(now, why, after=after, ending=ending)
        elif ending or self.mode is WAITING:
            self._enter(after, why)

    def hurry(self, now: float, why: str) -> None:
        """Bring the efforts to zero at the rate limit, whatever stop is planned: for a second signal to stop."""
        self.stop(now, why)
        if self.mode is STOPPING:
            self._stop = Stop(now, now, 0.0)

    def drives(self, now: float, act: bool) -> None:
        """Whether the drives act on what is sent, as far as they say.

        While they do not, motions end and are refused, and the efforts are those that hold the measured posture. When
        they do again, the arm is held where it is then, and the feedback grows from nothing.
        """
        if act is self._drives:
            return
        self._drives = act
        if self.mode in DRIVING:
            self._hold("the drives act again" if act else "the drives do not act")
            self._begin_check()

    def fail(self, now: float, why: str) -> None:
        """Stop without states and stay out of it, because of an error outside that leaves no other way."""
        if self.mode in DRIVING or self.mode is STOPPING:
            self._fail(now, why)

    def follow(self, motion: Motion, on_end: OnEnd) -> None:
        """Follow `motion` from its start on; see `MotionQueue.put`.

        Raises
        ------
        ControlError
            The controller does not accept motions now; the message says why.
        """
        self.ready()
        self.queue.put(motion, on_end)

    def setpoint(
        self, source: int, q: Array, qd: Array, now: float, *, stamp: int = 0, ahead: int = 0,
        sequence: int | None = None,
    ) -> None:
        """Follow a setpoint from the next effort on; one that is not followed is counted.

        Parameters
        ----------
        source, q, qd, stamp, ahead, sequence
            As for `Setpoints.take`.
        now
            When it was received, monotonic s.

        Raises
        ------
        SetpointError
            It is not followed; the message says why.
        """
        setpoints = self.setpoints
        if setpoints is None:
            raise SetpointError(self.settings.no_stream, SetpointProblem.NOT_READY)
        at = self.stamp + round(max(now - self.arrival, 0.0) * NANOSECONDS) if self.arrival > -math.inf else 0
        try:
            if setpoints.take(
                source, q, qd, stamp=stamp, ahead=ahead, at=at, sequence=sequence, begin=self._may_stream
            ):
                setpoints.stream.start = self.stamp
                self.queue.put(setpoints.stream, self._stream_ended)
        except SetpointError as error:
            setpoints.refuse(error)
            raise

    def refuse_setpoint(self, error: SetpointError) -> None:
        """Count a setpoint that could not even be read."""
        if self.setpoints is not None:
            self.setpoints.refuse(error)

    def _may_stream(self) -> Reference:
        """What the arm is asked to do, where setpoints may be followed from now on."""
        try:
            self.ready()
        except ControlError as error:
            raise SetpointError(f"setpoints are ignored: {error}", SetpointProblem.NOT_READY) from None
        if self.queue.moving or self.queue.awaited:
            assert self.setpoints is not None
            self.setpoints.ended("a trajectory is under way")
            raise SetpointError("setpoints are ignored: a trajectory is under way", SetpointProblem.NOT_READY)
        return self.queue.reference

    def _stream_ended(self, ending: Ending, text: str) -> None:
        assert self.setpoints is not None
        self.setpoints.ended("" if ending is Ending.SILENT else f"the stream was {ending.value} ({text})")

    def ready(self) -> None:
        """`ControlError` where no motion can be accepted now; the message says why."""
        if self.settings.tracking is None:
            raise ControlError("this controller follows no trajectories")
        if self.mode not in (HOLDING, TRACKING):
            raise ControlError(f"the controller is {self.mode.value}{f' ({self.cause})' if self.cause else ''}")
        if not self._drives:
            raise ControlError("the drives do not act: enable them on the arm, or check drives.topic")
        if self.obstacle:
            raise ControlError(f"no motion is allowed: {self.obstacle}")
        if not self.gate.open:
            again = "; ~/recover repeats the check" if self.gate.failed else ""
            raise ControlError(f"no motion is allowed: {self.gate.text}{again}")

    def obstruct(self, why: str) -> None:
        """Brake what is under way and accept no motion, for a reason outside of the arm; empty: accept them again."""
        if why and not self.obstacle and self.mode in (HOLDING, TRACKING):
            self.cancel(why)
        self.obstacle = why

    def scale_speed(self, speed: float) -> None:
        """Let path time run at `speed` of real time, 0 to 1; `ControlError` for anything else."""
        if not 0.0 <= speed <= 1.0:
            raise ControlError(f"speed scaling is {speed}; it must lie between 0 and 1")
        self.speed = speed

    def cancel(self, why: str) -> None:
        """Brake what is under way, along its path; what follows says `stop.after_cancel`."""
        self.queue.cancel(why)

    def hand_guide(self, on: bool) -> None:
        """Let a hand lead the arm, or hold it again where it is.

        Raises
        ------
        ControlError
            The arm moves by itself, is not held, or the start-up check is not passed.
        """
        if on == (self.mode is FLOATING):
            return
        if self.settings.tracking is None:
            raise ControlError("this controller does nothing but hand guiding: deactivate it to end that")
        if on:
            self.ready()
            if self.mode is not HOLDING or self.queue.awaited:
                raise ControlError("hand guiding needs an arm that is held: a trajectory is under way or to come")
        elif self.mode is not FLOATING:
            raise ControlError(f"hand guiding is not on: the controller is {self.mode.value}")
        self._anchor("hand guiding")
        self._enter(FLOATING if on else HOLDING, "hand guiding")

    # -- joint states -------------------------------------------------------------------------------------------------

    def observe(
        self, stamp: int, now: float, q: Array, qd: Array, reported: Array, *, velocity_missing: bool = False,
        sequence: int | None = None,
    ) -> bool:
        """Take a joint state; whether it is usable, so that `effort` answers it.

        Parameters
        ----------
        stamp, now
            Its time, ns, and when it came, monotonic s.
        q, qd, reported
            Positions, velocities and the efforts that the arm reports, shape (n,); written to. NaN in `reported` where
            nothing is reported.
        velocity_missing
            Whether `qd` is to be estimated.
        sequence
            The sender's running number of the message.
        """
        if self.mode in (INACTIVE, UNCONFIGURED):
            return False
        self.counters.states += 1
        if self._stale(now):
            self._lose(now)
        if self.mode in (FAULT, RELEASED):
            if not (self._lost and self.settings.recover_automatically) or self._requested:
                return False
            self._wait(now, "joint states are back", needed=BACK)
        try:
            fresh = self._filter.accept(stamp, now, q, qd, velocity_missing=velocity_missing, sequence=sequence)
        except StateError as error:
            self.counters.refuse(error.problem, str(error))
            self._good, self._doubted = 0, error.problem in DOUBTED
            if error.problem is StateProblem.FROZEN and self.mode in DRIVING:
                self._begin_stop(now, str(error), after=FAULT)
                # at once with damping alone: nothing corrects how that joint brakes along a path
                self._stop = self.settings.stop.begin(now, braking=False, ending=False)
            return False
        self._good, self._doubted = self._good + 1, False
        if self._good > 1:  # not over a gap
            passed = max((self._filter.stamp - self.stamp) / NANOSECONDS, GAP / PERIODS)
            self._period = min(passed, 1.02 * self._period)
        self.stamp, self.arrival = self._filter.stamp, now
        self._arrived(now, reported, fresh)
        return True

    def sense_base(self, reading: BaseReading, now: float) -> None:
        """Take a message on the motion of the base, from the next effort on; one that must not be used is counted."""
        if self._base is None or self.mode in (INACTIVE, UNCONFIGURED):
            return
        self._watch_base(now)  # before the message, which may end a gap that was too long
        try:
            self._torques.move_base(self._base.accept(reading, now))
            self._base_lost = False
        except StateError as error:
            self.refuse_base(error)

    def refuse_base(self, error: StateError) -> None:
        """Count a message on the motion of the base that could not even be read."""
        self.counters.base_refused += 1
        self.counters.base_refusal = str(error)

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
        assert self._stop is not None
        self._stop = self._stop.ended_by(now, self.settings.stop)  # which way gravity acts is known ever less

    def refuse(self, error: StateError) -> None:
        """Count a message that could not even be read."""
        self.counters.states += 1
        self.counters.refuse(error.problem, str(error))
        self._good = 0

    def _arrived(self, now: float, reported: Array, fresh: bool) -> None:
        """What a usable state changes."""
        if self.mode is WAITING:
            if self._good < self._needed or not self._base_known(now):
                return
            self._output.start_from(reported, self._torques.gravity(self.q))
            self._hold("joint states have come")
            self._begin_check()
        elif self._blind:
            self._see_again(now, reported)
        elif fresh:
            self.counters.time_jumps += 1
            if self.mode is STOPPING:
                self._anchor(self.cause, soft=False)
            else:
                self._hold("the joint states' clock has jumped", soft=False)  # the arm has not, and may be in motion
                self._go_on()
        if self._watch.too_slow(now) and self.mode in DRIVING:
            self._begin_stop(
                now, f"{self._watch.rate:.0f} joint states per second; min_rate is {self.settings.min_rate:g}",
                after=FAULT,
            )
        if fresh:
            self._gain_watch.restart(math.nan)
        if self._gain_watch.too_slow(self.stamp / NANOSECONDS) and self.mode in DRIVING:
            self._begin_stop(
                now, f"{self._gain_watch.rate:.0f} joint states per second by their stamps; the gains are stable from "
                f"{self._gain_watch.least:.0f} on: lower them or send states more often", after=FAULT,
            )
        if self.mode is HOLDING and self.gate.checking and self._feedback >= 1.0 and self._drives:
            self._go_on_checking(now, reported)

    def _base_known(self, now: float) -> bool:
        """Whether nothing about the base is missing for a start; says what is."""
        if self._base is None:
            return True
        if self._base.stale(now):
            missing = f"no usable base motion{f': {self.counters.base_refusal}' if self.counters.base_refused else ''}"
            if self.cause != missing:
                self.cause = missing
                self._on_change(self.mode, missing)
            return False
        self._base_lost = False
        return True

    def _see_again(self, now: float, reported: Array) -> None:
        """States are back while the arm is stopped by dead reckoning."""
        if not self._lost or self._good < BACK:
            return  # what failed with the last state may fail with this one
        self._blind = self._lost = False
        if now - self._output.at >= self.settings.states.timeout:  # a process that slept: drives have let go meanwhile
            self._output.start_from(reported, self._torques.gravity(self.q))
        if self._stopped_by_loss and self._after is not INACTIVE:
            self._stop = None
            self._hold("joint states are back")
            self._begin_check()
        else:
            self._anchor(self.cause, soft=False)  # the stop goes on from where the arm is now

    # -- efforts ------------------------------------------------------------------------------------------------------

    def effort(self, stamp: int, now: float) -> Effort | None:
        """The answer to the last state, for the time `stamp`; None where there is nothing to send."""
        self._watch_base(now)
        if self._blind or not (self.mode in DRIVING or self.mode is STOPPING):
            return None
        if self._unseen(now):
            return self._bridge(now)
        try:
            if now >= self._weigh_at:
                self._output.weigh(self._torques.weigh(self.q))
                self._weigh_at = now + WEIGH_PERIOD
            self._torques.follow(self.q, self.qd)
            return self._answer(stamp, now)
        except RneDynamicsError as error:
            self._fail(now, str(error))
            return self.tick(now)

    def _answer(self, stamp: int, now: float) -> Effort:
        q, qd, torques, counters = self.q, self.qd, self._torques, self.counters
        self._acting = stamp
        if self._runaway is not None:
            return self._take_energy(self._runaway, now)
        if not self._drives and self.mode is not STOPPING:
            return self._limited(torques.supporting(q, qd), now)
        if self.mode is FLOATING:
            return self._limited(torques.floating(q, qd), now)
        if self._at_rest(now):
            support = self._support(now)
            return self._limited(torques.damped(q, qd, support), now, support)
        reference = self.queue.advance(stamp, self.speed)
        ended = self.queue.judge(stamp, q, qd)
        if ended is not None and ended is Ending.PATH:
            reference = self.queue.advance(stamp, self.speed)
        if self.mode is not STOPPING:
            self._note_motion(now, ended)
            reference = self._near(stamp, reference)
        feedback = self._grown(stamp)
        if torques.quick is None:
            terms = torques.tracking(q, qd, reference, feedback)
            self._filter.expect(now, reference.qd, terms.feedback, torques.own(terms.feedback))
            return self._limited(terms, now)
        expected = None
        if torques.predictor is not None:
            expected = torques.predictor.predict(q, qd, self.stamp, stamp, reference.qd)
            reference = self.queue.ahead(stamp + torques.predictor.ahead)
        terms, limited, runaway = self._output.track(
            torques, torques.quick, q, qd, reference, feedback, now, counters, expected
        )
        self._filter.expect(now, reference.qd, terms.feedback, torques.own(terms.feedback))
        return self._answered(terms, limited, runaway, now)

    def _limited(self, terms: TorqueTerms, now: float, fade: float = 1.0) -> Effort:
        limited = self._output.answer(terms, now, self.q, self.qd, self.counters, fade)
        runaway = bool((np.abs(self.qd) > OVERSPEED * self.settings.limits.velocity).any())
        return self._answered(terms, limited, runaway, now)

    def _answered(self, terms: TorqueTerms, limited: Limited, runaway: bool, now: float) -> Effort:
        self._gravity = terms.gravity
        if self._torques.predictor is not None:
            self._torques.predictor.note(self._acting, limited.command)
        self._torques.integrate((self.stamp - self._integrated) / NANOSECONDS, self._filter.late, limited)
        self._integrated = self.stamp
        if runaway and self._drives:
            self._stop_runaway(now, limited.command)
        self._command = limited.command
        return Effort(limited.command, terms, self._through(now, limited))

    def _at_rest(self, now: float) -> bool:
        """Whether a stop is beyond its deceleration; no motion is under way any more then."""
        if self.mode is not STOPPING or self._stop is None:
            return False
        if self._stop.stage(now) is Stage.BRAKE and self._runaway is None:
            return False
        self.queue.drop(self.cause)
        return True

    def _support(self, now: float) -> float:
        return 1.0 if self._stop is None else self._stop.support(now)

    def _note_motion(self, now: float, ended: Ending | None) -> None:
        """The mode that goes with what the queue does."""
        off = ended is not None and ended in (Ending.PATH, Ending.CANCELLED)
        if off and self.settings.stop.after_cancel == "stop":
            self._begin_stop(now, str(ended.value) if ended else "")
        elif self.queue.moving is not (self.mode is TRACKING):
            cause = self.queue.followed or (ended.value if ended else "")
            self._enter(TRACKING if self.queue.moving else HOLDING, cause)

    def _near(self, stamp: int, reference: Reference) -> Reference:
        """`reference`; while the arm is held, moved to within `LEASH` of `holding_error` of the measured position."""
        bound = self.settings.holding_error
        if self.mode is not HOLDING or bound is None or self.settings.tracking is None:
            return reference
        error = reference.q - self.q
        off = np.abs(error) > bound
        if not off.any():
            self._yielding = False
            return reference
        if not self._yielding:
            self._yielding, j = True, int(np.argmax(off))
            self.counters.held_anew += 1
            self.cause = (
                f"joint {self.settings.robot.joint_names[j]!r} was {-error[j]:.4g} away from where it was held; "
                f"{bound[j]:g} is allowed: its place follows the arm"
            )
        rest = np.zeros(len(self.q))
        place = self.q + np.clip(error, -LEASH * bound, LEASH * bound)
        self.queue.anchor(self.stamp, Reference(place, rest, rest), self.cause)
        return self.queue.advance(stamp, self.speed)

    def _grown(self, stamp: int) -> float:
        """Fraction of the feedback at `stamp`: it grows after every start and never falls but for a start."""
        ramp = self.settings.feedback_ramp
        step = min(max(stamp - self._ramped, 0) / NANOSECONDS, LONGEST_STEP)
        self._feedback = min(self._feedback + step / ramp, 1.0) if ramp > 0.0 else 1.0
        self._ramped = stamp
        return self._feedback

    def _take_energy(self, runaway: Runaway, now: float) -> Effort:
        """The effort of a stop after a joint was too fast."""
        assert self._stop is not None
        terms = self._torques.damped(self.q, self.qd, self._support(now))
        allowed = runaway.allow(
            now, self.qd, terms.total, lambda qdd: self._torques.explaining(self.q, self.qd, qdd)
        )
        if runaway.cut and self._stop.stage(now) is not Stage.OVER:
            self._stop = Stop(now, now, 0.0)
            self.cause += "; the motors do not brake it, so the efforts are cut"
        self._at_rest(now)
        self._gravity = terms.gravity
        limited = self._output.approach(allowed, terms, now, self.q, self.counters)
        runaway.sent(limited.command)
        return Effort(limited.command, terms, self._through(now, limited))

    def _through(self, now: float, limited: Limited) -> bool:
        """Whether a stop has come to its end with this effort; the mode follows."""
        over = self.mode is STOPPING and self._stop is not None and self._stop.stage(now) is Stage.OVER
        if not over or limited.command.any():
            return False
        if self._after is FAULT:
            self.counters.faults += 1
        self._stop, self._runaway, self._blind = None, None, False
        self._enter(self._after, self.cause)
        return True

    def _stop_runaway(self, now: float, command: Array) -> None:
        limits = self.settings.limits
        j = int(np.argmax(np.abs(self.qd) > OVERSPEED * limits.velocity))
        name, speed = limits.joints[j], self.qd[j]
        cause = f"joint {name!r} moves at {speed:.4g} per second; its limit is {limits.velocity[j]:.4g}"
        if self.mode is STOPPING:
            self.cause += f"; then {cause}"
        else:
            self._begin_stop(now, cause, after=FAULT)
        self._runaway = Runaway(now, self.qd, command, limits, self._torques.moving)

    # -- what can go wrong --------------------------------------------------------------------------------------------

    def tick(self, now: float) -> Effort | None:
        """To be called every few milliseconds: looks for a broken stream; the effort of a stop without states."""
        self._watch_base(now)
        if self._stale(now):
            self._lose(now)
        if self._blind:
            return self._blind_effort(now)
        return self._bridge(now) if self._unseen(now) else None

    @property
    def blind(self) -> bool:
        """Whether the arm is being stopped without usable states: `tick` gives the efforts."""
        return self._blind

    def _unseen(self, now: float) -> bool:
        """Whether states have been missing for longer than `GAP` and `PERIODS` while efforts are sent."""
        driven = (self.mode in DRIVING or self.mode is STOPPING) and self._runaway is None
        return driven and now - self.arrival > max(GAP, PERIODS * self._period)

    def _bridge(self, now: float) -> Effort | None:
        """Feedforward along the reference until the next state or the time-out; None if that is what was sent last."""
        if self.mode is FLOATING or not self._drives or self._at_rest(now):
            terms = self._torques.only_support(self._gravity, self._support(now))
        else:
            try:
                passed = round((now - self.arrival) * NANOSECONDS)
                terms = self._torques.along(self.queue.ahead(self.stamp + passed))
            except RneDynamicsError:  # loops that do not close there: the last effort stays
                return None
        if (np.abs(terms.total - self._command) <= ALIKE * self.settings.limits.effort).all():
            return None
        limited = self._output.approach(terms.total, terms, now, self.q, self.counters)
        self._command = limited.command
        return Effort(limited.command, terms, self._through(now, limited))

    def _stale(self, now: float) -> bool:
        timeout = self.settings.states.timeout or math.inf
        if self.mode is STOPPING:
            unseen = CUT if math.isinf(self._period) else max(TRIAL, 2.0 * self._period)  # of an arm that was too fast
            timeout = min(timeout, SILENCE if self._runaway is None else unseen)
        seeing = not self._blind and (self.mode in DRIVING or self.mode is STOPPING)
        return seeing and now - self.arrival >= timeout

    def _lose(self, now: float) -> None:
        """No usable state any more: stop by dead reckoning."""
        refused = self._good == 0 and self.counters.refusal  # after the last usable one
        last = f" (the last one was refused: {self.counters.refusal})" if refused else ""
        why = f"no usable joint state for {now - self.arrival:.3f} s{last}"
        self.counters.lost += 1
        self._filter.reset()
        if self.mode is not STOPPING:
            self._begin_stop(now, why, after=FAULT)
            self._stopped_by_loss = True
        self._go_blind(now, lost=not self._doubted)

    def _fail(self, now: float, why: str) -> None:
        """A state that has no answer: stop by dead reckoning and stay out of it."""
        if self.mode is not STOPPING:
            self._begin_stop(now, why, after=FAULT)
        self._go_blind(now, lost=False)

    def _go_blind(self, now: float, *, lost: bool) -> None:
        """Go on with a stop without states; it always ends, since nobody sees what the arm does."""
        assert self._stop is not None
        self._stop = self._stop.ended_by(now, self.settings.stop)
        if self._runaway is not None:  # too fast, and now unseen: nothing that is sent can be trusted
            self._stop = Stop(now, now, 0.0)
        self._blind, self._lost, self._good = True, lost, 0
        self._reckoned = self.stamp, self.arrival  # states that come back may have another time base

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
        self._weigh_at = -math.inf
        self.counters.stops += 1
        self._enter(STOPPING, why)

    def _blind_effort(self, now: float) -> Effort:
        """Dead reckoning: along the braking reference, then the gravity torque of where it ends, released in time."""
        stamp = self._reckoned[0] + round((now - self._reckoned[1]) * NANOSECONDS)
        terms = self._torques.only_support(self._gravity, self._support(now))
        if not self._at_rest(now):
            try:
                terms = self._torques.along(self.queue.advance(stamp, self.speed, reckoning=True))
                self._gravity = terms.gravity
            except RneDynamicsError:  # loops that do not close there: gravity of the last good state stays
                self.counters.refusal = "the braking motion has no solution"
        self.counters.blind += 1
        limited = self._output.approach(terms.total, terms, now, self.q, self.counters)
        return Effort(limited.command, terms, self._through(now, limited))

    # -- inside -------------------------------------------------------------------------------------------------------

    def _enter(self, mode: Mode, cause: str) -> None:
        if mode is self.mode:
            self.cause = cause or self.cause
            return
        assert (self.mode, mode) in ALLOWED, f"{self.mode} to {mode}"
        self.mode, self.cause = mode, cause
        self._on_change(mode, cause)

    def _wait(self, now: float, cause: str, needed: int = 1) -> None:
        self._requested = False
        self._good, self._needed, self._doubted = 0, needed, False
        self._filter.reset()
        self._watch.restart(math.nan)
        self._gain_watch.restart(math.nan)
        self._stop, self._runaway, self._blind, self._lost = None, None, False, False
        self.gate = StartGate(self.settings)
        self.arrival, self._period = now, math.inf
        self._enter(WAITING, cause)

    def _hold(self, cause: str, *, soft: bool = True) -> None:
        """Hold the arm where it is now."""
        self._anchor(cause, soft=soft)
        self._enter(HOLDING, cause)

    def _anchor(self, why: str, *, soft: bool = True) -> None:
        """Come to rest from what is measured now; if `soft`, the feedback grows from nothing."""
        self._torques.forget()
        limit = self.settings.limits.velocity  # a reference is never faster, however fast the arm is
        now = Reference(self.q.copy(), np.clip(self.qd, -limit, limit), np.zeros(len(self.q)))
        self.queue.anchor(self.stamp, now, why)
        self._ramped = self._integrated = self.stamp
        if soft:
            self._feedback = 0.0
        self._weigh_at = -math.inf

    def _begin_check(self) -> None:
        """Look at the arm before it may move."""
        self.gate = StartGate(self.settings, self._torques.posture)
        self._go_on()

    def _go_on_checking(self, now: float, reported: Array) -> None:
        if not self.gate.add(self.stamp, self.q, self.qd, self._torques.upright(self.q, reported)):
            return
        self.cause = self.gate.text
        if self.gate.failed and self.settings.tracking is None:
            self._begin_stop(now, self.cause, after=FAULT)
            return
        self._go_on()
        if self.mode is HOLDING:
            self._on_change(self.mode, self.cause)

    def _go_on(self) -> None:
        """The arm is held: a controller that knows nothing else lets it float as soon as it may move."""
        if self.settings.tracking is None and self.gate.open:
            self._enter(FLOATING, self.cause)

    @property
    def posture(self) -> Array | None:
        """Positions of all joints of a mechanism's tree at the state at hand; None of an open arm."""
        return self._torques.posture

    @property
    def estimated(self) -> tuple[str, ...]:
        """As of `StateFilter`."""
        return self._filter.estimated

    @property
    def distance(self) -> float | None:
        """Of a mechanism, a lower bound of its distance to a singular posture; None of an open arm."""
        return None if self._torques.loops is None else self._torques.loops.smallest

    def clamp_text(self) -> str:
        """As of `Output`."""
        return self._output.clamp_text()


def _setpoints(settings: Settings) -> Setpoints | None:
    return None if settings.stream is None else Setpoints(settings.stream, _stream_tolerances(settings))


def _stream_tolerances(settings: Settings) -> Tolerances:
    return settings.stream_tolerances or Tolerances(settings.robot.joint_names)


def _base_filter(settings: Settings) -> BaseFilter | None:
    return None if settings.base is None else BaseFilter(settings.base, open_tree(settings.robot).gravity)


def _gain_watch(settings: Settings) -> RateWatch:
    """Watches the rate that the gains need, over two windows: a gap in the states is no rate."""
    tracking = settings.tracking
    return RateWatch(0.0 if tracking is None else lowest_rate(tracking.gains), windows=2)
