"""Tasks of the worker processes of a sweep, by name."""

from __future__ import annotations

import os

import numpy as np
from support.kinds import kinds_of

from rne_dynamics.simulation.rollouts.closed_loop import closed_loops
from rne_dynamics.simulation.rollouts.rollout import Rollout


def worst_error(case: tuple[Rollout, int]) -> tuple[float, int, int]:
    """Largest error over a few varied samples, the kinds that this process has the loop for, and the process."""
    rollout, seed = case
    masses = np.random.default_rng(seed).uniform(0.9, 1.1, (4, len(rollout.plant.robot.link_names)))
    samples = rollout.samples(4).with_mass_scaled(masses)
    many = rollout.run_many(samples, threads=1)
    return float(many.largest_error.max()), kinds_of(closed_loops), os.getpid()


def fails(case: int) -> int:
    """Refuses 2."""
    if case == 2:
        raise ValueError("two is too many")
    return case
