"""Closed loops for the stepping kernels: mass matrix and bias torque of a mechanism's actuated joints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.closed_chain.closing import DONE, SINGULAR, assemble_kernel, motion_map_kernel
from rne_dynamics.closed_chain.independence import refusal
from rne_dynamics.closed_chain.packed import Packed, Work, pack, workspace
from rne_dynamics.closed_chain.tree_coordinates import closed_terms_kernel
from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.errors import SimulationError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.spatial.rows import copy_into


class Loops(NamedTuple):
    """A mechanism's loops for one step; all arrays but those of `packed` and `viscous` are written to."""

    #: As the kernels of `closed_chain/` take them.
    packed: Packed
    work: Work
    #: Viscous friction of the tree's joints, zero where they are actuated; shape (n of the tree,).
    viscous: Array
    #: Whether any passive joint has viscous friction.
    damped: bool
    #: In: where to assemble from. Out: the posture last assembled; shape (nq of the tree,).
    posture: Array
    #: The tree's velocities by the actuated ones there; shape (n of the tree, n).
    T: Array
    #: D of the passive joints as the actuated ones feel it, Tᵀ D T; shape (n, n).
    damping: Array
    #: The actuated positions of the last evaluation; shape (n,).
    asked: Array
    #: Its outcome, DONE, NOT_CLOSED, … of `closed_chain.closing`, and whether `T` is filled; shape (2,).
    status: NDArray[np.int64]
    #: A lower bound of `MotionMap.smallest` where `assemble_ahead` found the posture; shape (1,).
    distance: Array

    @staticmethod
    def of(mechanism: Mechanism, viscous: Array, posture: Array | None) -> Loops:
        """For one step of a mechanism from `posture` on, from the mechanism's own one where it is None."""
        packed, n = pack(mechanism), mechanism.n
        return Loops(
            packed,
            workspace(packed),
            viscous,
            bool(viscous.any()),
            np.array(mechanism.posture if posture is None else posture, dtype=np.float64),
            np.empty((mechanism.robot.n, n)),
            np.empty((n, n)),
            np.empty(n),
            np.array([DONE, 0]),
            np.zeros(1),
        )


@helper
def _look_ahead(loops: Loops, q: Array) -> None:
    """Extrapolate `loops.posture` to q at the rates of the last evaluation, as a start for Newton's method.

    This keeps the loops on the branch on which the velocities are continuous. Where a parallelogram lies flat two
    branches cross, and the momentum of its bars takes it through on its own one.
    """
    actuated, posture, ahead = loops.packed.actuated, loops.posture, np.empty(q.shape[0])
    for k in range(q.shape[0]):
        ahead[k] = q[k] - posture[actuated[k]]
    for i in range(posture.shape[0]):
        for k in range(q.shape[0]):
            posture[i] += loops.T[i, k] * ahead[k]
    for k in range(q.shape[0]):
        posture[actuated[k]] = q[k]


@kernel
def assemble_ahead(loops: Loops, q: Array) -> bool:
    """Bring `loops.posture`, `T` and `distance` to the actuated positions q; False where loops do not close there."""
    copy_into(loops.asked, q)
    if loops.status[1] == 1:
        _look_ahead(loops, q)
    loops.status[0] = apart(assemble_kernel, (loops.packed, loops.work, q, loops.posture))
    if loops.status[0] != DONE:
        return False
    status, loops.distance[0] = apart(motion_map_kernel, (loops.packed, loops.work, loops.T))
    if status == SINGULAR:
        loops.status[0] = SINGULAR
    return bool(status != SINGULAR)


@helper
def closed_mass_and_bias(
    loops: Loops,
    base: Array,
    wrenches: Array,
    q: Array,
    qd: Array,
    implicit: float,
    M: Array,
    factor: Array,
    bias: Array,
) -> bool:
    """M (n, n) and bias torque (n,) at positions and velocities of the actuated joints; False: not determined.

    The passive joints' viscous friction D goes into the bias torque where `implicit` is 0; otherwise `implicit`·D is
    added to `factor`.
    """
    for j in range(q.shape[0]):
        if not np.isfinite(q[j]):  # nothing to assemble; the step's caller reports the joint
            return False
    copy_into(loops.asked, q)
    T = loops.T
    if loops.status[1] == 1:
        _look_ahead(loops, q)
    given = (loops.packed, loops.work, base, q, qd, wrenches, loops.posture, T, M, bias)
    status = apart(closed_terms_kernel, given)
    loops.status[0] = status
    if status != DONE:
        return False
    loops.status[1] = 1
    if not loops.damped:
        return True
    for j in range(qd.shape[0]):
        for k in range(qd.shape[0]):
            x = 0.0
            for i in range(T.shape[0]):
                x += T[i, j] * loops.viscous[i] * T[i, k]
            loops.damping[j, k] = x
            if implicit > 0.0:
                factor[j, k] += implicit * x
            else:
                bias[j] += x * qd[k]
    return True


def refuse_posture(mechanism: Mechanism, loops: Loops, t: float) -> None:
    """SimulationError where adaptive integration failed at time `t` because of the loops; names which and where."""
    status = int(loops.status[0])
    if status != DONE:
        error = refusal(mechanism, status, loops.asked, loops.posture)
        raise SimulationError(
            f"adaptive integration, which is in the actuated joints, ends at t = {t:.6g} s: {error}. `step` and "
            "`free_motion` with its own methods go through"
        ) from error
