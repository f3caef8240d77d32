"""Beams in space assembled from textbook elements of twelve unknowns (Przemieniecki), with no code of the package."""

from __future__ import annotations

import numpy as np


def element(length: float, mu: float, EA: float, EI: tuple[float, float], GJ: float, polar: float):
    """Stiffness and consistent mass matrix of a straight element along x; `EI` for deflections along y and along z."""
    K, M = np.zeros((12, 12)), np.zeros((12, 12))
    bar_k, bar_m = np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([[2.0, 1.0], [1.0, 2.0]]) / 6.0
    for at, k, m in (((0, 6), EA / length, mu * length), ((3, 9), GJ / length, polar * length)):
        K[np.ix_(at, at)] += k * bar_k
        M[np.ix_(at, at)] += m * bar_m
    h = length
    bend_k = np.array([
        [12, 6 * h, -12, 6 * h], [6 * h, 4 * h**2, -6 * h, 2 * h**2],
        [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h**2, -6 * h, 4 * h**2],
    ]) / h**3  # fmt: skip
    bend_m = mu * h / 420.0 * np.array([
        [156, 22 * h, 54, -13 * h], [22 * h, 4 * h**2, 13 * h, -3 * h**2],
        [54, 13 * h, 156, -22 * h], [-13 * h, -3 * h**2, -22 * h, 4 * h**2],
    ])  # fmt: skip
    # along y with the turn about z; along z with the turn about −y
    for at, sign, stiffness in (((1, 5, 7, 11), 1.0, EI[0]), ((2, 4, 8, 10), -1.0, EI[1])):
        turn = np.diag([1.0, sign, 1.0, sign])
        K[np.ix_(at, at)] += stiffness * turn @ bend_k @ turn
        M[np.ix_(at, at)] += turn @ bend_m @ turn
    return K, M


def assembled(count: int, length: float, mu: float, EA: float, EI: tuple[float, float], GJ: float, polar: float,
              R: np.ndarray | None = None, origin=(0.0, 0.0, 0.0)):  # fmt: skip
    """Nodes (P, 3), stiffness and mass (6P, 6P) of a beam from `origin` along the first column of R."""
    R = np.eye(3) if R is None else R
    K, M = np.zeros((6 * count + 6, 6 * count + 6)), np.zeros((6 * count + 6, 6 * count + 6))
    turn = np.kron(np.eye(4), R)
    k, m = (turn @ part @ turn.T for part in element(length / count, mu, EA, EI, GJ, polar))
    for i in range(count):
        at = slice(6 * i, 6 * i + 12)
        K[at, at] += k
        M[at, at] += m
    return np.asarray(origin) + np.outer(np.linspace(0.0, length, count + 1), R[:, 0]), K, M
