"""A mechanism as plain arrays for the kernels, and a posture's constraints.

Loops that share a passive joint have to be closed together; other loops are independent. So the passive joints
fall into clusters, each with its own loops, and every system solved here is one cluster's. A ladder of fifty
parallelograms costs fifty times one parallelogram.

Lengths are measured in the mechanism's own: translations blocked are divided by it and prismatic joints count in it,
so that metres and radians may be in one matrix, and singular values mean the same for a small and a large arm.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import KIND, PARENT, PLACEMENT, PRISMATIC, VELOCITY_INDEX
from rne_dynamics.model.mechanism import BLOCKED, POSITION_A, POSITION_B, Mechanism


class Packed(NamedTuple):
    """A mechanism as the kernels take it, from `pack`; joints are meant by their place among the tree's coordinates."""

    #: Of the `Mechanism` and its tree.
    topology: NDArray[np.int64]
    parameters: Array
    loop_bodies: NDArray[np.int64]
    loop_frames: Array
    #: The mechanism's coordinates, shape (n,).
    actuated: NDArray[np.int64]
    #: The other joints in the clusters' order, then those no loop holds, shape (passive,).
    passive: NDArray[np.int64]
    #: For each cluster the places in `actuated` of those on its loops; joints on loops of several clusters repeat.
    drivers: NDArray[np.int64]
    #: The constraints in the clusters' order, shape (constraints,).
    constraints: NDArray[np.int64]
    #: Where each cluster's passive joints, drivers and constraints begin, and at the end where the last one ends; shape
    #: (clusters + 1, 3).
    clusters: NDArray[np.int64]
    #: 1 / length for blocked translations, shape (constraints,); length for prismatic joints, shape (tree n,); else 1.
    row_scale: Array
    column_scale: Array
    #: The mechanism's own length, m: the longest way between two joints of a loop.
    length: float
    #: What is left of a residual, in units of `length`, where only round-off is.
    round_off: float
    #: Passive and actuated joints of the largest cluster.
    width: int


class Work(NamedTuple):
    """Constraints of a posture and their factored blocks: what `assemble_kernel` leaves and others read."""

    #: r, m or rad, and r̈ at q̈ = 0; shape (constraints,).
    residual: Array
    drift: Array
    #: ṙ = K q̇; shape (constraints, tree n).
    K: Array
    #: The wrenches w_k at B's origin in world axes, force before moment, (constraints, 6); `constraints_kernel` fills
    #: these four.
    rows: Array
    #: The factored passive blocks, cluster under cluster, with the drivers' columns behind them, and their ranks.
    block: Array
    factors: Array
    pivots: NDArray[np.int64]
    ranks: NDArray[np.int64]


@lru_cache(maxsize=16)
def pack(mechanism: Mechanism) -> Packed:
    """The arrays of a mechanism; kept for the last few mechanisms."""
    robot = mechanism.robot
    joints_of = [_joints_on(mechanism, k) for k in range(len(mechanism.loops))]
    passive, drivers, constraints, bounds = _clusters(mechanism, joints_of)
    rest = [int(k) for k in mechanism.passive if k not in set(passive)]
    length, reach = _lengths(mechanism)
    translations = np.concatenate([np.flatnonzero(row) < 3 for row in mechanism.loop_frames[:, BLOCKED:]])
    column_scale = np.ones(robot.n)
    for i in range(robot.bodies - 1, -1, -1):  # the leader of a coordinate last
        if robot.body_names[i] in robot.joint_names:
            column_scale[robot.topology[i, VELOCITY_INDEX]] = length if robot.topology[i, KIND] == PRISMATIC else 1.0
    return Packed(
        robot.topology, robot.parameters, mechanism.loop_bodies.copy(), mechanism.loop_frames.copy(),
        mechanism.actuated.copy(), np.array(passive + rest, dtype=np.int64), np.array(drivers, dtype=np.int64),
        np.array(constraints, dtype=np.int64), np.array(bounds, dtype=np.int64),
        np.where(translations, 1.0 / length, 1.0), column_scale, length, 1e-15 * (1.0 + reach / length),
        int(np.diff(np.array(bounds)[:, :2], axis=0).sum(axis=1).max()),
    )


