"""Rate of path time: follows a speed from 0 to 1 smoothly, without overshoot."""

from __future__ import annotations

import math

from rne_dynamics.control.thresholds import NANOSECONDS, RAMP

#: Largest value of x (1 − x)²: how far a cubic goes on in the direction it starts with, of what it would in its time.
DIP = 4.0 / 27.0


class PathRate:
    """Path time as a function of the stamp.

    A change of the rate by Δ takes 1.5 · ramp · |Δ|, over which the rate is the cubic in time that starts with the
    slope it has and ends with none. So |dr/dt| stays within 1/ramp or what it was, and dr/dt is continuous, with one
    exception: where a rise is called off the slope is dropped, since whoever asks for less must not get more first. A
    fall that is called off goes on for a moment, unless it would pass 0. Between 0 and 1 the rate stays there.

    Parameters
    ----------
    stamp
        Now, ns.
    s
        Path time now, s.
    rate, slope
        Present rate, and its change in 1/s; the slope is kept until the first `follow`, which is to come at once.
    ramp
        s; above 0.
    """

    def __init__(self, stamp: int, s: float, rate: float, slope: float = 0.0, ramp: float = RAMP) -> None:
        self._stamp, self._s, self._ramp = stamp, s, ramp
        # the change under way: rate = a + b x + c x² + d x³ for x seconds since the stamp, below the duration
        self._cubic = (rate, slope, 0.0, 0.0)
        self._duration = math.inf if slope else 0.0
        self.target = math.nan if slope else rate

    def follow(self, stamp: int, target: float) -> None:
        """Change towards `target`, 0 to 1, from `stamp` on; nothing to do where that is under way."""
        if target != self.target:
            self._turn(stamp, target, None)

    def brake(self, stamp: int, duration: float) -> None:
        """Come to 0 within `duration`, s, from `stamp` on."""
        self._turn(stamp, 0.0, duration)

    def at(self, stamp: int) -> tuple[float, float, float]:
        """Path time, rate and slope at a `stamp` that is not before the last change, ns."""
        x = (stamp - self._stamp) / NANOSECONDS
        T = self._duration
        if x >= T:
            return self._s + (self._way(T) if T > 0.0 else 0.0) + self.target * (x - T), self.target, 0.0
        a, b, c, d = self._cubic
        return self._s + self._way(x), a + x * (b + x * (c + x * d)), b + x * (2.0 * c + x * 3.0 * d)

    def _way(self, x: float) -> float:
        a, b, c, d = self._cubic
        return x * (a + x * (b / 2.0 + x * (c / 3.0 + x * d / 4.0)))

    def _turn(self, stamp: int, target: float, duration: float | None) -> None:
        self._s, rate, slope = self.at(stamp)
        self._stamp, self.target = stamp, target
        change = target - rate
        T = 1.5 * self._ramp * abs(change) if duration is None else duration
        if slope > 0.0 >= change:
            slope = 0.0
        elif slope < 0.0 < change:
            T *= 1.5  # the fall is made good too
            if -slope * T * DIP > rate:
                slope = 0.0
        elif slope:  # a cubic with a steeper start would overshoot (Fritsch and Carlson 1980)
            T = min(T, 3.0 * change / slope)
        if T * NANOSECONDS < 1.0:
            self._cubic, self._duration = (target, 0.0, 0.0, 0.0), 0.0
            return
        self._cubic = (rate, slope, (3.0 * change / T - 2.0 * slope) / T, (slope - 2.0 * change / T) / (T * T))
        self._duration = T
