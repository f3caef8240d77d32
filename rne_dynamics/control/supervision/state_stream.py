"""The joint states of an arm as a stream: checked one by one, timed, and its gaps."""

from __future__ import annotations

import math

import numpy as np

from rne_dynamics.control.guards.state_checks import DOUBTED
from rne_dynamics.control.guards.state_filter import StateFilter
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.watch import StateRates
from rne_dynamics.control.thresholds import GAP, NANOSECONDS, PERIODS, TRIAL
from rne_dynamics.errors import StateError
from rne_dynamics.model.inertia import Array


class StateStream:
    """The joint states so far, of which the last good one is at hand.

    `settings`: what to expect of them.
    """

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
        #: Time without a good state below which the stream is never lost, s.
        self.patience = _patience(settings)
        #: Time between two good states of late, and the time without any from which on efforts bridge it, s.
        self.period = self.gap = math.inf

    def adopt(self, settings: Settings) -> None:
        """Other expectations, from the next state on."""
        self.filter.change(settings.states)
        self.patience = _patience(settings)
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
        try:
            fresh = self.filter.accept(stamp, now, q, qd, velocity_missing=velocity_missing, sequence=sequence)
        except StateError as error:
            self.good, self.doubted = 0, error.problem in DOUBTED
            raise
        taken = self.filter.stamp
        self.good, self.doubted = self.good + 1, False
        if self.good > 1:  # not over a gap
            passed = max((taken - self.stamp) / NANOSECONDS, GAP / PERIODS)
            self.period = min(passed, 1.02 * self.period)
            self.gap = max(GAP, PERIODS * self.period)
        self.stamp, self.arrival, self.reported = taken, now, reported
        return fresh


def _patience(settings: Settings) -> float:
    return min(settings.states.timeout or math.inf, TRIAL)
