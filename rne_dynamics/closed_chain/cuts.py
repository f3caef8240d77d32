"""Forces at the cuts that leave the passive joints without effort, and the loads on the bodies that they are."""

from __future__ import annotations

import numpy as np

from rne_dynamics.closed_chain.constraints import FORCE
from rne_dynamics.closed_chain.packed import Packed, Work
from rne_dynamics.compiling.jit import helper
from rne_dynamics.dynamics.kinematics.kinematics import world_poses
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE
from rne_dynamics.model.mechanism import BLOCKED, POSITION_A, POSITION_B, ROTATION_A, ROTATION_B
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.householder import apply, solve_transposed
from rne_dynamics.spatial.pairs import NONE, add_pair, pair_at, plus, put_pair, scaled, turned_back, wrench_at
from rne_dynamics.spatial.rows import matrix_at, put, put_matrix, vector_at
from rne_dynamics.spatial.vector import compose, placed, rotate_back, subtract, transpose

# columns of `cuts`, one row a loop: force and moment on B at B's origin, then B's rotation and position; in A's axes
FORCE_ON_B, MOMENT_ON_B, TURN_OF_B, PLACE_OF_B, CUT_COLUMNS = columns(3, 3, 9, 3)


@helper
def cut_forces(packed: Packed, work: Work, tau: Array, force: Array) -> None:
    """The loops' forces, (constraints,), that leave the passive joints without effort: K_pᵀ force = tau_p.

    Of the many that do where constraints are redundant, the least in norm, moments counted in forces times `length`.
    """
    side = np.zeros(force.shape[0])
    for c in range(packed.clusters.shape[0] - 1):
        (p0, _, r0), (p1, _, r1) = packed.clusters[c], packed.clusters[c + 1]
        for k in range(p1 - p0):
            j = packed.passive[p0 + work.pivots[p0 + k]]
            side[r0 + k] = packed.column_scale[j] * tau[j]
        solve_transposed(work.block, r0, p1 - p0, side, r0)
        apply(work.block, r0, r1 - r0, p1 - p0, work.factors, p0, side)
        for r in range(r0, r1):
            row = packed.constraints[r]
            force[row] = packed.row_scale[row] * side[r]


@helper
def cut_loads(
    packed: Packed, work: Work, q: Array, force: Array, wrenches: Array, cuts: Array, loads: Array
) -> None:
    """Fill `loads` (bodies, 6), the external ones and the loops', and `cuts`, (loops, CUT_COLUMNS).

    From the constraints' forces (constraints,), with the constraints of the posture q in `work`.
    """
    X, frames = world_poses(packed.topology, packed.parameters, q), packed.loop_frames
    loads[:, :] = 0.0
    for i in range(wrenches.shape[0]):
        put_pair(loads, i, 0, pair_at(wrenches, i, 0))
    k = 0
    for loop in range(packed.loop_bodies.shape[0]):
        a, b = packed.loop_bodies[loop, 0], packed.loop_bodies[loop, 1]
        R_a, p_a = placed(X[a], (matrix_at(frames, loop, ROTATION_A), vector_at(frames, loop, POSITION_A)))
        R_b, p_b = placed(X[b], (matrix_at(frames, loop, ROTATION_B), vector_at(frames, loop, POSITION_B)))
        F = NONE
        for direction in range(6):
            if frames[loop, BLOCKED + direction] != 0.0:
                F = plus(F, scaled(force[k], pair_at(work.rows, k, FORCE)))
                k += 1
        for sign, body in ((1.0, b), (-1.0, a)):
            if body != BASE:
                add_pair(loads, body, 0, scaled(sign, turned_back(X[body][0], wrench_at(F, subtract(p_b, X[body][1])))))
        put_pair(cuts, loop, FORCE_ON_B, turned_back(R_a, F))
        put_matrix(cuts, loop, TURN_OF_B, compose(transpose(R_a), R_b))
        put(cuts, loop, PLACE_OF_B, rotate_back(R_a, subtract(p_b, p_a)))
