"""Integration along a beam, and the natural modes of Ritz's method from square roots of the energies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from rne_dynamics.model.inertia import Array


class Rule(NamedTuple):
    """Points and weights with ∫ f dx ≈ Σ wᵢ f(xᵢ); shapes (points,)."""

    x: Array
    w: Array


def ascending(arrays: Iterable[Array]) -> Array:
    """All numbers of the arrays, each once; `np.unique` would import masked arrays, 10 ms of a node's start."""
    return np.array(sorted({number for array in arrays for number in array.tolist()}))


def gauss(breaks: Array, order: int) -> Rule:
    """Gauss and Legendre's rule with `order` points in every interval between breaks, m, repeated ones counting once.

    Exact for what is a polynomial of degree 2 · order − 1 between breaks.
    """
    t, w = np.polynomial.legendre.leggauss(order)
    ends = ascending([breaks])
    half = 0.5 * np.diff(ends)[:, None]
    middle = 0.5 * (ends[1:] + ends[:-1])[:, None]
    return Rule((middle + half * t).ravel(), (half * w).ravel())


class NaturalModes(NamedTuple):
    """Natural modes of an undamped system with m coordinates."""

    #: rad/s, ascending; shape (m,).
    omega: Array
    #: Columns Φ with Φᵀ M Φ = 1; shape (m, m).
    modes: Array
    #: M Φ; shape (m, m).
    momenta: Array


def natural_modes(strain: Array, motion: Array) -> NaturalModes:
    """Natural modes where the energies are ½ |strain · δ|² and ½ |motion · δ̇|²; (rows, m) each, of full rank.

    Stiffness and inertia matrix are Bᵀ B and Aᵀ A of the two roots. With triangles B = Q R and A = Q' S the quotient S
    R⁻¹ is decomposed instead of the matrices, whose condition is its square: that keeps the low modes of a fine mesh.
    """
    if not strain.shape[1]:
        return NaturalModes(np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0)))
    R: Array = np.asarray(np.linalg.qr(strain, mode="r"))
    S: Array = np.asarray(np.linalg.qr(motion, mode="r"))
    P, slowness, Wt = np.linalg.svd(_quotient(S, R))
    return NaturalModes(1.0 / slowness, _quotient((Wt.T / slowness).T[:, ::-1], R.T[::-1, ::-1])[:, ::-1].T, S.T @ P)


def _quotient(S: Array, R: Array) -> Array:
    """S R⁻¹ for an upper triangle R, column by column, in the digits of both."""
    X = np.empty_like(S)
    for k in range(len(R)):
        X[:, k] = (S[:, k] - X[:, :k] @ R[:k, k]) / R[k, k]
    return X
