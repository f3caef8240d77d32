"""What joint states of a robot can be."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.control.checks import frozen_vector, set_fields
from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array


@dataclass(frozen=True, eq=False)
class StateLimits:
    """What joint states can be, for `StateFilter`.

    Parameters
    ----------
    velocity
        Velocity limit of each joint, rad/s or m/s, greater than 0; inf where it is not known, which leaves jumps and
        velocities of that joint unjudged. Shape (n,).
    continuous
        Joints without position limits, whose positions may wrap; shape (n,).
    timeout
        Age at which a state is stale, s; 0 never.
    filter_frequency
        Corner frequency of the velocity estimate, Hz, greater than 0.
    joints
        Names for messages; n of them.
    lateness
        By how much a state may be later than others, s; greater than 0. What the gains tolerate, where that is less
        than `timeout`.
    coulomb
        Coulomb friction of each joint, N·m or N, not negative; zero by default. Shape (n,).

    Raises
    ------
    ControlError
        A value outside these ranges, NaN, or a wrong shape.
    """

    velocity: Array
    continuous: NDArray[np.bool_]
    timeout: float
    filter_frequency: float
    joints: tuple[str, ...]
    lateness: float = math.inf
    coulomb: Array | None = None

    def __post_init__(self) -> None:
        n, names = len(self.joints), self.joints
        smallest = float(np.finfo(np.float64).tiny)
        velocity = frozen_vector(self.velocity, n, "velocity limit", lowest=smallest, finite=False, names=names)
        coulomb = np.zeros(n) if self.coulomb is None else self.coulomb
        coulomb = frozen_vector(coulomb, n, "Coulomb friction", lowest=0.0, names=names)
        continuous = np.array(self.continuous, dtype=np.bool_)
        if continuous.shape != (n,):
            raise ControlError(f"continuous has shape {continuous.shape}; there are {n} joints")
        continuous.flags.writeable = False
        set_fields(self, velocity=velocity, coulomb=coulomb, continuous=continuous)
        if not self.timeout >= 0.0:
            raise ControlError(f"state timeout is {self.timeout} s; it must not be negative (0 is never)")
        if not self.lateness > 0.0:
            raise ControlError(f"tolerated lateness is {self.lateness} s; it must be greater than 0 (inf is any)")
        if not (math.isfinite(self.filter_frequency) and self.filter_frequency > 0.0):
            raise ControlError(f"velocity filter is {self.filter_frequency} Hz; it must be finite and greater than 0")
