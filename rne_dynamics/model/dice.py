"""Random numbers and configurations of a seed, for nodes: NumPy's generators take 6 MB and 20 ms of their processes."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

from rne_dynamics.errors import check_loaded
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, POSITION_INDEX, REVOLUTE, VELOCITY_INDEX
from rne_dynamics.model.robot import RobotModel


class Dice:
    """As `numpy.random.Generator`, with other numbers: the methods that nodes need."""

    def __init__(self, seed: int) -> None:
        self._source = random.Random(seed)

    def uniform(self, lower: Any, upper: Any, size: tuple[int, ...]) -> Array:
        """Evenly between bounds, which broadcast to `size`."""
        return np.asarray(lower + np.subtract(upper, lower) * self._drawn(self._source.random, size))

    def normal(self, size: tuple[int, ...] | int) -> Array:
        """Of mean 0 and standard deviation 1."""
        return self._drawn(self._source.normalvariate, (size,) if isinstance(size, int) else size)

    @staticmethod
    def _drawn(draw: Any, size: tuple[int, ...]) -> Array:
        return np.array([draw() for _ in range(math.prod(size))]).reshape(size)


def random_configuration(robot: RobotModel, rng: np.random.Generator | Dice | int, count: int | None = None) -> Array:
    """Configurations drawn evenly inside the joint limits (±π rad, ±1 m where there are none).

    Parameters
    ----------
    robot
        The model.
    rng
        Source of randomness, or the seed of a new one.
    count
        Number of configurations; `None` gives one of shape (nq,), otherwise (count, nq).
    """
    check_loaded(robot)
    rows = 1 if count is None else count
    out, rng = np.empty((rows, robot.nq)), rng if isinstance(rng, Dice) else np.random.default_rng(rng)
    for i in range(robot.bodies):
        iq, iv = robot.topology[i, POSITION_INDEX], robot.topology[i, VELOCITY_INDEX]
        if robot.topology[i, KIND] == FLOATING:
            out[:, iq : iq + 3] = rng.uniform(-1.0, 1.0, (rows, 3))
            quaternion = rng.normal(size=(rows, 4))
            out[:, iq + 3 : iq + 7] = quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)
            continue
        reach = np.pi if robot.topology[i, KIND] == REVOLUTE else 1.0
        lower, upper = max(robot.lower[iv], -reach), min(robot.upper[iv], reach)
        if lower > upper:  # the limits lie outside ±reach
            lower, upper = robot.lower[iv], robot.upper[iv]
        if np.isinf(lower) or np.isinf(upper):
            lower, upper = -reach, reach
        out[:, iq] = rng.uniform(lower, upper, (rows,))
    return out[0] if count is None else out
