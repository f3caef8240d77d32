"""Derivatives of forward dynamics with respect to q, q̇ and τ in closed form.

Where τ is held, 0 = ∂τ/∂q δq + ∂τ/∂q̇ δq̇ + M δq̈ with the derivatives of inverse dynamics at the acceleration that τ
gives (J. Carpentier and N. Mansard, Analytical derivatives of rigid body dynamics algorithms, Robotics: Science and
Systems 2018), so that ∂q̈/∂q = −M⁻¹ ∂τ/∂q, ∂q̈/∂q̇ = −M⁻¹ ∂τ/∂q̇ and ∂q̈/∂τ = M⁻¹.

M is inverted once, from the free ends to the base (`spatial.cholesky.inverse`): zeros between branches cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale_kernel
from rne_dynamics.dynamics.composite.mass_matrix import WALKER_ORIN
from rne_dynamics.dynamics.declared.arguments import Arm, BaseMotion, Wrenches
from rne_dynamics.dynamics.declared.quantity import Compiled, N, Quantity
from rne_dynamics.dynamics.derivatives.inverse_derivatives import (
    derivatives_and_wrenches,
    inverse_derivatives_kernel,
)
from rne_dynamics.dynamics.forward_dynamics import FORWARD_DYNAMICS
from rne_dynamics.dynamics.kinematics.joint_motion import put_efforts
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import VELOCITY_INDEX
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.cholesky import inverse
from rne_dynamics.spatial.rows import add_scaled, matrix_times


class ForwardDynamicsDerivatives(NamedTuple):
    """Derivatives of the accelerations, each of shape (…, n, n): row = acceleration, column = coordinate.

    Parameters
    ----------
    q
        ∂q̈/∂q, along displacements in velocity coordinates (`integrate_configuration`).
    qd
        ∂q̈/∂q̇.
    tau
        ∂q̈/∂τ, which is the inverse of the mass matrix.
    """

    q: Array
    qd: Array
    tau: Array


def _general(forward_dynamics: Compiled, *, of_bodies: bool) -> Compiled:
    """The kernel that fills ∂q̈/∂q, ∂q̈/∂q̇, M⁻¹; `of_bodies`: whether faults of forward dynamics are bodies."""

    @kernel
    def forward_derivatives(arm: Arm, q: Array, qd: Array, tau: Array, out: tuple[Array, Array, Array]) -> int:
        n = qd.shape[0]
        qdd, M, torque = np.empty(n), np.empty((n, n)), np.empty((n, n))
        fault: int = forward_dynamics(arm, q, qd, tau, qdd)
        if fault >= 0:
            return int(arm.topology[fault, VELOCITY_INDEX]) if of_bodies else fault
        inverse_derivatives_kernel(arm, q, qd, qdd, out)
        M[:, :] = out[2]
        singular = inverse(M, np.zeros(n), out[2])
        for k in range(2):
            torque[:, :] = out[k]
            out[k][:, :] = 0.0
            for i in range(n):
                for j in range(n):
                    if out[2][i, j] != 0.0:
                        add_scaled(out[k][i], -out[2][i, j], torque[j])
        return singular

    return forward_derivatives


def forward_dynamics_derivatives(
    robot: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
) -> ForwardDynamicsDerivatives:
    """Derivatives of `forward_dynamics` with respect to q, q̇ and τ, analytic.

    Parameters
    ----------
    robot
        The model.
    q, qd, tau
        Positions (…, nq), velocities and efforts (…, n). Leading dimensions broadcast.
    wrenches, base_motion
        As for `inverse_dynamics`; the loads are held constant in their links' axes.

    Returns
    -------
    ForwardDynamicsDerivatives
        ``q``, ``qd``, ``tau``, each of shape (…, n, n). A displacement of q has n components: for a floating joint
        (linear, angular) in the moving frame's axes, as in `integrate_configuration`.

    Raises
    ------
    ArgumentError
        Wrong shapes, NaN or infinity, or a base motion for a floating base.
    SingularInertiaError
        A joint that moves no inertia (massless links, no rotor); the message names it.
    ModelError
        An unknown link in `wrenches`.
    """
    if wrenches is None and base_motion is None:
        try:
            call: Callable[..., ForwardDynamicsDerivatives] = robot.own_code["forward_dynamics_derivatives"]
        except (AttributeError, KeyError):
            call = FORWARD_DYNAMICS_DERIVATIVES.first_call(robot)
        return call(q, qd, tau)
    return ForwardDynamicsDerivatives(
        *FORWARD_DYNAMICS_DERIVATIVES.answer(robot, q, qd, tau, wrenches=wrenches, base_motion=base_motion)
    )


@kernel
def _rows(arms: Arm, extra: tuple[()], q: Array, qd: Array, tau: Array, out: Array) -> int:
    """∂τ/∂q, ∂τ/∂q̇ and M⁻¹, (B, 3, n, n), for straight-line code, whose last stage multiplies them.

    M and the bias torque come from the derivatives of inverse dynamics at q̈ = 0, and q̈ from M's inverse: for six joints
    87 % of the operations that another algorithm for q̈ takes.
    """
    topology, parameters, base, wrenches = arms
    n = out.shape[2]
    zero, bias, qdd, size, M = np.zeros(n), np.empty(n), np.empty(n), np.empty(n), np.empty((n, n))
    for b in range(out.shape[0]):
        arm = Arm(topology, parameters, base[0], wrenches[0])
        f = derivatives_and_wrenches(arm, q[b], qd[b], zero, (out[b, 0], out[b, 1], M))
        put_efforts(topology, parameters, f, zero, bias)
        inertia_scale_kernel(topology, parameters, q[b], size)
        singular = inverse(M, size, out[b, 2])
        if singular >= 0:
            return singular
        for i in range(n):
            bias[i] = tau[b, i] - bias[i]
        matrix_times(out[b, 2], bias, qdd)
        inverse_derivatives_kernel(arm, q[b], qd[b], qdd, (out[b, 0], out[b, 1], M))
    return -1


def _declared(forward_dynamics: Quantity, mimic: Quantity | None) -> Quantity:
    kernel = _general(forward_dynamics.kernel, of_bodies=mimic is not None)
    return Quantity(
        "forward_dynamics_derivatives", kernel, ("q", "qd", "tau"), (3, N, N),
        base_motion=True, fault="joint_names", mimic=mimic, parts=ForwardDynamicsDerivatives, traced=_rows,
        multiplies=True,
    )  # fmt: skip


FORWARD_DYNAMICS_DERIVATIVES = _declared(FORWARD_DYNAMICS, _declared(WALKER_ORIN, None))
FORWARD_DYNAMICS_DERIVATIVES.public(forward_dynamics_derivatives)
