"""Where motions may lie."""

from __future__ import annotations

from dataclasses import dataclass

from rne_dynamics.model.inertia import Array


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Where motions may lie.

    Parameters
    ----------
    joints
        Names, in the order of the vectors.
    lower, upper
        Positions, rad or m; shape (n,); infinite where there is no limit.
    velocity
        Largest speed, rad/s or m/s; shape (n,); infinite where there is no limit.
    start
        How far a trajectory that has begun may lie from where the arm is asked to be, rad or m.
    """

    joints: tuple[str, ...]
    lower: Array
    upper: Array
    velocity: Array
    start: float
