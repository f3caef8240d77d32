"""Independent combinations of the constraints, on the passive joints and on the actuated ones.

Redundant constraints are no error (a planar linkage modelled in space has three a loop), so independent ones are not
picked but combined, by the singular value decomposition of every cluster's passive block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rne_dynamics.closed_chain.closing import DEPENDENT, SINGULAR_BELOW
from rne_dynamics.closed_chain.constraints import constraints_kernel
from rne_dynamics.closed_chain.packed import Packed, Work
from rne_dynamics.model.inertia import Array


def evaluated(packed: Packed, work: Work, q_tree: Array, velocity: Array | None = None) -> Work:
    """`work` with the constraints of one posture in it."""
    velocities = work.rest if velocity is None else velocity
    constraints_kernel(packed, work, np.array(q_tree), velocities)  # a read-only array would have it compiled anew
    return work


def scaled_jacobian(packed: Packed, work: Work) -> Array:
    """K of all constraints by all joints of the tree, lengths in the mechanism's own."""
    scaled: Array = packed.row_scale[:, None] * work.K * packed.column_scale
    return scaled


class Combinations(NamedTuple):
    """Combinations of the constraints, one a row, (…, constraints).

    Parameters
    ----------
    passive
        What determines how the passive joints move: one for each, less their idle freedoms.
    actuated
        What is left when the passive joints have done all they can, for each relation that the actuated joints must
        keep among themselves; none where they are independent.
    """

    passive: Array
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
