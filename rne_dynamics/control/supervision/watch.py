"""Rate and period of joint states, and whether they suffice."""

from __future__ import annotations

import math

from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.thresholds import LONGEST_GAP, STREAM_WINDOW


class RateWatch:
    """Counts states over windows of `STREAM_WINDOW` seconds.

    `least`: states per second that are needed; 0 for any. `windows`: windows in a row with too few states after which
    they count as too slow.
    """

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


class PeriodWatch:
    """Longest recent time between two joint states: rises at once, and falls over about `STREAM_WINDOW`.

    `expected`: where it begins, s.
    """

    def __init__(self, expected: float) -> None:
        self.longest = expected

    def add(self, gap: float) -> None:
        """Take the time between the last two states, s; 0 where there was no new one."""
        if gap > self.longest:
            self.longest = min(gap, LONGEST_GAP)
        elif gap > 0.0:
            self.longest += (gap - self.longest) * min(gap / STREAM_WINDOW, 1.0)


class StateRates:
    """Whether joint states come as often as `min_rate` and the gains need.

    The rate for the gains is taken from the stamps, over two windows: a gap in the states is no rate.

    `settings`: `min_rate` and gains.
    """

    def __init__(self, settings: Settings) -> None:
        self._arrivals, self._stamps = RateWatch(settings.min_rate), _gain_watch(settings)

    def adopt(self, settings: Settings) -> None:
        """Other settings."""
        self._stamps = _gain_watch(settings)
        if settings.min_rate != self._arrivals.least:  # frequent changes of others would prevent every full window
            self._arrivals = RateWatch(settings.min_rate)

    def restart(self) -> None:
        """Begin new windows with the next state."""
        self._arrivals.restart(math.nan)
        self._stamps.restart(math.nan)

    def too_slow(self, now: float, stamp: float, *, new_time: bool) -> str:
        """Count a state that came at `now`, stamped `stamp`, s; why the rate is too low, empty where it is not.

        `new_time` says whether the stamps have jumped.
        """
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


def _gain_watch(settings: Settings) -> RateWatch:
    return RateWatch(getattr(settings.tracking, "lowest_rate", 0.0), windows=2)
