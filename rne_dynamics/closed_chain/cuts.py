"""The kernels of inverse dynamics: the forces at the cuts, and the recursion run again with them as external loads."""

from __future__ import annotations

from rne_dynamics.closed_chain.closing import (
    DONE,
    SINGULAR,
    cut_force_helper,
    drift_helper,
    factored_at,
    motion_map_helper,
)
from rne_dynamics.closed_chain.constraints import BODY_POSITION, BODY_ROTATION, FORCE, MOMENT
from rne_dynamics.closed_chain.packed import Packed, Work
from rne_dynamics.closed_chain.terms import open_torque
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import BLOCKED, POSITION_A, POSITION_B, ROTATION_A, ROTATION_B
from rne_dynamics.spatial.arrays import copy_into
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.jit import helper, kernel
from rne_dynamics.spatial.rows import matrix_at, put, put_matrix, vector_at
from rne_dynamics.spatial.vector import (
    Vector,
    add,
    compose,
    cross,
    rotate,
    rotate_back,
    scale,
    subtract,
    transpose,
)

# columns of `cuts`, one row a loop: force and moment on B at B's origin, then B's rotation and position; in A's axes
FORCE_ON_B, MOMENT_ON_B, TURN_OF_B, PLACE_OF_B, CUT_COLUMNS = columns(3, 3, 9, 3)


@kernel
def cut_forces_batch(
    packed: Packed,
    work: Work,
    base: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    wrenches: Array,
    T: Array,
    velocity: Array,
    acceleration: Array,
    tau: Array,
    force: Array,
) -> tuple[int, int]:
    """The tree's motion, its open efforts, and the constraints' forces that free the passive joints of theirs.

    At postures q (B, tree n) that close; base and wrenches as for `inverse_dynamics_batch`, qd, qdd (B, n), T scratch.
    Filled: velocity, acceleration, tau (B, tree n), force (B, constraints).
    Returns the status and its row; OVER_ACTUATED does not end it.
    """
    worst = DONE
    for b in range(q.shape[0]):
        factored_at(packed, work, q[b])
        status, _ = motion_map_helper(packed, work, T)
        if status == SINGULAR:
            return status, b
        worst = max(worst, status)
        drift_helper(packed, work, T, q[b], qd[b])
        copy_into(velocity[b], work.qd)
        for i in range(T.shape[0]):
            x = work.qdd[i]
            for k in range(T.shape[1]):
                x += T[i, k] * qdd[b, k]
            acceleration[b, i] = x
        loads = wrenches[b if wrenches.shape[0] > 1 else 0]
        open_torque(packed, work, base[b if base.shape[0] > 1 else 0], q[b], acceleration[b], loads)
        copy_into(tau[b], work.tau)
        cut_force_helper(packed, work, work.tau, force[b])
    return worst, 0


@helper
def _load(work: Work, body: int, sign: float, place: Vector, force: Vector, moment: Vector) -> None:
    """Add a wrench at a place, all in world axes, to a body's loads; the base takes none."""
    if body < 0:
        return
    R = matrix_at(work.motion, body, BODY_ROTATION)
    arm = subtract(place, vector_at(work.motion, body, BODY_POSITION))
    there = add(moment, cross(arm, force))
    put(work.cut, body, 0, add(vector_at(work.cut, body, 0), scale(sign, rotate_back(R, force))))
    put(work.cut, body, 3, add(vector_at(work.cut, body, 3), scale(sign, rotate_back(R, there))))


@helper
def _cut(packed: Packed, work: Work, force: Array, cuts: Array) -> None:
    """Fill `cuts` of one state and add the wrenches to `work.cut`."""
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
        f, n = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for direction in range(6):
            if packed.loop_frames[loop, BLOCKED + direction] != 0.0:
                f = add(f, scale(force[k], vector_at(work.rows, k, FORCE)))
                n = add(n, scale(force[k], vector_at(work.rows, k, MOMENT)))
                k += 1
        _load(work, b, 1.0, p_b, f, n)
        _load(work, a, -1.0, p_b, f, n)
        put(cuts, loop, FORCE_ON_B, rotate_back(R_a, f))
        put(cuts, loop, MOMENT_ON_B, rotate_back(R_a, n))
        put_matrix(cuts, loop, TURN_OF_B, compose(transpose(R_a), R_b))
        put(cuts, loop, PLACE_OF_B, rotate_back(R_a, subtract(p_b, p_a)))


@kernel
def closed_torque_batch(
    packed: Packed,
    work: Work,
    base: Array,
    q: Array,
    velocity: Array,
    acceleration: Array,
    wrenches: Array,
    force: Array,
    cuts: Array,
    tau: Array,
) -> None:
    """Inverse dynamics with the forces at the cuts: those of the passive joints come out as round-off.

    Shapes as for `cut_forces_batch`; filled: cuts (B, loops, CUT_COLUMNS), tau (B, tree n).
    """
    for b in range(q.shape[0]):
        factored_at(packed, work, q[b])
        loads = wrenches[b if wrenches.shape[0] > 1 else 0]
        for i in range(work.cut.shape[0]):
            for k in range(6):
                work.cut[i, k] = loads[i, k] if loads.shape[0] > 0 else 0.0
        _cut(packed, work, force[b], cuts[b])
        copy_into(work.qd, velocity[b])
        open_torque(packed, work, base[b if base.shape[0] > 1 else 0], q[b], acceleration[b], work.cut)
        copy_into(tau[b], work.tau)
