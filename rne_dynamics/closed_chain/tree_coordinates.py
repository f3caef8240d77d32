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

from rne_dynamics.closed_chain.closing import (
    DONE,
    assemble_kernel,
    drift_kernel,
    factor_clusters,
    largest_change,
    motion_map_kernel,
    passive_answer,
)
from rne_dynamics.closed_chain.constraints import constraints_kernel
from rne_dynamics.closed_chain.packed import Packed, Work, workspace
from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import helper, kernel, rare_kernel, routine
from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale_kernel
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix_kernel
from rne_dynamics.dynamics.declared.arguments import Arm
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics_kernel
from rne_dynamics.model.inertia import Array
from rne_dynamics.spatial.cholesky import scaled_cholesky_solve
from rne_dynamics.spatial.householder import solve_upper
from rne_dynamics.spatial.rows import add_scaled, matrix_times, product, transposed_times

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
    """A mechanism for the kernels, and their memory, for one thread."""

    #: With all joints in one cluster, as its passive ones: `work` then has all of K, factored with column pivoting, and
    #: the rank that is used; the last n − rank pivots are independent.
    packed: Packed
    work: Work
    memory: TreeWork
    #: Number of independent constraints at postures around, from `generic_rank`.
    rank: int


def tree_of(packed: Packed, rank: int) -> Tree:
    """The tree of a mechanism from `pack`, with new memory."""
    m, n = packed.row_scale.shape[0], packed.column_scale.shape[0]
    whole = packed._replace(
        passive=np.arange(n), drivers=np.arange(0), constraints=np.arange(m),
        clusters=np.array([[0, 0, 0], [n, 0, m]]), width=n,
    )  # fmt: skip
    T, MT, G, M = np.zeros((4, n, n))
    return Tree(whole, workspace(whole), TreeWork(T, MT, G, M, np.zeros(n), np.zeros(n)), rank)


@routine
def tangent(tree: Tree, q: Array, v: Array) -> float:
    """Evaluate the constraints and the metric at a state; fill `tree.memory` but for `extra`.

    The rank in `tree.work` becomes the one that is used, below `tree.rank` only where pivots are lost. Returns the last
    pivot as a part of the first.
    """
    packed, work, memory, rank = tree
    apart(constraints_kernel, (packed, work, q, v))
    factor_clusters(packed, work)
    n, block, found = q.shape[0], work.block, work.ranks[0]
    first = abs(block[0, 0]) if found > 0 else 1.0
    while rank < found and abs(block[rank, rank]) > STRONG * first:
        rank += 1
    last = 1.0
    if rank > 0:
        last = abs(block[rank - 1, rank - 1]) / first if rank <= found else 0.0
    rank = min(rank, found)
    while rank > 0 and abs(block[rank - 1, rank - 1]) < LOST * first:
        rank -= 1
    work.ranks[0] = rank
    right = np.empty(n)
    memory.T[:, :] = 0.0
    for c in range(n - rank):
        right[:rank] = block[:rank, rank + c]
        solve_upper(block, 0, rank, right, 0)
        for k in range(rank):
            j = work.pivots[k]
            memory.T[c, j] = -packed.column_scale[j] * right[k]
        free = work.pivots[rank + c]
        memory.T[c, free] = packed.column_scale[free]
    apart(mass_matrix_kernel, (Arm(packed.topology, packed.parameters, None, None), q, memory.M))
    apart(inertia_scale_kernel, (packed.topology, packed.parameters, q, memory.scale))
    for c in range(n - rank):
        matrix_times(memory.M, memory.T[c], memory.MT[c])
        for i in range(n):
            memory.MT[c, i] += memory.extra[i] * memory.T[c, i]
        for e in range(c + 1):
            memory.G[c, e] = product(memory.T[c], memory.MT[e])
            memory.G[e, c] = memory.G[c, e]
    return last


