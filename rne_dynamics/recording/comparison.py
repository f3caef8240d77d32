"""Measured efforts compared with the model's inverse dynamics."""

from __future__ import annotations

import numpy as np

from rne_dynamics.dispatch import inverse_dynamics
from rne_dynamics.dynamics.friction import friction_torque
from rne_dynamics.errors import RecordingError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.recording.recording import Recording, Series

#: Half of the time over which velocities and accelerations are differences, s.
HALF_WINDOW = 0.01
#: Speed below which friction may be static and take any value, rad/s or m/s.
MOVING = 0.01


def model_efforts(robot: RigidRobot, recording: Recording, half: float = HALF_WINDOW) -> Series:
    """The model's inverse dynamics and joint friction along a recorded motion, N·m or N.

    Accelerations are central differences of the velocities, and velocities, where none were recorded, of the positions,
    over twice `half`, s. The series begins and ends `half` after and before the recording (twice that without
    velocities). `RecordingError` for other joints than the robot's, or a recording that is too short.
    """
    if robot.joint_names != recording.joint_names or recording.q.shape[1] != recording.n:
        raise RecordingError(
            f"{recording.source} has the joints {', '.join(recording.joint_names)}; robot {robot.name!r} has "
            f"{', '.join(robot.joint_names)}"
        )
    q = Series(recording.t, recording.q)
    qd = _rate(q, half) if recording.qd is None else Series(recording.t, recording.qd)
    qdd = _rate(qd, half)
    at = qd.at(qdd.t)
    tau = inverse_dynamics(robot, q.at(qdd.t), at, qdd.values) + friction_torque(robot, at)
    return Series(qdd.t, tau)


def difference(recording: Recording, model: Series) -> Array:
    """Measured less modelled efforts at the times of the model's, N·m or N; (rows, n); NaN for joints at rest."""
    assert recording.effort is not None
    q = Series(recording.t, recording.q)
    speed = _rate(q, HALF_WINDOW).at(model.t) if recording.qd is None else Series(recording.t, recording.qd).at(model.t)
    result = Series(recording.t, recording.effort).at(model.t) - model.values
    return np.where(np.abs(speed) < MOVING, np.nan, result)


def _rate(series: Series, half: float) -> Series:
    """Central differences where both values are inside the series."""
    inside = (series.t >= series.t[0] + half) & (series.t <= series.t[-1] - half)
    if not inside.any():
        raise RecordingError(
            f"the recording lasts {series.t[-1] - series.t[0]:.3g} s, which is too short for accelerations over "
            f"{2.0 * half:g} s"
        )
    t = series.t[inside]
    rate = (series.at(t + half) - series.at(t - half)) / (2.0 * half)
    whole = np.isfinite(rate).all(axis=1)
    return Series(t[whole], rate[whole])


def rms(values: Array) -> Array:
    """Root mean square of each column without NaN; NaN where there is nothing else."""
    return np.sqrt(mean(values**2))


def mean(values: Array) -> Array:
    """Mean of each column without NaN; NaN where there is nothing else."""
    there = np.isfinite(values)
    count = there.sum(axis=0)
    total = np.where(there, values, 0.0).sum(axis=0)
    return np.asarray(np.divide(total, count, out=np.full(values.shape[1], np.nan), where=count > 0))


def largest(values: Array) -> Array:
    """Largest absolute value of each column without NaN; NaN where there is nothing else."""
    there = np.isfinite(values)
    result: Array = np.where(there, np.abs(values), 0.0).max(axis=0, initial=0.0)
    return np.where(there.any(axis=0), result, np.nan)
