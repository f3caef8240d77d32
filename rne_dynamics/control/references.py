"""Table of references at given times, for compiled loops."""

from __future__ import annotations

import numpy as np

from rne_dynamics.control.checks import measured
from rne_dynamics.control.motion.path import Path
from rne_dynamics.control.sampled import SampledTrajectory
from rne_dynamics.control.trajectory import Quintic, Trajectory
from rne_dynamics.model.inertia import Array


def references(trajectory: Trajectory, times: Array, n: int) -> Array:
    """Position, velocity and acceleration at each time, shape (rows, 3, n); any trajectory of `n` joints.

    Raises
    ------
    ControlError
        A trajectory of another number of joints.
    """
    if type(trajectory) in (Quintic, SampledTrajectory, Path):  # a subclass may have a `sample` of its own
        assert isinstance(trajectory, (Quintic, SampledTrajectory, Path))
        measured(trajectory.sample(0.0).q, n, "reference.q")
        return trajectory.samples(times)
    rows = np.empty((len(times), 3, n))
    for row, t in zip(rows, times.tolist(), strict=True):
        for out, part, what in zip(row, trajectory.sample(t), ("q", "qd", "qdd"), strict=True):
            out[:] = measured(part, n, f"reference.{what}")
    return rows
