"""Random numbers of a seed, for nodes: NumPy's generators take 6 MB and 20 ms of each of their processes."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

from rne_dynamics.model.inertia import Array


class Dice:
    """As `numpy.random.Generator`, with other numbers: the methods that nodes need."""

    def __init__(self, seed: int) -> None:
        self._source = random.Random(seed)

    def uniform(self, lower: Any, upper: Any, size: tuple[int, ...]) -> Array:
        """Evenly between bounds, which broadcast to `size`."""
        found: Array = lower + np.subtract(upper, lower) * self._drawn(self._source.random, size)
        return found

    def normal(self, size: tuple[int, ...] | int) -> Array:
        """Of mean 0 and standard deviation 1."""
        return self._drawn(self._source.normalvariate, (size,) if isinstance(size, int) else size)

    @staticmethod
    def _drawn(draw: Any, size: tuple[int, ...]) -> Array:
        return np.array([draw() for _ in range(math.prod(size))]).reshape(size)
