"""Vectors and matrices in the rows of kernels' work arrays, which have one row a body."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper
from rne_dynamics.spatial.vector import Matrix, Symmetric, Vector

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
    a[i, k] = v[0]
    a[i, k + 1] = v[1]
    a[i, k + 2] = v[2]


@helper
def put_matrix(a: Array, i: int, k: int, R: Matrix) -> None:
    """Store a matrix in columns k … k+8 of row i."""
    a[i, k] = R[0]
    a[i, k + 1] = R[1]
    a[i, k + 2] = R[2]
    a[i, k + 3] = R[3]
    a[i, k + 4] = R[4]
    a[i, k + 5] = R[5]
    a[i, k + 6] = R[6]
    a[i, k + 7] = R[7]
    a[i, k + 8] = R[8]


@helper
def slice_vector(a: Array, k: int) -> Vector:
    """Elements k … k+2 of a one-dimensional array."""
    return a[k], a[k + 1], a[k + 2]
