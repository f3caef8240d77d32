"""Interleaving, with payloads that return computed times: no clock is read."""

from __future__ import annotations

import random

from comparison.timing import calibrate, interleave


class Paid:
    """A payload that costs so many ns a loop, and in one execution a hundred times as much."""

    def __init__(self, cost: float, log: list[str], name: str, spoilt: int | None = None) -> None:
        self.cost, self.log, self.name, self.spoilt = cost, log, name, spoilt
        self.loops: list[int] = []

    def __call__(self, loops: int) -> float:
        self.loops.append(loops)
        self.log.append(self.name)
        return loops * self.cost * (100.0 if len(self.loops) == self.spoilt else 1.0)


def test_every_contender_runs_once_a_round_in_changing_order():
    log: list[str] = []
    payloads = {name: Paid(cost, log, name) for name, cost in (("a", 1.0), ("b", 10.0), ("c", 100.0))}
    times = interleave(payloads, 20, 1000.0, random.Random(3))
    rounds = [tuple(log[-60:][k : k + 3]) for k in range(0, 60, 3)]
    assert all(sorted(names) == ["a", "b", "c"] for names in rounds)
    assert len(set(rounds)) > 3
    assert {name: t.minimum for name, t in times.items()} == {"a": 1.0, "b": 10.0, "c": 100.0}
    assert all(len(t.rounds) == 20 for t in times.values())


def test_a_disturbed_round_moves_neither_minimum_nor_median():
    payload = Paid(2.0, [], "a")
    calibrate(payload, 1000.0)
    disturbed = Paid(2.0, [], "a", spoilt=len(payload.loops) + 4)
    times = interleave({"a": disturbed}, 7, 1000.0, random.Random(0))["a"]
    assert max(times.rounds) == 200.0
    assert times.minimum == times.median == 2.0
