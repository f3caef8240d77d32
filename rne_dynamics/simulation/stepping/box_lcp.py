"""The linear complementarity problem with a box: bounded forces and the motions that they allow.

Find r with lo ≤ r ≤ hi and w = A r + b such that for every row either w = 0, or r = lo and w ≥ 0, or r = hi and
w ≤ 0. With A = M⁻¹ this is Coulomb friction (hold within the box, or slide at its edge) and unilateral stops (an
infinite edge). A is symmetric positive definite, so the solution exists and is unique.

Source: J. J. Júdice and F. M. Pires, "A block principal pivoting algorithm for large-scale strictly monotone
linear complementarity problems", Computers & Operations Research 21 (1994).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, rare_kernel
from rne_dynamics.model.inertia import Array
from rne_dynamics.spatial.cholesky import cholesky_solve

#: Status of a row: w = 0, r at its lower edge, r at its upper edge.
HELD, AT_LOW, AT_HIGH = 0, 1, 2

# relative size below which a violation is round-off
_TOLERANCE = 1e-12
_PATIENCE = 8


@rare_kernel
def box_lcp(A: Array, b: Array, lo: Array, hi: Array, r: Array, w: Array, status: NDArray[np.int64]) -> bool:
    """Solve one problem into r, w, status, (n,); False where pivoting has no end by round-off: r by relaxation."""
    n = b.shape[0]
    for j in range(n):
        status[j] = HELD
    best, patience = n + 1, _PATIENCE
    for _ in range(60 * (n + 1)):
        _solve_held(A, b, lo, hi, r, w, status)
        wrong, last = 0, -1
        for j in range(n):
            if _better(lo, hi, r, w, b, status, j) != status[j]:
                wrong, last = wrong + 1, j
        if wrong == 0:
            return True
        if wrong < best:
            best, patience = wrong, _PATIENCE
        elif patience > 0:
            patience -= 1
        # many at once while that helps; otherwise one by one, which always ends (Murty 1974)
        for j in range(n):
            if j == last or patience > 0:
                status[j] = _better(lo, hi, r, w, b, status, j)
    _relax(A, b, lo, hi, r, w, status)
    return False


@helper
def _better(lo: Array, hi: Array, r: Array, w: Array, b: Array, status: NDArray[np.int64], j: int) -> int:
    """The status row j should have, given r and w."""
    if status[j] == HELD:
        slack = _TOLERANCE * abs(r[j])
        if r[j] < lo[j] - slack:
            return AT_LOW
        if r[j] > hi[j] + slack:
            return AT_HIGH
        return HELD
    slack = _TOLERANCE * abs(b[j])
    if (status[j] == AT_LOW and w[j] < -slack) or (status[j] == AT_HIGH and w[j] > slack):
        return HELD
    return int(status[j])


@helper
def _solve_held(A: Array, b: Array, lo: Array, hi: Array, r: Array, w: Array, status: NDArray[np.int64]) -> None:
    """r at its edges or such that w = 0, and then w, for a given status."""
    n = b.shape[0]
    held = 0
    for j in range(n):
        if status[j] == HELD:
            held += 1
        else:
            r[j] = lo[j] if status[j] == AT_LOW else hi[j]
    S, left, x = np.empty((held, held)), np.empty(held), np.empty(held)
    row = 0
    for j in range(n):
        if status[j] != HELD:
            continue
        column, t = 0, -b[j]
        for k in range(n):
            if status[k] == HELD:
                S[row, column] = A[j, k]
                column += 1
            else:
                t -= A[j, k] * r[k]
        left[row] = t
        row += 1
    cholesky_solve(S, left, x)
    row = 0
    for j in range(n):
        if status[j] == HELD:
            r[j] = x[row]
            row += 1
    _put_motion(A, b, r, w, status)


@helper
def _put_motion(A: Array, b: Array, r: Array, w: Array, status: NDArray[np.int64]) -> None:
    """w = A r + b, zero of held rows."""
    for j in range(b.shape[0]):
        w[j] = 0.0 if status[j] == HELD else b[j]
        for k in range(b.shape[0]):
            w[j] += 0.0 if status[j] == HELD else A[j, k] * r[k]


@rare_kernel
def _relax(A: Array, b: Array, lo: Array, hi: Array, r: Array, w: Array, status: NDArray[np.int64]) -> None:
    """Projected Gauss–Seidel, which always converges for a positive definite A."""
    n = b.shape[0]
    for _ in range(1000):
        for j in range(n):
            t = b[j]
            for k in range(n):
                t += A[j, k] * r[k]
            r[j] = min(max(r[j] - t / A[j, j], lo[j]), hi[j])
    for j in range(n):
        status[j] = AT_LOW if r[j] <= lo[j] else (AT_HIGH if r[j] >= hi[j] else HELD)
    _put_motion(A, b, r, w, status)
