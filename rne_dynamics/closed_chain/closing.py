"""The kernels that close the loops: Newton's method on the passive joints, and small steps along the branch.

One system matrix serves all: the passive columns of the constraints' Jacobian K, cluster by cluster, factored with
column pivoting (spatial/householder.py). Redundant constraints (a planar linkage modelled in space) end as
rows of zeros below the triangle.
"""

from __future__ import annotations

import numpy as np

from rne_dynamics.closed_chain.constraints import constraints_kernel
from rne_dynamics.closed_chain.packed import Packed, Work
from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import helper, kernel, routine
from rne_dynamics.model.inertia import Array
from rne_dynamics.spatial.householder import (
    apply_transpose,
    factor,
    smallest_bound,
    solve_upper,
)
from rne_dynamics.spatial.rows import add_scaled, matrix_times, product

# what the kernels return
DONE = 0
NOT_CLOSED = 1  # no posture found on this branch
SINGULAR = 2  # the actuated joints do not hold the others
OVER_ACTUATED = 3  # the actuated joints are not independent of each other

#: A residual (m / length, or rad) up to which redundant constraints may contradict each other, as angles written with
#: few digits make them do. The loops are then closed in the sense of least squares.
MISFIT = 1e-5
#: A passive joint's largest turn in one step along the branch, and how far closing may then move it; rad, m / length.
STRIDE, CORRECTION = 0.2, 0.1
#: Change of the actuated joints up to which loops are closed at once, without steps along the branch.
NEAR = 0.05
#: Smallest singular value of a passive block below which they are not: branches may meet there.
BRANCHES_MEET = 0.05
#: Smallest singular value of a passive block (see coordinates.py) below which a posture is refused.
SINGULAR_BELOW = 1e-6
#: What actuated joints ask of constraints that the passive ones cannot give, below which it is taken for round-off.
DEPENDENT = 1e-4
_TRIALS, _SMALLEST_PART, _STRIDES = 80, 1e-3, 20000


@helper
def factor_clusters(packed: Packed, work: Work) -> None:
    """Fill and factor `work.block`; fill `work.ranks`."""
    for c in range(packed.clusters.shape[0] - 1):
        (p0, a0, r0), (p1, a1, r1) = packed.clusters[c], packed.clusters[c + 1]
        n, width = p1 - p0, p1 - p0 + a1 - a0
        for r in range(r0, r1):
            row = packed.constraints[r]
            for k in range(width):
                j = packed.passive[p0 + k] if k < n else packed.actuated[packed.drivers[a0 + k - n]]
                work.block[r, k] = packed.row_scale[row] * work.K[row, j] * packed.column_scale[j]
        work.ranks[c] = factor(work.block, r0, r1 - r0, n, width, work.pivots, work.factors, p0)


@helper
def passive_answer(packed: Packed, work: Work, values: Array, out: Array) -> float:
    """The passive joints' part of K x = −values in the sense of least squares; out (tree n,), other places zero.

    Returns the norm of the part of the residual that the passive joints can remove, in the mechanism's own units.
    """
    out[:] = 0.0
    square, side = 0.0, np.empty(values.shape[0])
    for c in range(packed.clusters.shape[0] - 1):
        (p0, _, r0), r1, rank = packed.clusters[c], packed.clusters[c + 1, 2], work.ranks[c]
        for r in range(r0, r1):
            side[r] = packed.row_scale[packed.constraints[r]] * values[packed.constraints[r]]
        apply_transpose(work.block, r0, r1 - r0, rank, work.factors, p0, side)
        square += product(side[r0 : r0 + rank], side[r0 : r0 + rank])
        solve_upper(work.block, r0, rank, side, r0)
        for k in range(rank):
            j = packed.passive[p0 + work.pivots[p0 + k]]
            out[j] = -packed.column_scale[j] * side[r0 + k]
    return float(np.sqrt(square))


@helper
def merit(packed: Packed, work: Work) -> float:
    """Square of the residual's norm, lengths in the mechanism's own."""
    square = 0.0
    for r in range(work.residual.shape[0]):
        x = packed.row_scale[r] * work.residual[r]
        square += x * x
    return square


@helper
def largest_change(packed: Packed, change: Array) -> float:
    """The largest change of a joint, rad or lengths of the mechanism."""
    largest = 0.0
    for j in range(change.shape[0]):
        largest = max(largest, abs(change[j]) / packed.column_scale[j])
    return largest


@routine
def _close(packed: Packed, work: Work, q: Array, reach: float) -> int:
    """Move the passive joints of q, by no more than `reach`, until the loops close.

    When done, `work` holds the constraints and the factored blocks of the posture found.
    """
    # the first trial is the start itself; one call of `constraints_kernel` for both, since it is long to compile
    rest, step, trial = np.zeros(q.shape[0]), np.zeros(q.shape[0]), np.empty(q.shape[0])
    square, left, before = np.inf, np.inf, np.inf
    part, size, moved = 0.0, 0.0, 0.0
    for _ in range(_TRIALS):
        trial[:] = q
        add_scaled(trial, part, step)
        apart(constraints_kernel, (packed, work, trial, rest))
        new = merit(packed, work)
        # below, round-off and constraints that contradict each other hide the descent
        if not (new < (1.0 - 0.1 * part) * square or left < 1e-6) and part > _SMALLEST_PART:
            part *= 0.5
            continue
        moved += part * size
        if moved > reach or not np.isfinite(new):
            return NOT_CLOSED
        square = new
        q[:] = trial
        factor_clusters(packed, work)
        before = left
        left = passive_answer(packed, work, work.residual, step)
        if left <= packed.round_off or (left < 1e-10 and left > 0.3 * before):
            return DONE if square <= MISFIT * MISFIT else NOT_CLOSED
        size = largest_change(packed, step)
        part = min(1.0, 0.5 / size)
    return NOT_CLOSED


