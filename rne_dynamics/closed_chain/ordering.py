"""Order of passive joints and constraints in which factoring them keeps zeros, for straight-line code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.closed_chain.constraints import constraints_kernel
from rne_dynamics.closed_chain.packed import Packed, workspace
from rne_dynamics.compiling.plain import PlainKernels
from rne_dynamics.model.inertia import Array

#: Part of the largest entry below which an entry is zero at every posture.
_ZERO = 1e-12


def sparse_order(packed: Packed, posture: Array) -> Packed:
    """The same mechanism with passive joints and constraints of every cluster in another order.

    A Householder reflection fills all rows of its column in all columns that share a row with it. So, as Markowitz has
    it for pivots, the next column is the one with the least product of rows and columns that are filled. Which entries
    of the constraints' Jacobian are zero is read at a generic `posture` (tree n,).
    """
    work = workspace(packed)
    PlainKernels({}, np.zeros)(constraints_kernel)(packed, work, posture, np.zeros(len(posture)))
    nonzero = np.abs(work.K) > _ZERO * np.abs(work.K).max(initial=0.0)
    passive, constraints = packed.passive.copy(), packed.constraints.copy()
    for (p0, a0, r0), (p1, a1, r1) in zip(packed.clusters[:-1], packed.clusters[1:], strict=True):
        columns, rows, drivers = slice(p0, p1), slice(r0, r1), packed.actuated[packed.drivers[a0:a1]]
        chosen = np.ix_(constraints[rows], np.concatenate([passive[columns], drivers]))
        heads, order = _order(nonzero[chosen], len(passive[columns]))
        constraints[rows], passive[columns] = constraints[rows][heads], passive[columns][order]
    return packed._replace(passive=passive, constraints=constraints)


def _order(filled: NDArray[np.bool_], n: int) -> tuple[list[int], list[int]]:
    """Orders of all rows and of the first n columns of a pattern, which is filled on the way."""
    rows, columns = list(range(len(filled))), list(range(n))
    heads: list[int] = []
    order: list[int] = []
    while columns and rows:
        meeting = filled[rows].astype(np.int64).T @ filled[rows]  # rows that two columns share
        work = {k: meeting[k, k] * np.count_nonzero(meeting[k]) for k in columns}
        column = min(columns, key=lambda k: work[k] or len(filled) * filled.shape[1])
        mine = [row for row in rows if filled[row, column]] or rows[:1]
        head = min(mine, key=lambda row: np.count_nonzero(filled[row, columns]))
        together = filled[mine].any(axis=0)
        filled[mine] |= together
        order.append(column)
        heads.append(head)
        columns.remove(column)
        rows.remove(head)
        filled[:, column] = False
    return heads + rows, order + columns
