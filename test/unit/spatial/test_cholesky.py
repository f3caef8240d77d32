from __future__ import annotations

import numpy as np
import pytest
from support.errors import relative_error

from rne_dynamics.spatial.cholesky import cholesky_solve, inverse


@pytest.mark.parametrize("n", [0, 1, 2, 7, 40])
def test_solves_positive_definite_systems(n):
    rng = np.random.default_rng(n)
    half = rng.normal(size=(n, n))
    M, b, x = half @ half.T + np.eye(n), rng.normal(size=n), np.empty(n)
    assert cholesky_solve(M.copy(), b, x) == -1
    assert relative_error(M @ x, b) < 1e-12


def test_units_of_the_coordinates_do_not_matter():
    rng = np.random.default_rng(0)
    half = rng.normal(size=(5, 5))
    M, b, size = half @ half.T + np.eye(5), rng.normal(size=5), 10.0 ** np.array([-9, 4, 0, 7, -5])
    x, scaled = np.empty(5), np.empty(5)
    assert cholesky_solve(M.copy(), b, x) == -1
    assert cholesky_solve(np.outer(size, size) * M, size * b, scaled) == -1
    assert relative_error(size * scaled, x) < 1e-12


@pytest.mark.parametrize("value", [0.0, -1.0, 1e-15, np.nan], ids=str)
def test_names_the_coordinate_without_inertia(value):
    M = np.array([[2.0, 1.0, 0.0], [1.0, 0.5 + value, 0.0], [0.0, 0.0, 1.0]])
    assert cholesky_solve(M, np.ones(3), np.empty(3)) == 1


@pytest.mark.parametrize("n", [1, 2, 7, 32])
def test_inverse_of_branches_and_of_full_matrices(n):
    rng = np.random.default_rng(n)
    full = rng.normal(size=(n, n))
    for factor in (full, np.triu(np.where(np.add.outer(np.arange(n), np.arange(n)) % 2 == 0, full, 0.0))):
        M, A = factor @ factor.T + 0.1 * np.eye(n), np.empty((n, n))
        assert inverse(M.copy(), np.zeros(n), A)
        np.testing.assert_allclose(A @ M, np.eye(n), atol=1e-10)
        assert np.array_equal(A, A.T)


def test_no_inverse_without_inertia():
    M = np.diag([1.0, 1e-14, 2.0])
    assert not inverse(M.copy(), np.array([0.0, 1.0, 0.0]), np.empty((3, 3)))
    assert inverse(M.copy(), np.zeros(3), np.empty((3, 3)))
