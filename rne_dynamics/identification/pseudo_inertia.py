"""Pseudo-inertia of a body: the matrix that is positive definite for every body of positive density.

P = [Σ, m c; m cᵀ, m] with Σ = ½ tr(I) 1 − I, the second moments of mass about the frame's origin. It is linear in the
ten parameters. Its kernel is a point mass, a rod or a plate, which no link is. (Wensing, Kim and Slotine, Linear matrix
inequalities for physically consistent inertial parameter identification, 2018.)
"""

from __future__ import annotations

import numpy as np

from rne_dynamics.model.inertia import Array

#: A body's prior is at least as heavy, kg, and at least as large, m, and no flatter than this part of its size.
_LIGHTEST, _SMALLEST, _FLATTEST = 0.02, 0.005, 0.03


def _basis() -> Array:
    E = np.zeros((10, 4, 4))
    E[0, 3, 3] = 1.0
    for k in range(3):
        E[1 + k, k, 3] = E[1 + k, 3, k] = 1.0
    for k, (a, b) in enumerate(zip(*np.triu_indices(3), strict=True)):
        inertia = np.zeros((3, 3))
        inertia[a, b] = inertia[b, a] = 1.0
        E[4 + k, :3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    return E


#: P = Σ parameter · E; shape (10, 4, 4).
BASIS = _basis()
BASIS.flags.writeable = False


def pseudo_inertia(parameters: Array) -> Array:
    """P of bodies, shape (bodies, 4, 4), of parameters as `inertial_parameters`, shape (10·bodies,)."""
    P: Array = np.einsum("ik,kab->iab", parameters.reshape(-1, 10), BASIS)
    return P


def parameters_of(P: Array) -> Array:
    """The parameters of pseudo-inertias, shape (10·bodies,)."""
    second = P[:, :3, :3]
    inertia = np.trace(second, axis1=1, axis2=2)[:, None, None] * np.eye(3) - second
    upper = np.triu_indices(3)
    return np.concatenate((P[:, 3, 3, None], P[:, :3, 3], inertia[:, upper[0], upper[1]]), axis=1).ravel()


def corrected(parameters: Array, names: tuple[str, ...]) -> tuple[Array, tuple[str, ...]]:
    """Pseudo-inertias that are positive definite with a margin, and the names of the bodies that were not.

    A model file may have links without mass, as points or as plates: no prior, since their distance from any body is
    infinite. They get a least mass and a least extent about their mass centre.
    """
    P, changed = pseudo_inertia(parameters), []
    for i, body in enumerate(P):
        mass = max(body[3, 3], _LIGHTEST)
        centre = body[:3, 3] / body[3, 3] if body[3, 3] > 0.0 else np.zeros(3)
        values, axes = np.linalg.eigh(body[:3, :3] - body[3, 3] * np.outer(centre, centre))
        least = mass * max(_SMALLEST**2, _FLATTEST**2 * max(values[-1] / mass, 0.0))
        if values[0] >= least and body[3, 3] >= _LIGHTEST:
            continue
        changed.append(names[i])
        second = (axes * np.maximum(values, least)) @ axes.T + mass * np.outer(centre, centre)
        P[i] = np.block([[second, mass * centre[:, None]], [mass * centre[None], np.full((1, 1), mass)]])
    return P, tuple(changed)


def ball(mass: float, radius: float) -> Array:
    """P of a ball of even density about its centre, shape (4, 4)."""
    return mass * np.diag([0.2 * radius**2] * 3 + [1.0])


def moved(P: Array, rotation: Array, position: Array) -> Array:
    """P in a frame in which its own has this placement; shape (4, 4)."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation, position
    return np.asarray(T @ P @ T.T)
