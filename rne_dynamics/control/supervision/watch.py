"""Whether joint states come often enough for an arm that needs it."""

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
    """

    def __init__(self, least: float) -> None:
        self.least, self.rate = least, math.nan
        self.restart(math.nan)

    def restart(self, now: float) -> None:
        """Begin a new window at `now`, s."""
        self._began, self._count = now, 0

    def too_slow(self, now: float) -> bool:
        """Count the state that came at `now`, monotonic s; whether the window that it ends had too few."""
        self._count += 1
        if not now - self._began >= WINDOW:
            if math.isnan(self._began):
                self.restart(now)
            return False
        self.rate = self._count / (now - self._began)
        self.restart(now)
        # one state of the window may lie just outside it
        return self.rate < self.least - 1.0 / WINDOW
