"""Tasks of the worker processes of a sweep, by name."""

from __future__ import annotations

import os

from support.kinds import kinds_of

from rne_dynamics.simulation.rollouts.closed_loop import closed_loops
from rne_dynamics.simulation.rollouts.rollout import Rollout
from rne_dynamics.simulation.rollouts.samples import Variation


def worst_error(case: tuple[Rollout, int]) -> tuple[float, int, int]:
    """Largest error over a few varied samples, the kinds that this process has the loop for, and the process."""
    rollout, seed = case
    robot = rollout.plant.robot
    samples = Variation(mass=0.1).drawn(rollout.samples(4), seed, robot.lower, robot.upper, rollout.plant.positions)
    many = rollout.run_many(samples, threads=1)
    return float(many.largest_error.max()), kinds_of(closed_loops), os.getpid()


def fails(case: int) -> int:
    """Refuses 2."""
    if case == 2:
        raise ValueError("two is too many")
    return case
