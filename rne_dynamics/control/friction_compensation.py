"""Friction compensation, smooth through zero velocity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.control.checks import check_number, measured
from rne_dynamics.errors import ControlError
from rne_dynamics.model.friction import JointFriction
from rne_dynamics.model.inertia import Array


@helper
def joint_compensation(
    scale: float, steepness: float, viscous: float, forward: float, backward: float, velocity: float
) -> float:
    """`FrictionCompensation.torque` of one joint, with `steepness` = 1 / threshold."""
    x = min(max(velocity * steepness, -1.0), 1.0)
    return scale * (viscous * velocity + (forward if x > 0.0 else backward) * x * (1.5 - 0.5 * x * x))


@kernel
def compensation_kernel(
    scale: float,
    steepness: float,
    viscous: Array,
    forward: Array,
    backward: Array,
    velocity: Array,
    passive: Array,
    torque: Array,
) -> None:
    """`FrictionCompensation.torque` into `torque`, with `steepness` = 1 / threshold; arrays of shape (n,)."""
    for j in range(torque.shape[0]):
        own = joint_compensation(scale, steepness, viscous[j], forward[j], backward[j], velocity[j])
        torque[j] = own + scale * passive[j]


@dataclass(frozen=True)
class FrictionCompensation:
    """Viscous and Coulomb friction with sign(v) replaced by x (3 − x²) / 2, x = v / threshold, below the threshold.

    Parameters
    ----------
    scale
        Fraction of the modelled friction to cancel, 0 to 1. Above 1 the arm would drive itself.
    velocity_threshold
        Speed from which on all of the Coulomb torque is given, rad/s or m/s; above 0. The small default suits tracking,
        which takes the desired velocity; for a measured velocity (hand guiding) take twice its noise.

    Raises
    ------
    ControlError
        Values outside these ranges.
    """

    scale: float = 1.0
    velocity_threshold: float = 0.0001

    def __post_init__(self) -> None:
        if not 0.0 <= self.scale <= 1.0:
            raise ControlError(
                f"friction compensation: scale is {self.scale}; it must lie in [0, 1], above 1 the arm drives itself"
            )
        check_number(self.velocity_threshold, "friction compensation: velocity_threshold")

    def torque(self, friction: JointFriction, velocity: Array, passive: Array | None = None) -> Array:
        """Compensating torque, N·m or N; shape (n,).

        Parameters
        ----------
        friction
            The joints' friction.
        velocity
            rad/s or m/s; shape (n,). A tracking law takes the desired velocity: it knows the way ahead while the joint
            still sticks, noise near standstill cannot make it chatter, and no delay turns friction into oscillation
            (docs/friction.md).
        passive
            What a mechanism's passive joints take from its motors by viscous friction at that velocity, N·m or N;
            shape (n,).
        """
        n = len(friction.viscous)
        torque = np.empty(n)
        compensation_kernel(
            float(self.scale), 1.0 / self.velocity_threshold, *friction, measured(velocity, n, "the velocity"),
            np.zeros(n) if passive is None else passive, torque,
        )  # fmt: skip
        return torque
