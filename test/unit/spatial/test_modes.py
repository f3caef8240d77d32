"""Jacobi's method and triangular systems against LAPACK."""

from __future__ import annotations

import numpy as np
import pytest

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.spatial import cholesky


@kernel
def diagonalised(A, V, exact):
    cholesky.jacobi(A, V, exact)


@kernel
def solved(M, L, K, A, x, y):
    good = cholesky.factor(M, L)
    cholesky.reduced(L, K, A)
    cholesky.forward(L, x)
    cholesky.backward(L, y)
    return good


def matrix(n, seed, spread=1e4):
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    return Q * np.geomspace(1.0, spread, n) @ Q.T


@pytest.mark.parametrize("n", [1, 2, 6, 7, 12])
@pytest.mark.parametrize("seed", range(3))
def test_eigenvectors_are_those_of_lapack(n, seed):
    A, V = matrix(n, seed), np.empty((n, n))
    found = A.copy()
    diagonalised(found, V, 1e-18)
    np.testing.assert_allclose(np.sort(np.diag(found)), np.linalg.eigvalsh(A), rtol=1e-10)
    np.testing.assert_allclose(V @ V.T, np.eye(n), atol=1e-13)
    np.testing.assert_allclose(V @ A @ V.T, np.diag(np.diag(found)), atol=1e-9 * A.max())


def test_matrices_that_need_care():
    for A in (np.zeros((3, 3)), np.eye(4), np.diag([1.0, 0.0, 2.0]), np.ones((5, 5)), np.diag([1e-12, 1.0, 1e12])):
        found, V = A.copy(), np.empty_like(A)
        diagonalised(found, V, 1e-18)
        np.testing.assert_allclose(V.T @ np.diag(np.diag(found)) @ V, A, atol=1e-12 * max(np.abs(A).max(), 1.0))


def test_triangular_systems():
    M, K = matrix(6, 1), matrix(6, 2)
    x = np.arange(1.0, 7.0)
    L, A, forth, back = np.empty((6, 6)), np.empty((6, 6)), x.copy(), x.copy()
    assert solved(M, L, K, A, forth, back)
    wanted = np.linalg.cholesky(M)
    np.testing.assert_allclose(L, wanted, atol=1e-10)
    np.testing.assert_allclose(forth, np.linalg.solve(wanted, x))
    np.testing.assert_allclose(back, np.linalg.solve(wanted.T, x))
    np.testing.assert_allclose(A, np.linalg.solve(wanted, np.linalg.solve(wanted, K).T), rtol=1e-8, atol=1e-8)
    assert not solved(-M, L, K, A, forth, back)
