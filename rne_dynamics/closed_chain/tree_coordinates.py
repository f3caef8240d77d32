"""Motion of all joints of the tree under the forces of the loops, at any posture.

The unknowns are the accelerations of all joints of the tree and the forces λ that keep the loops closed:

    M q̈ + h(q, q̇) = τ + Kᵀ λ,      K q̈ + drift = 0.

They are solved in the null space of K. The columns of T span the velocities that the loops allow, so Tᵀ Kᵀ = 0:

    (Tᵀ M T) a = Tᵀ (τ − h),      q̈ = q̈_λ + T a,

where q̈_λ is the solution of K q̈ + drift = 0 with the least ½ q̈ᵀ M q̈: what the constraint forces alone give. No
joint is a coordinate, so neither a posture in which the motors do not hold the mechanism, nor idle freedoms, nor more
motors than freedoms are special here. What remains special is a posture in which K itself loses rank (a flat
parallelogram, which may go on as an antiparallelogram). The number of independent constraints is therefore not decided
anew at every posture: it is the rank at postures around (`generic_rank`). Next to such a posture q̈ is the mean of its
values before and behind it along the velocity, which is how momentum carries the mechanism through on its branch.

Mass matrix and bias in the actuated coordinates (`terms`), by kernels that other kernels may call: with T the motion
map and q̈ = T q̈_a + γ (γ what velocities alone give), virtual work turns the open tree's equations into

    M_a = Tᵀ M T,      bias_a = Tᵀ (M γ + c + g − Jᵀ f),

the second of which is one run of inverse dynamics: the loops' forces do no work on the way and do not appear.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.closed_chain.closing import (
    DONE,
    assemble_kernel,
    drift_kernel,
    largest_change,
    motion_map_kernel,
)
from rne_dynamics.closed_chain.constraints import constraints_kernel
from rne_dynamics.closed_chain.packed import Packed, Work
from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import helper, kernel, rare_kernel, routine
from rne_dynamics.dynamics.composite.mass_matrix import inertia_scale_kernel, mass_matrix_kernel
from rne_dynamics.dynamics.declared.arguments import Arm
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics_kernel
from rne_dynamics.model.inertia import Array
from rne_dynamics.spatial.cholesky import scaled_cholesky_solve
from rne_dynamics.spatial.householder import apply_transpose, factor, solve_upper
from rne_dynamics.spatial.rows import add_scaled, copy_into, matrix_times, product, transposed_times

#: What the kernels return where the motion is determined; else the tree's joint that moves no inertia.
DETERMINED = -1
#: A pivot of K, as a part of the largest, above which it counts as a constraint in any case.
STRONG = 1e-2
#: The last pivot below which the posture is next to one where K loses rank: the direction of the branch has lost too
#: many digits there, about 1e-16 / pivot³ of the acceleration.
WEAK = 3e-5
#: The last pivot below which it says nothing at all.
LOST = 1e-7
#: How far before and behind such a posture the accelerations are taken, rad or lengths of the mechanism.
ASIDE = 1e-3
_CORRECTIONS = 12


class TreeWork(NamedTuple):
    """The velocities that the loops allow at a state, and the metric; n joints of the tree."""

    #: K, lengths in the mechanism's own, factored with column pivoting; shapes (constraints, n), (n,), (n,). The last n
    #: − rank pivots are independent.
    block: Array
    factors: Array
    pivots: NDArray[np.int64]
    #: Null space of K in its first n − rank rows, these times M + `extra`, and T (M + `extra`) Tᵀ; shape (n, n).
    T: Array
    MT: Array
    G: Array
    #: The tree's mass matrix; (n, n).
    M: Array
    #: Added to the diagonal of M in the metric: implicit damping, or weights of joints that shall not move; (n,).
    extra: Array
    #: `inertia_scale_kernel` at the state; (n,).
    scale: Array


class Tree(NamedTuple):
    """A mechanism for `tree_accelerations`: from `pack`, `workspace`, `tree_workspace` and `generic_rank`."""

    packed: Packed
    work: Work
    memory: TreeWork
    rank: int


def tree_workspace(packed: Packed) -> TreeWork:
    """Memory for the kernels, for one thread."""
    m, n = packed.row_scale.shape[0], packed.column_scale.shape[0]
    T, MT, G, M = np.zeros((4, n, n))
    return TreeWork(
        np.zeros((m, n)), np.zeros(n), np.zeros(n, dtype=np.int64), T, MT, G, M, np.zeros(n), np.zeros(n)
    )


@routine
def tangent(packed: Packed, work: Work, tree: TreeWork, rank: int, q: Array, v: Array) -> tuple[int, float]:
    """Evaluate the constraints and the metric at a state; fill `tree` but for `extra`.

    Returns the rank that is used, below the one given only where pivots are lost, and the last pivot as a part of the
    first.
    """
    apart(constraints_kernel, (packed, work, q, v))
    block, (m, n) = tree.block, tree.block.shape
    for r in range(m):
        for j in range(n):
            block[r, j] = packed.row_scale[r] * work.K[r, j] * packed.column_scale[j]
    found = factor(block, 0, m, n, n, tree.pivots, tree.factors, 0)
    first = abs(block[0, 0]) if found > 0 else 1.0
    while rank < found and abs(block[rank, rank]) > STRONG * first:
        rank += 1
    last = 1.0
    if rank > 0:
        last = abs(block[rank - 1, rank - 1]) / first if rank <= found else 0.0
    rank = min(rank, found)
    while rank > 0 and abs(block[rank - 1, rank - 1]) < LOST * first:
        rank -= 1
    right = np.empty(n)
    for c in range(n - rank):
        for r in range(rank):
            right[r] = block[r, rank + c]
        _put_dependent(packed, tree, rank, right, tree.T[c])
        free = tree.pivots[rank + c]
        tree.T[c, free] = packed.column_scale[free]
    apart(mass_matrix_kernel, (Arm(packed.topology, packed.parameters, None, None), q, tree.M))
    apart(inertia_scale_kernel, (packed.topology, packed.parameters, q, tree.scale))
    for c in range(n - rank):
        matrix_times(tree.M, tree.T[c], tree.MT[c])
        for i in range(n):
            tree.MT[c, i] += tree.extra[i] * tree.T[c, i]
        for e in range(c + 1):
            tree.G[c, e] = product(tree.T[c], tree.MT[e])
            tree.G[e, c] = tree.G[c, e]
    return rank, last


@helper
def _put_dependent(packed: Packed, tree: TreeWork, rank: int, right: Array, out: Array) -> None:
    """out = −x for R x = right in the places of the first `rank` pivots, 0 in the others; `right` is written over."""
    solve_upper(tree.block, 0, rank, right, 0)
    out[:] = 0.0
    for k in range(rank):
        j = tree.pivots[k]
        out[j] = -packed.column_scale[j] * right[k]


@routine
def solve_free(tree: TreeWork, rank: int, right: Array, out: Array) -> int:
    """Solve G x = right (freedoms,) and add Tᵀ x to `out`; DETERMINED, or the joint that moves no inertia."""
    n, freedoms = tree.T.shape[0], tree.T.shape[0] - rank
    answer, factored = np.zeros(freedoms), np.empty((freedoms, freedoms))
    for c in range(freedoms):
        for i in range(n):
            answer[c] += tree.scale[i] * tree.T[c, i] * tree.T[c, i]
        for e in range(freedoms):
            factored[c, e] = tree.G[c, e]
    failed = scaled_cholesky_solve(factored, right, answer, answer)
    if failed >= 0:
        return int(tree.pivots[rank + failed])
    for c in range(freedoms):
        add_scaled(out, answer[c], tree.T[c])
    return DETERMINED


@routine
def least(packed: Packed, work: Work, tree: TreeWork, rank: int, values: Array, out: Array) -> tuple[int, float]:
    """Fill `out` with the x of least xᵀ (M + extra) x for K x = −values; also the norm of what it answers."""
    m, n = tree.block.shape
    side, right = np.empty(m), np.empty(n - rank)
    for r in range(m):
        side[r] = packed.row_scale[r] * values[r]
    apply_transpose(tree.block, 0, m, rank, tree.factors, 0, side)
    answered = np.sqrt(product(side[:rank], side[:rank]))
    _put_dependent(packed, tree, rank, side, out)
    for c in range(n - rank):
        right[c] = -product(tree.MT[c], out)
    return solve_free(tree, rank, right, out), answered


@kernel
def settle(packed: Packed, work: Work, tree: TreeWork, rank: int, q: Array, v: Array) -> tuple[int, int, float]:
    """Put a state on the loops in place, by the least change in the metric; `tangent` is evaluated there.

    Returns DETERMINED or a joint, and the rank and last pivot there.
    """
    step, left, moved = np.empty(q.shape[0]), np.inf, np.empty(work.residual.shape[0])
    status, used, last = DETERMINED, rank, 0.0
    for _ in range(_CORRECTIONS):
        used, last = tangent(packed, work, tree, rank, q, v)
        before = left
        status, left = least(packed, work, tree, used, work.residual, step)
        if status != DETERMINED or not left < np.inf:
            return status, used, last
        if left <= packed.round_off or (left < 1e-10 and left > 0.3 * before):
            break
        add_scaled(q, 1.0, step)
    matrix_times(work.K, v, moved)
    status, _ = least(packed, work, tree, used, moved, step)
    add_scaled(v, 1.0, step)
    apart(constraints_kernel, (packed, work, q, v))  # the drift is that of the new velocity
    return status, used, last


@routine
def _accelerations_there(
    tree: Tree, rank: int, base: Array, wrenches: Array, viscous: Array, q: Array, v: Array, drive: Array, out: Array
) -> int:
    """q̈ at a state whose `tangent` is evaluated."""
    packed, work, memory, _ = tree
    n = q.shape[0]
    left, right = np.empty(n), np.empty(n - rank)
    arm = Arm(packed.topology, packed.parameters, base, wrenches)
    apart(inverse_dynamics_kernel, (arm, q, v, np.zeros(n), left))
    status, _ = least(packed, work, memory, rank, work.drift, out)
    if status != DETERMINED:
        return status
    for i in range(n):
        left[i] = drive[i] - viscous[i] * v[i] - left[i]
    for c in range(n - rank):
        right[c] = product(memory.T[c], left)
    return solve_free(memory, rank, right, out)


@rare_kernel
def tree_accelerations(
    tree: Tree, base: Array, wrenches: Array, viscous: Array, off: bool, q: Array, v: Array, drive: Array, out: Array
) -> int:
    """Accelerations `out` of all joints of the tree under efforts `drive`, less viscous friction, (tree n,) each.

    `base` and `wrenches` are as for `closed_terms_kernel`; where a state is `off` the loops by more than round-off, it
    is put on them first. Returns DETERMINED, or the number of a joint that moves no inertia.
    """
    packed, work, memory, rank = tree
    at, rate, half = q.copy(), v.copy(), np.empty(q.shape[0])
    memory.extra[:] = 0.0
    speed, status = largest_change(packed, v), DETERMINED
    if off:
        status, used, last = settle(packed, work, memory, rank, at, rate)
    else:
        used, last = tangent(packed, work, memory, rank, at, rate)
    if status != DETERMINED:
        return status
    if not (last < WEAK and speed > 0.0):
        return _accelerations_there(tree, used, base, wrenches, viscous, at, rate, drive, out)
    out[:] = 0.0
    for side in range(2):
        copy_into(at, q)
        copy_into(rate, v)
        add_scaled(at, (1 - 2 * side) * ASIDE / speed, v)
        status, used, last = settle(packed, work, memory, rank, at, rate)
        if status != DETERMINED:
            return status
        status = _accelerations_there(tree, used, base, wrenches, viscous, at, rate, drive, half)
        if status != DETERMINED:
            return status
        add_scaled(out, 0.5, half)
    return status


@helper
def open_torque(
    packed: Packed, base: Array, q: Array, qd: Array, qdd: Array, wrenches: Array, tau: Array
) -> None:
    """Efforts tau of the open tree for a motion of all its joints, (tree n,) each."""
    apart(inverse_dynamics_kernel, (Arm(packed.topology, packed.parameters, base, wrenches), q, qd, qdd, tau))


@helper
def closed_bias_helper(
    packed: Packed, work: Work, base: Array, posture: Array, T: Array, qd: Array, wrenches: Array, bias: Array
) -> None:
    """bias_a for a motion map T."""
    n = posture.shape[0]
    velocity, acceleration, tau = np.empty(n), np.empty(n), np.empty(n)
    apart(drift_kernel, (packed, work, T, posture, qd, velocity, acceleration))
    open_torque(packed, base, posture, velocity, acceleration, wrenches, tau)
    transposed_times(T, tau, bias)


@helper
def closed_mass_matrix_helper(packed: Packed, q: Array, T: Array, M: Array) -> None:
    """M = Tᵀ M_tree T, with the zeros of T (joints of other loops) left out."""
    n, actuated = T.shape
    tree, moved = np.empty((n, n)), np.zeros((actuated, n))
    apart(mass_matrix_kernel, (Arm(packed.topology, packed.parameters, None, None), q, tree))
    for j in range(n):
        for k in range(actuated):
            if T[j, k] != 0.0:
                add_scaled(moved[k], T[j, k], tree[j])
    M[:, :] = 0.0
    for k in range(actuated):
        for i in range(n):
            if T[i, k] != 0.0:
                for c in range(k + 1):
                    M[k, c] += T[i, k] * moved[c, i]
        for c in range(k):
            M[c, k] = M[k, c]


@kernel
def closed_terms_kernel(
    packed: Packed,
    work: Work,
    base: Array,
    q: Array,
    qd: Array,
    wrenches: Array,
    posture: Array,
    T: Array,
    M: Array,
    bias: Array,
) -> int:
    """M_a (n, n) and bias_a (n,) for one state q, qd (n,): τ_a = M_a q̈_a + bias_a.

    `base` is as `BaseMotion.packed` gives it, gravity included, `wrenches` (bodies, 6) external loads at the bodies'
    origins in their axes, or (0, 6). `posture` (tree n,) is where to assemble from, and becomes the one at q; T (tree
    n, n) becomes the motion map. Returns a status of `closing`; `refusals.refusal` makes the error of it.
    """
    status = apart(assemble_kernel, (packed, work, q, posture))
    if status != DONE:
        return status
    status, _ = apart(motion_map_kernel, (packed, work, T))
    if status != DONE:
        return status
    closed_bias_helper(packed, work, base, posture, T, qd, wrenches, bias)
    closed_mass_matrix_helper(packed, posture, T, M)
    return DONE
