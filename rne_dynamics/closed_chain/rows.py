"""One kernel over rows of states for assembly, motion, terms and inverse dynamics of a mechanism; checks of arguments.

One kernel with a task instead of four kernels: each of them would contain all of assembly and take as long to compile.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.closed_chain.closing import (
    DONE,
    NOT_CLOSED,
    OVER_ACTUATED,
    SINGULAR,
    assemble_kernel,
    drift_kernel,
    motion_map_kernel,
)
from rne_dynamics.closed_chain.constraints import CUT_COLUMNS, cut_forces, cut_loads
from rne_dynamics.closed_chain.independence import INCONSISTENT, independent_joints, nearest_posture, refusal
from rne_dynamics.closed_chain.packed import Packed, Work, pack, workspace
from rne_dynamics.closed_chain.tree_coordinates import closed_terms_kernel, open_torque
from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import kernel
from rne_dynamics.dynamics.declared.arguments import vectors
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.spatial.rows import product

#: Where assembly starts: a posture of all joints of the tree, (…, tree n); ``"previous"``: every row from the row
#: before, the first from the mechanism's posture; `None`: every row from the mechanism's posture.
Start = ArrayLike | Literal["previous"] | None


def tree_vectors(mechanism: Mechanism, name: str, value: ArrayLike) -> Array:
    """Finite numbers of all joints of the tree, (…, tree n); `ArgumentError`."""
    width = mechanism.robot.nq
    return vectors(name, value, width, f"it must be (..., {width}), all joints of {mechanism.name!r}'s tree")


def posture_rows(mechanism: Mechanism, q_tree: ArrayLike) -> Array:
    """Positions of all joints of the tree, (…, tree n), as new rows."""
    return np.array(tree_vectors(mechanism, "q_tree", q_tree), order="C").reshape(-1, mechanism.robot.nq)


def start_rows(mechanism: Mechanism, start: Start, lead: tuple[int, ...]) -> tuple[Array, bool]:
    """Rows from which assembly starts, 1 or batch, and whether each row follows the one before."""
    if isinstance(start, str) and start != "previous":
        raise ArgumentError(f"start is {start!r}; it must be 'previous', None, or a posture of all joints")
    if start is None or isinstance(start, str):
        return mechanism.posture.reshape(1, -1), start is not None
    array = tree_vectors(mechanism, "start", start)
    try:
        return np.array(np.broadcast_to(array, (*lead, array.shape[-1])), order="C").reshape(-1, array.shape[-1]), False
    except ValueError:
        raise ArgumentError(f"start has shape {array.shape}; its rows do not broadcast to {lead}") from None


# tasks, and what they fill of `Rows`
ASSEMBLE = 0  # postures
MOVE = 1  # and T, smallest, velocity, and acceleration at q̈ = 0 of the actuated joints
TERMS = 2  # postures, T, M, bias
INVERSE = 3  # as MOVE, and acceleration, force, tau, cuts


class Rows(NamedTuple):
    """Results for B states of a mechanism."""

    #: Of all joints of the tree, (B, tree n).
    postures: Array
    velocity: Array
    acceleration: Array
    #: Motion maps (B, tree n, n) and the lower bounds of how far from singular they are (B,).
    T: Array
    smallest: Array
    #: (B, n, n), (B, n).
    M: Array
    bias: Array
    #: The constraints' forces, (B, constraints).
    force: Array
    #: Efforts of the tree's joints, (B, tree n): with the forces at the cuts; passive ones are round-off then.
    tau: Array
    #: (B, loops, CUT_COLUMNS), see constraints.py.
    cuts: Array


class States(NamedTuple):
    """B states of a mechanism, as `rows_kernel` takes them."""

    #: Postures from which assembly starts, (1 or B, tree n).
    starts: Array
    #: Base motions as `BaseMotion.packed` gives them, (1 or B, 12).
    base: Array
    #: Positions, velocities and accelerations of the actuated joints, (B, n).
    q: Array
    qd: Array
    qdd: Array
    #: External loads, (1 or B, bodies, 6); (1, 0, 6) for none.
    wrenches: Array


@kernel
def rows_kernel(packed: Packed, work: Work, task: int, follow: bool, states: States, rows: Rows) -> tuple[int, int]:
    """Do a task for every row of the states.

    Each row is assembled from `states.starts`, or where `follow`, from the row before. Returns the status, and the row
    where it is not DONE. MOVE goes on through OVER_ACTUATED.
    """
    starts, base, q, qd, qdd, wrenches = states
    for b in range(q.shape[0]):
        if follow and b > 0:
            rows.postures[b] = rows.postures[b - 1]
        else:
            rows.postures[b] = starts[b if starts.shape[0] > 1 else 0]
        at = base[b if base.shape[0] > 1 else 0]
        loads = wrenches[b if wrenches.shape[0] > 1 else 0]
        if task == TERMS:
            given = (packed, work, at, q[b], qd[b], loads, rows.postures[b], rows.T[b], rows.M[b], rows.bias[b])
            status = apart(closed_terms_kernel, given)
        else:
            status = apart(assemble_kernel, (packed, work, q[b], rows.postures[b]))
        if status != DONE:
            return status, b
        if task == ASSEMBLE or task == TERMS:
            continue
        status, rows.smallest[b] = apart(motion_map_kernel, (packed, work, rows.T[b]))
        if status == SINGULAR or (status == OVER_ACTUATED and task != MOVE):
            return status, b
        apart(drift_kernel, (packed, work, rows.T[b], rows.postures[b], qd[b], rows.velocity[b], rows.acceleration[b]))
        if task == INVERSE:
            apart(_inverse_kernel, (packed, work, at, qdd[b], loads, rows, b))  # a node's start needs none of it
    return DONE, 0


@kernel
def _inverse_kernel(
    packed: Packed, work: Work, base: Array, qdd: Array, loads: Array, rows: Rows, b: int
) -> None:
    """INVERSE of row `b`, which moves already."""
    posture, velocity, acceleration = rows.postures[b], rows.velocity[b], rows.acceleration[b]
    for i in range(acceleration.shape[0]):
        acceleration[i] += product(rows.T[b, i], qdd)
    open_torque(packed, base, posture, velocity, acceleration, loads, rows.tau[b])
    cut_forces(packed, work, rows.tau[b], rows.force[b])
    closed_efforts(
        packed, work, base, posture, velocity, acceleration, rows.force[b], loads, rows.cuts[b], rows.tau[b]
    )


@kernel
def closed_efforts(
    packed: Packed, work: Work, base: Array, q: Array, v: Array, a: Array, force: Array, loads: Array, cuts: Array,
    out: Array,
) -> None:  # fmt: skip
    """Efforts of the open tree with the constraints' forces (constraints,) at the cuts; q is evaluated in `work`."""
    cut = np.empty((packed.topology.shape[0], 6))
    cut_loads(packed, work, q, force, loads, cuts, cut)
    open_torque(packed, base, q, v, a, cut, out)


