"""Torque that cancels joint friction, smooth where the motion turns around."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rne_dynamics.errors import ControlError
from rne_dynamics.model.friction import JointFriction
from rne_dynamics.model.inertia import Array


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
    velocity_threshold: float = 0.001

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
        passive: Array | float = 0.0,
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
        smooth = np.tanh(coulomb_velocity * (1.0 / self.velocity_threshold))
        coulomb = np.where(smooth > 0.0, friction.coulomb_forward, friction.coulomb_backward)
        torque: Array = self.scale * (friction.viscous * viscous_velocity + passive + coulomb * smooth)
        return torque
