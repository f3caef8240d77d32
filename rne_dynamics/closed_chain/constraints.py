"""What the loops of a mechanism demand of the joints of its tree: closure, its rates, and the wrenches that enforce it.

A loop holds frame B on one body against frame A on another. Each blocked direction k is one equation r_k(q) = 0 with

    ṙ_k = w_k · (V_b − V_a),      r̈ = K q̈ + drift,

V the motions of the two bodies (velocity of the point at B's origin, angular velocity) and w_k six numbers made of
A's axes. So w_k is also the wrench, at B's origin, that one unit of the constraint's force exerts on B, and −w_k on A:
the loop's joint does no work.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.dynamics.joint_motion import joint_placement
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import KIND as JOINT_KIND
from rne_dynamics.model.layout import MULTIPLIER, PARENT, PRISMATIC, VELOCITY_INDEX
from rne_dynamics.model.mechanism import BLOCKED, POSITION_A, POSITION_B, ROTATION_A, ROTATION_B
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.jit import helper, kernel
from rne_dynamics.spatial.rows import matrix_at, put, put_matrix, vector_at
from rne_dynamics.spatial.vector import (
    Matrix,
    Vector,
    add,
    column,
    compose,
    cross,
    dot,
    rotate,
    rotate_back,
    scale,
    subtract,
    transpose,
)

# columns of `motion`, one row a body, the base in one row more at the end (where index −1 points): pose in the world,
# velocity of the origin, ω, and the accelerations that velocities alone give
_R, _P, _V, _W, _DV, _DW, MOTION_COLUMNS = columns(9, 3, 3, 3, 3, 3)
#: Where a body's pose in the world stands in `motion`.
BODY_ROTATION, BODY_POSITION = _R, _P
# columns of `rows`, one row a constraint: w as force and moment on B, both in world axes
FORCE, MOMENT, ROW_COLUMNS = columns(3, 3)


@helper
def _tree_motion(topology: NDArray[np.int64], parameters: Array, q: Array, qd: Array, motion: Array) -> None:
    """Fill `motion`, shape (bodies + 1, MOTION_COLUMNS)."""
    bodies = topology.shape[0]
    for k in range(motion.shape[1]):
        motion[bodies, k] = 0.0
    put_matrix(motion, bodies, _R, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0))
    for i in range(bodies):
        parent = topology[i, PARENT]
        before = parent if parent >= 0 else bodies
        rate = parameters[i, MULTIPLIER] * qd[topology[i, VELOCITY_INDEX]]
        R, p = joint_placement(topology, parameters, i, q)
        R_before = matrix_at(motion, before, _R)
        w, dw = vector_at(motion, before, _W), vector_at(motion, before, _DW)
        R, p = compose(R_before, R), rotate(R_before, p)
        v = add(vector_at(motion, before, _V), cross(w, p))
        dv = add(vector_at(motion, before, _DV), add(cross(dw, p), cross(w, cross(w, p))))
        along = scale(rate, column(R, 2))
        if topology[i, JOINT_KIND] == PRISMATIC:
            dv = add(dv, scale(2.0, cross(w, along)))
            v = add(v, along)
        else:
            dw = add(dw, cross(w, along))
            w = add(w, along)
        put_matrix(motion, i, _R, R)
        put(motion, i, _P, add(vector_at(motion, before, _P), p))
        put(motion, i, _V, v)
        put(motion, i, _W, w)
        put(motion, i, _DV, dv)
        put(motion, i, _DW, dw)


@helper
def _product(E: Matrix, of_a: int, of_b: int, w: Vector) -> tuple[float, Vector, float]:
    """e_i · E_j, A's axis i on B's axis j: its value, gradient by the relative turn and drift, in A's axes."""
    e = _unit(of_a)
    other = column(E, of_b)
    return dot(e, other), cross(other, e), dot(cross(cross(w, other), e), w)


@helper
def _unit(axis: int) -> Vector:
    return 1.0 if axis == 0 else 0.0, 1.0 if axis == 1 else 0.0, 1.0 if axis == 2 else 0.0


@helper
def _turning(E: Matrix, blocked: tuple[bool, bool, bool], axis: int, w: Vector) -> tuple[float, Vector, float]:
    """Residual, its gradient by the relative turn, and its drift for one blocked turn; all in A's axes.

    E is R_AB with Ė = w̃ E, w the relative angular velocity. For small turns every residual is the turn itself.
    """
    after, last = (axis + 1) % 3, (axis + 2) % 3
    if blocked[after] and blocked[last]:  # the vector of E's skew part; its rate is ½ (tr E − E) w
        trace = E[0] + E[4] + E[8]
        dE0, dE1, dE2 = cross(w, column(E, 0)), cross(w, column(E, 1)), cross(w, column(E, 2))
        row = (E[3 * axis], E[3 * axis + 1], E[3 * axis + 2])
        row_rate = (dE0[axis], dE1[axis], dE2[axis])
        gradient = scale(0.5, subtract(scale(trace, _unit(axis)), row))
        gradient_rate = scale(0.5, subtract(scale(dE0[0] + dE1[1] + dE2[2], _unit(axis)), row_rate))
        return 0.5 * (E[3 * last + after] - E[3 * after + last]), gradient, dot(gradient_rate, w)
    if blocked[last]:  # free about `after`
        return _product(E, last, after, w)
    value, gradient, drift = _product(E, after, last, w)
    if blocked[after]:  # free about `last`
        return -value, scale(-1.0, gradient), -drift
    value, gradient, drift = _product(E, last, after, w)
    return value, gradient, drift


