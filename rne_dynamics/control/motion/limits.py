"""Limits of position and velocity for motions."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.control.reference import Reference
from rne_dynamics.control.thresholds import ABSURD, ALLOWANCE, ROUNDING
from rne_dynamics.control.turns import turns_off
from rne_dynamics.model.inertia import Array

#: Likewise positions, rad or m: between a point that rests at a limit and one there that already moves away.
POSITION_ALLOWANCE = 1e-6


@dataclass(frozen=True, eq=False)
class JointRanges:
    """Position and velocity limits of joints.

    Parameters
    ----------
    joints
        Names, in the order of the vectors.
    lower, upper
        Positions, rad or m; shape (n,); infinite where there is no limit.
    velocity
        Largest speed, rad/s or m/s; shape (n,); infinite where there is no limit.
    continuous
        Joints whose positions are the same a whole turn further, shape (n,); None for none.
    """

    joints: tuple[str, ...]
    lower: Array
    upper: Array
    velocity: Array
    continuous: NDArray[np.bool_] | None = field(default=None, kw_only=True)

    def turns_off(self, positions: Array, near: Array, columns: Array | slice = slice(None)) -> Array:
        """Whole turns by which positions of some joints lie off those nearest to `near`; 0 where turns count; (m,)."""
        if self.continuous is None:
            return np.zeros_like(positions)
        turns = turns_off(positions, near)
        return np.where(self.continuous[columns] & np.isfinite(turns), turns, 0.0)


@dataclass(frozen=True, eq=False)
class MotionLimits(JointRanges):
    """Limits of trajectories.

    Parameters
    ----------
    joints, lower, upper, velocity, continuous
        As for `JointRanges`.
    start
        How far a trajectory that has begun may lie from the reference of the arm, rad or m; one number, or shape (n,).
    """

    start: float | Array

    def bounds(self, now: Reference) -> Array:
        """Bounds of position, velocity and acceleration for a path that begins with `now`; shape (3, 2, n).

        A joint that is outside its limits may move, but not further out, nor faster.
        """
        bounds = np.empty((3, 2, len(self.joints)))
        bounds[0, 0] = np.minimum(np.maximum(self.lower, -ABSURD) - POSITION_ALLOWANCE, now.q) - ROUNDING
        bounds[0, 1] = np.maximum(np.minimum(self.upper, ABSURD) + POSITION_ALLOWANCE, now.q) + ROUNDING
        fastest = np.minimum((1.0 + ALLOWANCE) * self.velocity, ABSURD)
        bounds[1, 1] = np.maximum(fastest, np.abs(now.qd)) + ROUNDING
        bounds[1, 0] = -bounds[1, 1]
        bounds[2, 0], bounds[2, 1] = -ABSURD, ABSURD
        return bounds
