"""O(n) forward dynamics in Nasser's formulation (document 000).

The inbound pass turns what hangs on each joint into A* and B*, with the joint's own acceleration eliminated
(G = L⁻¹ in closed form, since L differs from the identity in one column only); the outbound pass starts from
the prescribed base motion and finds the accelerations. Revolute and prismatic joints, trees, actuator inertia
J^a, external loads. Equation numbers are the document's. One difference in the book-keeping: each link works
in a frame that moves with it instead of the frame i − 1, so that its inertia stays constant.

The document lets a control force f_i^c and torque n_i^c of any direction act at joint i: on link i at its proximal
joint, and reversed on link i − 1 at its distal one (2.1.2), (2.1.5.3). Five of the six components do what the
bearing does anyhow: they change the reaction and not the motion, because the unknowns of (2.1.7.1) and (2.2.3)
are the five reaction components and q̈, and Zᵀ G F keeps of (f, n) the component along the axis only. That component
is `tau`, and so `tau` is all the control there is.

A floating joint, which the document does not have, transmits its actuators' effort and nothing else: its own
six accelerations follow from A* alone. Mimic joints it does not have either (`forward_dynamics.nasser_or_composite`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import in_place_helper, in_place_kernel, threaded_kernel
from rne_dynamics.dynamics.articulated.articulated import (
    apply_angular,
    apply_linear,
    minus_outer,
    seen_from_parent,
    solve,
)
from rne_dynamics.dynamics.articulated.nasser_links import (
    ANGULAR,
    BIAS_FORCE,
    BIAS_MOMENT,
    CENTRIPETAL,
    COLUMN_FORCE,
    COLUMN_MOMENT,
    EFFECTIVE,
    EFFORT,
    LINEAR,
    POSITION,
    SINGULAR,
    SPEED_ANGULAR,
    SPEED_LINEAR,
    TURN,
    accumulate,
    articulated_at,
    floating_is_singular,
    joint_column,
    velocities,
)
from rne_dynamics.dynamics.articulated.nasser_links import WORK_COLUMNS as LINK_COLUMNS
from rne_dynamics.errors import no_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, PARENT, PRISMATIC, ROTOR, VELOCITY_INDEX
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.rows import matrix_at, put, slice_vector, vector_at
from rne_dynamics.spatial.vector import add, cross, dot, rotate, rotate_back, scale, subtract

#: Columns of the work array of `nasser_kernel`.
WORK_COLUMNS = LINK_COLUMNS


@in_place_helper
def _inbound(topology: NDArray[np.int64], parameters: Array, tau: Array, work: Array) -> int:
    """A* and B* of every link from the free ends to the base; −1, or the body whose motion has no inertia."""
    for i in range(topology.shape[0] - 1, -1, -1):
        parent = topology[i, PARENT]
        kind = topology[i, KIND]
        iv = topology[i, VELOCITY_INDEX]
        M, C, J = articulated_at(work, i)
        bf, bn = vector_at(work, i, BIAS_FORCE), vector_at(work, i, BIAS_MOMENT)
        if kind == FLOATING:
            if floating_is_singular(M, C, J):
                return i
            if parent >= 0:  # the reaction is the actuators' effort, whatever the motion
                R = matrix_at(work, i, TURN)
                f = rotate(R, slice_vector(tau, iv))
                n = add(rotate(R, slice_vector(tau, iv + 3)), cross(vector_at(work, i, POSITION), f))
                put(work, parent, BIAS_FORCE, add(vector_at(work, parent, BIAS_FORCE), f))
                put(work, parent, BIAS_MOMENT, add(vector_at(work, parent, BIAS_MOMENT), n))
            continue
        # A* Z, and the motion σ* that the joint's speed alone gives
        af, an = joint_column(M, C, J, kind)
        if kind == PRISMATIC:
            sf, sn = apply_linear(M, C, vector_at(work, i, SPEED_LINEAR))
        else:
            sf, sn = apply_angular(C, J, vector_at(work, i, SPEED_ANGULAR))
        bf, bn = add(bf, sf), add(bn, sn)
        size = M[0] + M[3] + M[5] if kind == PRISMATIC else J[0] + J[3] + J[5]
        # −L's joint column of (2.1.19.1): the inertia the actuator moves, its own J^a included
        d = (af[2] if kind == PRISMATIC else an[2]) + parameters[i, ROTOR]
        if not d > SINGULAR * size:
            return i
        u = tau[iv] - (bf[2] if kind == PRISMATIC else bn[2])
        put(work, i, COLUMN_FORCE, af)
        put(work, i, COLUMN_MOMENT, an)
        work[i, EFFORT] = u
        work[i, EFFECTIVE] = d
        if parent < 0:
            continue
        # (2.1.19.4)–(2.1.19.7): γ G A*, γ G B* seen from the parent
        M, C, J = minus_outer(M, C, J, af, an, 1.0 / d)
        kf, kn = apply_linear(M, C, vector_at(work, i, CENTRIPETAL))
        R, p = matrix_at(work, i, TURN), vector_at(work, i, POSITION)
        f = rotate(R, add(add(bf, kf), scale(u / d, af)))
        n = add(rotate(R, add(add(bn, kn), scale(u / d, an))), cross(p, f))
        accumulate(work, parent, seen_from_parent(M, C, J, R, p))
        put(work, parent, BIAS_FORCE, add(vector_at(work, parent, BIAS_FORCE), f))
        put(work, parent, BIAS_MOMENT, add(vector_at(work, parent, BIAS_MOMENT), n))
    return -1


@in_place_kernel
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
    velocities(topology, parameters, base, q, qd, wrenches, work)
    singular = _inbound(topology, parameters, tau, work)
    if singular >= 0:
        return singular
    for i in range(topology.shape[0]):
        parent = topology[i, PARENT]
        kind = topology[i, KIND]
        iv = topology[i, VELOCITY_INDEX]
        dv_parent = slice_vector(base, 6) if parent < 0 else vector_at(work, parent, LINEAR)
        dw_parent = slice_vector(base, 9) if parent < 0 else vector_at(work, parent, ANGULAR)
        R, p = matrix_at(work, i, TURN), vector_at(work, i, POSITION)
        dv = add(rotate_back(R, add(dv_parent, cross(dw_parent, p))), vector_at(work, i, CENTRIPETAL))
        dw = rotate_back(R, dw_parent)
        if kind == FLOATING:
            sv, sw = vector_at(work, i, SPEED_LINEAR), vector_at(work, i, SPEED_ANGULAR)
            f = subtract(slice_vector(tau, iv), vector_at(work, i, BIAS_FORCE))
            n = subtract(slice_vector(tau, iv + 3), vector_at(work, i, BIAS_MOMENT))
            M, C, J = articulated_at(work, i)
            v_new, w_new = solve(M, C, J, f, n)
            for k in range(3):
                qdd[iv + k] = v_new[k] - dv[k] - sv[k]
                qdd[iv + 3 + k] = w_new[k] - dw[k] - sw[k]
            put(work, i, LINEAR, v_new)
            put(work, i, ANGULAR, w_new)
            continue
        # (2.1.20): q̈ = Zᵀ G F
        push = dot(vector_at(work, i, COLUMN_FORCE), dv) + dot(vector_at(work, i, COLUMN_MOMENT), dw)
        acceleration = (work[i, EFFORT] - push) / work[i, EFFECTIVE]
        qdd[iv] = acceleration
        # (2.1.13): the motion of this link, for those it carries
        sv, sw = vector_at(work, i, SPEED_LINEAR), vector_at(work, i, SPEED_ANGULAR)
        if kind == PRISMATIC:
            sv = (sv[0], sv[1], sv[2] + acceleration)
        else:
            sw = (sw[0], sw[1], sw[2] + acceleration)
        put(work, i, LINEAR, add(dv, sv))
        put(work, i, ANGULAR, add(dw, sw))
    return -1


@in_place_helper
def _rows(
    topology: NDArray[np.int64],
    parameters: Array,
    base: Array,
    q: Array,
    qd: Array,
    tau: Array,
    wrenches: Array,
    qdd: Array,
    work: Array,
) -> int:
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


@threaded_kernel
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
    return _rows(topology, parameters, base, q, qd, tau, wrenches, qdd, work)


def nasser_forward(robot: RobotModel, base: Array, q: Array, qd: Array, tau: Array, wrenches: Array) -> Array:
    """Joint accelerations (B, n) over checked rows of a robot without mimic joints.

    Raises
    ------
    SingularInertiaError
        A joint that moves no inertia; the message names it.
    """
    qdd = np.empty((q.shape[0], robot.n))
    body = nasser_batch(robot.topology, robot.parameters, base, q, qd, tau, wrenches, qdd)
    if body >= 0:
        raise no_inertia(robot.body_names[body], robot.name)
    return qdd