def empty_rows(mechanism: Mechanism, rows: int) -> Rows:
    """Memory for the results of `rows` states."""
    tree, n = mechanism.robot.n, mechanism.n
    postures, velocity, acceleration, tau = np.empty((4, rows, tree))
    return Rows(
        postures, velocity, acceleration, np.empty((rows, tree, n)), np.empty(rows), np.empty((rows, n, n)),
        np.empty((rows, n)), np.empty((rows, len(pack(mechanism).constraints))), tau,
        np.empty((rows, len(mechanism.loops), CUT_COLUMNS)),
    )  # fmt: skip


def run(
    mechanism: Mechanism,
    task: int,
    q: Array,
    qd: Array | None = None,
    qdd: Array | None = None,
    *,
    base: Array | None = None,
    wrenches: Array | None = None,
    start: Start = None,
    lead: tuple[int, ...] = (),
    postures: Array | None = None,
) -> Rows:
    """Do a task over checked rows; absent velocities and accelerations are zero, an absent base is at rest.

    `postures` of the tree, (B, tree n), close, q among them; else they are assembled from `start`. `AssemblyError`,
    `SingularPostureError`; `ModelError` for TERMS of more motors than freedoms.
    """
    robot, rows, n = mechanism.robot, len(q), mechanism.n
    packed = pack(mechanism)
    work = workspace(packed)
    starts, follow = start_rows(mechanism, start, lead) if postures is None else (postures, False)
    base = robot.base_at_rest.reshape(1, 12) if base is None else base
    # columns picked from an array lie otherwise in memory, and the kernel would be compiled anew for them
    q, qd, qdd = (np.zeros((rows, n)) if x is None else np.ascontiguousarray(x) for x in (q, qd, qdd))
    wrenches = np.empty((1, 0, 6)) if wrenches is None else wrenches
    found = empty_rows(mechanism, rows)
    states = States(starts, base, q, qd, qdd, wrenches)
    status, row = rows_kernel(packed, work, task, follow, states, found)
    if status == NOT_CLOSED and postures is None:
        others = dependent_postures(mechanism, q, start, lead)
        if others is not None:
            return run(mechanism, task, q, qd, qdd, base=base, wrenches=wrenches, postures=others)
    if status != DONE:
        raise refusal(mechanism, status, q[row], found.postures[row])
    return found


def dependent_postures(mechanism: Mechanism, q: Array, start: Start, lead: tuple[int, ...]) -> Array | None:
    """Postures of a mechanism with more actuated joints than freedoms, by those of them that are independent.

    On a straight line between two positions of dependent joints the loops do not close.
    `None` where the joints are independent, or q is not what the loops make of them.
    """
    kept = independent_joints(mechanism)
    if kept is None:
        return None
    if kept:
        driven = replace(mechanism, joint_names=tuple(mechanism.joint_names[k] for k in kept))
        postures = run(driven, ASSEMBLE, np.ascontiguousarray(q[:, kept]), start=start, lead=lead).postures
    else:  # a structure: there is one posture
        postures = np.repeat(nearest_posture(mechanism, mechanism.posture)[0][None], len(q), axis=0)
    packed = pack(mechanism)
    missed = np.abs(postures[:, mechanism.actuated] - q) / packed.column_scale[mechanism.actuated]
    if missed.max(initial=0.0) > INCONSISTENT:
        return None
    postures[:, mechanism.actuated] = q
    return postures
