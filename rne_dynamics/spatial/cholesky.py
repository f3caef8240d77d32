"""Cholesky's method for positive definite systems, the last step of every engine that has a mass matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.spatial.jit import in_place_kernel

Array = NDArray[np.float64]

#: A pivot below this part of its diagonal entry is round-off: that motion carries no inertia.
SINGULAR = 1e-13


@in_place_kernel
def cholesky_solve(M: Array, b: Array, x: Array) -> int:
    """Solve M x = b in place of M's lower half; −1, or the coordinate at which M is not positive definite."""
    n = b.shape[0]
    for j in range(n):
        diagonal = M[j, j]
        s = diagonal
        for k in range(j):
            s -= M[j, k] * M[j, k]
        if not s > SINGULAR * diagonal:
            return j
        root = np.sqrt(s)
        M[j, j] = root
        for i in range(j + 1, n):
            t = M[i, j]
            for k in range(j):
                t -= M[i, k] * M[j, k]
            M[i, j] = t / root
    for i in range(n):
        t = b[i]
        for k in range(i):
            t -= M[i, k] * x[k]
        x[i] = t / M[i, i]
    for i in range(n - 1, -1, -1):
        t = x[i]
        for k in range(i + 1, n):
            t -= M[k, i] * x[k]
        x[i] = t / M[i, i]
    return -1
