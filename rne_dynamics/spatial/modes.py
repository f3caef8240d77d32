"""Modes of an inertia and a stiffness: Jacobi's method for small symmetric matrices, without LAPACK."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, routine
from rne_dynamics.spatial.cholesky import eliminate, forward, pivot_of

Array = NDArray[np.float64]

#: Most sweeps: four or five are usual.
SWEEPS = 12
#: Of the square of an entry: at this part of the largest diagonal entry's it counts as 0.
ROUND_OFF = 1e-26


@routine
def jacobi(A: Array, V: Array, exact: float) -> None:
    """Diagonalise a symmetric A (n, n) in place, V: eigenvectors as rows; squares below `exact` a_ii a_jj are 0."""
    n = A.shape[0]
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(A[i, i]))
        for j in range(n):
            V[i, j] = 1.0 if i == j else 0.0
    floor = ROUND_OFF * largest * largest
    for _ in range(SWEEPS):
        turned = 0
        for p in range(n - 1):
            for r in range(p + 1, n):
                entry = A[p, r]
                if entry * entry > exact * abs(A[p, p] * A[r, r]) + floor:
                    turned += 1
                    _rotate(A, V, p, r)
        if turned == 0:
            return


@helper
def _rotate(A: Array, V: Array, p: int, r: int) -> None:
    """Make the entry (p, r) zero by a turn of the two coordinates."""
    n = A.shape[0]
    entry = A[p, r]
    ratio = (A[r, r] - A[p, p]) / (2.0 * entry)
    t = 1.0 / (abs(ratio) + math.sqrt(ratio * ratio + 1.0))
    t = t if ratio >= 0.0 else -t
    c = 1.0 / math.sqrt(t * t + 1.0)
    s = t * c
    A[p, p] -= t * entry
    A[r, r] += t * entry
    A[p, r] = 0.0
    for k in range(p):
        x, y = A[k, p], A[k, r]
        A[k, p], A[k, r] = c * x - s * y, s * x + c * y
    for k in range(p + 1, r):
        x, y = A[p, k], A[k, r]
        A[p, k], A[k, r] = c * x - s * y, s * x + c * y
    for k in range(r + 1, n):
        x, y = A[p, k], A[r, k]
        A[p, k], A[r, k] = c * x - s * y, s * x + c * y
    for k in range(n):
        x, y = V[p, k], V[r, k]
        V[p, k], V[r, k] = c * x - s * y, s * x + c * y


@helper
def factor(M: Array, L: Array) -> bool:
    """L with M = L Lᵀ, zeros above its diagonal; whether M is positive definite."""
    n = M.shape[0]
    for j in range(n):
        for i in range(n):
            L[i, j] = M[i, j] if i >= j else 0.0
        pivot = pivot_of(L, j)
        if not pivot > 0.0:
            return False
        eliminate(L, j, pivot)
    return True


@helper
def reduced(L: Array, K: Array, A: Array) -> None:
    """A = L⁻¹ K L⁻ᵀ of a symmetric K; A may be K."""
    n = K.shape[0]
    for i in range(n):
        for j in range(n):
            A[i, j] = K[i, j]
        forward(L, A[i])  # rows: K L⁻ᵀ
    for j in range(n):
        for i in range(n):
            entry = A[i, j]
            for k in range(i):
                entry -= L[i, k] * A[k, j]
            A[i, j] = entry / L[i, i]
