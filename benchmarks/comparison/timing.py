"""Timing of contenders in alternating rounds, so that background load affects all equally."""

from __future__ import annotations

import random
import statistics
import time
import timeit
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

#: Executes a statement a number of times and returns the total time, ns.
Payload = Callable[[int], float]

#: A calibration run is long enough if it takes this part of the required time.
_CALIBRATED = 0.1


@dataclass(frozen=True)
class Times:
    """Times of one execution.

    Parameters
    ----------
    loops
        Executions in each round.
    rounds
        Mean of one execution in each round, ns.
    """

    loops: int
    rounds: tuple[float, ...]

    @property
    def minimum(self) -> float:
        """Fastest round, ns."""
        return min(self.rounds)

    @property
    def median(self) -> float:
        """Median of the rounds, ns."""
        return statistics.median(self.rounds)


def statement(code: str, names: Mapping[str, Any]) -> Payload:
    """A payload that executes `code` in a loop of `timeit`, without a function call and garbage collection."""
    # a copy: the loop adds a name
    return timeit.Timer(code, timer=time.perf_counter_ns, globals=dict(names)).timeit


def calibrate(payload: Payload, enough: float) -> int:
    """Number of executions that take about `enough` ns."""
    loops = 1
    payload(loops)  # compiles and allocates
    while True:
        took = min(payload(loops) for _ in range(3))
        if took >= _CALIBRATED * enough:
            return max(1, round(loops * enough / took))
        loops *= 4


def interleave(
    payloads: Mapping[str, Payload], rounds: int, enough: float, order: random.Random, pause: float = 0.0
) -> dict[str, Times]:
    """Time every payload once per round, in random order.

    Parameters
    ----------
    payloads
        By name.
    rounds
        Number of rounds.
    enough
        Approximate time of a payload in one round, ns; at least one execution.
    order
        Shuffles the rounds.
    pause
        Time before each payload, s: threads of the one before may still spin, waiting for work.
    """
    loops = {name: calibrate(payload, enough) for name, payload in payloads.items()}
    taken: dict[str, list[float]] = {name: [] for name in payloads}
    names = list(payloads)
    for _ in range(rounds):
        order.shuffle(names)
        for name in names:
            time.sleep(pause)
            taken[name].append(payloads[name](loops[name]) / loops[name])
    return {name: Times(loops[name], tuple(taken[name])) for name in payloads}
