"""How much of each joint's torque a model explains, whatever its masses, friction and rotors are.

Each torque is fitted by inertia, gravity, rotor and friction of one joint, with coefficients of at least 0: masses and
friction may be wrong, signs may not. Of a torque with the wrong sign, or of another joint, this explains little.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment, nnls

from rne_dynamics.dispatch import gravity_torque, inverse_dynamics
from rne_dynamics.identification.motion import LowPass, Motion
from rne_dynamics.identification.triangles import USUAL
from rne_dynamics.model.generalized_inertia import rotor_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

#: Part of a torque's variance that counts as explained.
EXPLAINED = 0.75
#: Least number of rows.
_LEAST = 12
#: Part of a column's length below which its variation is none.
_ROUND_OFF = 1e-9
#: Part of the largest gravity torque below which its sign is that of small masses, which a model may have wrong.
_LIGHT = 0.05
#: Most joints whose order is checked.
_MOST_ARRANGED = 10
#: What one step must gain, and all steps for each joint that they move: sums of explained parts of the joints' torques.
_STEP, _GAIN_EACH = 0.4, 0.15


class Evidence(NamedTuple):
    """Filtered states and torques, shape (rows, n) each."""

    robot: RobotModel
    q: Array
    qd: Array
    qdd: Array
    measured: Array
    #: Of the model along them; inertia without rotors, which sensors behind the gears do not feel.
    gravity: Array
    inertia: Array

    @classmethod
    def along(cls, robot: RobotModel, motion: Motion) -> Evidence:
        """Of a motion, filtered and decimated; `RecordingError` if it is too short."""
        low = LowPass(motion, _LEAST)
        q, qd, qdd, effort = (low(values) for values in (motion.q, motion.qd, motion.qdd, motion.effort))
        return cls(robot, q, qd, qdd, effort, q, q).modelled()

    def modelled(self) -> Evidence:
        """With the torques of the model."""
        gravity = gravity_torque(self.robot, self.q)
        whole = inverse_dynamics(self.robot, self.q, self.qd, self.qdd) - rotor_inertia(self.robot) * self.qdd
        return self._replace(gravity=gravity, inertia=whole - gravity)

    def columns(self, k: int, *, whole: bool = False) -> Array:
        """What explains the torque of joint k: inertia, gravity, or their sum if `whole`; rotor, viscous, Coulomb."""
        rigid = [self.inertia[:, k] + self.gravity[:, k]] if whole else [self.inertia[:, k], self.gravity[:, k]]
        return np.stack([*rigid, self.qdd[:, k], self.qd[:, k], np.tanh(self.qd[:, k] / USUAL.threshold)], axis=1)

    def explained(self, i: int, k: int, sign: float = 1.0, *, whole: bool = False) -> tuple[float, Array]:
        """Part of the variance of torque i that joint k of the model explains, and the coefficients."""
        rest, coefficients = fit(self.columns(k, whole=whole), sign * self.measured[:, i])
        return 1.0 - rest, coefficients

    def own(self, sign: float = 1.0) -> Array:
        """Part of each torque's variance that its own joint explains, shape (n,)."""
        return np.array([self.explained(j, j, sign)[0] for j in range(self.robot.n)])

    def either_side(self, j: int) -> float:
        """Part of torque j that is explained, where gravity is that of small masses with these on whichever side."""
        weight = self.gravity.std(axis=0)
        light = [-self.gravity[:, j]] if weight[j] < _LIGHT * weight.max() else []
        return 1.0 - fit(np.column_stack([self.columns(j), *light]), self.measured[:, j])[0]


def fit(columns: Array, y: Array) -> tuple[float, Array]:
    """The part of the variance of y that no sum of columns, with coefficients of at least 0, explains; coefficients."""
    rows = np.c_[columns, y]
    R = np.linalg.qr(rows - rows.mean(axis=0), mode="r")
    length = np.linalg.norm(R, axis=0)
    length[length <= _ROUND_OFF * np.linalg.norm(rows, axis=0)] = np.inf
    if not np.isfinite(length[-1]):
        return 1.0, np.zeros(len(length) - 1)
    x, rest = nnls((R / length)[:, :-1], (R / length)[:, -1])
    return float(rest**2), length[-1] * x / length[:-1]


class Arrangement(NamedTuple):
    """Numbers of the columns of torques and of positions that each joint gets."""

    torques: tuple[int, ...]
    states: tuple[int, ...]

    def of(self, evidence: Evidence) -> Evidence:
        """The evidence as arranged."""
        states = list(self.states)
        found = evidence._replace(measured=evidence.measured[:, list(self.torques)])
        if states == sorted(states):
            return found
        q, qd, qdd = (values[:, states] for values in (evidence.q, evidence.qd, evidence.qdd))
        return found._replace(q=q, qd=qd, qdd=qdd).modelled()

    @property
    def moved(self) -> tuple[int, ...]:
        """Joints that are not as they were."""
        return tuple(j for j, place in enumerate(zip(*self, strict=True)) if place != (j, j))

    def neighbours(self) -> Iterator[Arrangement]:
        """With two joints swapped, or all reversed."""
        n = len(self.states)
        exchanged = [(*range(a), b, *range(a + 1, b), a, *range(b + 1, n)) for a, b in combinations(range(n), 2)]
        for places in dict.fromkeys([*exchanged, tuple(range(n))[::-1]]):
            torques, states = (tuple(own[k] for k in places) for own in self)
            yield from (self._replace(torques=torques), self._replace(states=states), Arrangement(torques, states))


def arranged(evidence: Evidence, value: float, gain: float) -> Arrangement | None:
    """Another order of the joints, if that explains more than `value` by `gain`."""
    n, own = evidence.robot.n, evidence.own()
    if n == 1 or n > _MOST_ARRANGED or own.min() > EXPLAINED:
        return None
    best, reached = Arrangement(tuple(range(n)), tuple(range(n))), float(own.sum())
    part = np.array([[evidence.explained(i, k)[0] for i in range(n)] for k in range(n)])
    candidates = [best._replace(torques=tuple(linear_sum_assignment(-part)[1].tolist())), *best.neighbours()]
    for _ in range(n):
        values = [float(found.of(evidence).own().sum()) for found in candidates]
        k = int(np.argmax(values))
        if values[k] < reached + _STEP:
            break
        best, reached = candidates[k], values[k]
        candidates = list(best.neighbours())
    enough = reached >= value + max(gain, _GAIN_EACH * len(best.moved))
    clear = bool(best.moved) and np.median(best.of(evidence).own()[list(best.moved)]) > EXPLAINED
    return best if enough and clear else None
