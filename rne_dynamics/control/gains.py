"""Feedback gains of each joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.control.checks import frozen_vector
from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.rebuilt import Rebuilt


@dataclass(frozen=True, eq=False)
class Gains(Rebuilt):
    """Gains of p·e + i·∫e dt + d·ė for each joint, with e = desired − measured.

    In computed torque the result is an acceleration (p in 1/s², i in 1/s³, d in 1/s); in PD plus gravity it is a
    torque (N·m/rad, …). `i_clamp` bounds |i·∫e| in the unit of the result.

    Parameters
    ----------
    p, i, d, i_clamp
        Not negative; shape (n,). A single number counts for all joints where another gain has n of them.
    joint_names
        For messages; length n.

    Raises
    ------
    ControlError
        A negative gain, NaN or infinity (only `i_clamp` may be infinite), or shapes that do not agree.
    """

    p: Array
    i: Array = field(default_factory=lambda: np.zeros(1))
    d: Array = field(default_factory=lambda: np.zeros(1))
    i_clamp: Array = field(default_factory=lambda: np.full(1, np.inf))
    joint_names: Sequence[str] | None = field(default=None, repr=False)
    #: Whether any joint has an integral gain.
    integrates: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        sizes = {np.size(getattr(self, name)) for name in ("p", "i", "d", "i_clamp")}
        n = max(sizes)
        for name in ("p", "i", "d", "i_clamp"):
            value: ArrayLike = getattr(self, name)
            if np.size(value) == 1:
                value = float(np.asarray(value).reshape(()))
            vector = frozen_vector(
                value, n, f"gain {name}", lowest=0.0, finite=name != "i_clamp", names=self.joint_names
            )
            object.__setattr__(self, name, vector)
        object.__setattr__(self, "integrates", bool(self.i.any()))

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.p)

    @classmethod
    def critically_damped(cls, n: int, bandwidth: ArrayLike) -> Gains:
        """Gains that make ë + 2ω ė + ω² e = 0 under computed torque: errors die out fastest without overshoot.

        Parameters
        ----------
        n
            Number of joints.
        bandwidth
            ω, rad/s, above 0; one number or shape (n,).
        """
        omega = frozen_vector(bandwidth, n, "bandwidth", lowest=float(np.nextafter(0.0, 1.0)))
        return cls(p=omega**2, i=np.zeros(n), d=2.0 * omega)

    def fit(self, n: int, law: str) -> None:
        """`ControlError` unless there is one set of gains for each of `n` joints."""
        if self.n != n:
            raise ControlError(f"{law}: gains for {self.n} joints, but the robot has {n}")
