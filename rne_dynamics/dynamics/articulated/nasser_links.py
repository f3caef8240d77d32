"""Links of Nasser's recursion (document 000): the columns of the work array and the parts of one link."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, in_place_helper
from rne_dynamics.dynamics.articulated.articulated import Articulated, eliminate_linear, of_rigid_body, smallest_pivot
from rne_dynamics.dynamics.kinematics.joint_motion import inertia_of, placement_at_turn, put_joint_turns
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, MULTIPLIER, PARENT, PRISMATIC, VELOCITY_INDEX
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.rows import matrix_at, put, put_matrix, slice_vector, symmetric_at, vector_at
from rne_dynamics.spatial.vector import Matrix, Symmetric, Vector, add, cross, rotate_back, scale, subtract, times

# columns of the work array, one row a body: R, p, ω; σ* as the joint's part (linear, angular) and the centripetal
# part; the blocks of A*; B*; A* Z, the effort left for the joint and its effective inertia; v̇, ω̇
(
    TURN,
    POSITION,
    SPIN,
    SPEED_LINEAR,
    SPEED_ANGULAR,
    CENTRIPETAL,
    BLOCK_M,
    BLOCK_C,
    BLOCK_J,
    BIAS_FORCE,
    BIAS_MOMENT,
    COLUMN_FORCE,
    COLUMN_MOMENT,
    EFFORT,
    EFFECTIVE,
    LINEAR,
    ANGULAR,
    WORK_COLUMNS,
) = columns(9, 3, 3, 3, 3, 3, 6, 9, 6, 3, 3, 3, 3, 1, 1, 3, 3)

#: A joint's effective inertia below this part of A*'s own size is round-off: the motion carries no inertia.
SINGULAR = 1e-13


@helper
def articulated_at(work: Array, i: int) -> Articulated:
    """A* of link i."""
    return symmetric_at(work, i, BLOCK_M), matrix_at(work, i, BLOCK_C), symmetric_at(work, i, BLOCK_J)


@helper
def put_articulated(work: Array, i: int, A: Articulated) -> None:
    """Store A* of link i."""
    for k in range(6):
        work[i, BLOCK_M + k] = A[0][k]
        work[i, BLOCK_J + k] = A[2][k]
    for k in range(9):
        work[i, BLOCK_C + k] = A[1][k]


@helper
def accumulate(work: Array, i: int, A: Articulated) -> None:
    """(2.1.19.3), (2.3.3): add what a branch gives to A* of link i."""
    for k in range(6):
        work[i, BLOCK_M + k] += A[0][k]
        work[i, BLOCK_J + k] += A[2][k]
    for k in range(9):
        work[i, BLOCK_C + k] += A[1][k]


@helper
def joint_column(M: Symmetric, C: Matrix, J: Symmetric, kind: int) -> tuple[Vector, Vector]:
    """A* Z as (force, moment), with Z of (2.1.7.2) for a revolute joint and of (2.2.7) for a prismatic one."""
    if kind == PRISMATIC:
        return (M[2], M[4], M[5]), (C[6], C[7], C[8])
    return (C[2], C[5], C[8]), (J[2], J[4], J[5])


@helper
def floating_is_singular(M: Symmetric, C: Matrix, J: Symmetric) -> bool:
    """Whether some free motion of a floating link carries no inertia."""
    return not (
        smallest_pivot(M) > SINGULAR * (M[0] + M[3] + M[5])
        and smallest_pivot(eliminate_linear(M, C, J)) > SINGULAR * (J[0] + J[3] + J[5])
    )


@in_place_helper
def velocities(
    topology: NDArray[np.int64], parameters: Array, base: Array, q: Array, qd: Array, wrenches: Array, work: Array
) -> None:
    """Placements, angular velocities, σ* and the velocity-dependent part of B for every link."""
    put_joint_turns(topology, parameters, q, work, CENTRIPETAL)  # what is there later comes of them
    for i in range(topology.shape[0]):
        parent = topology[i, PARENT]
        kind = topology[i, KIND]
        iv = topology[i, VELOCITY_INDEX]
        R, p = placement_at_turn(topology, parameters, i, q, (work[i, CENTRIPETAL], work[i, CENTRIPETAL + 1]))
        w_parent = slice_vector(base, 3) if parent < 0 else vector_at(work, parent, SPIN)
        w = rotate_back(R, w_parent)
        sv = (0.0, 0.0, 0.0)
        sw = (0.0, 0.0, 0.0)
        if kind == FLOATING:
            v_joint, w_joint = slice_vector(qd, iv), slice_vector(qd, iv + 3)
            sv = cross(add(scale(2.0, w), w_joint), v_joint)
            sw = cross(w, w_joint)
            w = add(w, w_joint)
        else:
            rate = parameters[i, MULTIPLIER] * qd[iv]
            if kind == PRISMATIC:  # (2.2.6): 2 ω × z q̇
                sv = (2.0 * w[1] * rate, -2.0 * w[0] * rate, 0.0)
            else:  # (2.1.13.2) with the sign of (2.1.1): ω × z q̇
                sw = (w[1] * rate, -w[0] * rate, 0.0)
                w = (w[0], w[1], w[2] + rate)
        m, h, J = inertia_of(parameters, i)
        put_articulated(work, i, of_rigid_body(m, h, J))
        # β and β* of (2.1.3.2), (2.1.6.2): what remains with all accelerations zero, less the external loads
        f = cross(w, cross(w, h))
        n = cross(w, times(J, w))
        if wrenches.shape[0] > 0:
            f = subtract(f, vector_at(wrenches, i, 0))
            n = subtract(n, vector_at(wrenches, i, 3))
        put_matrix(work, i, TURN, R)
        put(work, i, POSITION, p)
        put(work, i, SPIN, w)
        put(work, i, SPEED_LINEAR, sv)
        put(work, i, SPEED_ANGULAR, sw)
        put(work, i, CENTRIPETAL, rotate_back(R, cross(w_parent, cross(w_parent, p))))
        put(work, i, BIAS_FORCE, f)
        put(work, i, BIAS_MOMENT, n)
