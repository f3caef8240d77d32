from __future__ import annotations

import numpy as np
import pytest

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.spatial import householder


@kernel
def least_squares(A, top, m, n, b, pivots, factors, x):
    """Fill x of least |A x − b| where A has full column rank; the rank, and a bound of the smallest singular value."""
    rank = householder.factor(A, top, m, n, A.shape[1], pivots, factors, 0)
    householder.apply_transpose(A, top, m, rank, factors, 0, b)
    householder.solve_upper(A, top, rank, b, top)
    for k in range(rank):
        x[pivots[k]] = b[top + k]
    return rank, householder.smallest_bound(A, top, rank, np.zeros(n + 1))


@kernel
def least_norm(A, top, m, n, c, pivots, factors, y):
    """Fill y, zeros, of least norm with Aᵀ y = c."""
    rank = householder.factor(A, top, m, n, n, pivots, factors, 0)
    for k in range(rank):
        y[top + k] = c[pivots[k]]
    householder.solve_transposed(A, top, rank, y, top)
    householder.apply(A, top, m, rank, factors, 0, y)


@pytest.mark.parametrize(("m", "n", "top"), [(1, 1, 0), (5, 2, 0), (12, 12, 3), (10, 7, 2), (4, 0, 1)])
def test_least_squares_and_least_norm(m, n, top):
    rng = np.random.default_rng(m + n)
    A, b, c = rng.normal(size=(top + m + 1, n)), rng.normal(size=top + m + 1), rng.normal(size=n)
    block, before, outside = A[top : top + m].copy(), b.copy(), A[:top].copy()
    pivots, factors = np.zeros(n + 1, dtype=np.int64), np.zeros(n + 1)
    expected = np.linalg.lstsq(block, b[top : top + m], rcond=None)[0] if n else np.zeros(0)
    x, y = np.zeros(n), np.zeros(len(A))
    least_norm(A.copy(), top, m, n, c, pivots, factors, y)
    y = y[top : top + m]
    rank, bound = least_squares(A, top, m, n, b, pivots, factors, x)
    assert rank == n
    np.testing.assert_allclose(x, expected, atol=1e-12)
    np.testing.assert_allclose(y, np.linalg.pinv(block.T) @ c if n else np.zeros(m), atol=1e-12)
    np.testing.assert_array_equal(A[:top], outside)
    np.testing.assert_array_equal(b[:top], before[:top])
    if n:
        smallest = np.linalg.svd(block, compute_uv=False)[-1]
        assert smallest / np.sqrt(n) * (1 - 1e-9) <= bound <= smallest * (1 + 1e-9)


@kernel
def transposed(A, b, pivots, factors):
    """b ← Qᵀ b of the first five of seven columns; their rank."""
    rank = householder.factor(A, 0, 8, 5, 7, pivots, factors, 0)
    householder.apply_transpose(A, 0, 8, rank, factors, 0, b)
    return rank


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_rank_and_columns_behind(rank):
    rng = np.random.default_rng(rank)
    A = np.hstack([rng.normal(size=(8, rank)) @ rng.normal(size=(rank, 5)), rng.normal(size=(8, 2))])
    behind, pivots, factors = A[:, 5:].copy(), np.zeros(5, dtype=np.int64), np.zeros(5)
    x = behind[:, 0].copy()
    assert transposed(A, x, pivots, factors) == rank
    # the columns behind have become Qᵀ times themselves, as the right-hand side has
    np.testing.assert_allclose(np.linalg.norm(A[:, 5:], axis=0), np.linalg.norm(behind, axis=0), rtol=1e-13)
    assert np.isfinite(x).all()
