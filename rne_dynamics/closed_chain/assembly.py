"""From the actuated joints to all joints of the tree: the posture in which every loop is closed.

A mechanism has several postures for the same actuated joints (elbow up, elbow down). The one found is that which the
mechanism would reach if it were moved, without being taken apart, from the posture it starts from: a large change of
the actuated joints is gone in small strides along the branch, each closed by Newton's method with a line search.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.closed_chain.closing import (
    DONE,
    OVER_ACTUATED,
    SINGULAR,
    assemble_batch,
    closest_kernel,
)
from rne_dynamics.closed_chain.packed import pack, workspace
from rne_dynamics.dynamics.arguments import as_floats
from rne_dynamics.errors import ArgumentError, AssemblyError, ModelError, SingularPostureError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import BLOCKED, Mechanism

#: Where assembly starts: a posture of all joints of the tree, (…, tree n); ``"previous"``: every row from the row
#: before, the first from the mechanism's posture; `None`: every row from the mechanism's posture.
Start = ArrayLike | Literal["previous"] | None


def actuated_arrays(mechanism: Mechanism, **arguments: ArrayLike) -> tuple[tuple[int, ...], list[Array]]:
    """Vectors of the actuated joints, (…, n), broadcast to one leading shape and flattened to rows.

    Raises
    ------
    ArgumentError
        Not numbers, wrong last dimension, leading dimensions that do not broadcast, NaN or infinity.
    """
    n = mechanism.n
    arrays = [_vectors(name, value, n, f"in the order of {mechanism.name!r}'s joint_names")
              for name, value in arguments.items()]  # fmt: skip
    try:
        lead = np.broadcast_shapes(*(a.shape[:-1] for a in arrays))
    except ValueError:
        shapes = ", ".join(f"{name} {a.shape}" for name, a in zip(arguments, arrays, strict=True))
        raise ArgumentError(f"leading dimensions do not broadcast: {shapes}") from None
    return lead, [_rows(a, lead) for a in arrays]


def _vectors(name: str, value: ArrayLike, width: int, order: str) -> Array:
    array = as_floats(name, value)
    if array.ndim == 0 or array.shape[-1] != width:
        raise ArgumentError(f"{name} has shape {array.shape}; it must be (..., {width}), {order}")
    if not np.isfinite(array).all():
        where = np.argwhere(~np.isfinite(array))[0].tolist()
        raise ArgumentError(f"{name}{where} is {array[tuple(where)]}; every number must be finite")
    return array


def _rows(array: Array, lead: tuple[int, ...]) -> Array:
    rows = np.broadcast_to(array, (*lead, array.shape[-1])).reshape(math.prod(lead), array.shape[-1])
    return np.array(rows, dtype=np.float64, order="C")


def posture_rows(mechanism: Mechanism, q_tree: ArrayLike, lead: tuple[int, ...] | None = None) -> Array:
    """Positions of all joints of the tree, (…, tree n), as rows; `lead` as they are to be broadcast to."""
    array = _vectors("q_tree", q_tree, mechanism.robot.nq, f"all joints of {mechanism.name!r}'s tree")
    return _rows(array, array.shape[:-1] if lead is None else lead)


def start_rows(mechanism: Mechanism, start: Start, lead: tuple[int, ...]) -> tuple[Array, bool]:
    """Rows from which assembly starts, 1 or batch, and whether each row follows the one before."""
    if isinstance(start, str):
        if start != "previous":
            raise ArgumentError(f"start is {start!r}; it must be 'previous', None, or a posture of all joints")
        return mechanism.posture.reshape(1, -1).copy(), True
    if start is None:
        return mechanism.posture.reshape(1, -1).copy(), False
    order = f"all joints of {mechanism.name!r}'s tree"
    array = _vectors("start", start, mechanism.robot.nq, order)
    if array.ndim == 1:
        return array.reshape(1, -1).copy(), False
    try:
        return _rows(array, lead), False
    except ValueError:
        raise ArgumentError(f"start has shape {array.shape}; its rows do not broadcast to {lead}") from None


def assemble_rows(mechanism: Mechanism, q: Array, start: Start, lead: tuple[int, ...]) -> Array:
    """`assemble` over checked rows: (B, n) to (B, tree n)."""
    starts, follow = start_rows(mechanism, start, lead)
    packed = pack(mechanism)
    out = np.empty((q.shape[0], mechanism.robot.nq))
    status, row = assemble_batch(packed, workspace(packed), q, starts, follow, out)
    if status != DONE:
        raise refusal(mechanism, status, q[row], out[row])
    return out


def assemble(mechanism: Mechanism, q: ArrayLike, *, start: Start = None) -> Array:
    """Positions of all joints of the tree for given actuated ones, every loop closed to round-off.

    Parameters
    ----------
    mechanism
        The mechanism.
    q
        Positions of the actuated joints, rad or m, shape (…, n).
    start
        The posture whose branch is kept: positions of all joints of the tree, shape (…, tree n). By default every row
        starts from the mechanism's posture. ``"previous"``: every row starts from the one before, as a trajectory's
        rows should (and are found ten times faster).

    Returns
    -------
    ndarray
        Positions in the order of `mechanism.robot.joint_names`, shape (…, tree n).

    Raises
    ------
    AssemblyError
        No posture closes the loops on this branch; names the loop that gapes most, and its gap.
    ArgumentError
        Wrong shapes, NaN or infinity.

    Notes
    -----
    Where redundant constraints contradict each other by less than 1e-5 of the mechanism's length (angles written with
    few digits), the loops are closed in the sense of least squares.
    """
    lead, (rows,) = actuated_arrays(mechanism, q=q)
    return assemble_rows(mechanism, rows, start, lead).reshape((*lead, mechanism.robot.nq))


def assembled(mechanism: Mechanism) -> Mechanism:
    """The same mechanism with the loops of its posture closed to round-off, its actuated joints where they are.

    Raises
    ------
    AssemblyError
        The loops do not close near the posture.
    """
    return mechanism.with_posture(assemble(mechanism, mechanism.posture[mechanism.actuated]))


def loop_gaps(mechanism: Mechanism, residual: Array) -> list[tuple[str, float, float]]:
    """Name, gap (m) and turn (rad) of every loop from the constraints' residuals."""
    gaps, k = [], 0
    for loop, row in zip(mechanism.loops, mechanism.loop_frames[:, BLOCKED:], strict=True):
        ways, turns = int(row[:3].sum()), int(row[3:].sum())
        gaps.append((loop.name, float(np.linalg.norm(residual[k : k + ways])),
                     float(np.linalg.norm(residual[k + ways : k + ways + turns]))))  # fmt: skip
        k += ways + turns
    return gaps


