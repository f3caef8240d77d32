"""The mass matrix factored as LᵀL from the free ends to the base, for solving with many right sides.

L is zero wherever M is (R. Featherstone, Rigid Body Dynamics Algorithms, section 6.5). Robots with mimic joints couple
coordinates across branches; `elimination_tree` finds what then has to be filled. The diagonal of the array L has the
reciprocals 1/L_ii: each is used for every right side.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, PARENT, VELOCITY_INDEX
from rne_dynamics.spatial.cholesky import SINGULAR


@helper
def _couple(before: NDArray[np.int64], inner: int, outer: int) -> None:
    """Change the tree `before` so that coordinate `inner` < `outer` lies on the way from `outer` to the base."""
    while inner >= 0:
        while before[outer] > inner:
            outer = before[outer]
        if before[outer] == inner:
            return
        # between `outer` and what came next: which must then lie on the way from `inner`
        following = before[outer]
        before[outer] = inner
        outer, inner = inner, following


@helper
def elimination_tree(topology: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """The next coordinate towards the base for each of n, −1 where there is none.

    Coordinates that M couples lie on one way to the base, and so do those that elimination couples (the elimination
    tree of sparse Cholesky). It is the kinematic tree, unless mimic joints tie branches together.
    """
    before = np.empty(n, np.int64)
    before[:] = -1
    for i in range(topology.shape[0]):
        iv = topology[i, VELOCITY_INDEX]
        last = iv + (5 if topology[i, KIND] == FLOATING else 0)
        for k in range(iv, last):
            _couple(before, k, k + 1)
        j = topology[i, PARENT]
        while j >= 0:
            jv = topology[j, VELOCITY_INDEX]
            if jv < iv:
                _couple(before, jv + (5 if topology[j, KIND] == FLOATING else 0), iv)
            elif jv > iv:  # joint j mimics a later one
                _couple(before, last, jv)
            j = topology[j, PARENT]
    return before


@helper
def factor(M: Array, before: NDArray[np.int64], size: Array) -> int:
    """L of M = LᵀL in place of M's lower half; −1, or a coordinate whose pivot is none relative to `size` (n,)."""
    n = M.shape[0]
    for k in range(n - 1, -1, -1):
        if not M[k, k] > SINGULAR * size[k]:
            return k
        s = 1.0 / np.sqrt(M[k, k])
        M[k, k] = s
        i = before[k]
        while i >= 0:
            M[k, i] *= s
            i = before[i]
        i = before[k]
        while i >= 0:
            j = i
            while j >= 0:
                M[i, j] -= M[k, i] * M[k, j]
                j = before[j]
            i = before[i]
    return -1


@helper
def solve_rows(L: Array, before: NDArray[np.int64], X: Array) -> None:
    """X ← (LᵀL)⁻¹ X, all columns of X (n, columns) at once, row by row."""
    n, columns = X.shape
    for i in range(n - 1, -1, -1):
        s = L[i, i]
        for c in range(columns):
            X[i, c] *= s
        j = before[i]
        while j >= 0:
            s = L[i, j]
            for c in range(columns):
                X[j, c] -= s * X[i, c]
            j = before[j]
    for i in range(n):
        j = before[i]
        while j >= 0:
            s = L[i, j]
            for c in range(columns):
                X[i, c] -= s * X[j, c]
            j = before[j]
        s = L[i, i]
        for c in range(columns):
            X[i, c] *= s


@helper
def put_inverse(L: Array, before: NDArray[np.int64], X: Array) -> None:
    """X = (LᵀL)⁻¹, of shape (n, n): L X = L⁻ᵀ row by row, whose part below the diagonal is zero, and X is symmetric."""
    n = L.shape[0]
    for i in range(n):
        s = L[i, i]
        for c in range(i + 1):
            x = s if c == i else 0.0
            j = before[i]
            while j >= 0:
                x -= L[i, j] * X[j, c]
                j = before[j]
            X[i, c] = s * x
            X[c, i] = X[i, c]
