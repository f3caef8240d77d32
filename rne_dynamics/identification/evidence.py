"""How much of each joint's torque a model explains, whatever its masses, friction and rotors are.

Each torque is fitted by inertia, gravity, rotor and friction of one joint, with coefficients of at least 0: masses and
friction may be wrong, signs may not. Of a torque with the wrong sign, or of another joint, this explains little.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from rne_dynamics.dispatch import gravity_torque, inverse_dynamics
from rne_dynamics.errors import RecordingError
from rne_dynamics.identification.friction_choice import USUAL
from rne_dynamics.identification.motion import Motion
from rne_dynamics.identification.triangles import LowPass
from rne_dynamics.model.generalized_inertia import rotor_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

#: Part of a torque's variance that counts as explained.
EXPLAINED = 0.75
#: Least number of rows.
_LEAST = 12
#: Part of a column's length below which its variation is none.
_ROUND_OFF = 1e-9


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
    period: float

    @classmethod
    def of(cls, robot: RobotModel, q: Array, qd: Array, qdd: Array, measured: Array, period: float) -> Evidence:
        """With the model's torques."""
        gravity = gravity_torque(robot, q)
        links = inverse_dynamics(robot, q, qd, qdd) - gravity - rotor_inertia(robot) * qdd
        return cls(robot, q, qd, qdd, measured, gravity, links, period)

    @classmethod
    def along(cls, robot: RobotModel, motion: Motion) -> Evidence:
        """Of a motion, filtered and decimated; `RecordingError` if it is too short."""
        low = LowPass(motion)
        if len(low.places) < _LEAST:
            raise RecordingError(f"{motion.source} is too short for a motion of {motion.band:.2g} Hz; record longer")
        q, qd, qdd, measured = (low(values) for values in (motion.q, motion.qd, motion.qdd, motion.effort))
        return cls.of(robot, q, qd, qdd, measured, low.step * motion.period)

    def columns(self, k: int, *, whole: bool = False) -> Array:
        """What explains the torque of joint k: inertia, gravity, or their sum if `whole`; rotor, viscous, Coulomb."""
        rigid = [self.inertia[:, k] + self.gravity[:, k]] if whole else [self.inertia[:, k], self.gravity[:, k]]
        return np.stack([*rigid, self.qdd[:, k], self.qd[:, k], np.tanh(self.qd[:, k] / USUAL.threshold)], axis=1)

    def explained(self, i: int, k: int, sign: float = 1.0, *, whole: bool = False) -> tuple[float, Array]:
        """Part of the variance of torque i that joint k of the model explains, and the coefficients."""
        rest, coefficients = fit(self.columns(k, whole=whole), sign * self.measured[:, i])
        return 1.0 - rest, coefficients

    def own(self, signs: Array) -> Array:
        """Part of each torque's variance that its own joint explains, shape (n,)."""
        return np.array([self.explained(j, j, sign)[0] for j, sign in enumerate(signs)])


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