@routine
def solve_free(tree: Tree, right: Array, out: Array) -> int:
    """Solve G x = right (freedoms,) and add Tᵀ x to `out`; DETERMINED, or the joint that moves no inertia."""
    memory, freedoms = tree.memory, right.shape[0]
    answer = np.zeros(freedoms)
    for c in range(freedoms):
        for i in range(out.shape[0]):
            answer[c] += memory.scale[i] * memory.T[c, i] * memory.T[c, i]
    failed = scaled_cholesky_solve(memory.G[:freedoms, :freedoms].copy(), right, answer, answer)
    if failed >= 0:
        return int(tree.work.pivots[tree.work.ranks[0] + failed])
    for c in range(freedoms):
        add_scaled(out, answer[c], memory.T[c])
    return DETERMINED


@routine
def least(tree: Tree, values: Array, out: Array) -> tuple[int, float]:
    """Fill `out` with the x of least xᵀ (M + extra) x for K x = −values; also the norm of what it answers."""
    packed, work, memory, _ = tree
    answered, right = passive_answer(packed, work, values, out), np.empty(out.shape[0] - work.ranks[0])
    for c in range(right.shape[0]):
        right[c] = -product(memory.MT[c], out)
    return solve_free(tree, right, out), answered


@kernel
def settle(tree: Tree, q: Array, v: Array) -> tuple[int, float]:
    """Put a state on the loops in place, by the least change in the metric; `tangent` is evaluated there.

    Returns DETERMINED or a joint, and the last pivot there.
    """
    packed, work, _, _ = tree
    step, left, moved = np.empty(q.shape[0]), np.inf, np.empty(work.residual.shape[0])
    status, last = DETERMINED, 0.0
    for _ in range(_CORRECTIONS):
        last = tangent(tree, q, v)
        before = left
        status, left = least(tree, work.residual, step)
        if status != DETERMINED or not left < np.inf:
            return status, last
        if left <= packed.round_off or (left < 1e-10 and left > 0.3 * before):
            break
        add_scaled(q, 1.0, step)
    matrix_times(work.K, v, moved)
    status, _ = least(tree, moved, step)
    add_scaled(v, 1.0, step)
    apart(constraints_kernel, (packed, work, q, v))  # the drift is that of the new velocity
    return status, last


@routine
def _accelerations_there(
    tree: Tree, base: Array, wrenches: Array, viscous: Array, q: Array, v: Array, drive: Array, out: Array
) -> int:
    """q̈ at a state whose `tangent` is evaluated."""
    packed, work, memory, _ = tree
    n = q.shape[0]
    left, right = np.empty(n), np.empty(n - work.ranks[0])
    open_torque(packed, base, q, v, np.zeros(n), wrenches, left)
    status, _ = least(tree, work.drift, out)
    if status != DETERMINED:
        return status
    for i in range(n):
        left[i] = drive[i] - viscous[i] * v[i] - left[i]
    matrix_times(memory.T[: right.shape[0]], left, right)
    return solve_free(tree, right, out)


@rare_kernel
def tree_accelerations(
    tree: Tree, base: Array, wrenches: Array, viscous: Array, off: bool, q: Array, v: Array, drive: Array, out: Array
) -> int:
    """Accelerations `out` of all joints of the tree under efforts `drive`, less viscous friction, (tree n,) each.

    `base` and `wrenches` are as for `closed_terms_kernel`; where a state is `off` the loops by more than round-off, it
    is put on them first. Returns DETERMINED, or the number of a joint that moves no inertia.
    """
    at, rate, half = q.copy(), v.copy(), np.empty(q.shape[0])
    tree.memory.extra[:] = 0.0
    speed, status = largest_change(tree.packed, v), DETERMINED
    if off:
        status, last = settle(tree, at, rate)
    else:
        last = tangent(tree, at, rate)
    if status != DETERMINED:
        return status
    if not (last < WEAK and speed > 0.0):
        return _accelerations_there(tree, base, wrenches, viscous, at, rate, drive, out)
    out[:] = 0.0
    for side in range(2):
        at[:], rate[:] = q, v
        add_scaled(at, (1 - 2 * side) * ASIDE / speed, v)
        status, _ = settle(tree, at, rate)
        if status != DETERMINED:
            return status
        status = _accelerations_there(tree, base, wrenches, viscous, at, rate, drive, half)
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
                add_scaled(M[k, : k + 1], T[i, k], moved[: k + 1, i])
        M[:k, k] = M[k, :k]


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
