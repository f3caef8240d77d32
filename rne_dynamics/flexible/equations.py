"""The equations of motion of a flexible arm, J z̈ = R (82) of document 003."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.declared.arguments import BaseMotion, Wrenches
from rne_dynamics.flexible.specialised import by_kernel, by_own_code
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array


class EquationsOfMotion(NamedTuple):
    """J z̈ + bias = [τ, 0] for z = [q, δ]."""

    #: Inertia matrix, symmetric, positive definite; shape (…, n + modes, n + modes).
    J: Array
    #: −R (83) … (86) but for the joints' efforts: Coriolis, centrifugal, gravity, elastic and damping forces less the
    #: external loads; shape (…, n + modes).
    bias: Array


@by_own_code("equations_of_motion")
def joined_equations(
    arm: FlexibleArm, q: ArrayLike, delta: ArrayLike, qd: ArrayLike, deltad: ArrayLike, *,
    wrenches: Wrenches | None = None, base_motion: BaseMotion | None = None,
) -> Array:  # fmt: skip
    """As `equations_of_motion`, J and below it the bias forces; shape (…, n + modes + 1, n + modes)."""
    return by_kernel(arm, "equations_of_motion", (q, delta, qd, deltad), wrenches, base_motion)


def equations_of_motion(
    arm: FlexibleArm,
    q: ArrayLike,
    delta: ArrayLike,
    qd: ArrayLike,
    deltad: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
) -> EquationsOfMotion:
    """Inertia matrix and bias forces in joints and deflections.

    Parameters
    ----------
    arm
        The arm.
    q, qd
        Joint positions and velocities, rad or m and their rates; shape (…, n).
    delta, deltad
        Amplitudes of the modes and their rates, in the order of `arm.mode_names`; shape (…, modes). Leading dimensions
        broadcast.
    wrenches
        External loads: link name to (force, moment), shape (…, 6), at the link frame's origin in link axes; N, N·m. On
        a flexible link that frame is at its root; push on what is fixed to its end.
    base_motion
        Prescribed motion of the base; at rest by default.

    Raises
    ------
    ArgumentError
        Wrong shapes, NaN or infinity.
    ModelError
        An unknown link in `wrenches`.
    """
    found = joined_equations(arm, q, delta, qd, deltad, wrenches=wrenches, base_motion=base_motion)
    return EquationsOfMotion(*map(np.ascontiguousarray, (found[..., :-1, :], found[..., -1, :])))


class Accelerations(NamedTuple):
    """Second derivatives of joints, (…, n), rad/s² or m/s², and of the modes' amplitudes, (…, modes)."""

    qdd: Array
    deltadd: Array


@by_own_code("flexible_forward_dynamics")
def joined_forward(
    arm: FlexibleArm, q: ArrayLike, delta: ArrayLike, qd: ArrayLike, deltad: ArrayLike, tau: ArrayLike, *,
    wrenches: Wrenches | None = None, base_motion: BaseMotion | None = None,
) -> Array:  # fmt: skip
    """As `flexible_forward_dynamics`, joints before modes; shape (…, n + modes)."""
    return by_kernel(arm, "flexible_forward_dynamics", (q, delta, qd, deltad, tau), wrenches, base_motion)


def flexible_forward_dynamics(
    arm: FlexibleArm,
    q: ArrayLike,
    delta: ArrayLike,
    qd: ArrayLike,
    deltad: ArrayLike,
    tau: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
) -> Accelerations:
    """Accelerations of a flexible arm under joint efforts.

    Parameters
    ----------
    arm, q, delta, qd, deltad, wrenches, base_motion
        As for `equations_of_motion`.
    tau
        Joint efforts, N·m or N; shape (…, n).

    Raises
    ------
    ArgumentError, ModelError
        As for `equations_of_motion`.
    SingularInertiaError
        A joint or mode that moves no inertia; names it.
    """
    found = joined_forward(arm, q, delta, qd, deltad, tau, wrenches=wrenches, base_motion=base_motion)
    return Accelerations(*map(np.ascontiguousarray, (found[..., : arm.n], found[..., arm.n :])))
