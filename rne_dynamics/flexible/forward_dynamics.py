"""Accelerations of joints and deflections from joint efforts: J z̈ = R (82) of document 003 by Cholesky's method."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale, solved_accelerations
from rne_dynamics.dynamics.declared.arguments import Wrenches
from rne_dynamics.dynamics.declared.base_motion import BaseMotion
from rne_dynamics.flexible.arguments import coordinates
from rne_dynamics.flexible.equations import terms_of_rows
from rne_dynamics.flexible.specialised import by_own_code
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array


class Accelerations(NamedTuple):
    """Second derivatives of joints, (…, n), rad/s² or m/s², and of the modes' amplitudes, (…, modes)."""

    qdd: Array
    deltadd: Array


@by_own_code(Accelerations)
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
    lead, (*state, efforts) = coordinates(arm, q=q, delta=delta, qd=qd, deltad=deltad, tau=tau)
    J, bias = terms_of_rows(arm, lead, state, wrenches, base_motion)
    n, left, scale = arm.n, -bias, np.zeros_like(bias)
    left[:, :n] += efforts
    scale[:, :n] = inertia_scale(arm.robot, state[0])  # of the arm undeformed; modes have none
    zdd = solved_accelerations(J, left, scale, arm.name, arm.joint_names + arm.mode_names)
    return Accelerations(zdd[:, :n].reshape((*lead, n)), zdd[:, n:].reshape((*lead, arm.modes)))
