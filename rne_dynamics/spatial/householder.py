"""Least squares by Householder reflections with column pivoting, which reveals the rank and allows redundant rows.

A P = Q R for m rows of a larger array, from row `top` on. R replaces the upper triangle; below it are the reflectors
without their first element, which is 1. Written as loops over the given array, so that kernels need no LAPACK
and no memory: for the ten by ten systems of loops that is several times faster than numpy.linalg.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper
from rne_dynamics.spatial.rows import product

Array = NDArray[np.float64]

#: A pivot below this part of the first is round-off.
RANK = 1e-10


@helper
def to_front(A: Array, top: int, m: int, n: int, j: int, pivots: NDArray[np.int64], place: int) -> float:
    """Move the column with the largest remainder below row j to place j; return that remainder's square."""
    best, largest = j, -1.0
    for k in range(j, n):
        square = product(A[top + j : top + m, k], A[top + j : top + m, k])
        if square > largest:
            best, largest = k, square
    if best != j:
        for i in range(top, top + m):
            A[i, j], A[i, best] = A[i, best], A[i, j]
        pivots[place + j], pivots[place + best] = pivots[place + best], pivots[place + j]
    return largest


@helper
def factor(
    A: Array, top: int, m: int, n: int, width: int, pivots: NDArray[np.int64], factors: Array, place: int
) -> int:
    """Factor m rows from row `top`, first n columns, in place; the rank. Further columns are multiplied by Qᵀ.

    `pivots`, `factors` are filled from `place` on: which column came to each place, (n,), and the reflectors' factors.
    """
    for j in range(n):
        pivots[place + j] = j
    first = 0.0
    for j in range(min(m, n)):
        norm = np.sqrt(to_front(A, top, m, n, j, pivots, place))
        if j == 0:
            first = norm
        if not norm > RANK * first:
            return j
        head = A[top + j, j]
        front = head + math.copysign(norm, head)
        for i in range(top + j + 1, top + m):
            A[i, j] /= front
        A[top + j, j] = -math.copysign(norm, head)
        tau = 1.0 + abs(head) / norm
        factors[place + j] = tau
        for k in range(j + 1, width):
            _reflect(A, top, m, j, tau, A[:, k])
    return min(m, n)


@helper
def _reflect(A: Array, top: int, m: int, j: int, tau: float, b: Array) -> None:
    s = b[top + j]
    for i in range(j + 1, m):
        s += A[top + i, j] * b[top + i]
    s *= tau
    b[top + j] -= s
    for i in range(j + 1, m):
        b[top + i] -= s * A[top + i, j]


@helper
def apply_transpose(A: Array, top: int, m: int, rank: int, factors: Array, place: int, b: Array) -> None:
    """b ← Qᵀ b in rows `top` … `top` + m − 1 of b."""
    for j in range(rank):
        _reflect(A, top, m, j, factors[place + j], b)


@helper
def apply(A: Array, top: int, m: int, rank: int, factors: Array, place: int, b: Array) -> None:
    """b ← Q b in rows `top` … `top` + m − 1 of b."""
    for j in range(rank - 1, -1, -1):
        _reflect(A, top, m, j, factors[place + j], b)


@helper
def solve_upper(A: Array, top: int, rank: int, b: Array, start: int) -> None:
    """R x = b in place of b[start : start + rank]."""
    for j in range(rank - 1, -1, -1):
        x = b[start + j]
        for k in range(j + 1, rank):
            x -= A[top + j, k] * b[start + k]
        b[start + j] = x / A[top + j, j]


@helper
def solve_transposed(A: Array, top: int, rank: int, b: Array, start: int) -> None:
    """Rᵀ x = b in place of b[start : start + rank]."""
    for j in range(rank):
        x = b[start + j]
        for k in range(j):
            x -= A[top + k, j] * b[start + k]
        b[start + j] = x / A[top + j, j]


@helper
def smallest_bound(A: Array, top: int, n: int, scratch: Array) -> float:
    """1 / ‖R⁻¹‖ (Frobenius): at most the smallest singular value of R, at least that over √n; scratch (n,)."""
    total = 0.0
    for c in range(n):
        # column c of R⁻¹ has entries 0 … c
        scratch[:c] = 0.0
        scratch[c] = 1.0
        solve_upper(A, top, c + 1, scratch, 0)
        for j in range(c, -1, -1):
            total += scratch[j] * scratch[j]
    return 1.0 / np.sqrt(total) if n > 0 else np.inf
