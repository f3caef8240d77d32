"""Derivatives of inverse dynamics with respect to q, q̇ and q̈ in closed form, O(n·depth).

A small turn of joint j turns its whole subtree, and what is left of the change is the same for every body of the
subtree. In the notation of S. Singh, R. P. Russell and P. M. Wensing, Efficient analytical derivatives of rigid-body
dynamics using spatial vector algebra, IEEE Robotics and Automation Letters 7 (2022), with S_j the joint's axis,

    ψ̇_j = v_λ × S_j,   ψ̈_j = a_λ × S_j + v_λ × ψ̇_j,   Ṡ_j = v_j × S_j

(λ the parent of j), and sums I, B, f over the subtree of the outer joint i of the two,

    ∂τ_i/∂q_j = S_iᵀ (2 B ψ̇_j + I ψ̈_j)             ∂τ_j/∂q_i = S_jᵀ (2 B ψ̇_i + I ψ̈_i + S_i ×* f)
    ∂τ_i/∂q̇_j = S_iᵀ (2 B S_j + I (ψ̇_j + Ṡ_j))     ∂τ_j/∂q̇_i = S_jᵀ (2 B S_i + I (ψ̇_i + Ṡ_i))

(the left ones for i = j too). An external load is constant in its link's axes, turns with its body, and so enters
only through f. `body_motion` has the axes, the reference points, and why B is 12 numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from rne_dynamics.compiling.jit import helper
from rne_dynamics.compiling.tables import per_body, table
from rne_dynamics.dynamics.declared.arguments import Wrenches
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.declared.base_motion import BaseMotion
from rne_dynamics.dynamics.declared.forms import N as COUNT
from rne_dynamics.dynamics.declared.quantity import Quantity
from rne_dynamics.dynamics.derivatives.body_motion import (
    composite_of,
    flow_back,
    flow_times,
    spatial_motions,
    with_subtree,
)
from rne_dynamics.dynamics.kinematics.joint_motion import component, first_axes, gear, inertia_of, place_of, unit_motion
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE, FLOATING, KIND, MULTIPLIER, PARENT, ROTOR, VELOCITY_INDEX
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.pairs import (
    minus_load,
    momentum_of,
    motion_cross,
    onto_parent,
    plus,
    power,
    scaled,
    wrench_cross,
)
from rne_dynamics.spatial.vector import ZERO, dot, rotate, scale


class InverseDynamicsDerivatives(NamedTuple):
    """Derivatives of the efforts, each of shape (…, n, n): row = effort, column = coordinate.

    Parameters
    ----------
    q
        ∂τ/∂q, along displacements in velocity coordinates (`integrate_configuration`).
    qd
        ∂τ/∂q̇.
    qdd
        ∂τ/∂q̈, which is the mass matrix.
    """

    q: Array
    qd: Array
    qdd: Array


@helper
def derivatives_and_wrenches(arm: Arm, q: Array, qd: Array, qdd: Array, out: tuple[Array, Array, Array]) -> Any:
    """`inverse_derivatives_kernel`; returns by body the wrench f that its joint transmits."""
    topology, parameters, base, loads = arm
    dq, dqd, M = out
    dq[:, :], dqd[:, :], M[:, :] = 0.0, 0.0, 0.0
    bodies, first = topology.shape[0], first_axes(topology)
    X, before, V, dV = spatial_motions(topology, parameters, base, q, qd, qdd)
    composite, f = per_body(topology), per_body(topology)
    rates = table(int(first[bodies]))  # ψ̇, ψ̈ and ψ̇ + Ṡ by axis
    for i in range(bodies):
        body, P, T = composite[i] = composite_of(inertia_of(parameters, i), V[i])
        f[i] = minus_load(plus(momentum_of(body, dV[i]), flow_times(P, T, V[i])), loads, i)  # I a + B V
        V_parent, dV_parent = before[i]
        for a in range(first[i], first[i + 1]):
            S = unit_motion(place_of(topology[i, KIND], a - first[i]))
            d_psi = motion_cross(V_parent, S)
            dd_psi = plus(motion_cross(dV_parent, S), motion_cross(V_parent, d_psi))
            rates[a] = d_psi, dd_psi, plus(d_psi, motion_cross(V[i], S))
        if topology[i, KIND] != FLOATING:
            iv = topology[i, VELOCITY_INDEX]
            M[iv, iv] += parameters[i, MULTIPLIER] ** 2 * parameters[i, ROTOR]
    for i in range(bodies - 1, -1, -1):
        parent, ratio = topology[i, PARENT], gear(topology, parameters, i)
        body, P, T = composite[i]
        for a in range(first[i], first[i + 1]):
            S, (d_psi, dd_psi, rate) = unit_motion(place_of(topology[i, KIND], a - first[i])), rates[a]
            # I S and 2 Bᵀ S, for ∂τ_i
            F, back = momentum_of(body, S), scale(2.0, flow_back(P, T, S))
            # 2 B ψ̇ + I ψ̈ + S ×* f, for ∂τ_j/∂q_i
            Fq = plus(plus(momentum_of(body, dd_psi), scaled(2.0, flow_times(P, T, d_psi))), wrench_cross(S, f[i]))
            # 2 B S + I (ψ̇ + Ṡ), for ∂τ_j/∂q̇_i
            Fv = plus(momentum_of(body, rate), scaled(2.0, flow_times(P, T, S)))
            row = topology[i, VELOCITY_INDEX] + a - first[i]
            j = i
            while j != BASE:
                both = ratio * gear(topology, parameters, j)
                for b in range(first[j], first[j + 1]):
                    axis = b - first[j]
                    place, column = place_of(topology[j, KIND], axis), topology[j, VELOCITY_INDEX] + axis
                    d_psi_j, dd_psi_j, rate_j = rates[b]
                    dq[row, column] += both * (power(F, dd_psi_j) + dot(back, d_psi_j[1]))
                    dqd[row, column] += both * (power(F, rate_j) + component((ZERO, back), place))
                    inertial = both * component(F, place)
                    M[row, column] += inertial
                    if j != i:
                        dq[column, row] += both * component(Fq, place)
                        dqd[column, row] += both * component(Fv, place)
                        M[column, row] += inertial
                R, p = X[j]
                F, Fq, Fv, back = onto_parent(R, p, F), onto_parent(R, p, Fq), onto_parent(R, p, Fv), rotate(R, back)
                j = topology[j, PARENT]
        if parent != BASE:
            R, p = X[i]
            composite[parent] = with_subtree(composite[parent], R, p, composite[i])
            f[parent] = plus(f[parent], onto_parent(R, p, f[i]))
    return f


@helper
def inverse_derivatives_kernel(arm: Arm, q: Array, qd: Array, qdd: Array, out: tuple[Array, Array, Array]) -> None:
    """Fill `out` with ∂τ/∂q, ∂τ/∂q̇ and M, each (n, n), for one state: q (nq,), qd and qdd (n,)."""
    derivatives_and_wrenches(arm, q, qd, qdd, out)


INVERSE_DYNAMICS_DERIVATIVES = Quantity(
    "inverse_dynamics_derivatives", inverse_derivatives_kernel, ("q", "qd", "qdd"), (3, COUNT, COUNT),
    base_motion=True, parts=InverseDynamicsDerivatives,
)  # fmt: skip


@INVERSE_DYNAMICS_DERIVATIVES.public
def inverse_dynamics_derivatives(
    robot: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
) -> InverseDynamicsDerivatives:
    """Derivatives of `inverse_dynamics` with respect to q, q̇ and q̈, analytic.

    Parameters
    ----------
    robot
        The model.
    q, qd, qdd
        Positions (…, nq), velocities and accelerations (…, n). Leading dimensions broadcast.
    wrenches, base_motion
        As for `inverse_dynamics`; the loads are held constant in their links' axes.

    Returns
    -------
    InverseDynamicsDerivatives
        ``q``, ``qd``, ``qdd``, each of shape (…, n, n). A displacement of q has n components: for a floating joint
        (linear, angular) in the moving frame's axes, as in `integrate_configuration`.

    Raises
    ------
    ArgumentError
        Wrong shapes, NaN or infinity, or a base motion for a floating base.
    ModelError
        An unknown link in `wrenches`.
    """
    if wrenches is None and base_motion is None:
        try:
            call: Callable[..., InverseDynamicsDerivatives] = robot.own_code["inverse_dynamics_derivatives"]
        except (AttributeError, KeyError):
            call = INVERSE_DYNAMICS_DERIVATIVES.first_call(robot)
        return call(q, qd, qdd)
    return InverseDynamicsDerivatives(
        *INVERSE_DYNAMICS_DERIVATIVES.answer(robot, q, qd, qdd, wrenches=wrenches, base_motion=base_motion)
    )
