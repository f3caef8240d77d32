"""How far the stamps of a simulation are behind the wall clock, and how fast it goes to follow it."""

from __future__ import annotations

from rne_dynamics.ros.cdr import NANOSECONDS

#: By how much faster than the wall clock a simulation runs that is behind it: controllers in real time take stamps that
#: gain more than 5 % for a clock that is wrong, see `control.guards.state_time`.
GAIN = 0.04
#: Lag from which on it is reported, s.
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
        """Take the stamp of a joint state that goes out `now`, both ns; by how much sooner the next one is due, s."""
        self._lag = (now - stamp) / NANOSECONDS - self._paused
        return min(self._lag, GAIN * self._period) if self._lag > 0.0 else 0.0

    def resume(self, stamp: int, now: int) -> None:
        """Note that a pause ends `now`, the last stamp being `stamp`, both ns: its time is not caught up."""
        self._paused += max((now - stamp) / NANOSECONDS - self._paused - self._lag, 0.0)

    @property
    def lag(self) -> float:
        """How far the stamps are behind, apart from pauses, s."""
        return max(self._lag, 0.0)
