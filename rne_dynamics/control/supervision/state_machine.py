"""The state machine of a controller: its mode, what it is made of, and what changes from one mode to another.

`states` lists modes and transitions. The parts: `state_stream` and `guards/base_filter` take what is measured,
`motion_queue` gives the reference and keeps what is held, `torques` gives the law's efforts, `output` limits them;
`loop_watch`, `Stop` and `Runaway` decide what of these counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.guards.base_filter import BaseFilter
from rne_dynamics.control.guards.effort_limiter import Limited
from rne_dynamics.control.guards.state_filter import DOUBTED
from rne_dynamics.control.motion.limits import MotionLimits
from rne_dynamics.control.supervision.loop_watch import LoopWatch
from rne_dynamics.control.supervision.motion_queue import Ending, FeedbackRamp, MotionQueue, StartGate
from rne_dynamics.control.supervision.output import Counters, Output, Runaway
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.state_stream import StateStream
from rne_dynamics.control.supervision.states import (
    ALLOWED,
    DRIVING,
    FAULT,
    FLOATING,
    HOLDING,
    INACTIVE,
    NO_STOP,
    RELEASED,
    SENDING,
    STOPPING,
    TRACKING,
    WAITING,
    Mode,
    Stop,
)
from rne_dynamics.control.supervision.torques import Torques
from rne_dynamics.control.thresholds import BACK, CUT, LONGEST_GAP, NANOSECONDS, TRIAL
from rne_dynamics.errors import ControlError, StateError, StateProblem, refuse
from rne_dynamics.model.inertia import Array

OnChange = Callable[[Mode, str], None]


class StateMachine:
    """Mode and parts of a controller; `on_change` gets each new mode and its cause."""

    def __init__(self, settings: Settings, on_change: OnChange) -> None:
        self.settings, self.on_change = settings, on_change
        self.mode, self.cause = INACTIVE, ""
        self.counters = Counters()
        self.stream = StateStream(settings)
        self.base = None if settings.base is None else BaseFilter(settings.base, settings.robot.open_tree.gravity)
        self.torques = Torques(settings)
        self.output = Output(settings)
        self.gate = StartGate(settings)
        self.loop = LoopWatch(settings)
        self.ramp = FeedbackRamp()
        self.queue = MotionQueue(self.stream.q, *self.place_range(), settings.stop.brake_time)
        #: The stop under way, what follows it, and what it sends where a joint was too fast.
        self.stop, self.after = NO_STOP, INACTIVE
        self.runaway: Runaway | None = None
        #: Whether the stop goes on without states, from which stamp and arrival; whether states that come back count.
        self.dead_reckoning, self.lost = False, False
        self.reckoned = 0, -math.inf
        #: Whether lost states are the cause of the stop; whether one was requested since the last start or recovery.
        self.stopped_by_loss = self.requested = False
        #: Path time passes at so much of real time, 0 to 1.
        self.speed = 1.0
        #: Why no motion is accepted, for a reason outside of the arm; empty for none.
        self.obstacle = ""
        #: Whether the motion of the base is not known any more; whether the drives act on what is sent.
        self.base_lost, self.drives = False, True

    def place_range(self) -> tuple[Array, Array, Array]:
        """Lowest and highest position of a motion, and its largest velocity; (n,) each."""
        limits = self.settings.limits
        return limits.lower + limits.margin, limits.upper - limits.margin, limits.velocity

    def adopt(self, settings: Settings) -> None:
        """Other settings; a start-up check that is under way or has failed begins anew for another robot."""
        old, self.settings = self.settings, settings
        driven = self.mode in DRIVING or (self.mode is STOPPING and not self.dead_reckoning)
        self.torques.adopt(settings, at_once=not driven)
        if driven and type(settings.tracking) is not type(old.tracking):
            self._take_along()
        if self.base is not None and settings.base is not None:
            self.base.sensor = settings.base
        self.stream.adopt(settings)
        self.output.adopt(settings)
        self.loop.adopt(settings)
        if settings.robot is not old.robot and self.mode is HOLDING and not self.gate.open:
            self.begin_check()
        queue, limits = self.queue, self.place_range()
        if not np.array_equal((queue.lower, queue.upper, queue.velocity), limits):
            queue.lower, queue.upper, queue.velocity = limits
            queue.limit(MotionLimits(settings.robot.joint_names, *limits, np.inf))
        queue.brake_time = settings.stop.brake_time

    def _take_along(self) -> None:
        """With another law, hold an arm where it is that is farther from its reference than the law allows."""
        # the effort of the law before fades from what it is: an arm that carries something must not fall
        bound, reference, stream, torques = self.settings.holding_error, self.queue.reference, self.stream, self.torques
        if bound is None or (np.abs(reference.q - stream.q) <= bound).all() or self.mode in (STOPPING, FLOATING):
            return
        torques.change.keep_effort(stream.q, stream.qd, reference, torques.posture, torques.base)
        self.cause = "the law has changed, and the arm was away from its reference: it is held where it is"
        self.counters.held_anew += 1
        self.anchor(self.cause, soft=False)

    # -- modes --------------------------------------------------------------------------------------------------------

    def enter(self, mode: Mode, cause: str) -> None:
        """Change to a mode; in the same mode only the cause changes."""
        if mode is self.mode:
            self.cause = cause or self.cause
            return
        assert (self.mode, mode) in ALLOWED, f"{self.mode} to {mode}"
        self.mode, self.cause = mode, cause
        self.runaway = self.runaway if mode is STOPPING else None
        if mode is FLOATING:
            self.loop.begin_guiding()
        self.on_change(mode, cause)

    def wait(self, now: float, cause: str, needed: int = 1) -> None:
        """Wait for the first usable states."""
        self.requested = False
        self.stream.wait(now, needed)
        self.stop, self.runaway, self.dead_reckoning, self.lost = NO_STOP, None, False, False
        self.gate = StartGate(self.settings)
        self.loop = LoopWatch(self.settings, self.loop.acts_after)
        self.enter(WAITING, cause)

    def hold(self, cause: str, *, soft: bool = True) -> None:
        """Hold the arm where it is now."""
        self.anchor(cause, soft=soft)
        self.enter(HOLDING, cause)

    def anchor(self, why: str, *, soft: bool = True, late: float = 0.0, still: bool = False) -> None:
        """Rest from what was measured `late` s ago, at once if `still`; if `soft`, the feedback grows from nothing."""
        stream, torques = self.stream, self.torques
        torques.forget()
        zero = np.zeros(len(stream.q))
        now = Reference(stream.q + late * stream.qd, zero if still else stream.qd.copy(), zero)
        self.loop.shift(self.queue.reference, now)
        self.queue.anchor(stream.stamp + round(late * NANOSECONDS), now, why)
        self.ramp.at = torques.integrated = stream.stamp
        if soft:
            self.ramp.part = 0.0
            torques.missed.forget()
        torques.inertia_at = -math.inf

    def begin_check(self) -> None:
        """Begin the start-up check."""
        self.gate = StartGate(self.settings, self.torques.posture)
        self.go_on()

    def go_on(self) -> None:
        """The arm is held: a controller without a law for references lets it float as soon as it may move."""
        if self.settings.tracking is None and self.gate.open:
            self.enter(FLOATING, self.cause)

    def ready(self) -> None:
        """`ControlError` where no motion can be accepted now; the message says why."""
        cause = f" ({self.cause})" if self.cause else ""
        again = "; ~/recover repeats the check" if self.gate.failed else ""
        refuse(
            ControlError,
            (self.settings.tracking is None, "this controller follows no trajectories"),
            (self.mode not in (HOLDING, TRACKING), f"the controller is {self.mode.value}{cause}"),
            (not self.drives, "the drives do not act: enable them on the arm, or check drives.topic"),
            (self.obstacle, f"no motion is allowed: {self.obstacle}"),
            (self.loop.locked, f"no motion is allowed: {self.loop.locked}"),
            (not self.gate.open, f"no motion is allowed: {self.gate.text}{again}"),
        )

    # -- stops --------------------------------------------------------------------------------------------------------

    def begin_stop(self, now: float, why: str, *, after: Mode = RELEASED, ending: bool = False) -> None:
        """Bring the reference to rest and plan the rest of the stop."""
        if self.mode is FLOATING or not self.drives:  # the reference is not followed there
            self.anchor(why)
        else:
            self.queue.cancel(why, Ending.STOPPED)
        self.stopped_by_loss = False
        self.stop = self.settings.stop.begin(now, braking=self.settings.tracking is not None, ending=ending)
        self.after, self.lost, self.runaway = after, False, None
        self.torques.inertia_at = -math.inf
        self.counters.stops += 1
        self.enter(STOPPING, why)

    def at_rest(self, now: float) -> bool:
        """Whether a stop is beyond its deceleration; no motion is under way any more then."""
        if self.mode is not STOPPING or (self.stop.braking(now) and self.runaway is None):
            return False
        self.queue.drop(self.cause)
        return True

    def through(self, now: float, limited: Limited) -> bool:
        """Whether a stop has come to its end with this effort; the mode follows."""
        over = self.mode is STOPPING and self.stop.over(now)
        if not over or limited.command.any():
            return False
        if self.after is FAULT:
            self.counters.faults, self.counters.fault = self.counters.faults + 1, self.cause
        self.stop, self.runaway, self.dead_reckoning = NO_STOP, None, False
        self.enter(self.after, self.cause)
        return True

    def stop_runaway(self, now: float, command: Array) -> None:
        """Brake a joint that is too fast; in hand guiding that may be the hand's doing, which is no fault."""
        limits, qd = self.settings.limits, self.stream.qd
        if self.mode is STOPPING:
            self.cause += f"; then {limits.fastest(qd)}"
        elif self.mode is not FLOATING:
            self.begin_stop(now, limits.fastest(qd), after=FAULT)
        self.runaway = Runaway(now, qd, command, limits, self.torques.moving, self.mode is FLOATING)

    def fail(self, now: float, why: str) -> None:
        """Stop by dead reckoning, without return: there is no effort for a state, or an error outside leaves no way."""
        if self.mode in DRIVING:
            self.begin_stop(now, why, after=FAULT)
        if self.mode is STOPPING:
            self.begin_dead_reckoning(now, lost=False)

    def lose(self, now: float) -> None:
        """No usable state any more: stop by dead reckoning."""
        stream = self.stream
        refused = stream.good == 0 and self.counters.refusal  # after the last usable one
        last = f" (the last one was refused: {self.counters.refusal})" if refused else ""
        why = f"no usable joint state for {now - stream.arrival:.3f} s{last}"
        self.counters.lost += 1
        stream.filter.reset()
        if self.mode is not STOPPING:
            runaway = self.runaway
            self.begin_stop(now, why, after=FAULT)
            self.stopped_by_loss, self.runaway = True, runaway
        self.begin_dead_reckoning(now, lost=not stream.doubted)

    def begin_dead_reckoning(self, now: float, *, lost: bool) -> None:
        """Go on with a stop without states; it always ends, since the arm is not observed."""
        stream = self.stream
        self.stop = self.stop.ended_by(now, self.settings.stop)
        if self.runaway is not None:  # too fast, and now unseen: nothing that is sent can be trusted
            self.stop = Stop(now, now, 0.0)
        self.dead_reckoning, self.lost, stream.good = True, lost, 0
        self.reckoned = stream.stamp, stream.arrival  # states that come back may have another time base
        if not self.at_rest(now):  # each joint by itself: along a path a joint may become faster while others brake
            self.anchor(self.cause, soft=False, late=now - stream.arrival)

    def stale(self, now: float) -> bool:
        """Whether states have been missing for so long that the stream counts as lost."""
        timeout = self.settings.states.timeout or math.inf
        if self.mode is STOPPING or self.runaway is not None:
            period = self.stream.period
            unseen = CUT if math.isinf(period) else max(TRIAL, 2.0 * period)  # of an arm that was too fast
            timeout = min(timeout, LONGEST_GAP if self.runaway is None or self.mode is FLOATING else unseen)
        return self.mode in SENDING and not self.dead_reckoning and now - self.stream.arrival >= timeout

    def unseen(self, now: float) -> bool:
        """Whether states have been missing for longer than `StateStream.gap` while efforts are sent."""
        if not now - self.stream.arrival > self.stream.gap:
            return False
        known = self.runaway is not None and (self.mode is STOPPING or self.runaway.cut)
        return self.mode in SENDING and not known

    # -- what joint states change -------------------------------------------------------------------------------------

    def refused(self, now: float, error: StateError) -> None:
        """A joint state was refused; a frozen reading stops the arm."""
        self.stream.good, self.stream.doubted = 0, error.problem in DOUBTED
        self.counters.refuse(error.problem, str(error))
        if error.problem is StateProblem.FROZEN and self.mode in DRIVING:
            self.begin_stop(now, str(error), after=FAULT)
            self.torques.missed.forget()  # feedback to a frozen reading says nothing of the model
            # at once with damping alone: nothing corrects how that joint brakes along a path
            self.stop = self.settings.stop.begin(now, braking=False, ending=False)

    def arrived(self, now: float, fresh: bool) -> None:
        """A usable joint state has come; `fresh`: with a new time base."""
        stream = self.stream
        if self.mode is WAITING:
            if stream.good < stream.needed or not self._base_known(now):
                return
            self._start_output()
            self.hold("joint states have come")
            self.begin_check()
        elif self.dead_reckoning:
            self._see_again(now)
        elif fresh:
            self._jump(now)
        cause = stream.rates.too_slow(now, stream.stamp / NANOSECONDS, new_time=fresh)
        if cause and self.mode in DRIVING:
            self.begin_stop(now, cause, after=FAULT)
        if self.gate.checking and self.mode is HOLDING and self.ramp.part >= 1.0 and self.drives:
            self._check(stream.reported)

    def _start_output(self) -> None:
        self.output.start_from(self.stream.reported, self.torques.gravity(self.stream.q))

    def _jump(self, now: float) -> None:
        """The time of the states has jumped, and perhaps the arm."""
        self.counters.time_jumps += 1
        moved = self.stream.filter.place_is_new(now)
        if moved:  # a simulation was reset, and brakes hold the arm
            self.torques.restart()
            self._start_output()
        if self.mode is STOPPING:
            self.anchor(self.cause, soft=False)
            return
        # without a reset the arm has not jumped, and may be in motion
        what = "clock and positions have jumped, as by a reset" if moved else "clock has jumped"
        held = self.mode is HOLDING
        self.hold(f"the joint states' {what}", soft=moved)
        if held and moved:
            self.on_change(self.mode, self.cause)
        if moved or self.gate.checking:  # the check's time is that of before
            self.begin_check()
        self.go_on()

    def _see_again(self, now: float) -> None:
        """States are back while the arm is stopped by dead reckoning."""
        if not self.lost or self.stream.good < BACK:
            return  # what failed with the last state may fail with this one
        self.dead_reckoning = self.lost = False
        if now - self.output.at >= self.settings.states.timeout:  # a process that slept: drives have let go meanwhile
            self._start_output()
        if self.stopped_by_loss and self.after is not INACTIVE:
            self.stop = NO_STOP
            self.hold("joint states are back")
            self.begin_check()
        else:
            self.anchor(self.cause, soft=False)  # the stop goes on from where the arm is now

    def _check(self, reported: Array) -> None:
        """Go on with the start-up check."""
        stream = self.stream
        if not self.gate.add(stream.stamp, stream.q, stream.qd, self.torques.upright(stream.q, reported)):
            return
        self.cause = f"{self.gate.text}; delay of the loop: {self.loop.delay_text}"
        if self.gate.failed and self.settings.tracking is None:
            self.begin_stop(stream.arrival, self.cause, after=FAULT)
            return
        self.go_on()
        if self.mode is HOLDING:
            self.on_change(self.mode, self.cause)

    # -- motion of the base -------------------------------------------------------------------------------------------

    def _base_known(self, now: float) -> bool:
        """Whether nothing about the base is missing for a start; says what is."""
        if self.base is None:
            return True
        if self.base.stale(now):
            missing = f"no usable base motion{f': {self.counters.base_refusal}' if self.counters.base_refused else ''}"
            if self.cause != missing:
                self.cause = missing
                self.on_change(self.mode, missing)
            return False
        self.base_lost = False
        return True

    def watch_base(self, now: float) -> None:
        """Stop where the motion of the base is not known any more; gravity stays where it was last."""
        if self.base is None or self.base_lost or self.mode not in SENDING or not self.base.stale(now):
            return
        self.base_lost = True
        self.torques.move_base(self.base.still())
        self.counters.lost += 1
        if self.mode is not STOPPING:
            last = f" (the last one was refused: {self.counters.base_refusal})" if self.counters.base_refused else ""
            self.begin_stop(now, f"no usable base motion for {now - self.base.arrival:.3f} s{last}", after=FAULT)
        self.stop = self.stop.ended_by(now, self.settings.stop)  # the direction of gravity becomes uncertain
