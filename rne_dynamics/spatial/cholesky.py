"""Cholesky's method for positive definite systems, and modes of an inertia and a stiffness by Jacobi's method.

Without LAPACK. The factors are the last step of all engines that form a mass matrix.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, kernel, routine
from rne_dynamics.spatial.rows import add_scaled

Array = NDArray[np.float64]

#: A pivot below this part of its diagonal entry, or of the scale given for it, is round-off: no inertia.
SINGULAR = 1e-13


@helper
def _eliminated(M: Array, j: int, least: float) -> bool:
    """Put column j of L in place of M's, those before it being L's; False where its pivot is not above `least`."""
    pivot = M[j, j]
    for k in range(j):
        pivot -= M[j, k] * M[j, k]
    if not pivot > least:
        return False
    root = np.sqrt(pivot)
    M[j, j] = root
    for i in range(j + 1, M.shape[0]):
        t = M[i, j]
        for k in range(j):
            t -= M[i, k] * M[j, k]
        M[i, j] = t / root
    return True


@helper
def substitute(L: Array, b: Array, x: Array) -> None:
    """L Lᵀ x = b; x may be b."""
    x[:] = b
    forward(L, x)
    backward(L, x)


@helper
def forward(L: Array, x: Array) -> None:
    """x ← L⁻¹ x, (n,)."""
    for i in range(x.shape[0]):
        entry = x[i]
        for k in range(i):
            entry -= L[i, k] * x[k]
        x[i] = entry / L[i, i]


@helper
def backward(L: Array, x: Array) -> None:
    """x ← L⁻ᵀ x, (n,)."""
    for i in range(x.shape[0] - 1, -1, -1):
        entry = x[i]
        for k in range(i + 1, x.shape[0]):
            entry -= L[k, i] * x[k]
        x[i] = entry / L[i, i]


@kernel
def cholesky_solve(M: Array, b: Array, x: Array) -> int:
    """Solve M x = b in place of M's lower half; −1, or the coordinate at which M is not positive definite."""
    for j in range(b.shape[0]):
        if not _eliminated(M, j, SINGULAR * M[j, j]):
            return j
    substitute(M, b, x)
    return -1


@kernel
def scaled_cholesky_solve(M: Array, b: Array, scale: Array, x: Array) -> int:
    """As `cholesky_solve`; `scale` (n,) is the size of the terms summed in each diagonal entry, x may be `scale`."""
    for j in range(b.shape[0]):
        if not _eliminated(M, j, SINGULAR * max(M[j, j], scale[j])):
            return j
    substitute(M, b, x)
    return -1


@kernel
def inverse(M: Array, scale: Array, A: Array) -> int:
    """A = M⁻¹ of (n, n), M being overwritten; −1, or the coordinate at which M is not positive definite.

    M⁻¹ = X Xᵀ, where X is L⁻¹ of M = Lᵀ L, eliminated from the last coordinate to the first. Of an arm both have
    entries only where M has, between joints of one branch, and zeros cost nothing (Featherstone 2008, section 6.5).
    `scale` (n,) is as for `scaled_cholesky_solve`.
    """
    n, X = M.shape[0], np.zeros(M.shape)
    for i in range(n):
        X[i, i] = max(M[i, i], scale[i])
    for i in range(n - 1, -1, -1):
        if not M[i, i] > SINGULAR * X[i, i]:
            return i
        root = np.sqrt(M[i, i])
        for j in range(i):
            M[i, j] /= root
        M[i, i] = root
        for k in range(i):
            if M[i, k] != 0.0:
                add_scaled(M[k, : k + 1], -M[i, k], M[i, : k + 1])
    for i in range(n):
        X[i, :i] = 0.0
        X[i, i] = 1.0 / M[i, i]
        for k in range(i):
            entry = M[i, k] * X[i, i]
            if entry != 0.0:
                add_scaled(X[i, : k + 1], -entry, X[k, : k + 1])
    for i in range(n):
        M[: i + 1, i] = X[i, : i + 1]  # by columns
    for i in range(n):
        A[i, : i + 1] = 0.0
        for k in range(i + 1):
            if X[i, k] != 0.0:
                add_scaled(A[i, k : i + 1], X[i, k], M[k, k : i + 1])
        A[:i, i] = A[i, :i]
    return -1


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
    entry = A[p, r]
    ratio = (A[r, r] - A[p, p]) / (2.0 * entry)
    t = 1.0 / (abs(ratio) + math.sqrt(ratio * ratio + 1.0))
    t = t if ratio >= 0.0 else -t
    c = 1.0 / math.sqrt(t * t + 1.0)
    s = t * c
    A[p, p] -= t * entry
    A[r, r] += t * entry
    A[p, r] = 0.0
    _turn(A[:p, p], A[:p, r], c, s)  # the upper half: above p, between p and r, behind r
    _turn(A[p, p + 1 : r], A[p + 1 : r, r], c, s)
    _turn(A[p, r + 1 :], A[r, r + 1 :], c, s)
    _turn(V[p], V[r], c, s)


@helper
def _turn(x: Array, y: Array, c: float, s: float) -> None:
    """(x, y) ← (c x − s y, s x + c y)."""
    for k in range(x.shape[0]):
        x[k], y[k] = c * x[k] - s * y[k], s * x[k] + c * y[k]


@helper
def factor(M: Array, L: Array) -> bool:
    """L with M = L Lᵀ, zeros above its diagonal; whether M is positive definite."""
    L[:, :] = M
    for j in range(M.shape[0]):
        L[:j, j] = 0.0
        if not _eliminated(L, j, 0.0):
            return False
    return True


@helper
def reduced(L: Array, K: Array, A: Array) -> None:
    """A = L⁻¹ K L⁻ᵀ of a symmetric K; A may be K."""
    n = K.shape[0]
    A[:, :] = K
    for i in range(n):
        forward(L, A[i])  # rows: K L⁻ᵀ
    for j in range(n):
        forward(L, A[:, j])
