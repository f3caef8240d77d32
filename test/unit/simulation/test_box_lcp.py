from __future__ import annotations

import itertools

import numpy as np
import pytest

from rne_dynamics.simulation.stepping.contact import _relax, box_lcp


def solve(A, b, lo, hi, solver=box_lcp):
    n = len(b)
    r, w, status = np.zeros(n), np.empty(n), np.empty(n, dtype=np.int64)
    ended = solver(A, b, lo, hi, r, w, status)
    return r, w, ended


def problem(n, seed, one_sided):
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(n, n))
    A = B @ B.T + 10.0 ** rng.uniform(-6, 0) * np.eye(n)
    b = rng.normal(size=n) * 10.0 ** rng.uniform(-3, 3)
    lo, hi = -rng.uniform(0.0, 2.0, n), rng.uniform(0.0, 2.0, n)
    if one_sided:
        side = rng.integers(0, 3, n)
        lo, hi = np.where(side == 0, -np.inf, lo), np.where(side == 1, np.inf, hi)
        lo, hi = np.where(side == 1, 0.0, lo), np.where(side == 0, 0.0, hi)
    return A, b, lo, hi


def violation(A, b, lo, hi, r):
    """How far r is from complementarity, relative to the sizes of the problem."""
    w = A @ r + b
    size = np.abs(A) @ np.abs(r) + np.abs(b)
    assert (r >= lo - 1e-9 * (1 + np.abs(r))).all()
    assert (r <= hi + 1e-9 * (1 + np.abs(r))).all()
    at_low, at_high = np.isclose(r, lo, rtol=1e-9, atol=0), np.isclose(r, hi, rtol=1e-9, atol=0)
    off = np.where(at_low & at_high, 0.0, np.where(at_low, np.maximum(-w, 0), np.where(at_high, np.maximum(w, 0), w)))
    return (np.abs(off) / size).max()


@pytest.mark.parametrize("one_sided", [False, True])
@pytest.mark.parametrize("n", [1, 3, 12, 30])
def test_complementarity_holds_and_the_pivoting_always_ends(n, one_sided):
    for seed in range(40):
        data = problem(n, seed, one_sided)
        r, w, ended = solve(*data)
        assert ended
        assert violation(*data, r) < 1e-9
        np.testing.assert_allclose(w, data[0] @ r + data[1], atol=1e-7 * (1.0 + np.abs(data[1]).max()))


def test_the_solution_is_the_only_one_that_enumeration_finds():
    for seed in range(50):
        A, b, lo, hi = problem(3, seed, False)
        found = []
        for combination in itertools.product((0, 1, 2), repeat=3):
            states = np.array(combination)
            r = np.where(states == 1, lo, np.where(states == 2, hi, 0.0))
            held = states == 0
            if held.any():
                r[held] = np.linalg.solve(A[np.ix_(held, held)], -(b + A @ r)[held])
            w = A @ r + b
            if (
                ((r >= lo) & (r <= hi))[held].all()
                and (w[states == 1] >= 0.0).all()
                and (w[states == 2] <= 0.0).all()
            ):
                found.append(r)
        assert len(found) == 1
        np.testing.assert_allclose(solve(A, b, lo, hi)[0], found[0], rtol=1e-8, atol=1e-12)


def test_relaxation_comes_to_the_same_answer():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        B = rng.normal(size=(5, 5))
        data = B @ B.T + np.eye(5), rng.normal(size=5), -rng.uniform(0, 1, 5), rng.uniform(0, 1, 5)
        np.testing.assert_allclose(solve(*data, solver=_relax)[0], solve(*data)[0], atol=1e-10)


def test_a_box_without_width_and_a_problem_without_rows():
    r, w, ended = solve(np.eye(2), np.array([1.0, -1.0]), np.zeros(2), np.zeros(2))
    np.testing.assert_array_equal(r, 0.0)
    np.testing.assert_array_equal(w, [1.0, -1.0])
    assert ended
    assert solve(np.empty((0, 0)), np.empty(0), np.empty(0), np.empty(0))[2]
