"""Operations on whole vectors in kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper


@helper
def copy_into(target: NDArray[np.float64], source: NDArray[np.float64]) -> None:
    """target ← source, of equal length."""
    for k in range(source.shape[0]):
        target[k] = source[k]


@helper
def add_scaled(target: NDArray[np.float64], s: float, source: NDArray[np.float64]) -> None:
    """target += s source, of equal length."""
    for k in range(source.shape[0]):
        target[k] += s * source[k]


@helper
def product(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Σ a_k b_k."""
    total = 0.0
    for k in range(a.shape[0]):
        total += a[k] * b[k]
    return total


@helper
def matrix_times(A: NDArray[np.float64], x: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """out = A x; x and out are two arrays."""
    for i in range(out.shape[0]):
        out[i] = product(A[i], x)


@helper
def transposed_times(A: NDArray[np.float64], x: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """out = Aᵀ x; x and out are two arrays."""
    out[:] = 0.0
    for i in range(x.shape[0]):
        add_scaled(out, x[i], A[i])
