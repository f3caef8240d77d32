"""Measured torque against the one that a model predicts, joint by joint and part by part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rne_dynamics.dispatch import gravity_torque, inverse_dynamics
from rne_dynamics.dynamics.friction import friction_torque
from rne_dynamics.errors import RecordingError
from rne_dynamics.identification.motion import Motion
from rne_dynamics.identification.triangles import LowPass
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

#: Parts of a predicted torque; inertia includes Coriolis and centrifugal forces.
PARTS = ("gravity", "inertia", "friction", "offset")


@dataclass(frozen=True, eq=False)
class Residual:
    """Torques of one recording after the low pass, N·m or N."""

    #: The file, and times from the first state, s; shape (rows,).
    source: str
    t: Array
    #: Shape (rows, n).
    measured: Array
    #: By the names of `PARTS`; each of shape (rows, n).
    parts: dict[str, Array]
    #: The low pass's edge, Hz.
    band: float

    @property
    def predicted(self) -> Array:
        """The sum of the parts, shape (rows, n)."""
        return np.asarray(sum(self.parts.values()))

    @property
    def residual(self) -> Array:
        """Measured less predicted, shape (rows, n)."""
        return self.measured - self.predicted


@dataclass(frozen=True, eq=False)
class Summary:
    """What recordings say of a model; N·m or N, shape (n,) each."""

    #: Root mean squares of the residual and of the measured torque, and the residual's mean.
    rms: Array
    measured: Array
    bias: Array
    #: Root mean squares of the parts of the prediction.
    parts: dict[str, Array]
    #: Mean norm of the residuals of all joints, and of the measured torques.
    mean_norm: float
    measured_norm: float

    @property
    def share(self) -> Array:
        """The residual's part of the measured torque; NaN for none."""
        none = np.full(len(self.rms), np.nan)
        return np.asarray(np.divide(self.rms, self.measured, out=none, where=self.measured > 0.0))


def residual(robot: RobotModel, motion: Motion) -> Residual:
    """The measured torque along a motion, and what the model says of it.

    All parts and the measured torque pass one zero-phase low pass at the motion's band. Friction is the model's; rotors
    count as inertia, so load the robot without them (``rotors=False``) where torques are measured behind the gears.
    `RecordingError` for a motion that is too short.
    """
    low = LowPass(motion)
    if not len(low.places):
        raise RecordingError(f"{motion.source} is too short for a motion of {motion.band:.2g} Hz; record longer")
    gravity, offset = gravity_torque(robot, motion.q), joint_friction(robot).offset
    parts: dict[str, Array] = {
        "gravity": gravity, "inertia": inverse_dynamics(robot, motion.q, motion.qd, motion.qdd) - gravity,
        "friction": friction_torque(robot, motion.qd) - offset, "offset": np.tile(offset, (len(motion.q), 1)),
    }  # fmt: skip
    filtered = {name: low(np.asarray(part)) for name, part in parts.items()}
    t = np.asarray(motion.period * low.places, np.float64)
    return Residual(motion.source, t, low(motion.effort), filtered, motion.band)


def summary(found: Sequence[Residual]) -> Summary:
    """All recordings together."""
    measured, error = (np.concatenate(rows) for rows in zip(*((r.measured, r.residual) for r in found), strict=True))
    parts = {name: _rms(np.concatenate([r.parts[name] for r in found])) for name in PARTS}
    norms = [float(np.linalg.norm(rows, axis=1).mean()) for rows in (error, measured)]
    return Summary(_rms(error), _rms(measured), error.mean(axis=0), parts, *norms)


def _rms(rows: Array) -> Array:
    return np.asarray(np.sqrt((rows**2).mean(axis=0)))