@helper
def put_actuated(packed: Packed, target: Array, q: Array) -> None:
    """Put the actuated joints of a posture q (tree n,) where `target` (n,) says."""
    for k in range(target.shape[0]):
        q[packed.actuated[k]] = target[k]


@helper
def _change_of_actuated(packed: Packed, target: Array, q: Array, way: Array) -> None:
    """Fill `way` (tree n,) with the way of the actuated joints from a posture q to `target`, 0 for the others."""
    way[:] = 0.0
    for k in range(target.shape[0]):
        way[packed.actuated[k]] = target[k] - q[packed.actuated[k]]


@routine
def tangent(packed: Packed, work: Work, target: Array, q: Array, way: Array) -> float:
    """Fill `way`: rates of all joints when the actuated ones start towards `target`; returns the largest."""
    closing, passive = np.empty(work.residual.shape[0]), np.empty(q.shape[0])
    _change_of_actuated(packed, target, q, way)
    matrix_times(work.K, way, closing)
    passive_answer(packed, work, closing, passive)
    add_scaled(way, 1.0, passive)
    return largest_change(packed, way)


@helper
def clusters_distance(packed: Packed, work: Work) -> float:
    """Lower bound of the smallest singular value of the factored blocks; 0 where their rank is not full."""
    smallest, scratch = np.inf, np.empty(packed.column_scale.shape[0])
    for c in range(packed.clusters.shape[0] - 1):
        (p0, _, r0), p1 = packed.clusters[c], packed.clusters[c + 1, 0]
        if work.ranks[c] < p1 - p0:
            return 0.0
        smallest = min(smallest, smallest_bound(work.block, r0, p1 - p0, scratch))
    return smallest


@kernel
def assemble_kernel(packed: Packed, work: Work, target: Array, q: Array) -> int:
    """All joints of the tree for actuated ones at `target` (n,), on the branch of the posture q (tree n,) given.

    At once where it is near; else in strides small enough to stay on the branch. q becomes the posture found, or the
    last one on the way that closes. Returns DONE or NOT_CLOSED.
    """
    saved, way = q.copy(), np.empty(q.shape[0])
    _change_of_actuated(packed, target, q, way)
    speed = largest_change(packed, way)
    if speed > STRIDE * _STRIDES:  # the way there would end before it
        return NOT_CLOSED
    first = speed <= NEAR
    part, reach = (1.0, 2.0 * CORRECTION) if first else (0.0, np.inf)
    for _ in range(_STRIDES):
        q[:] = saved
        add_scaled(q, part, way)
        if part == 1.0:
            put_actuated(packed, target, q)
        if _close(packed, work, q, reach) == DONE:
            # so near a singular posture Newton's method may have taken another branch to it; a parallelogram passes
            # the posture in which it lies flat along its tangent, as inertia would carry it
            if first and clusters_distance(packed, work) < BRANCHES_MEET:
                q[:] = saved
                part, reach, first = 0.0, np.inf, False
                continue
            if part == 1.0:
                return DONE
            speed = tangent(packed, work, target, q, way)
            saved[:] = q
            part, reach = min(1.0, STRIDE / max(speed, STRIDE)), CORRECTION
            continue
        q[:] = saved
        if part == 0.0 or (part * speed < 1e-6 and not first):
            return NOT_CLOSED
        # not in one step, then: close at the start, and step from there
        part, reach = (0.0, np.inf) if first else (0.25 * part, CORRECTION)
        first = False
    return NOT_CLOSED


@kernel
def motion_map_kernel(packed: Packed, work: Work, T: Array) -> tuple[int, float]:
    """Fill T, (tree n, n): how the tree's joints move with the actuated ones; `work` as `_close` leaves it.

    Returns the status and a lower bound of the smallest singular value of the passive blocks, short of it by a
    factor of √(passive joints of one cluster) at most.
    """
    T[:, :] = 0.0
    for k in range(packed.actuated.shape[0]):
        T[packed.actuated[k], k] = 1.0
    if packed.clusters[-1, 0] != packed.passive.shape[0]:
        return SINGULAR, 0.0
    status, smallest, rates = DONE, clusters_distance(packed, work), np.empty(T.shape[0])
    if smallest < SINGULAR_BELOW:
        return SINGULAR, smallest
    for c in range(packed.clusters.shape[0] - 1):
        (p0, a0, r0), (p1, a1, r1) = packed.clusters[c], packed.clusters[c + 1]
        n = p1 - p0
        for place in range(a0, a1):
            column, a = n + place - a0, packed.drivers[place]
            rates[:n] = work.block[r0 : r0 + n, column]
            for r in range(r0 + n, r1):
                if abs(work.block[r, column]) > DEPENDENT:
                    status = OVER_ACTUATED
            solve_upper(work.block, r0, n, rates, 0)
            unit = packed.column_scale[packed.actuated[a]]
            for k in range(n):
                j = packed.passive[p0 + work.pivots[p0 + k]]
                T[j, a] = -packed.column_scale[j] * rates[k] / unit
    return status, smallest


@kernel
def drift_kernel(
    packed: Packed, work: Work, T: Array, q: Array, qd: Array, velocity: Array, acceleration: Array
) -> None:
    """Fill the tree's velocities and its accelerations at q̈ = 0 of the actuated joints, (tree n,) each."""
    matrix_times(T, qd, velocity)
    apart(constraints_kernel, (packed, work, q, velocity))
    passive_answer(packed, work, work.drift, acceleration)
