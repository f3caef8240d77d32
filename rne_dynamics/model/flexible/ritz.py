"""Integration along a beam, and the natural modes of Ritz's method from square roots of the energies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rne_dynamics.model.inertia import Array


class Rule(NamedTuple):
    """Points and weights with ∫ f dx ≈ Σ wᵢ f(xᵢ); shapes (points,)."""

    x: Array
    w: Array


def gauss(breaks: Array, order: int) -> Rule:
    """Gauss and Legendre's rule with `order` points in every interval between breaks, m, repeated ones counting once.

    Exact for what is a polynomial of degree 2 · order − 1 between breaks.
    """
    t, w = np.polynomial.legendre.leggauss(order)
    ends = np.unique(breaks)
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
    """Natural modes where the energies are ½ |strain · δ|² and ½ |motion · δ̇|².

    Stiffness and inertia matrix are Bᵀ B and Aᵀ A of the two roots. With triangles B = Q R and A = Q' S the quotient
    S R⁻¹ is decomposed instead of the matrices, whose condition is its square: that keeps the low modes of a fine mesh.

    `strain`, `motion`: B and A; shapes (rows, m), both of full rank.
    """
    from scipy.linalg import solve_triangular, svd

    if not strain.shape[1]:
        return NaturalModes(np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0)))
    R: Array = np.asarray(np.linalg.qr(strain, mode="r"))
    S: Array = np.asarray(np.linalg.qr(motion, mode="r"))
    P, slowness, Wt = svd(solve_triangular(R, S.T, trans="T").T)
    return NaturalModes(1.0 / slowness, solve_triangular(R, Wt.T / slowness), S.T @ P)
