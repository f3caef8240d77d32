"""Contenders timed in turn, so that whatever else the machine does meets them alike."""

from __future__ import annotations

import random
import statistics
import time
import timeit
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

#: Executes what is timed so many times and returns how long that took, ns.
Payload = Callable[[int], float]

#: A calibration starts over from what a run has taken as soon as it is this part of the time asked for.
_TELLING = 0.1


@dataclass(frozen=True)
class Times:
    """How long one execution took.

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
        """Of the rounds, ns: the machine at its least disturbed."""
        return min(self.rounds)

    @property
    def median(self) -> float:
        """Of the rounds, ns."""
        return statistics.median(self.rounds)


def statement(code: str, names: Mapping[str, Any]) -> Payload:
    """A payload that executes `code` in a compiled loop without a call of its own around it; no garbage collection."""
    # a copy: the loop adds a name
    return timeit.Timer(code, timer=time.perf_counter_ns, globals=dict(names)).timeit


def calibrate(payload: Payload, enough: float) -> int:
    """How many executions take about `enough` ns."""
    loops = 1
    payload(loops)  # compiled, allocated, warm
    while True:
        took = min(payload(loops) for _ in range(3))
        if took >= _TELLING * enough:
            return max(1, round(loops * enough / took))
        loops *= 4


def interleave(
    payloads: Mapping[str, Payload], rounds: int, enough: float, order: random.Random
) -> dict[str, Times]:
    """Time every payload once a round, in an order that is new in each.

    Parameters
    ----------
    payloads
        By name.
    rounds
        How often.
    enough
        About how long one payload runs in one round, ns; at least one execution.
    order
        Shuffles the rounds.
    """
    loops = {name: calibrate(payload, enough) for name, payload in payloads.items()}
    taken: dict[str, list[float]] = {name: [] for name in payloads}
    names = list(payloads)
    for _ in range(rounds):
        order.shuffle(names)
        for name in names:
            taken[name].append(payloads[name](loops[name]) / loops[name])
    return {name: Times(loops[name], tuple(taken[name])) for name in payloads}
