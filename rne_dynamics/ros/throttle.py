"""Throttle for values of which only the newest counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Throttle(Generic[T]):
    """Passes a value on at once; of those that come within `period` after it, only the newest, at its end.

    Parameters
    ----------
    pass_on
        Called with a value.
    period
        Shortest time between two calls, s.
    """

    def __init__(self, pass_on: Callable[[T], None], period: float) -> None:
        self._pass_on, self._period = pass_on, period
        self._newest: list[T] = []
        self._at = -math.inf

    def put(self, value: T, now: float) -> None:
        """A new value at monotonic time `now`, s."""
        self._newest = [value]
        self.flush(now)

    def flush(self, now: float, *, always: bool = False) -> None:
        """Pass on the waiting value, if the period is over or `always`."""
        if self._newest and (always or now - self._at >= self._period):
            (value,), self._newest, self._at = self._newest, [], now
            self._pass_on(value)
