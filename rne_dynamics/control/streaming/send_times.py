"""Send times of a stream: its period, and when setpoints without a stamp were sent."""

from __future__ import annotations

from rne_dynamics.control.thresholds import NANOSECONDS

#: Gains of the corrections of time and period once many setpoints have arrived.
TIME_GAIN, PERIOD_GAIN = 0.1, 0.0025


class SendTimes:
    """Estimates the times at which equally spaced messages were sent from their arrivals.

    A line is fitted to the arrivals over the number of the message, with gains of a growing memory (least squares) that
    end at those of a fading one. Lost messages are counted by the time that has passed. This removes most of the jitter
    of the way; it does not remove a delay.
    """

    def __init__(self) -> None:
        self.period = 0.0
        self._count, self._last = 0, 0

    def restart(self) -> None:
        """Forget the sender."""
        self._count, self.period = 0, 0.0

    def arrived(self, at: int) -> int:
        """When the message that arrived `at`, ns, was sent; ns."""
        self._count += 1
        if self._count == 1:
            self._last = at
            return at
        passed = at - self._last
        if self._count == 2 or self.period <= 0.0:
            self.period, self._last = max(passed, 0) / NANOSECONDS, at
            return at
        period = round(self.period * NANOSECONDS)
        steps = max(round(passed / period), 1) if period > 0 else 1
        error = passed - steps * period
        error = min(max(error, -period), period)  # of those that were held up and arrive together
        n = self._count
        self.period += max(6.0 / (n * (n + 1)), PERIOD_GAIN) * error / steps / NANOSECONDS
        self._last += steps * period + round(max(2.0 * (2 * n - 1) / (n * (n + 1)), TIME_GAIN) * error)
        return self._last

    def stamped(self, at: int) -> None:
        """Note a message that says that it was sent `at`, ns."""
        self._count += 1
        passed = (at - self._last) / NANOSECONDS
        self._last = at
        if self._count == 2:
            self.period = passed
        elif self._count > 2 and self.period > 0.0:
            steps = max(round(passed / self.period), 1)
            self.period += max(1.0 / self._count, TIME_GAIN) * (passed / steps - self.period)
