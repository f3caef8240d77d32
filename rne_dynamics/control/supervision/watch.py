"""How often joint states come, and whether that is enough for an arm that needs it."""

from __future__ import annotations

import math

#: Over which the rate is taken, s.
WINDOW = 0.5


class RateWatch:
    """Counts states over windows of `WINDOW` seconds.

    Parameters
    ----------
    least
        States per second that are needed; 0 for any.
    windows
        Windows in a row with too few states after which they count as too slow.
    """

    def __init__(self, least: float, windows: int = 1) -> None:
        self.least, self.rate = least, math.nan
        self._windows = windows
        self.restart(math.nan)

    def restart(self, now: float) -> None:
        """Begin a new window at `now`, s."""
        self._began, self._count, self._slow = now, 0, 0

    def too_slow(self, now: float) -> bool:
        """Count the state that came at `now`, monotonic s; whether the window that it ends had too few."""
        self._count += 1
        if not now - self._began >= WINDOW:
            if math.isnan(self._began):
                self.restart(now)
            return False
        self.rate = self._count / (now - self._began)
        self._began, self._count = now, 0
        # one state of the window may lie just outside it
        self._slow = self._slow + 1 if self.rate < self.least - 1.0 / WINDOW else 0
        return self._slow >= self._windows


class PeriodWatch:
    """Longest recent time between two joint states: rises at once, and falls over about `WINDOW`.

    Parameters
    ----------
    expected
        Where it begins, s.
    """

    #: A longer gap is a lost stream and no rate, s.
    LONGEST = 0.1

    def __init__(self, expected: float) -> None:
        self.longest = expected

    def add(self, gap: float) -> None:
        """Take the time between the last two states, s; 0 where there was no new one."""
        if gap > self.longest:
            self.longest = min(gap, self.LONGEST)
        elif gap > 0.0:
            self.longest += (gap - self.longest) * min(gap / WINDOW, 1.0)
