"""Kernels' arrays: vectors and matrices in the rows of work arrays, one row a body, and operations on whole arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper
from rne_dynamics.spatial.vector import Matrix, Symmetric, Vector


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


Array = NDArray[np.float64]


@helper
def vector_at(a: Array, i: int, k: int) -> Vector:
    """Columns k … k+2 of row i."""
    return a[i, k], a[i, k + 1], a[i, k + 2]


@helper
def matrix_at(a: Array, i: int, k: int) -> Matrix:
    """Columns k … k+8 of row i."""
    return (
        a[i, k], a[i, k + 1], a[i, k + 2],
        a[i, k + 3], a[i, k + 4], a[i, k + 5],
        a[i, k + 6], a[i, k + 7], a[i, k + 8],
    )  # fmt: skip


@helper
def symmetric_at(a: Array, i: int, k: int) -> Symmetric:
    """Columns k … k+5 of row i."""
    return a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3], a[i, k + 4], a[i, k + 5]


@helper
def put(a: Array, i: int, k: int, v: Vector) -> None:
    """Store a vector in columns k … k+2 of row i."""
    a[i, k], a[i, k + 1], a[i, k + 2] = v


@helper
def put_matrix(a: Array, i: int, k: int, R: Matrix) -> None:
    """Store a matrix in columns k … k+8 of row i."""
    for j in range(9):
        a[i, k + j] = R[j]


@helper
def slice_vector(a: Array, k: int) -> Vector:
    """Elements k … k+2 of a one-dimensional array."""
    return a[k], a[k + 1], a[k + 2]
