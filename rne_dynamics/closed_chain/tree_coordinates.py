"""Motion of all joints of the tree under the forces of the loops, at any posture.

The unknowns are the accelerations of all joints of the tree and the forces λ that keep the loops closed:

    M q̈ + h(q, q̇) = τ + Kᵀ λ,      K q̈ + drift = 0.

They are solved in the null space of K. The columns of T span the velocities that the loops allow, so Tᵀ Kᵀ = 0:

    (Tᵀ M T) a = Tᵀ (τ − h),      q̈ = q̈_λ + T a,

where q̈_λ is the solution of K q̈ + drift = 0 with the least ½ q̈ᵀ M q̈: what the constraint forces alone give. No joint is
a coordinate, so neither a posture in which the motors do not hold the mechanism, nor idle freedoms, nor more motors
than freedoms are special here. What remains special is a posture in which K itself loses rank (a flat parallelogram,
which may go on as an antiparallelogram). The number of independent constraints is therefore not decided anew at every
posture: it is the rank at postures around (`generic_rank`). Next to such a posture q̈ is the mean of its values before
and behind it along the velocity, which is how momentum carries the mechanism through on its branch.
"""

from __future__ import annotations

import numpy as np

from rne_dynamics.closed_chain.constraints import constraints_kernel
from rne_dynamics.closed_chain.packed import Packed, Work
from rne_dynamics.closed_chain.tree_work import Tree, TreeWork
from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import helper, kernel, routine
from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale_kernel
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix_kernel
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics_kernel
from rne_dynamics.model.inertia import Array
from rne_dynamics.spatial.arrays import copy_into
from rne_dynamics.spatial.cholesky import scaled_cholesky_solve
from rne_dynamics.spatial.householder import apply_transpose, factor, solve_upper

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


@routine
def tangent(packed: Packed, work: Work, tree: TreeWork, rank: int, q: Array, v: Array) -> tuple[int, float]:
    """Evaluate the constraints and the metric at a state; fill T, MT and G.

    Returns the rank that is used, below the one given only where pivots are lost, and the last pivot as a part of the
    first.
    """
    apart(constraints_kernel, (packed, work, q, v))
    block, pivots, scales = tree.block, tree.pivots, packed.column_scale
    m, n = block.shape
    for r in range(m):
        for j in range(n):
            block[r, j] = packed.row_scale[r] * work.K[r, j] * scales[j]
    found = factor(block, 0, m, n, n, pivots, tree.factors, 0)
    first = abs(block[0, 0]) if found > 0 else 1.0
    while rank < found and abs(block[rank, rank]) > STRONG * first:
        rank += 1
    last = 1.0
    if rank > 0:
        last = abs(block[rank - 1, rank - 1]) / first if rank <= found else 0.0
    rank = min(rank, found)
    while rank > 0 and abs(block[rank - 1, rank - 1]) < LOST * first:
        rank -= 1
    for c in range(n - rank):
        for r in range(rank):
            tree.right[r] = block[r, rank + c]
        solve_upper(block, 0, rank, tree.right, 0)
        for k in range(n):
            j = pivots[k]
            tree.T[j, c] = -scales[j] * tree.right[k] if k < rank else 0.0
        tree.T[pivots[rank + c], c] = scales[pivots[rank + c]]
    apart(mass_matrix_kernel, (Arm(packed.topology, packed.parameters, None, None), q, work.M))
    apart(inertia_scale_kernel, (packed.topology, packed.parameters, q, tree.scale))
    _metric(work, tree, rank)
    return rank, last


@helper
def _metric(work: Work, tree: TreeWork, rank: int) -> None:
    """Fill MT and G from T, `work.M` and `extra`."""
    n, freedoms = tree.T.shape[0], tree.T.shape[0] - rank
    for i in range(n):
        for c in range(freedoms):
            x = tree.extra[i] * tree.T[i, c]
            for k in range(n):
                x += work.M[i, k] * tree.T[k, c]
            tree.MT[i, c] = x
    for c in range(freedoms):
        for e in range(c + 1):
            x = 0.0
            for i in range(n):
                x += tree.T[i, c] * tree.MT[i, e]
            tree.G[c, e] = x
            tree.G[e, c] = x


@routine
def solve_free(tree: TreeWork, rank: int, right: Array, out: Array) -> int:
    """Solve G x = right[: freedoms] and add T x to `out`; DETERMINED, or the joint that moves no inertia."""
    n = tree.T.shape[0]
    freedoms = n - rank
    for c in range(freedoms):
        tree.answer[c] = 0.0
        for i in range(n):
            tree.answer[c] += tree.scale[i] * tree.T[i, c] * tree.T[i, c]
        for e in range(freedoms):
            tree.factor[c, e] = tree.G[c, e]
    failed = scaled_cholesky_solve(tree.factor, right[:freedoms], tree.answer, tree.answer)
    if failed >= 0:
        return int(tree.pivots[rank + failed])
    for i in range(n):
        for c in range(freedoms):
            out[i] += tree.T[i, c] * tree.answer[c]
    return DETERMINED


