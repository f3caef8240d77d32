"""Memory of the kernels of `tree_coordinates`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.closed_chain.packed import Packed, Work
from rne_dynamics.model.inertia import Array


class TreeWork(NamedTuple):
    """Memory of these kernels; m constraints, n joints of the tree, the last n − rank pivots independent.

    Parameters
    ----------
    block, factors, pivots
        K, lengths in the mechanism's own, factored with column pivoting; shapes (m, n), (n,), (n,).
    T, MT, G
        Null space of K in its first n − rank columns, (M + `extra`) T, and Tᵀ (M + `extra`) T; shape (n, n).
    extra
        Added to the diagonal of M in the metric: implicit damping, or weights of joints that shall not move; (n,).
    scale
        `inertia_scale_kernel` at the state; (n,).
    factor, right, answer, step, probe
        Scratch of the solutions.
    q, v, rest
        The state that is being evaluated, and zeros; shape (n,).
    """

    block: Array
    factors: Array
    pivots: NDArray[np.int64]
    side: Array
    T: Array
    MT: Array
    G: Array
    factor: Array
    extra: Array
    right: Array
    answer: Array
    step: Array
    probe: Array
    q: Array
    v: Array
    rest: Array
    scale: Array


class Tree(NamedTuple):
    """A mechanism for `tree_accelerations`: from `pack`, `workspace`, `tree_workspace` and `generic_rank`."""

    packed: Packed
    work: Work
    memory: TreeWork
    rank: int


def tree_workspace(packed: Packed) -> TreeWork:
    """Memory for the kernels, for one thread."""
    m, n = packed.row_scale.shape[0], packed.column_scale.shape[0]
    square = [np.zeros((n, n)) for _ in range(4)]
    rows = [np.zeros(n) for _ in range(9)]
    return TreeWork(np.zeros((m, n)), np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(m), *square, *rows)
