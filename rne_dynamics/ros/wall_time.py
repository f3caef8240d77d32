"""Lag of a simulation behind the wall clock, and the speed at which it catches up."""

from __future__ import annotations

from rne_dynamics.control.thresholds import NANOSECONDS

#: Additional speed of a simulation that lags behind the wall clock: controllers in real time refuse stamps that gain
#: more than 5 %, see `control.guards.state_time`.
GAIN = 0.04
#: Smallest lag that is reported, s.
NOTABLE = 0.1


class WallTime:
    """The lag of a simulation behind the wall clock.

    Parameters
    ----------
    period
        Time between two joint states, s.
    """

    def __init__(self, period: float) -> None:
        self._period = period
        self._lag = self._paused = 0.0

    def note(self, stamp: int, now: int) -> float:
        """Note the stamp of a joint state published `now`, both ns; time by which the next one is due earlier, s."""
        self._lag = (now - stamp) / NANOSECONDS - self._paused
        return min(self._lag, GAIN * self._period) if self._lag > 0.0 else 0.0

    def resume(self, stamp: int, now: int) -> None:
        """Note that a pause ends `now`, after the last `stamp`, both ns: its time is not caught up."""
        self._paused += max((now - stamp) / NANOSECONDS - self._paused - self._lag, 0.0)

    @property
    def lag(self) -> float:
        """Lag of the stamps, without pauses, s."""
        return max(self._lag, 0.0)