def refusal(mechanism: Mechanism, status: int, q: Array, q_tree: Array) -> ModelError:
    """The error for a status of the kernels at actuated positions q, the tree's last posture being q_tree."""
    place = ", ".join(f"{name} {value:.6g}" for name, value in zip(mechanism.joint_names, q, strict=True))
    if status == SINGULAR:
        return SingularPostureError(
            f"mechanism {mechanism.name!r} is in a singular posture at {place}: the actuated joints do not hold the "
            f"passive ones ({', '.join(mechanism.passive_names)}) there; keep away from it, or drive another joint "
            "(`mobility` tells whether an actuator is missing)"
        )
    if status == OVER_ACTUATED:
        return ModelError(
            f"mechanism {mechanism.name!r} has more actuated joints ({', '.join(mechanism.joint_names)}) than "
            "freedoms, so they are not independent coordinates; name as many as it has freedoms (`mobility` counts "
            "them)"
        )
    packed = pack(mechanism)
    work = workspace(packed)
    nearest = q_tree.copy()
    nearest[mechanism.actuated] = q
    closest_kernel(packed, work, nearest)
    name, gap, turn = max(loop_gaps(mechanism, work.residual), key=lambda x: math.hypot(x[1] / packed.length, x[2]))
    held = ", ".join(f"{joint} {q_tree[k]:.6g}" for joint, k in zip(mechanism.joint_names, mechanism.actuated,
                                                                 strict=True))  # fmt: skip
    reached = "its own posture" if np.array_equal(q_tree, mechanism.posture) else held
    return AssemblyError(
        f"loop {name!r} of mechanism {mechanism.name!r} cannot close at {place}: {1e3 * gap:.4g} mm and "
        f"{math.degrees(turn):.4g} deg remain; on the way from the start it was followed to {reached}. Ask for "
        "positions within reach, or start from a posture on another branch"
    )
