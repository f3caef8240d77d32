"""Statistics of a control loop: rates, jitter, latency and overruns, at about 1 µs per message."""

from __future__ import annotations

from rne_dynamics.ros.histogram import EDGES, Histogram, Recent, median, percentile, spread

#: Time between two states, in periods, above which it counts as a gap.
STATE_GAP = 1.5


class LoopStatistics:
    """Counts the joint states that a controller receives and the efforts with which it answers them.

    A state costs two calls of 0.5 µs, `arrived` and `replied`; `report` computes all else. Memory is constant. All
    times are arguments, of one monotonic clock, in s.

    The period of the stream is the median time between two states of the last interval; jitter is how far the time
    between two states is from it. An answer that takes longer than that period is an overrun: the next state came
    before it. In the first interval the period is unknown, and only `overrun` counts them.

    Parameters
    ----------
    now
        The present time.
    """

    def __init__(self, now: float) -> None:
        self._gaps, self._latencies = Histogram(), Histogram()
        self._last = now
        self._period = float("inf")
        self.states = self.efforts = self.overruns = 0
        self._since, self._longest = now, 0.0
        self._recent_gaps, self._recent_latencies = Recent(self._gaps), Recent(self._latencies)
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

    def sent(self) -> None:
        """An effort without a joint state has been sent: a stop by dead reckoning."""
        self.efforts += 1

    def overrun(self) -> None:
        """A deadline of a fixed rate was met late."""
        self.overruns += 1

    # -- periodically -------------------------------------------------------------------------------------------------

    def report(self, now: float) -> dict[str, object]:
        """Figures of the time since the last report, and totals since the start, by their keys in the diagnostics.

        Percentiles are upper edges of bins, see `Histogram`; NaN where nothing came.
        """
        states_before, efforts_before = self._before
        gaps, latencies = self._recent_gaps.next(), self._recent_latencies.next()
        time = max(now - self._since, 1e-9)
        period = median(gaps)
        figures: dict[str, object] = {
            "state rate (Hz)": (self.states - states_before) / time,
            "effort rate (Hz)": (self.efforts - efforts_before) / time,
            "state jitter p50 (ms)": 1e3 * spread(gaps, 50.0),
            "state jitter p99 (ms)": 1e3 * spread(gaps, 99.0),
            "largest state jitter (ms)": 1e3 * spread(gaps, 100.0),
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
