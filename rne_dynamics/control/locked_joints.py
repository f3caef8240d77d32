"""Joints that a controller does not drive: where its model locks them, and when the lock has to move.

Gravity of an arm on a torso depends on how far the torso is pitched. So the model is locked where such a joint is
measured, and locked anew when it has moved. Between two models it is off by `STEP`, plus what the joint moves in one
period of its check: so no joint may move faster than `FASTEST` while the arm follows a motion.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

from rne_dynamics.control.thresholds import LOCK_PERIOD

#: Distance from where the model has a joint that makes a new model, rad or m.
STEP = 0.002
#: Least time between two measurements that a speed is taken from, s.
LEAST_INTERVAL = 0.02
#: Largest speed of such a joint at which motions are accepted, rad/s or m/s, and how long it must have been slower, s.
FASTEST, SLOWER_FOR = 0.2, 0.5
#: Age from which a position is reported as old, s.
OLD_POSITION = 1.0


class Measured(NamedTuple):
    """Measured position of a joint."""

    #: rad or m.
    position: float
    #: Of the joint state, ns; 0 for none.
    stamp: int


class LockedJoints:
    """Decides where the model has joints locked, first `at`, rad or m by name; those `continuous` may wrap."""

    def __init__(self, at: Mapping[str, float], continuous: Collection[str] = ()) -> None:
        self._at, self._continuous = dict(at), frozenset(continuous)
        self._seen: dict[str, tuple[Measured, float]] = {}  # and when
        self._fast: dict[str, tuple[float, float]] = {}  # speed, and when
        self._relocked_at = -math.inf

    @property
    def at(self) -> dict[str, float]:
        """Positions for the model, rad or m, by name."""
        return dict(self._at)

    def update(self, now: float, measured: Mapping[str, Measured]) -> dict[str, float]:
        """Take what was measured at `now`, s, every 0.05 to 0.1 s; the positions to lock at, empty for no change."""
        for name in self._at.keys() & measured.keys():
            if math.isfinite(measured[name].position):
                self._take(name, measured[name], now)
        places = {name: seen.position for name, (seen, _) in self._seen.items()}
        moved = any(abs(self._way(name, self._at[name], place)) > STEP for name, place in places.items())
        if not moved or now - self._relocked_at < LOCK_PERIOD:
            return {}
        self._relocked_at = now
        # the others too: it costs nothing, and the model is where everything was measured
        self._at |= places
        return self.at

    def too_fast(self, now: float) -> str:
        """Which joint moves too fast for a motion of the arm, in words; empty for none."""
        for name, (speed, when) in self._fast.items():
            if now - when < SLOWER_FOR:
                return (
                    f"joint {name!r}, which is not among the controlled joints, moves at {speed:.2g} per second; "
                    f"motions are accepted {SLOWER_FOR:g} s after it was last faster than {FASTEST:g}"
                )
        return ""

    def report(self, now: float) -> str:
        """Position at which each joint is locked, and whether it was measured; empty where none is locked."""
        words = []
        for name, position in self._at.items():
            age = now - self._seen[name][1] if name in self._seen else math.inf
            if math.isinf(age):
                how = "not measured"
            elif age > OLD_POSITION:
                how = f"measured {age:.1f} s ago"
            else:
                how = "measured"
            words.append(f"{name} at {position:.4g} ({how})")
        return ", ".join(words)

    def _take(self, name: str, found: Measured, now: float) -> None:
        if name in self._seen:
            before, at = self._seen[name]
            if found.stamp == before.stamp != 0:
                return  # the same message
            # stamps may be missing, or begin anew; then the time of the check is good enough
            passed = 1e-9 * (found.stamp - before.stamp) if found.stamp > before.stamp > 0 else now - at
            if passed < LEAST_INTERVAL:
                return
            speed = abs(self._way(name, before.position, found.position)) / passed
            if speed > FASTEST:
                self._fast[name] = speed, now
        self._seen[name] = found, now

    def _way(self, name: str, start: float, end: float) -> float:
        return math.remainder(end - start, math.tau) if name in self._continuous else end - start
