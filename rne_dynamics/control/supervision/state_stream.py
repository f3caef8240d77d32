"""The joint states of an arm as a stream: checked one by one, timed, and its gaps."""

from __future__ import annotations

import math

import numpy as np

from rne_dynamics.control.guards.state_filter import StateFilter
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.thresholds import GAP, NANOSECONDS, STREAM_WINDOW, TRIAL
from rne_dynamics.model.inertia import Array

#: Usual periods without a state after which feedforward replaces the last effort, where that is longer than `GAP`.
PERIODS = 3.0
#: What counts as the shortest of these periods, s.
SHORTEST = GAP / PERIODS


class RateWatch:
    """Counts states over windows of `STREAM_WINDOW`; too slow after so many `windows` with fewer than `least`, 1/s."""

    def __init__(self, least: float, windows: int = 1) -> None:
        self.least, self.rate = least, math.nan
        self._windows = windows
        self.restart(math.nan)

    def restart(self, now: float) -> None:
        """Begin a new window at `now`, s."""
        self.began, self.count, self._slow = now, 0, 0

    def too_slow(self, now: float) -> bool:
        """Count the state that came at `now`, monotonic s; whether the window that it ends had too few."""
        self.count += 1
        if not now - self.began >= STREAM_WINDOW:
            if math.isnan(self.began):
                self.restart(now)
            return False
        self.rate = self.count / (now - self.began)
        self.began, self.count = now, 0
        # one state of the window may lie just outside it
        self._slow = self._slow + 1 if self.rate < self.least - 1.0 / STREAM_WINDOW else 0
        return self._slow >= self._windows


class StateRates:
    """Whether joint states come as often as `min_rate` and, by their stamps over two windows, the gains need."""

    def __init__(self, settings: Settings) -> None:
        self._arrivals, self._stamps = RateWatch(0.0), RateWatch(0.0, windows=2)
        self.adopt(settings)

    def adopt(self, settings: Settings) -> None:
        """Other settings; windows go on, since frequent changes would prevent every full one."""
        self._arrivals.least, self._stamps.least = settings.min_rate, getattr(settings.tracking, "lowest_rate", 0.0)

    def restart(self) -> None:
        """Begin new windows with the next state."""
        self._arrivals.restart(math.nan)
        self._stamps.restart(math.nan)

    def too_slow(self, now: float, stamp: float, *, new_time: bool) -> str:
        """Count a state that came at `now`, stamped `stamp`, s; why the rate is too low, empty where it is not."""
        arrivals, stamps = self._arrivals, self._stamps
        within = now - arrivals.began < STREAM_WINDOW and stamp - stamps.began < STREAM_WINDOW  # NaN: not begun
        if within and not new_time:
            arrivals.count += 1
            stamps.count += 1
            return ""
        cause = ""
        if arrivals.too_slow(now):
            cause = f"{arrivals.rate:.0f} joint states per second; min_rate is {arrivals.least:g}"
        if new_time:
            stamps.restart(math.nan)
        if stamps.too_slow(stamp) and not cause:
            cause = (
                f"{stamps.rate:.0f} joint states per second by their stamps; the gains are stable from "
                f"{stamps.least:.0f} on: lower them or send states more often"
            )
        return cause


# -- the joint states of an arm as a stream: checked one by one, timed, and its gaps -----------------------------------


class StateStream:
    """The joint states so far, of which the last good one is at hand."""

    def __init__(self, settings: Settings) -> None:
        self.filter = StateFilter(settings.states)
        #: Measured position and velocity, (n,): written by each good state, and by no other.
        self.q, self.qd = self.filter.place, self.filter.speed
        self.q[:] = settings.robot.neutral
        #: Efforts reported with it, (n,).
        self.reported = np.zeros(settings.robot.n)
        self.rates = StateRates(settings)
        #: Of the last good state: its time, ns, and when it came, monotonic s.
        self.stamp, self.arrival = 0, -math.inf
        #: Good states in a row, and after how many the arm is held; whether the last refusal casts doubt on them all.
        self.good, self.needed, self.doubted = 0, 1, False
        #: Time between two good states of late, and the time without any from which on efforts bridge it, s.
        self.period = self.gap = math.inf
        self.adopt(settings)

    def adopt(self, settings: Settings) -> None:
        """Other expectations, from the next state on."""
        self.filter.change(settings.states)
        #: Time without a good state below which the stream is never lost, s.
        self.patience = min(settings.states.timeout or math.inf, TRIAL)
        self.rates.adopt(settings)

    def wait(self, now: float, needed: int) -> None:
        """Begin anew: any position is taken, and `needed` good states in a row make the stream usable."""
        self.good, self.needed, self.doubted = 0, needed, False
        self.filter.reset()
        self.rates.restart()
        self.arrival, self.period, self.gap = now, math.inf, math.inf

    def accept(
        self, stamp: int, now: float, q: Array, qd: Array, reported: Array, *, velocity_missing: bool,
        sequence: int | None,
    ) -> bool:
        """Take a state; whether its time base is new. Raises StateError: it must not be used."""
        fresh = self.filter.accept(stamp, now, q, qd, velocity_missing=velocity_missing, sequence=sequence)
        taken = self.filter.stamp
        self.good, self.doubted = self.good + 1, False
        if self.good > 1:  # not over a gap
            passed, most = (taken - self.stamp) / NANOSECONDS, 1.02 * self.period
            period = passed if passed < most else most
            self.period = period if period > SHORTEST else SHORTEST
            self.gap = PERIODS * self.period
        self.stamp, self.arrival, self.reported = taken, now, reported
        return fresh
