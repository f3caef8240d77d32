"""Derivatives of inverse dynamics with respect to q, q̇ and q̈ in closed form, O(n·depth).

Turn joint j a little: all that it carries turns with it, and what is left of the change is the same for every body
it carries. In the notation of S. Singh, R. P. Russell and P. M. Wensing, Efficient analytical derivatives of rigid-body
dynamics using spatial vector algebra, IEEE Robotics and Automation Letters 7 (2022), with S_j the joint's axis,

    ψ̇_j = v_λ × S_j,   ψ̈_j = a_λ × S_j + v_λ × ψ̇_j,   Ṡ_j = v_j × S_j

(λ the parent of j), and sums I, B, f over what hangs on the outer joint i of the two,

    ∂τ_i/∂q_j = S_iᵀ (2 B ψ̇_j + I ψ̈_j)             ∂τ_j/∂q_i = S_jᵀ (2 B ψ̇_i + I ψ̈_i + S_i ×* f)
    ∂τ_i/∂q̇_j = S_iᵀ (2 B S_j + I (ψ̇_j + Ṡ_j))     ∂τ_j/∂q̇_i = S_jᵀ (2 B S_i + I (ψ̇_i + Ṡ_i))

(the left ones for i = j too). An external load is constant in its link's axes, turns with its body, and so enters
only through f. `ground_motion` has the axes, the reference points, and why B is 12 numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import helper, in_place_helper, in_place_kernel, kernel
from rne_dynamics.dynamics.declared.arguments import Wrenches, bodies_wrenches, quick, state_arrays
from rne_dynamics.dynamics.declared.base_motion import BaseMotion, packed_base
from rne_dynamics.dynamics.declared.bound_forms import bound_of_three, in_parts
from rne_dynamics.dynamics.declared.forms import N as COUNT
from rne_dynamics.dynamics.declared.quantity import Declared
from rne_dynamics.dynamics.derivatives.ground_motion import (
    AXIS_COLUMNS,
    OFFSET,
    S_V,
    S_W,
    WORK_COLUMNS,
    F,
    N,
    V,
    W,
    composite_at,
    first_axes,
    gear,
    ground_motion,
    hand_force_to_parent,
    hand_to_parent,
    inertia_times,
    motion_cross,
    moved_moment,
    parent_motion,
    power,
    put_body,
    put_force,
)
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, MULTIPLIER, PARENT, ROTOR, VELOCITY_INDEX
from rne_dynamics.model.packed_arm import (
    COORDINATES,
    OK,
    OVERLAPPING,
    WRONG_SHAPE,
    axes_part,
    base_of,
    first_of,
    head_of,
    no_loads_of,
    parameters_of,
    refusal,
    shared,
    topology_of,
    work_part,
)
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.rows import put, vector_at
from rne_dynamics.spatial.vector import Vector, add, cross, dot, rotate, rotate_back, scale

# further columns of the array of axes: ψ̇, ψ̈ and ψ̇ + Ṡ, each linear, then angular
_, _D_V, _D_W, _DD_V, _DD_W, _R_V, _R_W, _COLUMNS = columns(AXIS_COLUMNS, 3, 3, 3, 3, 3, 3)


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


@in_place_helper
def _axis_rates(topology: NDArray[np.int64], i: int, first: NDArray[np.int64], work: Array, axes: Array) -> None:
    parent = topology[i, PARENT]
    v, w = vector_at(work, i, V), vector_at(work, i, W)
    v_parent, w_parent, dv_parent, dw_parent = parent_motion(work, parent, vector_at(work, i, OFFSET))
    for a in range(first[i], first[i + 1]):
        sv, sw = vector_at(axes, a, S_V), vector_at(axes, a, S_W)
        dv, dw = motion_cross(v_parent, w_parent, sv, sw)
        av, aw = motion_cross(dv_parent, dw_parent, sv, sw)
        bv, bw = motion_cross(v_parent, w_parent, dv, dw)
        rate_v, rate_w = motion_cross(v, w, sv, sw)
        put(axes, a, _D_V, dv)
        put(axes, a, _D_W, dw)
        put(axes, a, _DD_V, add(av, bv))
        put(axes, a, _DD_W, add(aw, bw))
        put(axes, a, _R_V, add(dv, rate_v))
        put(axes, a, _R_W, add(dw, rate_w))


@helper
def _along(axes: Array, b: int, k: int, f: Vector, n: Vector, turning: Vector, t: int) -> float:
    return dot(f, vector_at(axes, b, k)) + dot(n, vector_at(axes, b, k + 3)) + dot(turning, vector_at(axes, b, t))


@in_place_helper
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
    """Entries between the axes of joint i, whose composite is complete, and all joints that carry it."""
    m, h, inertia, P_i, T_i = composite_at(work, i)
    force, moment = vector_at(work, i, F), vector_at(work, i, N)
    for a in range(first[i], first[i + 1]):
        sv, sw = vector_at(axes, a, S_V), vector_at(axes, a, S_W)
        dw, rate_v, rate_w = vector_at(axes, a, _D_W), vector_at(axes, a, _R_V), vector_at(axes, a, _R_W)
        # I S and 2 Bᵀ S, for ∂τ_i
        f, n = inertia_times(m, h, inertia, sv, sw)
        turning = scale(2.0, add(cross(P_i, sv), rotate_back(T_i, sw)))
        # 2 B ψ̇ + I ψ̈ + S ×* f, for ∂τ_j/∂q_i
        fq, nq = inertia_times(m, h, inertia, vector_at(axes, a, _DD_V), vector_at(axes, a, _DD_W))
        fq = add(fq, add(scale(2.0, cross(dw, P_i)), cross(sw, force)))
        nq = add(add(nq, scale(2.0, rotate(T_i, dw))), add(cross(sv, force), cross(sw, moment)))
        # 2 B S + I (ψ̇ + Ṡ), for ∂τ_j/∂q̇_i
        fv, nv = inertia_times(m, h, inertia, rate_v, rate_w)
        fv = add(fv, scale(2.0, cross(sw, P_i)))
        nv = add(nv, scale(2.0, rotate(T_i, sw)))
        row = topology[i, VELOCITY_INDEX] + a - first[i]
        ratio = gear(topology, parameters, i)
        j = i
        while j >= 0:
            both = ratio * gear(topology, parameters, j)
            column = topology[j, VELOCITY_INDEX]
            for b in range(first[j], first[j + 1]):
                dq[row, column] += both * _along(axes, b, _DD_V, f, n, turning, _D_W)
                dqd[row, column] += both * _along(axes, b, _R_V, f, n, turning, S_W)
                inertial = both * power(f, n, axes, b)
                M[row, column] += inertial
                if j != i:
                    dq[column, row] += both * power(fq, nq, axes, b)
                    dqd[column, row] += both * power(fv, nv, axes, b)
                    M[column, row] += inertial
                column += 1
            n = moved_moment(work, j, f, n)
            nq = moved_moment(work, j, fq, nq)
            nv = moved_moment(work, j, fv, nv)
            j = topology[j, PARENT]


@in_place_helper
def inverse_derivatives_kernel(
    topology: NDArray[np.int64],
    parameters: Array,
    base: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    wrenches: Array,
    first: NDArray[np.int64],
    work: Array,
    axes: Array,
    dq: Array,
    dqd: Array,
    M: Array,
) -> None:
    """Fill dq, dqd and M, each (n, n), for one state.

    Arguments as for `inverse_dynamics_kernel`, with `first` of `first_axes`, work (bodies + 1, WORK_COLUMNS) and
    axes (first[−1], _COLUMNS).
    """
    bodies = topology.shape[0]
    for row in range(M.shape[0]):
        for k in range(M.shape[0]):
            dq[row, k] = 0.0
            dqd[row, k] = 0.0
            M[row, k] = 0.0
    ground_motion(topology, parameters, base, q, qd, qdd, first, work, axes)
    for i in range(bodies):
        put_body(parameters, i, work)
        put_force(wrenches, i, work)
        _axis_rates(topology, i, first, work, axes)
        if topology[i, KIND] != FLOATING:
            iv = topology[i, VELOCITY_INDEX]
            M[iv, iv] += parameters[i, MULTIPLIER] ** 2 * parameters[i, ROTOR]
    for i in range(bodies - 1, -1, -1):
        _pairs(topology, parameters, i, first, work, axes, dq, dqd, M)
        hand_to_parent(topology, i, work)
        hand_force_to_parent(topology, i, work)


@in_place_helper
def _rows(
    topology: NDArray[np.int64],
    parameters: Array,
    base: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    wrenches: Array,
    out: Array,
    first: NDArray[np.int64],
    work: Array,
    axes: Array,
) -> None:
    for b in range(q.shape[0]):
        inverse_derivatives_kernel(
            topology,
            parameters,
            base[b if base.shape[0] > 1 else 0],
            q[b],
            qd[b],
            qdd[b],
            wrenches[b if wrenches.shape[0] > 1 else 0],
            first,
            work,
            axes,
            out[0, b],
            out[1, b],
            out[2, b],
        )


@kernel
def inverse_derivatives_batch(
    topology: NDArray[np.int64],
    parameters: Array,
    base: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    wrenches: Array,
    out: Array,
) -> None:
    """`inverse_derivatives_kernel` over rows: shapes as for `inverse_dynamics_batch`; out (3, B, n, n): dq, dqd, M."""
    first = first_axes(topology)
    work = np.empty((topology.shape[0] + 1, WORK_COLUMNS))
    axes = np.empty((first[topology.shape[0]], _COLUMNS))
    _rows(topology, parameters, base, q, qd, qdd, wrenches, out, first, work, axes)


_work_of, _axes_of = work_part(WORK_COLUMNS), axes_part(_COLUMNS)


@in_place_kernel
def inverse_derivatives_packed(arm: Array, q: Array, qd: Array, qdd: Array, out: Array) -> int:
    """Fill `out` (3, n, n) with ∂τ/∂q, ∂τ/∂q̇, M for one state of a packed arm (`compiled`); `OK`, or why not."""
    code = refusal(arm, q, qd, qdd)
    if code != OK:
        return code
    n = head_of(arm, COORDINATES)
    if out.shape[0] != 3 or out.shape[1] != n or out.shape[2] != n:
        return WRONG_SHAPE
    if shared(out, arm, q, qd, qdd):
        return OVERLAPPING
    inverse_derivatives_kernel(
        topology_of(arm),
        parameters_of(arm),
        base_of(arm),
        q,
        qd,
        qdd,
        no_loads_of(arm),
        first_of(arm),
        _work_of(arm),
        _axes_of(arm),
        out[0],
        out[1],
        out[2],
    )
    return OK


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
        out = np.empty((3, robot.n, robot.n))
        if quick(INVERSE_DYNAMICS_DERIVATIVES.sealed, robot.packed, q, qd, qdd, out):
            return InverseDynamicsDerivatives(out[0], out[1], out[2])
    lead, (positions, velocities, accelerations) = state_arrays(robot, q=q, qd=qd, qdd=qdd)
    base = packed_base(robot, base_motion, lead)
    loads = bodies_wrenches(robot, wrenches, lead)
    out = np.empty((3, positions.shape[0], robot.n, robot.n))
    inverse_derivatives_batch(robot.topology, robot.parameters, base, positions, velocities, accelerations, loads, out)
    return InverseDynamicsDerivatives(*out.reshape((3, *lead, robot.n, robot.n)))


INVERSE_DYNAMICS_DERIVATIVES = Declared(
    "inverse_dynamics_derivatives", ("q", "qd", "qdd"), (3, COUNT, COUNT), inverse_derivatives_packed,
    inverse_dynamics_derivatives, ("base_motion",),
    bound=lambda made_of: in_parts(bound_of_three(made_of), InverseDynamicsDerivatives),
)  # fmt: skip