@routine
def least(packed: Packed, work: Work, tree: TreeWork, rank: int, values: Array, out: Array) -> tuple[int, float]:
    """Fill `out` with the x of least xᵀ (M + extra) x for K x = −values; also the norm of what it answers."""
    m, n = tree.block.shape
    for r in range(m):
        tree.side[r] = packed.row_scale[r] * values[r]
    apply_transpose(tree.block, 0, m, rank, tree.factors, 0, tree.side)
    square = 0.0
    for k in range(rank):
        square += tree.side[k] * tree.side[k]
    solve_upper(tree.block, 0, rank, tree.side, 0)
    for k in range(n):
        j = tree.pivots[k]
        out[j] = -packed.column_scale[j] * tree.side[k] if k < rank else 0.0
    for c in range(n - rank):
        tree.right[c] = 0.0
        for i in range(n):
            tree.right[c] -= tree.MT[i, c] * out[i]
    return solve_free(tree, rank, tree.right, out), np.sqrt(square)


@routine
def settle(packed: Packed, work: Work, tree: TreeWork, rank: int, q: Array, v: Array) -> tuple[int, int, float]:
    """Put a state on the loops in place, by the least change in the metric; `tangent` is evaluated there.

    Returns DETERMINED or a joint, and the rank and last pivot there.
    """
    left = np.inf
    status, used, last = DETERMINED, rank, 0.0
    for _ in range(_CORRECTIONS):
        used, last = tangent(packed, work, tree, rank, q, v)
        before = left
        status, left = least(packed, work, tree, used, work.residual, tree.step)
        if status != DETERMINED or not left < np.inf:
            return status, used, last
        if left <= packed.round_off or (left < 1e-10 and left > 0.3 * before):
            break
        for j in range(q.shape[0]):
            q[j] += tree.step[j]
    for r in range(work.K.shape[0]):
        x = 0.0
        for j in range(v.shape[0]):
            x += work.K[r, j] * v[j]
        work.side[r] = x
    status, _ = least(packed, work, tree, used, work.side, tree.step)
    for j in range(v.shape[0]):
        v[j] += tree.step[j]
    apart(constraints_kernel, (packed, work, q, v))  # the drift is that of the new velocity
    return status, used, last


@routine
def _accelerations_there(
    packed: Packed, work: Work, tree: TreeWork, rank: int, base: Array, wrenches: Array, viscous: Array, drive: Array,
    out: Array,
) -> int:  # fmt: skip
    """q̈ at the state `tree.q`, `tree.v`, whose `tangent` is evaluated."""
    arm = Arm(packed.topology, packed.parameters, base, wrenches)
    apart(inverse_dynamics_kernel, (arm, tree.q, tree.v, tree.rest, work.tau))
    status, _ = least(packed, work, tree, rank, work.drift, out)
    if status != DETERMINED:
        return status
    n = out.shape[0]
    for c in range(n - rank):
        x = 0.0
        for i in range(n):
            x += tree.T[i, c] * (drive[i] - viscous[i] * tree.v[i] - work.tau[i])
        tree.right[c] = x
    return solve_free(tree, rank, tree.right, out)


@kernel
def tree_accelerations(
    tree: Tree, base: Array, wrenches: Array, viscous: Array, off: bool, q: Array, v: Array, drive: Array, out: Array
) -> int:
    """Accelerations of all joints of the tree under efforts `drive`, less viscous friction.

    Returns DETERMINED, or the number of a joint that moves no inertia.

    Parameters
    ----------
    base, wrenches
        As for `closed_terms_kernel`.
    viscous, q, v, drive
        Viscous friction, positions, velocities and efforts of all joints of the tree; shape (tree n,).
    off
        Whether the state may be off the loops by more than round-off and is to be put on them first.
    out
        Filled, shape (tree n,).
    """
    packed, work, memory, rank = tree
    n = q.shape[0]
    speed = 0.0
    for j in range(n):
        memory.extra[j] = 0.0
        speed = max(speed, abs(v[j]) / packed.column_scale[j])
    status = DETERMINED
    for look in range(3):
        ahead = 0.0 if look == 0 else (ASIDE if look == 1 else -ASIDE) / speed
        for j in range(n):
            memory.q[j] = q[j] + ahead * v[j]
            memory.v[j] = v[j]
        if look == 0 and not off:
            used, last = tangent(packed, work, memory, rank, memory.q, memory.v)
        else:
            status, used, last = settle(packed, work, memory, rank, memory.q, memory.v)
            if status != DETERMINED:
                return status
        if look == 0 and last < WEAK and speed > 0.0:
            continue
        status = _accelerations_there(packed, work, memory, used, base, wrenches, viscous, drive, out)
        if status != DETERMINED or look == 0:
            return status
        if look == 1:
            copy_into(memory.probe, out)
    for j in range(n):
        out[j] = 0.5 * (out[j] + memory.probe[j])
    return status


@kernel
def settle_kernel(packed: Packed, work: Work, tree: TreeWork, rank: int, q: Array, v: Array) -> tuple[int, float]:
    """`settle` for callers outside: DETERMINED or a joint, and the last pivot."""
    status, _, last = settle(packed, work, tree, rank, q, v)
    return status, last
