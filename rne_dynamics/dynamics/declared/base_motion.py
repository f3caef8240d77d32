"""Prescribed motion of the base (document 000, section 2.1.2: "prescribed base motion")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.declared.arguments import as_floats
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

#: How far R Rᵀ may be from 1.
_ORTHONORMAL = 1e-9 + 1e-5 * np.eye(3)


@dataclass(frozen=True, eq=False)
class BaseMotion:
    """Prescribed motion of the root link; all vectors in the root link's axes, shape (…, 3).

    Parameters
    ----------
    linear_acceleration
        Acceleration of the root frame's origin relative to the world, m/s² (gravity not included).
    angular_velocity, angular_acceleration
        rad/s, rad/s².
    linear_velocity
        m/s. By Galileo's principle it changes no effort.
    rotation
        ``R_WB``, the root link's axes in the world; turns gravity. Shape (…, 3, 3).
    """

    linear_acceleration: ArrayLike = (0.0, 0.0, 0.0)
    angular_velocity: ArrayLike = (0.0, 0.0, 0.0)
    angular_acceleration: ArrayLike = (0.0, 0.0, 0.0)
    linear_velocity: ArrayLike = (0.0, 0.0, 0.0)
    rotation: ArrayLike = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))

    def packed(self, gravity: Array) -> Array:
        """(v, ω, v̇ − g, ω̇) in base axes, shape (…, 12), as the kernels take it.

        Raises
        ------
        ArgumentError
            Wrong shapes, NaN or infinity, or a `rotation` that is not a rotation.
        """
        parts = []
        for name in ("linear_velocity", "angular_velocity", "linear_acceleration", "angular_acceleration"):
            array = as_floats(f"base_motion.{name}", getattr(self, name))
            if array.ndim == 0 or array.shape[-1] != 3 or not np.isfinite(array).all():
                raise ArgumentError(f"base_motion.{name} is {array.tolist()}; it must be finite, shape (..., 3)")
            parts.append(array)
        parts[2] = parts[2] - gravity @ self._checked_rotation()
        if all(part.ndim == 1 for part in parts):
            return np.concatenate(parts)
        lead = np.broadcast_shapes(*(p.shape[:-1] for p in parts))
        return np.concatenate([np.broadcast_to(p, (*lead, 3)) for p in parts], axis=-1)

    def _checked_rotation(self) -> Array:
        R = as_floats("base_motion.rotation", self.rotation)
        good = R.ndim >= 2 and R.shape[-2:] == (3, 3)
        good = good and bool((np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)) <= _ORTHONORMAL).all())
        if not (good and bool((np.linalg.det(R) > 0.0).all())):
            raise ArgumentError(
                f"base_motion.rotation is {R.tolist()}; it must be a rotation matrix, shape (..., 3, 3)"
            )
        return R


def packed_base(robot: RobotModel, motion: BaseMotion | None, lead: tuple[int, ...]) -> Array:
    """The base's motion as the kernels take it, (1 or batch, 12); `ArgumentError` if floating, or of another shape."""
    if motion is None:
        return robot.base_at_rest.reshape(1, 12)
    if robot.base == "floating":
        raise ArgumentError(
            f"base_motion is given, but robot {robot.name!r} has a floating base, whose motion is part of q, qd, qdd"
        )
    packed = motion.packed(robot.gravity)
    if packed.ndim == 1:
        return packed.reshape(1, 12)
    try:
        rows = np.broadcast_to(packed, (*lead, 12))
    except ValueError:
        raise ArgumentError(
            f"base_motion has leading shape {packed.shape[:-1]}, which does not broadcast to {lead}"
        ) from None
    return np.ascontiguousarray(rows.reshape(-1, 12))
