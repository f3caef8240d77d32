"""Tasks of the worker processes of a sweep, by name."""

from __future__ import annotations

import os

from rne_dynamics.simulation.rollouts.closed_loop import closed_loops
from rne_dynamics.simulation.rollouts.rollout import Rollout
from rne_dynamics.simulation.rollouts.variation import Variation


def worst_error(case: tuple[Rollout, int]) -> tuple[float, int, int]:
    """Largest error over a few varied samples, how often this process compiled the loop, and the process."""
    rollout, seed = case
    robot = rollout.plant.robot
    samples = Variation(mass=0.1).drawn(rollout.samples(4), seed, robot.lower, robot.upper, rollout.plant.positions)
    many = rollout.run_many(samples, threads=1)
    compiled = sum(closed_loops.stats.cache_misses.values()) if hasattr(closed_loops, "stats") else 0
    return float(many.largest_error.max()), compiled, os.getpid()


def fails(case: int) -> int:
    """Refuses 2."""
    if case == 2:
        raise ValueError("two is too many")
    return case
