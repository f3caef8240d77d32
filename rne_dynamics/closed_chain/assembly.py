"""From the actuated joints to all joints of the tree: posture, velocities and accelerations; loop closure at 1 kHz.

A mechanism has several postures for the same actuated joints (elbow up, elbow down). Assembly finds the one on the
branch of the posture from which it starts: a large change of the actuated joints is divided into small steps along the
branch, each closed by Newton's method with a line search.

`Follower` is the one mutable object of this package: it keeps the last posture of all joints, so that the loops stay on
their branch and close in one or two iterations, and its work memory, so that nothing is allocated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.closed_chain.closing import DONE, MISFIT, NOT_CLOSED, SINGULAR_BELOW
from rne_dynamics.closed_chain.coordinates import passive_singular_value, tree_velocity
from rne_dynamics.closed_chain.independence import (
    RANK,
    evaluated,
    generic_rank,
    nearest_posture,
    refusal,
    scaled_jacobian,
)
from rne_dynamics.closed_chain.packed import pack, workspace
from rne_dynamics.closed_chain.rows import ASSEMBLE, MOVE, Start, States, empty_rows, posture_rows, rows_kernel, run
from rne_dynamics.closed_chain.specialised import by_own_code
from rne_dynamics.closed_chain.tree_coordinates import DETERMINED, settle, tree_of
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.dynamics.declared.arguments import state_arrays
from rne_dynamics.errors import ArgumentError, AssemblyError, no_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism


@by_own_code("assemble")
def assemble(mechanism: Mechanism, q: ArrayLike, *, start: Start = None) -> Array:
    """Positions of all joints of the tree for given actuated ones, every loop closed to round-off.

    `q`: positions of the actuated joints, rad or m, shape (…, n). `start`: the posture whose branch is kept: positions
    of all joints of the tree, shape (…, tree n). By default every row starts from the mechanism's posture.
    ``"previous"``: every row starts from the one before, for the rows of a trajectory; about ten times faster. Returns
    positions in the order of `mechanism.robot.joint_names`, shape (…, tree n). Raises AssemblyError: no posture closes
    the loops on this branch; names the loop with the largest closure error, and the error. ArgumentError: wrong shapes,
    NaN or infinity.

    Notes
    -----
    Where redundant constraints contradict each other by less than 1e-5 of the mechanism's length (angles written with
    few digits), the loops are closed in the sense of least squares.
    """
    lead, (rows,) = state_arrays(mechanism, q=q)
    return run(mechanism, ASSEMBLE, rows, start=start, lead=lead).postures.reshape((*lead, mechanism.robot.nq))


def assembled(mechanism: Mechanism) -> Mechanism:
    """The same mechanism with the loops of its posture closed to round-off, its actuated joints where they are.

    Raises AssemblyError: the loops do not close near the posture.
    """
    start, _ = nearest_posture(mechanism, mechanism.posture)
    return mechanism.with_posture(assemble(mechanism, mechanism.neutral, start=start))

#: Part of a velocity by which it may miss what the loops allow.
_MISSED = 1e-6
#: How far before and behind a singular posture the loops are closed for a difference, rad or lengths of the mechanism.
_ASIDE = 1e-4


#: Weight of the actuated joints, in units of the tree's largest inertia, when a posture is brought onto the loops.
_MEASURED = 1e8
#: How far the loops may disagree with measured positions of actuated joints, rad or lengths of the mechanism.
DISAGREEMENT = 0.01


def nearest_state(mechanism: Mechanism, start: Array, q: Array, qd: Array) -> tuple[Array, Array]:
    """Positions and velocities of all joints of the tree, (tree n,), for a measured state of the actuated ones, (n,).

    From a posture near, by the least motion of the passive joints. Actuated joints that are more than the freedoms
    contradict each other by what the encoders are off: they move as little as can be. `AssemblyError` where the loops
    do not close within `DISAGREEMENT` of the positions.
    """
    packed, actuated = pack(mechanism), mechanism.actuated
    tree = tree_of(packed, generic_rank(mechanism).total)
    posture, velocity = np.array(start), np.zeros(len(start))
    posture[actuated], velocity[actuated] = q, qd
    tree.memory.extra[actuated] = _MEASURED * np.diagonal(mass_matrix(mechanism.robot, posture)).max()
    failed, _ = settle(tree, posture, velocity)
    residual = packed.row_scale * evaluated(packed, tree.work, posture).residual
    missed = np.abs(posture[actuated] - q) / packed.column_scale[actuated]
    if failed != DETERMINED:
        raise no_inertia(mechanism.robot.joint_names[failed], mechanism.name)
    if not (np.linalg.norm(residual) < MISFIT and missed.max(initial=0.0) < DISAGREEMENT):
        raise refusal(mechanism, NOT_CLOSED, q, np.array(start))
    return posture, velocity


def starting_velocity(mechanism: Mechanism, q_tree: Array, qd: Array) -> tuple[Array, bool]:
    """Velocities of all joints of the tree (tree n,) at a closed posture; also whether actuated joints are coordinates.

    Freedoms that these leave start with the least kinetic energy, as after a blow. In a singular posture it is the
    branch of the mechanism's own posture; at a dead point, which no branch passes, the least energy. `ArgumentError`.
    """
    packed = pack(mechanism)
    work = workspace(packed)
    coordinates = generic_rank(mechanism).coordinates
    if coordinates and passive_singular_value(mechanism, work, q_tree) > SINGULAR_BELOW:
        return tree_velocity(mechanism, q_tree, qd), True
    largest = float(np.abs(qd / packed.column_scale[mechanism.actuated]).max(initial=0.0))
    if largest == 0.0:
        return np.zeros_like(q_tree), False
    along = _along_branch(mechanism, q_tree, qd, _ASIDE / largest) if coordinates else None
    return least_velocity(mechanism, q_tree, qd) if along is None else along, False


def _along_branch(mechanism: Mechanism, q_tree: Array, qd: Array, h: float) -> Array | None:
    """Velocities by the postures h seconds before and behind; None at a dead point: loops close on one side only."""
    q = q_tree[mechanism.actuated]
    try:
        ahead, behind = (assemble(mechanism, q + way * qd, start=q_tree) for way in (h, -h))
    except AssemblyError:
        return None
    return np.asarray((ahead - behind) / (2.0 * h))


def least_velocity(mechanism: Mechanism, q_tree: Array, qd: Array) -> Array:
    """The velocities of all joints of the tree with the least kinetic energy of those that the loops allow.

    `ArgumentError` for velocities of the actuated joints that the loops do not allow.
    """
    packed = pack(mechanism)
    K = scaled_jacobian(packed, evaluated(packed, workspace(packed), q_tree))
    velocity, free, missed = nearest_motion(mechanism, K, np.zeros(len(K)), qd)
    if missed > 0.0:
        raise no_motion(mechanism, "qd", missed)
    M = mass_matrix(mechanism.robot, q_tree)
    return velocity + unforced(free, M, M @ velocity)


def nearest_motion(mechanism: Mechanism, K: Array, loops: Array, actuated: Array) -> tuple[Array, Array, float]:
    """Rates of all joints with given ones of the actuated joints, (n,), for which the scaled Jacobian gives `loops`.

    Also the motions that stay free, as columns, and by how much both are missed, 0 within round-off.
    """
    scales = pack(mechanism).column_scale
    rows = np.vstack([K, np.eye(len(scales))[mechanism.actuated]])
    right = np.concatenate([loops, actuated / scales[mechanism.actuated]])
    U, sizes, Vt = np.linalg.svd(rows)
    rank = int((sizes > RANK).sum())
    found = Vt[:rank].T @ ((U[:, :rank].T @ right) / sizes[:rank])
    missed = float(np.abs(rows @ found - right).max(initial=0.0))
    missed = missed if missed > _MISSED * np.abs(right).max(initial=0.0) else 0.0
    return scales * found, scales[:, None] * Vt[rank:].T, missed


def unforced(free: Array, M: Array, efforts: Array) -> Array:
    """Accelerations of the loose freedoms, (tree n,), with which their part of `efforts` is zero."""
    return np.asarray(-free @ np.linalg.lstsq(free.T @ M @ free, free.T @ efforts, rcond=None)[0])


def no_motion(mechanism: Mechanism, name: str, missed: float) -> ArgumentError:
    """Error for velocities or accelerations of the actuated joints that the loops do not allow."""
    freedoms = mechanism.robot.n - generic_rank(mechanism).total
    return ArgumentError(
        f"{name} is no motion of mechanism {mechanism.name!r}: its {mechanism.n} actuated joints "
        f"({', '.join(mechanism.joint_names)}) have {freedoms} freedoms, and the loops miss by {missed:.3g}; take "
        f"{name} of the joints that drive and compute the rest"
    )


class Follower:
    """Positions and velocities of a mechanism's tree from those of its actuated joints, from `posture` (tree n,) on."""

    def __init__(self, mechanism: Mechanism, posture: ArrayLike | None = None) -> None:
        self.mechanism = mechanism
        self._packed = pack(mechanism)
        self._work = workspace(self._packed)
        self._rows = empty_rows(mechanism, 1)
        self._start = posture_rows(mechanism, mechanism.posture if posture is None else posture)
        self._q, self._qd, qdd = (np.zeros((1, mechanism.n)) for _ in range(3))
        self._states = States(self._start, np.zeros((1, 12)), self._q, self._qd, qdd, np.empty((1, 0, 6)))
        self.velocity: Array = np.zeros(mechanism.robot.n)
        self.smallest = np.nan
        self._coordinates = generic_rank(mechanism).coordinates

    @property
    def posture(self) -> Array:
        """Positions of all joints of the tree after the last call that succeeded, (tree n,); not to be written to."""
        posture: Array = self._start[0]
        return posture

    def follow(self, q: Array, qd: Array) -> None:
        """Bring `posture`, `velocity` and `smallest` to a state of the actuated joints, shape (n,) each.

        `velocity` is that of all joints of the tree, (tree n,); `smallest` a lower bound of `MotionMap.smallest`.

        Raises AssemblyError, SingularPostureError: the loops do not close there, or the actuated joints do not hold the
        mechanism. The posture stays.
        """
        if not self._coordinates:
            self._start[0], self.velocity = nearest_state(self.mechanism, self._start[0], q, qd)
            self.smallest = passive_singular_value(self.mechanism, self._work, self._start[0])
            return
        self._q[0], self._qd[0] = q, qd
        rows = self._rows
        status, _ = rows_kernel(self._packed, self._work, MOVE, False, self._states, rows)
        if status != DONE:
            raise refusal(self.mechanism, status, self._q[0], rows.postures[0])
        self._start[0] = rows.postures[0]
        self.velocity, self.smallest = rows.velocity[0], float(rows.smallest[0])
