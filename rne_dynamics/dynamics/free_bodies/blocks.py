"""Free-body equations of every body and the motion its joint allows, as blocks (document 001, sections 4.3–4.5).

Euler's laws about the body frame's origin, a point fixed on the body (Theorems 4.11–4.14 and what follows them), in
the body's own axes, with a = (v̇, ω̇), v̇ the acceleration of the origin less gravity, h = m·c, I about the origin:

    f = m v̇ + ω̇ × h + ω × (ω × h)
    n = I ω̇ + h × v̇ + ω × I ω

The joint constrains the motion relative to the parent: differentiated twice,

    a_i = X a_λ + S q̈ + drift,    X = [Rᵀ, −Rᵀp̃; 0, Rᵀ],

where R, p place the body in its parent. Nothing is added up along the tree but angular velocity; which force and
which acceleration result is left to the linear solve. Only the placement of one body in its parent is shared with the
recursive engines (`joint_placement`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.dynamics.kinematics.joint_motion import inertia_of, joint_placement
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, MULTIPLIER, PARENT, PRISMATIC, VELOCITY_INDEX, columns
from rne_dynamics.spatial.pairs import pair_at, plus, put_pair, slice_pair
from rne_dynamics.spatial.rows import matrix_at, put, put_matrix, slice_vector, vector_at
from rne_dynamics.spatial.vector import ZERO, add, cross, rotate_back, scale, times

# columns of the motion array, one row a body: R and p in the parent, the body's own ω, and the velocity of its origin
# and its angular velocity relative to the parent; all in the body's axes except p
ROTATION, POSITION, ANGULAR, RELATIVE_LINEAR, RELATIVE_ANGULAR, MOTION_COLUMNS = columns(9, 3, 3, 3, 3)
RELATIVE = RELATIVE_LINEAR


@kernel
def joint_motion_kernel(
    topology: NDArray[np.int64], parameters: Array, base: Array, q: Array, qd: Array, motion: Array
) -> None:
    """Fill `motion`, shape (bodies, MOTION_COLUMNS), for joint positions and velocities."""
    for i in range(topology.shape[0]):
        parent = topology[i, PARENT]
        kind = topology[i, KIND]
        iv = topology[i, VELOCITY_INDEX]
        R, p = joint_placement(topology, parameters, i, q)
        w = rotate_back(R, slice_vector(base, 3) if parent < 0 else vector_at(motion, parent, ANGULAR))
        if kind == FLOATING:
            relative = slice_pair(qd, iv)
            w = add(w, relative[1])
        else:
            rate = parameters[i, MULTIPLIER] * qd[iv]
            relative = (ZERO, (0.0, 0.0, rate))
            if kind == PRISMATIC:
                relative = ((0.0, 0.0, rate), ZERO)
            else:
                w = (w[0], w[1], w[2] + rate)
        put_pair(motion, i, RELATIVE, relative)
        put_matrix(motion, i, ROTATION, R)
        put(motion, i, POSITION, p)
        put(motion, i, ANGULAR, w)


@kernel
def free_body_kernel(
    topology: NDArray[np.int64],
    parameters: Array,
    base: Array,
    motion: Array,
    wrenches: Array,
    transfer: Array,
    drift: Array,
    force: Array,
) -> None:
    """The blocks of one state, from `motion` (bodies, MOTION_COLUMNS) and what `inverse_dynamics_kernel` takes.

    Fills `transfer` (bodies, 18) with Rᵀ and −Rᵀp̃, row after row, `drift` (bodies, 6) with the acceleration that the
    joint's velocity, and a base's prescribed motion, gives, and `force` (bodies, 6) with the wrench less the gyroscopic
    terms.
    """
    loaded = wrenches.shape[0] > 0
    for i in range(topology.shape[0]):
        parent = topology[i, PARENT]
        kind = topology[i, KIND]
        R, p = matrix_at(motion, i, ROTATION), vector_at(motion, i, POSITION)
        for k in range(3):
            row = (R[k], R[3 + k], R[6 + k])
            put(transfer, i, 3 * k, row)
            put(transfer, i, 9 + 3 * k, cross(p, row))

        w_parent = slice_vector(base, 3) if parent < 0 else vector_at(motion, parent, ANGULAR)
        pull = cross(w_parent, cross(w_parent, p))
        turn = ZERO
        if parent < 0:
            dw_base = slice_vector(base, 9)
            pull = add(pull, add(slice_vector(base, 6), cross(dw_base, p)))
            turn = rotate_back(R, dw_base)
        pull = rotate_back(R, pull)
        w = rotate_back(R, w_parent)
        v_joint, w_joint = pair_at(motion, i, RELATIVE)
        if kind == FLOATING:
            pull = add(pull, cross(add(scale(2.0, w), w_joint), v_joint))
            turn = add(turn, cross(w, w_joint))
        elif kind == PRISMATIC:
            twice = 2.0 * v_joint[2]
            pull = (pull[0] + w[1] * twice, pull[1] - w[0] * twice, pull[2])
        else:
            rate = w_joint[2]
            turn = (turn[0] + w[1] * rate, turn[1] - w[0] * rate, turn[2])
        put_pair(drift, i, 0, (pull, turn))

        _, h, J = inertia_of(parameters, i)
        w = vector_at(motion, i, ANGULAR)
        F = cross(w, cross(h, w)), cross(times(J, w), w)
        if loaded:
            F = plus(F, pair_at(wrenches, i, 0))
        put_pair(force, i, 0, F)
