"""Delay of the loop, measured after each start: the efforts sent, found again in the efforts that the arm reports.

The effort that answers the state of stamp s is reported with the stamp s + delay. While the arm is taken over, and its
feedback grows, efforts change; the shift at which the commands explain the reports best is the delay.
"""

from __future__ import annotations

import math

import numpy as np

from rne_dynamics.model.inertia import Array

#: Time over which efforts are compared, s, states at most, and longest delay that is looked for, s.
SPAN, MOST_STATES, LONGEST_SHIFT = 0.12, 200, 0.06
#: Part of the reports' variance that may stay unexplained; and the factor by which it
#: must be larger at other shifts.
UNEXPLAINED, WORSE = 0.3, 1.5
#: Smallest standard deviation of the reports that says something, in effort limits.
LEAST_SCATTER = 1e-4


class LoopDelay:
    """From a state's stamp until the effort that answers it acts.

    Parameters
    ----------
    limit
        Effort limits, N·m or N; shape (n,).
    """

    def __init__(self, limit: Array) -> None:
        self._limit = limit
        self._stamps = np.zeros(MOST_STATES)
        self._sent, self._reported = np.zeros((2, MOST_STATES, len(limit)))
        self._rows = 0
        self._scores: list[float] = []  # unexplained variance: without commands, and for each shift from 1 on
        #: Result, s; NaN until it is found, and where it is not.
        self.delay = math.nan

    def note(self, stamp: int, sent: Array, reported: Array) -> bool:
        """Take the effort that answers the state of `stamp`, ns, and those reported with it; whether that was the end.

        After the last state one shift is compared in each call, in less than 20 us.
        """
        k, t = self._rows, 1e-9 * stamp
        if not self._scores and k < MOST_STATES and (k == 0 or t < self._stamps[0] + SPAN):
            if k == 0 or t > self._stamps[k - 1]:
                self._stamps[k], self._sent[k], self._reported[k] = t, sent / self._limit, reported / self._limit
                self._rows += 1
            return False
        shift, seen = len(self._scores), self._reported[:k]
        commands = np.concatenate([np.tile(seen[0], (shift, 1)), self._sent])[:k] if shift else 0.0
        self._scores.append(float(np.nansum(np.var(seen - commands, axis=0))))
        period = float(self._stamps[k - 1] - self._stamps[0]) / max(k - 1, 1)
        if shift < min(LONGEST_SHIFT / max(period, 1e-4), k // 2):
            return False
        all_, scores = self._scores[0], np.array(self._scores[1:])
        if scores.size and all_ > LEAST_SCATTER**2 and scores.min() < UNEXPLAINED * all_:
            alike = np.flatnonzero(scores <= WORSE * scores.min() + (0.1 * LEAST_SCATTER) ** 2)
            if alike[-1] - alike[0] <= 2:  # one sent `shift` states before acts within the period before the report
                self.delay = float(alike.mean() + 0.5) * period
        return True