@kernel
def constraints_kernel(
    topology: NDArray[np.int64],
    parameters: Array,
    loop_bodies: NDArray[np.int64],
    loop_frames: Array,
    q: Array,
    qd: Array,
    motion: Array,
    residual: Array,
    K: Array,
    drift: Array,
    rows: Array,
) -> None:
    """All constraints of one state of the tree.

    Parameters
    ----------
    topology, parameters, loop_bodies, loop_frames
        Of the `Mechanism` and its robot.
    q, qd
        Positions and velocities of all joints of the tree, shapes (nq,), (n,).
    motion
        Scratch, shape (bodies + 1, MOTION_COLUMNS).
    residual, drift
        Filled, shape (constraints,): r, m or rad, and r̈ at q̈ = 0.
    K
        Filled, shape (constraints, n): ṙ = K q̇.
    rows
        Filled, shape (constraints, ROW_COLUMNS): w_k in world axes, at B's origin.
    """
    _tree_motion(topology, parameters, q, qd, motion)
    K[:, :] = 0.0
    k = 0
    for loop in range(loop_bodies.shape[0]):
        a, b = loop_bodies[loop, 0], loop_bodies[loop, 1]
        R_a = compose(matrix_at(motion, a, _R), matrix_at(loop_frames, loop, ROTATION_A))
        R_b = compose(matrix_at(motion, b, _R), matrix_at(loop_frames, loop, ROTATION_B))
        p_a = add(vector_at(motion, a, _P), rotate(matrix_at(motion, a, _R), vector_at(loop_frames, loop, POSITION_A)))
        r_b = rotate(matrix_at(motion, b, _R), vector_at(loop_frames, loop, POSITION_B))
        p_b = add(vector_at(motion, b, _P), r_b)
        w_a, w_b = vector_at(motion, a, _W), vector_at(motion, b, _W)
        dw_a, dw_b = vector_at(motion, a, _DW), vector_at(motion, b, _DW)
        # the point of body a that B's origin passes, and how it moves
        r_a = subtract(p_b, vector_at(motion, a, _P))
        v_b = add(vector_at(motion, b, _V), cross(w_b, r_b))
        u = subtract(v_b, add(vector_at(motion, a, _V), cross(w_a, r_a)))
        dv_b = add(vector_at(motion, b, _DV), add(cross(dw_b, r_b), cross(w_b, cross(w_b, r_b))))
        r_a_rate = subtract(v_b, vector_at(motion, a, _V))
        dv_a = add(vector_at(motion, a, _DV), add(cross(dw_a, r_a), cross(w_a, r_a_rate)))
        gap = rotate_back(R_a, subtract(p_b, p_a))
        gap_drift = rotate_back(R_a, subtract(subtract(dv_b, dv_a), cross(w_a, u)))
        E = compose(transpose(R_a), R_b)
        w = rotate_back(R_a, subtract(w_b, w_a))
        # rate of w, in A's axes and seen from A, at q̈ = 0
        dw = subtract(rotate_back(R_a, subtract(dw_b, dw_a)), cross(rotate_back(R_a, w_a), w))
        flags = (
            loop_frames[loop, BLOCKED + 3] != 0.0,
            loop_frames[loop, BLOCKED + 4] != 0.0,
            loop_frames[loop, BLOCKED + 5] != 0.0,
        )
        first = k
        for axis in range(3):
            if loop_frames[loop, BLOCKED + axis] != 0.0:
                residual[k] = gap[axis]
                drift[k] = gap_drift[axis]
                put(rows, k, FORCE, column(R_a, axis))
                put(rows, k, MOMENT, (0.0, 0.0, 0.0))
                k += 1
        for axis in range(3):
            if flags[axis]:
                value, gradient, bent = _turning(E, flags, axis, w)
                residual[k] = value
                drift[k] = bent + dot(gradient, dw)
                put(rows, k, FORCE, (0.0, 0.0, 0.0))
                put(rows, k, MOMENT, rotate(R_a, gradient))
                k += 1
        # both ways down to where they meet (a parent's number is below its child's); joints below move A and B alike
        while a != b:
            i = max(a, b)
            s = parameters[i, MULTIPLIER] if i == b else -parameters[i, MULTIPLIER]
            e = scale(s, column(matrix_at(motion, i, _R), 2))
            turns = topology[i, JOINT_KIND] != PRISMATIC
            swing = cross(e, subtract(p_b, vector_at(motion, i, _P))) if turns else e
            for row in range(first, k):
                entry = dot(vector_at(rows, row, FORCE), swing)
                if turns:
                    entry += dot(vector_at(rows, row, MOMENT), e)
                K[row, topology[i, VELOCITY_INDEX]] += entry
            if i == b:
                b = topology[i, PARENT]
            else:
                a = topology[i, PARENT]
