"""The order and the directions of joints in which a model explains the torques of a log best."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from rne_dynamics.identification.evidence import EXPLAINED, Evidence

#: Most joints whose order is checked.
_MOST_ARRANGED = 10
#: What one step must gain, and all steps for each joint that they move: sums of explained parts of the joints' torques.
_STEP, _GAIN_EACH = 0.4, 0.15


class Arrangement(NamedTuple):
    """Numbers of the columns of torques and of positions that each joint gets, and the directions of the joints."""

    torques: tuple[int, ...]
    states: tuple[int, ...]
    turned: tuple[float, ...]

    def of(self, evidence: Evidence) -> Evidence:
        """The evidence as arranged."""
        states, turned = list(self.states), np.array(self.turned)
        q, qd, qdd = (values[:, states] * turned for values in (evidence.q, evidence.qd, evidence.qdd))
        measured = evidence.measured[:, list(self.torques)] * turned
        if self.states == tuple(range(len(states))) and (turned > 0.0).all():
            return evidence._replace(measured=measured)
        return Evidence.of(evidence.robot, q, qd, qdd, measured, evidence.period)

    @property
    def moved(self) -> tuple[int, ...]:
        """Joints that are not as they were."""
        places = zip(self.torques, self.states, self.turned, strict=True)
        return tuple(j for j, place in enumerate(places) if place != (j, j, 1.0))

    def neighbours(self) -> Iterator[Arrangement]:
        """With two joints swapped, all reversed, or one turned."""
        n = len(self.turned)
        exchanged = [(*range(a), b, *range(a + 1, b), a, *range(b + 1, n)) for a, b in combinations(range(n), 2)]
        for places in dict.fromkeys([*exchanged, tuple(range(n))[::-1]]):
            torques, states = tuple(self.torques[k] for k in places), tuple(self.states[k] for k in places)
            yield self._replace(torques=torques)
            yield self._replace(states=states)
            yield self._replace(torques=torques, states=states)
        for j in range(n):
            yield self._replace(turned=tuple(-s if k == j else s for k, s in enumerate(self.turned)))


def arranged(evidence: Evidence, value: float, gain: float) -> Arrangement | None:
    """Another order or direction of the joints, if that explains more than `value` by `gain`."""
    n = evidence.robot.n
    none = np.ones(n)
    if n == 1 or n > _MOST_ARRANGED or evidence.own(none).min() > EXPLAINED:
        return None
    start = best = Arrangement(tuple(range(n)), tuple(range(n)), tuple(none))
    part = np.array([[evidence.explained(i, k)[0] for i in range(n)] for k in range(n)])
    candidates = [start._replace(torques=tuple(linear_sum_assignment(-part)[1].tolist())), *start.neighbours()]
    reached = float(evidence.own(none).sum())
    for _ in range(n):
        values = [float(found.of(evidence).own(none).sum()) for found in candidates]
        k = int(np.argmax(values))
        if values[k] < reached + _STEP:
            break
        best, reached = candidates[k], values[k]
        candidates = list(best.neighbours())
    enough = reached >= value + max(gain, _GAIN_EACH * len(best.moved))
    clear = bool(best.moved) and np.median(best.of(evidence).own(none)[list(best.moved)]) > EXPLAINED
    return best if enough and clear else None
