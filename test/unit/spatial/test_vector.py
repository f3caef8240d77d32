from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.spatial import vector


@cache
def from_python(helper: Callable[..., Any]) -> Callable[..., Any]:
    """A helper as a kernel, which Python can call."""
    return kernel(helper)


class Compiled:
    """The helpers of `vector`, callable."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return from_python(getattr(vector, name))


v = Compiled()


@pytest.fixture(params=range(4))
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    return np.random.default_rng(request.param)


def rotation(rng: np.random.Generator) -> np.ndarray:
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q * np.linalg.det(Q)


def flat(A: np.ndarray) -> tuple[float, ...]:
    return tuple(A.ravel().tolist())


def symmetric(A: np.ndarray) -> tuple[float, ...]:
    return tuple(A[np.triu_indices(3)].tolist())


def test_products_of_vectors_and_matrices(rng):
    a, b = rng.normal(size=(2, 3))
    A, B = rng.normal(size=(2, 3, 3))
    S = A + A.T
    assert np.allclose(v.cross(flat(a), flat(b)), np.cross(a, b), rtol=1e-15, atol=1e-15)
    assert np.isclose(v.dot(flat(a), flat(b)), a @ b, rtol=1e-14)
    assert np.allclose(v.rotate(flat(A), flat(a)), A @ a, rtol=1e-14)
    assert np.allclose(v.rotate_back(flat(A), flat(a)), A.T @ a, rtol=1e-14)
    assert np.allclose(v.compose(flat(A), flat(B)), (A @ B).ravel(), rtol=1e-14, atol=1e-15)
    assert v.transpose(flat(A)) == flat(A.T)
    assert np.allclose(v.times(symmetric(S), flat(a)), S @ a, rtol=1e-14, atol=1e-15)
    assert v.add(flat(a), flat(b)) == flat(a + b)
    assert v.subtract(flat(a), flat(b)) == flat(a - b)
    assert v.scale(2.5, flat(a)) == flat(2.5 * a)


def test_rotation_laws(rng):
    R, A = rotation(rng), rng.normal(size=(3, 3))
    S = A @ A.T
    assert np.allclose(v.rotate_symmetric(flat(R), symmetric(S)), symmetric(R @ S @ R.T), rtol=1e-13, atol=1e-14)
    c, s = v.cos_sin(0.7)
    Rz = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    assert np.allclose(v.about_z(flat(R), c, s), (R @ Rz).ravel(), rtol=1e-14, atol=1e-15)


def test_a_quaternion_is_normalised_and_turns_the_right_way(rng):
    half = 0.35
    z_turn = np.array(v.from_quaternion(0.0, 0.0, np.sin(half), np.cos(half))).reshape(3, 3)
    assert np.allclose(z_turn @ [1.0, 0.0, 0.0], [np.cos(2 * half), np.sin(2 * half), 0.0], rtol=1e-14)
    R = np.array(v.from_quaternion(*(3.7 * rng.normal(size=4)))).reshape(3, 3)
    assert np.allclose(R @ R.T, np.eye(3), atol=1e-14)
    assert np.linalg.det(R) == pytest.approx(1.0, rel=1e-14)
