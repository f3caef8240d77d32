"""Effort that the model misses, fitted to the last efforts with feedback: for times without joint states."""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from rne_dynamics.control.reference import CORIOLIS, FRICTION, GRAVITY, INERTIA, TorqueTerms
from rne_dynamics.model.inertia import Array

#: Efforts that are fitted, the newest of them that give the support, and the time between two, s.
FITTED, NEWEST, FIT_PERIOD = 50, 10, 0.01
#: Deviations of a model that are believed, as parts of its inertia and of its friction: least and most.
BELIEVED = np.array([[[-0.5], [0.0]], [[0.5], [3.0]]])
#: Part of the model's gravity that a support may have which stays in a stop: more is a hand's, or a wall's.
HEAVIER = 0.5
#: Scatter of a term that proves nothing, in effort limits: what it explains is counted as support.
SCATTER = 0.003


class MissedEffort:
    """The last efforts of an arm with the effort limits `limit`, (n,), and what the model misses in them."""

    def __init__(self, limit: Array) -> None:
        self._scatter = (FITTED * (SCATTER * limit) ** 2)[:, None, None] * np.eye(2)
        self.forget()

    def forget(self) -> None:
        """No effort is known any more."""
        self._efforts: deque[tuple[TorqueTerms | Array, Array]] = deque(maxlen=FITTED)
        self._at, self._fit = -math.inf, np.zeros(0)

    def note(self, now: float, terms: TorqueTerms | Array, command: Array) -> None:
        """Remember what was sent at `now`, (n,), limits included, and the law's terms."""
        if now - self._at >= FIT_PERIOD:
            self._at, self._fit = now, np.zeros(0)
            self._efforts.append((terms, command))

    def weight(self, gravity: Array) -> Array:
        """Support that an arm of other masses needs besides the model's `gravity`, N·m or N; shape (n,)."""
        most = HEAVIER * np.abs(gravity)
        weight: Array = np.clip(self.fit()[0], -most, most)
        return weight

    def fit(self) -> Array:
        """Support, factor of the inertia term, factor of the friction term, (3, n): least squares, each joint alone.

        They moved the arm, besides gravity and the velocity torque. What follows neither term is support.
        """
        if not self._fit.size:
            rows = [(t[INERTIA], t[FRICTION], c - t[INERTIA] - t[CORIOLIS] - t[GRAVITY]) for t, c in self._efforts]
            data = np.array(rows or np.zeros((1, 3, len(self._scatter))))
            off = data - data.mean(axis=0)
            products = np.einsum("kaj,kbj->jab", off, off)
            factors = np.linalg.solve(products[:, :2, :2] + self._scatter, products[:, :2, 2:])[..., 0].T
            factors = np.clip(factors, *BELIEVED)
            support = np.median(data[-NEWEST:, 2] - (factors * data[-NEWEST:, :2]).sum(axis=1), axis=0)
            self._fit = np.array([support, 1.0 + factors[0], factors[1]])
        return self._fit
