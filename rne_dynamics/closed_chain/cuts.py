"""Forces at the cuts that leave the passive joints without effort, and the loads on the bodies that they are."""

from __future__ import annotations

from rne_dynamics.closed_chain.constraints import BODY_POSITION, BODY_ROTATION, FORCE
from rne_dynamics.closed_chain.packed import CONSTRAINT, PASSIVE, Packed, Work
from rne_dynamics.compiling.jit import helper
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import BLOCKED, POSITION_A, POSITION_B, ROTATION_A, ROTATION_B
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.householder import apply, solve_transposed
from rne_dynamics.spatial.pairs import (
    NONE,
    Pair,
    add_pair,
    pair_at,
    plus,
    put_pair,
    scaled,
    turned_back,
    wrench_at,
)
from rne_dynamics.spatial.rows import matrix_at, put, put_matrix, vector_at
from rne_dynamics.spatial.vector import Vector, add, compose, rotate, rotate_back, subtract, transpose

# columns of `cuts`, one row a loop: force and moment on B at B's origin, then B's rotation and position; in A's axes
FORCE_ON_B, MOMENT_ON_B, TURN_OF_B, PLACE_OF_B, CUT_COLUMNS = columns(3, 3, 9, 3)


@helper
def cut_forces(packed: Packed, work: Work, tau: Array, force: Array) -> None:
    """The loops' forces, (constraints,), that leave the passive joints without effort: K_pᵀ force = tau_p.

    Of the many that do where constraints are redundant, the least in norm, moments counted in forces times `length`.
    """
    for c in range(packed.clusters.shape[0] - 1):
        p0, n = packed.clusters[c, PASSIVE], packed.clusters[c + 1, PASSIVE] - packed.clusters[c, PASSIVE]
        r0, r1 = packed.clusters[c, CONSTRAINT], packed.clusters[c + 1, CONSTRAINT]
        for r in range(r0, r1):
            work.side[r] = 0.0
        for k in range(n):
            j = packed.passive[p0 + work.pivots[p0 + k]]
            work.side[r0 + k] = packed.column_scale[j] * tau[j]
        solve_transposed(work.block, r0, n, work.side, r0)
        apply(work.block, r0, r1 - r0, n, work.factors, p0, work.side)
        for r in range(r0, r1):
            row = packed.constraints[r]
            force[row] = packed.row_scale[row] * work.side[r]


@helper
def _load(work: Work, body: int, sign: float, place: Vector, F: Pair) -> None:
    """Add a wrench about a place, both in world axes, to a body's loads; not to the base's."""
    if body < 0:
        return
    arm = subtract(place, vector_at(work.motion, body, BODY_POSITION))
    there = turned_back(matrix_at(work.motion, body, BODY_ROTATION), wrench_at(F, arm))
    add_pair(work.cut, body, 0, scaled(sign, there))


@helper
def cut_loads(packed: Packed, work: Work, force: Array, wrenches: Array, cuts: Array) -> None:
    """Fill `work.cut` with the bodies' loads, the external ones and the loops', and `cuts`, (loops, CUT_COLUMNS).

    From the constraints' forces (constraints,), with the posture's constraints in `work`.
    """
    for i in range(work.cut.shape[0]):
        for c in range(6):
            work.cut[i, c] = wrenches[i, c] if wrenches.shape[0] > 0 else 0.0
    k = 0
    for loop in range(packed.loop_bodies.shape[0]):
        a, b = packed.loop_bodies[loop, 0], packed.loop_bodies[loop, 1]
        R_a, R_b = matrix_at(work.motion, a, BODY_ROTATION), matrix_at(work.motion, b, BODY_ROTATION)
        p_a = add(
            vector_at(work.motion, a, BODY_POSITION), rotate(R_a, vector_at(packed.loop_frames, loop, POSITION_A))
        )
        p_b = add(
            vector_at(work.motion, b, BODY_POSITION), rotate(R_b, vector_at(packed.loop_frames, loop, POSITION_B))
        )
        R_a = compose(R_a, matrix_at(packed.loop_frames, loop, ROTATION_A))
        R_b = compose(R_b, matrix_at(packed.loop_frames, loop, ROTATION_B))
        F = NONE
        for direction in range(6):
            if packed.loop_frames[loop, BLOCKED + direction] != 0.0:
                F = plus(F, scaled(force[k], pair_at(work.rows, k, FORCE)))
                k += 1
        _load(work, b, 1.0, p_b, F)
        _load(work, a, -1.0, p_b, F)
        put_pair(cuts, loop, FORCE_ON_B, turned_back(R_a, F))
        put_matrix(cuts, loop, TURN_OF_B, compose(transpose(R_a), R_b))
        put(cuts, loop, PLACE_OF_B, rotate_back(R_a, subtract(p_b, p_a)))
