"""Prescribed motion of the base over time (document 000, section 2.1.2): of a ship, a vehicle, a satellite."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from rne_dynamics.dynamics.declared.arguments import BaseMotion
from rne_dynamics.errors import SimulationError
from rne_dynamics.model.inertia import Array

#: Step of the differences by which a trajectory is checked, s, and at how many times.
_STEP, _TIMES = 1e-4, 25
#: Allowed deviation, as a part of the largest rate, or of 1 SI unit where that is more.
_TOLERANCE = 1e-3


class BaseTrajectory(Protocol):
    """Position and motion of the base over time. Any object with these two methods is one."""

    def position(self, t: float) -> Array:
        """The root link's origin in the world, m; shape (3,)."""

    def motion(self, t: float) -> BaseMotion:
        """Orientation, velocities and accelerations; vectors in the root link's axes."""


class BaseRows(NamedTuple):
    """A moving base at the times of a log: shapes (rows, 3), (rows, 3, 3), (rows, 6)."""

    position: Array
    rotation: Array
    velocity: Array

    @staticmethod
    def of(trajectory: BaseTrajectory, time: Array) -> BaseRows:
        """A trajectory at some times, (rows,)."""
        motions = [trajectory.motion(t) for t in time.tolist()]
        return BaseRows(
            np.array([trajectory.position(t) for t in time.tolist()]),
            np.array([motion.rotation for motion in motions]),
            np.array([[*np.asarray(m.linear_velocity), *np.asarray(m.angular_velocity)] for m in motions]),
        )


def check_base_trajectory(trajectory: BaseTrajectory, begin: float, end: float) -> None:
    """Compare velocities and accelerations with differences of positions and orientations; `SimulationError`.

    The common mistakes are vectors along the world's axes instead of the base's, and degrees.
    """
    h = _STEP
    times = np.linspace(begin, end, _TIMES + 2)[1:-1]
    rows = [[_at(trajectory, float(t) + step) for step in (-h, 0.0, h)] for t in times]
    before, now, after = ({name: np.array([row[k][name] for row in rows]) for name in rows[0][k]} for k in range(3))

    def rate(name: str) -> Array:
        return np.asarray((after[name] - before[name]) / (2.0 * h))

    R = now["rotation"]
    turning = np.swapaxes(R, 1, 2) @ rate("rotation")
    w = np.stack([turning[:, 2, 1], turning[:, 0, 2], turning[:, 1, 0]], axis=1)
    v = now["linear_velocity"]
    expected = {
        "linear_velocity": np.einsum("tji,tj->ti", R, rate("position")),
        "angular_velocity": w,
        "linear_acceleration": rate("linear_velocity") + np.cross(w, v),
        "angular_acceleration": rate("angular_velocity"),
    }
    for name, differences in expected.items():
        off = np.abs(now[name] - differences).max(axis=1)
        k = int(np.argmax(off))
        if not off[k] <= _TOLERANCE * max(1.0, float(np.abs(differences).max())):
            raise SimulationError(
                f"base motion: {name} is {now[name][k].tolist()} at t = {times[k]:.4g} s, but position, orientation "
                f"and their rates change there by {differences[k].tolist()}; give it in the root link's axes, in rad "
                "and m"
            )


def _at(trajectory: BaseTrajectory, t: float) -> dict[str, Array]:
    motion = trajectory.motion(t)
    motion.packed(np.zeros(3))  # shapes, finite numbers, a rotation
    position = np.asarray(trajectory.position(t), dtype=np.float64)
    if position.shape != (3,) or not np.isfinite(position).all():
        raise SimulationError(
            f"base motion: the position at t = {t:.4g} s is {position.tolist()}; it must be finite, shape (3,)"
        )
    names = ("linear_velocity", "angular_velocity", "linear_acceleration", "angular_acceleration", "rotation")
    return {"position": position} | {name: np.asarray(getattr(motion, name), dtype=np.float64) for name in names}
