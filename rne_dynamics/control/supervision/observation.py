"""Processing of joint states and of measurements of the base."""

from __future__ import annotations

from rne_dynamics.control.guards.base_filter import BaseReading
from rne_dynamics.control.guards.state_checks import DOUBTED
from rne_dynamics.control.supervision.efforts import Efforts
from rne_dynamics.control.supervision.stop_plan import (
    DRIVING,
    FAULT,
    HOLDING,
    INACTIVE,
    NO_STOP,
    RELEASED,
    STOPPING,
    UNCONFIGURED,
    WAITING,
)
from rne_dynamics.control.thresholds import BACK, GAP, NANOSECONDS, PERIODS
from rne_dynamics.errors import StateError, StateProblem
from rne_dynamics.model.inertia import Array


class Observation(Efforts):
    """What joint states and measurements of the base change."""

    def observe(
        self, stamp: int, now: float, q: Array, qd: Array, reported: Array, *, velocity_missing: bool = False,
        sequence: int | None = None,
    ) -> bool:
        """Take a joint state; whether it is usable, so that `effort` answers it.

        `stamp`, `now`: its time, ns, and when it came, monotonic s. `q`, `qd`, `reported`: positions, velocities and
        the efforts that the arm reports, shape (n,); written to. NaN in `reported` where nothing is reported.
        `velocity_missing`: whether `qd` is to be estimated. `sequence`: the sender's running number of the message.
        """
        if self.mode in (INACTIVE, UNCONFIGURED):
            return False
        self.counters.states += 1
        if self._followed:  # nobody has called `settle`
            self.settle()
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
                self._torques.missed.forget()  # feedback to a frozen reading says nothing of the model
                # at once with damping alone: nothing corrects how that joint brakes along a path
                self._stop = self.settings.stop.begin(now, braking=False, ending=False)
            return False
        taken = self._filter.stamp
        self._good, self._doubted = self._good + 1, False
        if self._good > 1:  # not over a gap
            passed = max((taken - self.stamp) / NANOSECONDS, GAP / PERIODS)
            self._period = min(passed, 1.02 * self._period)
        self.stamp, self.arrival, self._reported = taken, now, reported
        self._arrived(now, reported, fresh)
        return True

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
        elif self._dead_reckoning:
            self._see_again(now, reported)
        elif fresh:
            self.counters.time_jumps += 1
            moved = self._filter.place_is_new(now)
            if moved:  # a simulation was reset, and brakes hold the arm
                self._torques.restart()
                self._output.start_from(reported, self._torques.gravity(self.q))
            if self.mode is STOPPING:
                self._anchor(self.cause, soft=False)
            else:  # without a reset the arm has not jumped, and may be in motion
                what = "clock and positions have jumped, as by a reset" if moved else "clock has jumped"
                held = self.mode is HOLDING
                self._hold(f"the joint states' {what}", soft=moved)
                if held and moved:
                    self._on_change(self.mode, self.cause)
                if moved or self.gate.checking:  # the check's time is that of before
                    self._begin_check()
                self._go_on()
        cause = self._rates.too_slow(now, self.stamp / NANOSECONDS, new_time=fresh)
        if cause and self.mode in DRIVING:
            self._begin_stop(now, cause, after=FAULT)
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
        self._dead_reckoning = self._lost = False
        if now - self._output.at >= self.settings.states.timeout:  # a process that slept: drives have let go meanwhile
            self._output.start_from(reported, self._torques.gravity(self.q))
        if self._stopped_by_loss and self._after is not INACTIVE:
            self._stop = NO_STOP
            self._hold("joint states are back")
            self._begin_check()
        else:
            self._anchor(self.cause, soft=False)  # the stop goes on from where the arm is now

    def _go_on_checking(self, now: float, reported: Array) -> None:
        if not self.gate.add(self.stamp, self.q, self.qd, self._torques.upright(self.q, reported)):
            return
        self.cause = f"{self.gate.text}; delay of the loop: {self.loop.delay_text}"
        if self.gate.failed and self.settings.tracking is None:
            self._begin_stop(now, self.cause, after=FAULT)
            return
        self._go_on()
        if self.mode is HOLDING:
            self._on_change(self.mode, self.cause)

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

    @property
    def unwrapped(self) -> Array:
        """As of `StateFilter`: what is published of positions is less by that, as the driver reports them."""
        return self._filter.unwrapped

    @property
    def estimated(self) -> tuple[str, ...]:
        """As of `StateFilter`."""
        return self._filter.estimated
