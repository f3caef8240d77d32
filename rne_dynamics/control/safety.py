"""Plain safety: no effort above its limit, none that is not a number, and a soft end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.control.checks import joint_name
from rne_dynamics.control.gravity_compensation import GravityCompensation
from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Machine


def limit_effort(
    effort: ArrayLike, limit: ArrayLike, joint_names: Sequence[str] | None = None
) -> tuple[Array, NDArray[np.bool_]]:
    """Efforts within ± `limit`, joint by joint, and where that changed them.

    Clamping each joint alone changes the direction of the torque vector; the alternative, scaling all joints down
    together, would weaken the joints that hold the arm up because another one saturates.

    Parameters
    ----------
    effort
        N·m or N; shape (n,).
    limit
        Not negative, infinite for none; shape (n,).
    joint_names
        For messages.

    Returns
    -------
    tuple
        New efforts (n,), and a mask (n,) that is True where an effort was clamped.

    Raises
    ------
    ControlError
        An effort that is NaN or infinite (it never passes), a limit that is negative or NaN; names the joint.
    """
    asked, bound = np.asarray(effort, dtype=np.float64), np.asarray(limit, dtype=np.float64)
    if asked.shape != bound.shape:
        raise ControlError(f"efforts have shape {asked.shape} and limits {bound.shape}; they must agree")
    finite = np.isfinite(asked)
    if not finite.all():
        j = int(np.argmin(finite))
        raise ControlError(
            f"effort of {joint_name(j, joint_names)} is {asked[j]}; it must be finite, so no effort was passed on. "
            "Look for a state, reference or model parameter that is not finite"
        )
    good = bound >= 0.0
    if not good.all():
        j = int(np.argmin(good))
        raise ControlError(f"effort limit of {joint_name(j, joint_names)} is {bound[j]}; it must not be negative")
    clamped = np.abs(asked) > bound
    return np.where(clamped, np.copysign(bound, asked), asked), clamped


@dataclass(frozen=True, eq=False)
class StopRamp:
    """A stop as a function of elapsed time: gravity and damping held in full, then ramped linearly to zero.

    Parameters
    ----------
    robot
        The model.
    damping
        N·m·s/rad or N·s/m, not negative; one number or shape (n,).
    hold, ramp
        Seconds of full support, and seconds of fading; not negative.

    Raises
    ------
    ControlError
        Times or damping out of range, or a robot with a floating joint.
    """

    robot: Machine
    damping: Array
    hold: float = 0.5
    ramp: float = 1.0
    _law: GravityCompensation = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("hold", "ramp"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise ControlError(f"stop ramp: {name} is {value} s; it must be finite and not negative")
        law = GravityCompensation(self.robot, self.damping)
        object.__setattr__(self, "damping", law.damping)
        object.__setattr__(self, "_law", law)

    @property
    def duration(self) -> float:
        """Time until the effort is zero, s."""
        return self.hold + self.ramp

    def scale(self, elapsed: float) -> float:
        """Fraction of the support given `elapsed` seconds after the stop: 1 while held, 0 at the end and after."""
        if elapsed <= self.hold:
            return 1.0
        if elapsed >= self.duration:
            return 0.0
        return (self.duration - elapsed) / self.ramp

    def effort(self, elapsed: float, q: Array, qd: Array, *, posture: Array | None = None) -> Array:
        """Efforts `elapsed` seconds after the stop, N·m or N, not yet limited; shape (n,).

        Parameters
        ----------
        elapsed
            Seconds since the stop.
        q, qd
            Measured position and velocity; shape (n,).
        posture
            As for `ComputedTorque.law`.

        Raises
        ------
        ControlError, AssemblyError, SingularPostureError
            An `elapsed` that is NaN; the others as for `ComputedTorque.law`.
        """
        if math.isnan(elapsed):
            raise ControlError("stop ramp: the elapsed time is NaN; it must be a number of seconds")
        return self.scale(elapsed) * self._law.law(q, qd, posture=posture).total
