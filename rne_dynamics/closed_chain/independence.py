"""Independent combinations of the constraints, on the passive joints and on the actuated ones; the nearest posture.

Redundant constraints are no error (a planar linkage modelled in space has three a loop), so independent ones are not
picked but combined, by the singular value decomposition of every cluster's passive block. Of more actuated joints than
freedoms, `independent_joints` says which determine the others.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from rne_dynamics.closed_chain.closing import DEPENDENT, SINGULAR_BELOW
from rne_dynamics.closed_chain.constraints import constraints_kernel
from rne_dynamics.closed_chain.packed import Packed, Work, pack, workspace
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism

#: How far given positions, in rad or lengths of the mechanism, may miss what the loops make of the independent ones.
INCONSISTENT = 1e-6
#: How much less well the others may be determined by joints that are preferred.
_PREFERRED = 0.03


def evaluated(packed: Packed, work: Work, q_tree: Array, velocity: Array | None = None) -> Work:
    """`work` with the constraints of one posture in it."""
    # a read-only array would have it compiled anew
    constraints_kernel(packed, work, np.array(q_tree), np.zeros(len(q_tree)) if velocity is None else velocity)
    return work


def scaled_jacobian(packed: Packed, work: Work) -> Array:
    """K of all constraints by all joints of the tree, lengths in the mechanism's own."""
    return np.asarray(packed.row_scale[:, None] * work.K * packed.column_scale)


def nearest_posture(mechanism: Mechanism, q_tree: Array) -> tuple[Array, Array]:
    """A posture (tree n,) with its passive joints where the loops are nearest to closed, and the residuals, m and rad.

    By Levenberg and Marquardt's method, which is slower than Newton's and keeps no branch, but does not mind a rough
    start, nor stretched loops whose joints have lost their hold.
    """
    packed = pack(mechanism)
    work = workspace(packed)
    here, passive = q_tree.copy(), mechanism.passive
    damping = 1e-2
    residual: Array = evaluated(packed, work, here).residual.copy()
    for _ in range(200):
        scaled, K = packed.row_scale * residual, scaled_jacobian(packed, work)[:, passive]
        step = np.linalg.solve(K.T @ K + damping * np.eye(len(passive)), K.T @ scaled)
        trial = here.copy()
        trial[passive] -= step * packed.column_scale[passive]
        new = evaluated(packed, work, trial).residual.copy()
        better = bool(np.linalg.norm(packed.row_scale * new) < np.linalg.norm(scaled))
        damping *= 0.3 if better else 10.0
        if better:
            here, residual = trial, new
        else:
            evaluated(packed, work, here)
        if np.abs(step).max(initial=0.0) < 1e-10:
            break
    return here, residual


class Combinations(NamedTuple):
    """Combinations of the constraints, one a row, (…, constraints)."""

    #: What determines how the passive joints move: one for each, less their idle freedoms.
    passive: Array
    #: What is left when the passive joints have done all they can, for each relation that the actuated joints must keep
    #: among themselves; none where they are independent.
    actuated: Array


def combinations(packed: Packed, work: Work) -> Combinations:
    """The constraints that count at the posture evaluated in `work`."""
    scaled = scaled_jacobian(packed, work)
    m = len(packed.constraints)
    passive, actuated = [np.empty((0, m))], [np.empty((0, m))]
    for (p0, a0, r0), (p1, a1, r1) in zip(packed.clusters[:-1], packed.clusters[1:], strict=True):
        rows = packed.constraints[r0:r1]
        U, held, _ = np.linalg.svd(scaled[np.ix_(rows, packed.passive[p0:p1])])
        rank = int((held > SINGULAR_BELOW).sum())
        left = U[:, rank:]
        W, sizes, _ = np.linalg.svd(left.T @ scaled[np.ix_(rows, packed.actuated[packed.drivers[a0:a1]])])
        for parts, chosen in ((passive, U[:, :rank]), (actuated, left @ W[:, : int((sizes > DEPENDENT).sum())])):
            part = np.zeros((chosen.shape[1], m))
            part[:, rows] = chosen.T * packed.row_scale[rows]
            parts.append(part)
    return Combinations(np.vstack(passive), np.vstack(actuated))


@lru_cache(maxsize=16)
def independent_joints(mechanism: Mechanism, preferred: tuple[int, ...] = ()) -> tuple[int, ...] | None:
    """Places of actuated joints that determine the others, `preferred` among them if they can; `None` where all do."""
    packed = pack(mechanism)
    work = evaluated(packed, workspace(packed), mechanism.posture)
    relations = combinations(packed, work).actuated @ work.K[:, mechanism.actuated]
    if not len(relations):
        return None
    # the joints that the relations determine best are left to them: Gaussian elimination with full pivoting
    rest, left = relations.copy(), list(range(mechanism.n))
    weights = np.where(np.isin(left, preferred), _PREFERRED, 1.0)
    for _ in range(len(relations)):
        row, column = np.unravel_index((weights * np.abs(rest)).argmax(), rest.shape)
        left.remove(int(column))
        pivot = rest[row] / rest[row, column]
        rest = np.delete(rest, row, axis=0)
        rest = rest - np.outer(rest[:, column], pivot)
    return tuple(left)
