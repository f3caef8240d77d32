"""More actuated joints than freedoms: which of them are independent."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from rne_dynamics.closed_chain.independence import combinations, evaluated
from rne_dynamics.closed_chain.packed import pack, workspace
from rne_dynamics.model.mechanism import Mechanism

#: How far given positions, in rad or lengths of the mechanism, may miss what the loops make of the independent ones.
INCONSISTENT = 1e-6
#: How much less well the others may be determined by joints that are preferred.
_PREFERRED = 0.03


@lru_cache(maxsize=16)
def independent_joints(mechanism: Mechanism, preferred: tuple[int, ...] = ()) -> tuple[int, ...] | None:
    """Places of actuated joints that determine the others, as well as they can at the posture; `None` where all do.

    Those at the places `preferred` are among them unless they depend on each other.
    """
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
