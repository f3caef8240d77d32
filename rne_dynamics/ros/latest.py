"""Values of which only the newest counts, handed on at a limited rate."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Latest(Generic[T]):
    """Hands a value on at once, and while the last one is younger than `period` only the newest of those that came.

    Parameters
    ----------
    hand_on
        Takes a value.
    period
        Shortest time between two, s.
    """

    def __init__(self, hand_on: Callable[[T], None], period: float) -> None:
        self._hand_on, self._period = hand_on, period
        self._newest: list[T] = []
        self._at = -math.inf

    def put(self, value: T, now: float) -> None:
        """A new value at monotonic time `now`, s."""
        self._newest = [value]
        self.flush(now)

    def flush(self, now: float, *, always: bool = False) -> None:
        """Hand on what is left, if it is time, or in any case."""
        if self._newest and (always or now - self._at >= self._period):
            (value,), self._newest, self._at = self._newest, [], now
            self._hand_on(value)
