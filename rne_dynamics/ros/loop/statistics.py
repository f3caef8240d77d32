"""Histogram of durations in constant memory, and the statistics of a control loop made of it."""

from __future__ import annotations

from array import array
from math import frexp

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.model.inertia import Array

Counts = NDArray[np.int64]

#: Bins per octave: their width is at most 1/128 of their value, 8 µs at 1 ms.
SUBDIVISION = 128
#: Exponents of two: from 1 µs to 16 s; shorter and longer durations count in the first and the last bin.
LOWEST, HIGHEST = -20, 4
BINS = (HIGHEST - LOWEST) * SUBDIVISION
FIRST, LAST = 2.0**LOWEST, 2.0**HIGHEST

#: Edges of the bins, s; shape (BINS + 1,).
EDGES: Array = np.ldexp(
    1.0 + (np.arange(BINS + 1) % SUBDIVISION) / SUBDIVISION, LOWEST + np.arange(BINS + 1) // SUBDIVISION
)
#: Their centres, s; shape (BINS,).
CENTRES: Array = 0.5 * (EDGES[:-1] + EDGES[1:])
#: Time between two states, in periods, above which it counts as a gap.
STATE_GAP = 1.5


class Histogram:
    """Durations from 1 µs to 16 s in bins of equal relative width; `add` takes 0.4 µs and allocates nothing."""

    __slots__ = ("_before", "_counts", "_view", "count", "largest")

    def __init__(self) -> None:
        self._counts = array("q", bytes(8 * BINS))
        self._view: Counts = np.frombuffer(self._counts, np.int64)
        self._before = self.counts()
        self.count = 0
        self.largest = 0.0

    def add(self, seconds: float) -> None:
        """Count one duration; NaN counts in the last bin, so that it is visible."""
        if FIRST <= seconds < LAST:
            mantissa, exponent = frexp(seconds)  # seconds = mantissa 2^exponent, 1/2 <= mantissa < 1
            self._counts[(exponent - LOWEST - 2) * SUBDIVISION + int(mantissa * (2 * SUBDIVISION))] += 1
        else:
            self._counts[0 if seconds < FIRST else -1] += 1
        self.count += 1
        if seconds > self.largest:  # noqa: PLR1730 a call of max costs 0.1 µs
            self.largest = seconds

    def counts(self) -> Counts:
        """Durations counted so far in each bin, (BINS,): a copy."""
        return np.array(self._view)

    def recent(self) -> Counts:
        """Durations counted since the last call in each bin, (BINS,)."""
        now, before = self.counts(), self._before
        self._before = now
        return now - before


def percentile(counts: Counts, percent: float, values: Array = EDGES[1:]) -> float:
    """Upper edge, or other of the `values`, of the bin up to which `percent` % of `counts`, (BINS,), lie, s; or NaN."""
    seen = np.cumsum(counts)
    return float(values[np.searchsorted(seen, percent / 100.0 * seen[-1])]) if seen[-1] else float("nan")


class LoopStatistics:
    """Counts the joint states that a controller receives and the efforts with which it answers them.

    A state costs two calls of 0.5 µs, `arrived` and `replied`; `report` computes all else. Memory is constant. All
    times are arguments, of one monotonic clock, in s.

    The period of the stream is the median time between two states of the last interval; jitter is how far the time
    between two states is from it. An answer that takes longer than that period is an overrun: the next state came
    before it. In the first interval the period is unknown, and only late deadlines count.

    `now`: the present time.
    """

    def __init__(self, now: float) -> None:
        self._gaps, self._latencies = Histogram(), Histogram()
        self._last = now
        self._period = float("inf")
        #: Joint states; efforts, also of a stop by dead reckoning; late answers and late deadlines of a fixed rate.
        self.states = self.efforts = self.overruns = 0
        self._since, self._longest = now, 0.0
        self._before = 0, 0

    # -- the hot path -------------------------------------------------------------------------------------------------

    def arrived(self, now: float) -> None:
        """A joint state has come, usable or not."""
        if self.states:
            self._gaps.add(now - self._last)
        self.states += 1
        self._last = now

    def replied(self, now: float, arrived: float) -> None:
        """The effort for a joint state, or a deadline of a fixed rate, that came at `arrived` has been sent."""
        latency = now - arrived
        self._latencies.add(latency)
        self.efforts += 1
        if latency > self._longest:  # noqa: PLR1730 a call of max costs 0.1 µs
            self._longest = latency
        if latency > self._period:
            self.overruns += 1

    # -- periodically -------------------------------------------------------------------------------------------------

    def report(self, now: float) -> dict[str, object]:
        """Figures since the last report and totals, by their keys in the diagnostics; NaN where nothing came."""
        states_before, efforts_before = self._before
        gaps, latencies = self._gaps.recent(), self._latencies.recent()
        time = max(now - self._since, 1e-9)
        period = percentile(gaps, 50.0, CENTRES)
        away = np.abs(CENTRES - period)[gaps > 0]
        figures: dict[str, object] = {
            "state rate (Hz)": (self.states - states_before) / time,
            "effort rate (Hz)": (self.efforts - efforts_before) / time,
            "largest state jitter (ms)": 1e3 * float(away.max() if away.size else np.nan),
            "state gaps": int(gaps[EDGES[:-1] > STATE_GAP * period].sum()),
            "reply latency p50 (ms)": 1e3 * percentile(latencies, 50.0),
            "reply latency p99 (ms)": 1e3 * percentile(latencies, 99.0),
            "longest reply (ms)": 1e3 * self._longest,
            "longest reply since activation (ms)": 1e3 * self._latencies.largest,
            "joint states": self.states,
            "efforts": self.efforts,
            "overruns": self.overruns,
        }
        self._before = self.states, self.efforts
        self._since, self._longest = now, 0.0
        self._period = period if gaps.any() else float("inf")
        return figures
