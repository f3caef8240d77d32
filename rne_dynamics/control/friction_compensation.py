"""Friction compensation, smooth through zero velocity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rne_dynamics.compiling.jit import in_place_kernel
from rne_dynamics.control.checks import measured
from rne_dynamics.errors import ControlError
from rne_dynamics.model.friction import JointFriction
from rne_dynamics.model.inertia import Array


@in_place_kernel
def compensation_kernel(
    scale: float,
    steepness: float,
    viscous: Array,
    forward: Array,
    backward: Array,
    viscous_velocity: Array,
    coulomb_velocity: Array,
    passive: Array,
    torque: Array,
) -> None:
    """`FrictionCompensation.torque` into `torque`, with `steepness` = 1 / threshold; arrays of shape (n,)."""
    for j in range(torque.shape[0]):
        smooth = np.tanh(coulomb_velocity[j] * steepness)
        coulomb = forward[j] if smooth > 0.0 else backward[j]
        torque[j] = scale * (viscous[j] * viscous_velocity[j] + passive[j] + coulomb * smooth)


@dataclass(frozen=True)
class FrictionCompensation:
    """Viscous and Coulomb friction with sign(v) replaced by tanh(v / threshold).

    Parameters
    ----------
    scale
        Fraction of the modelled friction to cancel, 0 to 1. Above 1 the arm would drive itself.
    velocity_threshold
        Speed at which 76 % of the Coulomb torque is given, rad/s or m/s; above 0. The small default suits tracking,
        where the desired velocity decides; for a measured, noisy velocity (hand guiding) take about its noise.

    Raises
    ------
    ControlError
        Values outside these ranges.
    """

    scale: float = 1.0
    velocity_threshold: float = 0.005

    def __post_init__(self) -> None:
        if not 0.0 <= self.scale <= 1.0:
            raise ControlError(
                f"friction compensation: scale is {self.scale}; it must lie in [0, 1], above 1 the arm drives itself"
            )
        if not (np.isfinite(self.velocity_threshold) and self.velocity_threshold > 0.0):
            raise ControlError(
                f"friction compensation: velocity_threshold is {self.velocity_threshold}; "
                "it must be finite and above 0"
            )

    def torque(
        self,
        friction: JointFriction,
        viscous_velocity: Array,
        coulomb_velocity: Array,
        passive: Array | None = None,
    ) -> Array:
        """Compensating torque, N·m or N; shape (n,).

        Parameters
        ----------
        friction
            The joints' friction.
        viscous_velocity, coulomb_velocity
            Velocity for the viscous and for the Coulomb part, rad/s or m/s; shape (n,). A tracking law takes the
            desired velocity for the Coulomb part: it knows the way ahead while the joint still sticks, and noise
            near standstill cannot make it chatter.
        passive
            What a mechanism's passive joints take from its motors by viscous friction, N·m or N; shape (n,).
        """
        n = len(friction.viscous)
        torque = np.empty(n)
        compensation_kernel(
            float(self.scale), 1.0 / self.velocity_threshold, *friction,
            measured(viscous_velocity, n, "the velocity"), measured(coulomb_velocity, n, "the velocity"),
            np.zeros(n) if passive is None else passive, torque,
        )  # fmt: skip
        return torque
