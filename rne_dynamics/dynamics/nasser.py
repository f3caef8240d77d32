"""O(n) forward dynamics in Nasser's formulation (document 000).

The inbound pass turns what hangs on each joint into A* and B*, with the joint's own acceleration eliminated
(G = L⁻¹ in closed form, since L differs from the identity in one column only); the outbound pass starts from
the prescribed base motion and finds the accelerations. Revolute and prismatic joints, trees, actuator inertia
J^a, external loads. Equation numbers are the document's. One difference in the book-keeping: each link works
in a frame that moves with it instead of the frame i − 1, so that its inertia stays constant.

A floating joint, which the document does not have, transmits its actuators' effort and nothing else: its own
six accelerations follow from A* alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.dynamics.articulated import (
    Articulated,
    apply,
    eliminate_linear,
    minus_outer,
    of_rigid_body,
    seen_from_parent,
    smallest_pivot,
    solve,
)
from rne_dynamics.dynamics.joint_motion import (
    inertia_of,
    joint_placement,
    matrix_at,
    put,
    put_matrix,
    slice_vector,
    symmetric_at,
    vector_at,
)
from rne_dynamics.dynamics.walker_orin import walker_orin_forward
from rne_dynamics.errors import no_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import (
    FLOATING,
    KIND,
    PARENT,
    PRISMATIC,
    ROTOR,
    VELOCITY_INDEX,
)
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.jit import helper, kernel
from rne_dynamics.spatial.vector import add, cross, dot, rotate, rotate_back, scale, subtract, times

# columns of the work array, one row a body: R, p, ω; σ* as the joint's part (linear, angular) and the centripetal
# part; the blocks of A*; B*; then A* Z, the effort left for the joint and its effective inertia; v̇, ω̇
_R, _P, _W, _SV, _SW, _SC, _M, _C, _J, _BF, _BN, _AF, _AN, _U, _D, _DV, _DW, WORK_COLUMNS = columns(
    9, 3, 3, 3, 3, 3, 6, 9, 6, 3, 3, 3, 3, 1, 1, 3, 3
)

#: A joint's effective inertia below this part of A*'s own size is round-off: the motion carries no inertia.
SINGULAR = 1e-13


@helper
def _put_articulated(work: Array, i: int, A: Articulated) -> None:
    for k in range(6):
        work[i, _M + k] = A[0][k]
        work[i, _J + k] = A[2][k]
    for k in range(9):
        work[i, _C + k] = A[1][k]


@helper
def _velocities(
    topology: NDArray[np.int64], parameters: Array, base: Array, q: Array, qd: Array, wrenches: Array, work: Array
) -> None:
    """Placements, angular velocities, σ* and the velocity-dependent part of B for every link."""
    for i in range(topology.shape[0]):
        parent = topology[i, PARENT]
        kind = topology[i, KIND]
        iv = topology[i, VELOCITY_INDEX]
        R, p = joint_placement(topology, parameters, i, q)
        w_parent = slice_vector(base, 3) if parent < 0 else vector_at(work, parent, _W)
        w = rotate_back(R, w_parent)
        sv = (0.0, 0.0, 0.0)
        sw = (0.0, 0.0, 0.0)
        if kind == FLOATING:
            v_joint, w_joint = slice_vector(qd, iv), slice_vector(qd, iv + 3)
            sv = cross(add(scale(2.0, w), w_joint), v_joint)
            sw = cross(w, w_joint)
            w = add(w, w_joint)
        else:
            rate = qd[iv]
            if kind == PRISMATIC:  # (2.2.6): 2 ω × z q̇
                sv = (2.0 * w[1] * rate, -2.0 * w[0] * rate, 0.0)
            else:  # (2.1.13.2) with the sign of (2.1.1): ω × z q̇
                sw = (w[1] * rate, -w[0] * rate, 0.0)
                w = (w[0], w[1], w[2] + rate)
        m, h, J = inertia_of(parameters, i)
        _put_articulated(work, i, of_rigid_body(m, h, J))
        # β and β* of (2.1.3.2), (2.1.6.2): what remains with all accelerations zero, less the external loads
        f = cross(w, cross(w, h))
        n = cross(w, times(J, w))
        if wrenches.shape[0] > 0:
            f = subtract(f, vector_at(wrenches, i, 0))
            n = subtract(n, vector_at(wrenches, i, 3))
        put_matrix(work, i, _R, R)
        put(work, i, _P, p)
        put(work, i, _W, w)
        put(work, i, _SV, sv)
        put(work, i, _SW, sw)
        put(work, i, _SC, rotate_back(R, cross(w_parent, cross(w_parent, p))))
        put(work, i, _BF, f)
        put(work, i, _BN, n)


@helper
def _inbound(topology: NDArray[np.int64], parameters: Array, tau: Array, work: Array) -> int:
    """A* and B* of every link from the free ends to the base; −1, or the body whose motion has no inertia."""
    for i in range(topology.shape[0] - 1, -1, -1):
        parent = topology[i, PARENT]
        kind = topology[i, KIND]
        iv = topology[i, VELOCITY_INDEX]
        M, C, J = symmetric_at(work, i, _M), matrix_at(work, i, _C), symmetric_at(work, i, _J)
        bf, bn = vector_at(work, i, _BF), vector_at(work, i, _BN)
        if kind == FLOATING:
            turning = eliminate_linear(M, C, J)
            if not (
                smallest_pivot(M) > SINGULAR * (M[0] + M[3] + M[5])
                and smallest_pivot(turning) > SINGULAR * (J[0] + J[3] + J[5])
            ):
                return i
            if parent >= 0:  # the reaction is the actuators' effort, whatever the motion
                R = matrix_at(work, i, _R)
                f = rotate(R, slice_vector(tau, iv))
                n = add(rotate(R, slice_vector(tau, iv + 3)), cross(vector_at(work, i, _P), f))
                put(work, parent, _BF, add(vector_at(work, parent, _BF), f))
                put(work, parent, _BN, add(vector_at(work, parent, _BN), n))
            continue
        # A* Z, and the motion σ* that the joint's speed alone gives
        z = 1.0 if kind == PRISMATIC else 0.0
        af = (z * M[2] + (1.0 - z) * C[2], z * M[4] + (1.0 - z) * C[5], z * M[5] + (1.0 - z) * C[8])
        an = (z * C[6] + (1.0 - z) * J[2], z * C[7] + (1.0 - z) * J[4], z * C[8] + (1.0 - z) * J[5])
        sf, sn = apply(M, C, J, vector_at(work, i, _SV), vector_at(work, i, _SW))
        bf, bn = add(bf, sf), add(bn, sn)
        size = M[0] + M[3] + M[5] if kind == PRISMATIC else J[0] + J[3] + J[5]
        # −L's joint column of (2.1.19.1): the inertia the actuator moves, its own J^a included
        d = z * af[2] + (1.0 - z) * an[2] + parameters[i, ROTOR]
        if not d > SINGULAR * size:
            return i
        u = tau[iv] - (z * bf[2] + (1.0 - z) * bn[2])
        put(work, i, _AF, af)
        put(work, i, _AN, an)
        work[i, _U] = u
        work[i, _D] = d
        if parent < 0:
            continue
        # (2.1.19.4)–(2.1.19.7): γ G A*, γ G B* seen from the parent
        M, C, J = minus_outer(M, C, J, af, an, 1.0 / d)
        kf, kn = apply(M, C, J, vector_at(work, i, _SC), (0.0, 0.0, 0.0))
        R, p = matrix_at(work, i, _R), vector_at(work, i, _P)
        f = rotate(R, add(add(bf, kf), scale(u / d, af)))
        n = add(rotate(R, add(add(bn, kn), scale(u / d, an))), cross(p, f))
        M, C, J = seen_from_parent(M, C, J, R, p)
        for k in range(6):
            work[parent, _M + k] += M[k]
            work[parent, _J + k] += J[k]
        for k in range(9):
            work[parent, _C + k] += C[k]
        put(work, parent, _BF, add(vector_at(work, parent, _BF), f))
        put(work, parent, _BN, add(vector_at(work, parent, _BN), n))
    return -1


@kernel
def nasser_kernel(
    topology: NDArray[np.int64],
    parameters: Array,
    base: Array,
    q: Array,
    qd: Array,
    tau: Array,
    wrenches: Array,
    work: Array,
    qdd: Array,
) -> int:
    """Joint accelerations for one state, without mimic joints.

    Arguments as for `inverse_dynamics_kernel`, with `tau` given, `qdd` filled and work (bodies, WORK_COLUMNS).
    Returns −1, or the number of the body whose joint moves no inertia (then `qdd` is not filled).
    """
    _velocities(topology, parameters, base, q, qd, wrenches, work)
    singular = _inbound(topology, parameters, tau, work)
    if singular >= 0:
        return singular
    for i in range(topology.shape[0]):
        parent = topology[i, PARENT]
        kind = topology[i, KIND]
        iv = topology[i, VELOCITY_INDEX]
        dv_parent = slice_vector(base, 6) if parent < 0 else vector_at(work, parent, _DV)
        dw_parent = slice_vector(base, 9) if parent < 0 else vector_at(work, parent, _DW)
        R, p = matrix_at(work, i, _R), vector_at(work, i, _P)
        dv = add(rotate_back(R, add(dv_parent, cross(dw_parent, p))), vector_at(work, i, _SC))
        dw = rotate_back(R, dw_parent)
        if kind == FLOATING:
            sv, sw = vector_at(work, i, _SV), vector_at(work, i, _SW)
            f = subtract(slice_vector(tau, iv), vector_at(work, i, _BF))
            n = subtract(slice_vector(tau, iv + 3), vector_at(work, i, _BN))
            M, C, J = symmetric_at(work, i, _M), matrix_at(work, i, _C), symmetric_at(work, i, _J)
            v_new, w_new = solve(M, C, J, f, n)
            for k in range(3):
                qdd[iv + k] = v_new[k] - dv[k] - sv[k]
                qdd[iv + 3 + k] = w_new[k] - dw[k] - sw[k]
            put(work, i, _DV, v_new)
            put(work, i, _DW, w_new)
            continue
        # (2.1.20): q̈ = Zᵀ G F
        push = dot(vector_at(work, i, _AF), dv) + dot(vector_at(work, i, _AN), dw)
        acceleration = (work[i, _U] - push) / work[i, _D]
        qdd[iv] = acceleration
        # (2.1.13): the motion of this link, for those it carries
        sv, sw = vector_at(work, i, _SV), vector_at(work, i, _SW)
        if kind == PRISMATIC:
            sv = (sv[0], sv[1], sv[2] + acceleration)
        else:
            sw = (sw[0], sw[1], sw[2] + acceleration)
        put(work, i, _DV, add(dv, sv))
        put(work, i, _DW, add(dw, sw))
    return -1


@kernel
def nasser_batch(
    topology: NDArray[np.int64],
    parameters: Array,
    base: Array,
    q: Array,
    qd: Array,
    tau: Array,
    wrenches: Array,
    qdd: Array,
) -> int:
    """`nasser_kernel` over rows, shapes as for `inverse_dynamics_batch`; −1, or a body without inertia."""
    work = np.empty((topology.shape[0], WORK_COLUMNS))
    for b in range(q.shape[0]):
        singular = nasser_kernel(
            topology,
            parameters,
            base[b if base.shape[0] > 1 else 0],
            q[b],
            qd[b],
            tau[b],
            wrenches[b if wrenches.shape[0] > 1 else 0],
            work,
            qdd[b],
        )
        if singular >= 0:
            return singular
    return -1


def nasser_forward(robot: RobotModel, base: Array, q: Array, qd: Array, tau: Array, wrenches: Array) -> Array:
    """Joint accelerations (B, n) over checked rows; `SingularInertiaError` names a joint that moves no inertia.

    Joints that mimic others couple bodies across the tree, which the recursion cannot carry; a robot that has
    them is solved by its mass matrix.
    """
    if robot.has_mimic:
        return walker_orin_forward(robot, base, q, qd, tau, wrenches)
    qdd = np.empty((q.shape[0], robot.n))
    body = nasser_batch(robot.topology, robot.parameters, base, q, qd, tau, wrenches, qdd)
    if body >= 0:
        raise no_inertia(robot.body_names[body], robot.name)
    return qdd
