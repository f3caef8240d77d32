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

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import helper
from rne_dynamics.dynamics.declared.arguments import Wrenches
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.declared.base_motion import BaseMotion
from rne_dynamics.dynamics.declared.forms import N as COUNT
from rne_dynamics.dynamics.declared.quantity import Quantity
from rne_dynamics.dynamics.derivatives.body_motion import (
    MOTION,
    OFFSET,
    PARENT_MOTION,
    PARENT_RATE,
    ROTATION,
    WORK_COLUMNS,
    WRENCH,
    add_force_to_parent,
    add_to_parent,
    composite_at,
    flow_back,
    flow_times,
    put_body,
    put_force,
    put_motions,
)
from rne_dynamics.dynamics.kinematics.joint_axes import axes_of, axes_work, component, gear, place_of, unit_motion
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, MULTIPLIER, PARENT, ROTOR, VELOCITY_INDEX
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.pairs import motion_cross, onto_parent, pair_at, plus, power, put_pair, scaled, wrench_cross
from rne_dynamics.spatial.rigid import momentum_of
from rne_dynamics.spatial.rows import matrix_at, vector_at
from rne_dynamics.spatial.vector import ZERO, dot, rotate, scale

# columns of the array of axes, one row for each axis of each joint: ψ̇, ψ̈ and ψ̇ + Ṡ
_D_PSI, _DD_PSI, _RATES, _COLUMNS = columns(6, 6, 6)


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
def _put_axis_rates(kind: int, i: int, first: int, work: Array, axes: Array) -> None:
    """ψ̇, ψ̈ and ψ̇ + Ṡ of the axes of joint i into the rows from `first` on."""
    V, V_parent, rate_parent = pair_at(work, i, MOTION), pair_at(work, i, PARENT_MOTION), pair_at(work, i, PARENT_RATE)
    for a in range(axes_of(kind)):
        S = unit_motion(place_of(kind, a))
        d_psi = motion_cross(V_parent, S)
        put_pair(axes, first + a, _D_PSI, d_psi)
        put_pair(axes, first + a, _DD_PSI, plus(motion_cross(rate_parent, S), motion_cross(V_parent, d_psi)))
        put_pair(axes, first + a, _RATES, plus(d_psi, motion_cross(V, S)))


@helper
def _pairs(
    topology: NDArray[np.int64],
    parameters: Array,
    i: int,
    first: NDArray[np.int64],
    work: Array,
    axes: Array,
    dq: Array,
    dqd: Array,
    M: Array,
) -> None:
    """Entries between the axes of joint i, whose composite is complete, and its ancestors' and its own."""
    body, P, T = composite_at(work, i)
    force, ratio = pair_at(work, i, WRENCH), gear(topology, parameters, i)
    for a in range(first[i], first[i + 1]):
        S = unit_motion(place_of(topology[i, KIND], a - first[i]))
        d_psi, dd_psi = pair_at(axes, a, _D_PSI), pair_at(axes, a, _DD_PSI)
        # I S and 2 Bᵀ S, for ∂τ_i
        F, back = momentum_of(body, S), scale(2.0, flow_back(P, T, S))
        # 2 B ψ̇ + I ψ̈ + S ×* f, for ∂τ_j/∂q_i
        Fq = plus(plus(momentum_of(body, dd_psi), scaled(2.0, flow_times(P, T, d_psi))), wrench_cross(S, force))
        # 2 B S + I (ψ̇ + Ṡ), for ∂τ_j/∂q̇_i
        Fv = plus(momentum_of(body, pair_at(axes, a, _RATES)), scaled(2.0, flow_times(P, T, S)))
        row = topology[i, VELOCITY_INDEX] + a - first[i]
        j = i
        while j >= 0:
            both = ratio * gear(topology, parameters, j)
            column = topology[j, VELOCITY_INDEX]
            for b in range(first[j], first[j + 1]):
                place = place_of(topology[j, KIND], b - first[j])
                dq[row, column] += both * (power(F, pair_at(axes, b, _DD_PSI)) + dot(back, pair_at(axes, b, _D_PSI)[1]))
                dqd[row, column] += both * (power(F, pair_at(axes, b, _RATES)) + component((ZERO, back), place))
                inertial = both * component(F, place)
                M[row, column] += inertial
                if j != i:
                    dq[column, row] += both * component(Fq, place)
                    dqd[column, row] += both * component(Fv, place)
                    M[column, row] += inertial
                column += 1
            R, p = matrix_at(work, j, ROTATION), vector_at(work, j, OFFSET)
            F, Fq, Fv, back = onto_parent(R, p, F), onto_parent(R, p, Fq), onto_parent(R, p, Fv), rotate(R, back)
            j = topology[j, PARENT]


@helper
def inverse_derivatives_kernel(arm: Arm, q: Array, qd: Array, qdd: Array, out: tuple[Array, Array, Array]) -> None:
    """Fill `out` with ∂τ/∂q, ∂τ/∂q̇ and M, each (n, n), for one state: q (nq,), qd and qdd (n,)."""
    topology, parameters, base, wrenches, (first, work, axes) = arm
    dq, dqd, M = out
    bodies = topology.shape[0]
    for row in range(M.shape[0]):
        for k in range(M.shape[0]):
            dq[row, k] = 0.0
            dqd[row, k] = 0.0
            M[row, k] = 0.0
    put_motions(topology, parameters, base, q, qd, qdd, work)
    for i in range(bodies):
        put_body(parameters, i, work)
        put_force(wrenches, i, work)
        _put_axis_rates(topology[i, KIND], i, first[i], work, axes)
        if topology[i, KIND] != FLOATING:
            iv = topology[i, VELOCITY_INDEX]
            M[iv, iv] += parameters[i, MULTIPLIER] ** 2 * parameters[i, ROTOR]
    for i in range(bodies - 1, -1, -1):
        _pairs(topology, parameters, i, first, work, axes, dq, dqd, M)
        parent = topology[i, PARENT]
        if parent >= 0:
            add_to_parent(parent, i, work)
            add_force_to_parent(parent, i, work)


@helper
def efforts_of_wrenches(arm: Arm, tau: Array) -> None:
    """Fill `tau` (n,) with the efforts less the rotors', where `inverse_derivatives_kernel` has left its wrenches."""
    topology, parameters, _, _, (_, work, _) = arm
    for k in range(tau.shape[0]):
        tau[k] = 0.0
    for i in range(topology.shape[0]):
        F, kind, ratio = pair_at(work, i, WRENCH), topology[i, KIND], gear(topology, parameters, i)
        for a in range(axes_of(kind)):
            tau[topology[i, VELOCITY_INDEX] + a] += ratio * component(F, place_of(kind, a))


_WORK = axes_work(WORK_COLUMNS, _COLUMNS)
#: Allocates the scratch memory of the kernel.
new_work = _WORK.new
INVERSE_DYNAMICS_DERIVATIVES = Quantity(
    "inverse_dynamics_derivatives", inverse_derivatives_kernel, ("q", "qd", "qdd"), (3, COUNT, COUNT), _WORK,
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
    return InverseDynamicsDerivatives(
        *INVERSE_DYNAMICS_DERIVATIVES.answer(robot, q, qd, qdd, wrenches=wrenches, base_motion=base_motion)
    )