def workspace(packed: Packed) -> Work:
    """Memory for the constraints of one posture at a time, for one thread."""
    m, n = packed.row_scale.shape[0], packed.column_scale.shape[0]
    return Work(
        np.zeros(m), np.zeros(m), np.zeros((m, n)), np.zeros((m, 6)), np.zeros((m, packed.width)), np.zeros(n),
        np.zeros(n, dtype=np.int64), np.zeros(packed.clusters.shape[0] - 1, dtype=np.int64),
    )  # fmt: skip


def _bodies_on(mechanism: Mechanism, loop: int) -> list[int]:
    """Bodies whose joints move the loop's frames against each other: both ways down to where they meet."""
    a, b = (int(k) for k in mechanism.loop_bodies[loop])
    parents, found = mechanism.robot.topology[:, PARENT], []
    while a != b:  # a parent's number is below its child's
        found.append(max(a, b))
        a, b = (int(parents[a]), b) if a > b else (a, int(parents[b]))
    return found


def _joints_on(mechanism: Mechanism, loop: int) -> set[int]:
    return {int(mechanism.robot.topology[i, VELOCITY_INDEX]) for i in _bodies_on(mechanism, loop)}


def loop_clusters(mechanism: Mechanism) -> list[list[int]]:
    """Numbers of the loops that are closed together, in the loops' order."""
    passive = {int(k) for k in mechanism.passive}
    groups: list[tuple[set[int], list[int]]] = []
    for k in range(len(mechanism.loops)):
        joints, loops = _joints_on(mechanism, k) & passive, [k]
        for other in [group for group in groups if group[0] & joints]:
            groups.remove(other)
            joints, loops = joints | other[0], other[1] + loops
        groups.append((joints, loops))
    return sorted(sorted(loops) for _, loops in groups)


def _clusters(
    mechanism: Mechanism, joints_of: list[set[int]]
) -> tuple[list[int], list[int], list[int], list[tuple[int, int, int]]]:
    counts = mechanism.loop_frames[:, BLOCKED:].sum(axis=1).astype(int)
    first = np.concatenate([[0], np.cumsum(counts)])
    place = {int(joint): k for k, joint in enumerate(mechanism.actuated)}
    passive: list[int] = []
    drivers: list[int] = []
    constraints: list[int] = []
    bounds = [(0, 0, 0)]
    for loops in loop_clusters(mechanism):
        joints = sorted(set().union(*(joints_of[k] for k in loops)))
        passive += [k for k in joints if k not in place]
        drivers += [place[k] for k in joints if k in place]
        for k in loops:
            constraints += range(int(first[k]), int(first[k + 1]))
        bounds.append((len(passive), len(drivers), len(constraints)))
    return passive, drivers, constraints, bounds


def _lengths(mechanism: Mechanism) -> tuple[float, float]:
    """The longest way between two joints of a loop (1 where there is none), and the length of all ways together."""
    placement = np.linalg.norm(mechanism.robot.parameters[:, PLACEMENT : PLACEMENT + 3], axis=1)
    frames = mechanism.loop_frames
    ways = []
    for loop in range(len(mechanism.loops)):
        on = _bodies_on(mechanism, loop)
        ways += [float(placement[i]) for i in on if int(mechanism.robot.topology[i, PARENT]) in on]
        for body, start in zip(mechanism.loop_bodies[loop], (POSITION_A, POSITION_B), strict=True):
            if body in on:  # from the last joint to where the loop is cut
                ways.append(float(np.linalg.norm(frames[loop, start : start + 3])))
    longest = max(ways, default=0.0)
    return longest if longest > 0.0 else 1.0, float(placement.sum()) + sum(ways)
