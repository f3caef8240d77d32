"""The physically consistent fit: least squares with the model file as prior, every body positive definite.

It minimises ½ ‖A x − b‖² + Σ λᵢ D(Pᵢ ‖ P̂ᵢ) + μ Σ (x_k / x̂_k − log x_k), over the bodies' pseudo-inertias P and
parameters that must be positive (viscous, Coulomb and Stribeck friction, rotors). D is the log-det divergence to the
prior P̂, tr(P̂⁻¹ P) − log det(P̂⁻¹ P) − 4: the entropic distance of the bodies' densities. Both terms are barriers. The
problem is convex, and solved by damped Newton steps.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.identification.pseudo_inertia import BASIS, parameters_of, pseudo_inertia
from rne_dynamics.model.inertia import Array

#: Newton decrement at which a fit ends, as of a log-likelihood and as a part of the cost, and most steps.
_SETTLED, _ROUND_OFF, _STEPS = 1e-8, 1e-12, 200
#: Pull of parameters with neither prior nor bound, offsets: only against a singular matrix.
_FREE = 1e-6
#: Part of the way to the edge of a barrier that one step may go: near it later steps are short.
_CENTRAL = 0.5
#: Factors of the barriers, one after the other: from the prior to the fit without coming close to their edges.
_STAGES = (1e4, 1e3, 1e2, 10.0, 1.0)


def consistent_fit(
    A: Array, b: Array, prior: Array, positive: NDArray[np.int64], typical: Array, weight: float | Array,
    weight_positive: float,
) -> Array:
    """The parameters of the fit.

    Parameters
    ----------
    A, b
        Rows of equal noise, of standard deviation 1; shapes (rows, parameters) and (rows,).
    prior
        Positive definite pseudo-inertias, shape (bodies, 4, 4): the first parameters are those of the bodies.
    positive, typical
        Which of the others are positive, and the prior of these.
    weight, weight_positive
        λ, one or each body's, and μ: 1 / (relative standard deviation of the prior)².
    """
    links = 10 * len(prior)
    H0, inverse = A.T @ A, np.linalg.inv(prior)
    free = np.setdiff1d(np.arange(links, A.shape[1]), positive)
    H0[free, free] += _FREE
    x = np.zeros(A.shape[1])
    x[:links], x[positive] = parameters_of(prior), typical
    weights = np.broadcast_to(weight, len(prior))
    pull = np.einsum("i,iab,kab->ik", weights, inverse, BASIS).ravel()

    def cost(x: Array, stage: float) -> float:
        try:
            diagonal = np.diagonal(np.linalg.cholesky(pseudo_inertia(x[:links])), axis1=1, axis2=2)
        except np.linalg.LinAlgError:
            return np.inf
        if (x[positive] <= 0.0).any():
            return np.inf
        own = float((x[positive] / typical - np.log(x[positive])).sum())
        apart = pull @ x[:links] - 2.0 * weights @ np.log(diagonal).sum(axis=1)
        residual, loose = A @ x - b, x[free]
        fitted = 0.5 * (residual @ residual + _FREE * loose @ loose)
        return float(fitted + stage * (apart + weight_positive * own))

    def slopes(x: Array, stage: float) -> tuple[Array, Array]:
        g = A.T @ (A @ x - b)
        g[free] += _FREE * x[free]
        now = np.linalg.inv(pseudo_inertia(x[:links]))
        g[:links] += stage * (pull - np.einsum("i,iab,kba->ik", weights, now, BASIS).ravel())
        g[positive] += stage * weight_positive * (1.0 / typical - 1.0 / x[positive])
        return g, hessian(x, H0, links, positive, stage * weights, stage * weight_positive)

    def reach(x: Array, step: Array) -> float:
        """How many steps lead to the edge of a barrier."""
        change = np.linalg.solve(pseudo_inertia(x[:links]), pseudo_inertia(step[:links]))
        own = -step[positive] / x[positive]
        return 1.0 / max(-float(np.linalg.eigvals(change).real.min()), float(own.max(initial=0.0)), 1e-12)

    for stage in _STAGES:
        x = _descended(x, stage, (cost, slopes, reach), 0.1 * stage * float(np.min([*weights, weight_positive])))
    return x


def _descended(
    x: Array, stage: float,
    problem: tuple[Callable[[Array, float], float], Callable[[Array, float], tuple[Array, Array]],
                   Callable[[Array, Array], float]],
    enough: float,
) -> Array:  # fmt: skip
    """Newton steps from x with the barriers times `stage`: to the end for 1, else to a decrement of `enough`."""
    cost, slopes, reach = problem
    value = cost(x, stage)
    for _ in range(_STEPS):
        g, H = slopes(x, stage)
        scale = np.sqrt(np.diag(H))  # parameters differ by 1e6 in size
        step = -np.linalg.solve(H / np.outer(scale, scale), g / scale) / scale
        decrement = float(-g @ step)  # by how much the step would lower the cost, twice
        if decrement < (_SETTLED + _ROUND_OFF * abs(value) if stage == 1.0 else enough):
            return x
        size = min(1.0, _CENTRAL * reach(x, step))
        while not (lower := cost(x + size * step, stage)) <= value - 1e-4 * size * decrement:
            size *= 0.5
            if size < 1e-12:
                return x  # round-off: no step improves the fit any more
        x, value = x + size * step, lower
    raise RneDynamicsError(
        f"the consistent fit has not converged in {_STEPS} steps; lower --trust, or record a motion that excites more"
    )


def divergence(links: Array, prior: Array) -> Array:
    """D of every body from its prior, shape (bodies,)."""
    X = np.linalg.solve(prior, pseudo_inertia(links))
    return np.asarray(np.trace(X, axis1=1, axis2=2) - np.log(np.linalg.det(X)) - 4.0)


def hessian(
    x: Array, H0: Array, links: int, positive: NDArray[np.int64], weights: Array, weight_positive: float
) -> Array:
    """The second derivatives of the cost at x, with those of the data H0; its inverse is the covariance of the fit."""
    H: Array = H0.copy()
    for i, QE in enumerate(np.linalg.inv(pseudo_inertia(x[:links]))[:, None] @ BASIS):
        place = slice(10 * i, 10 * i + 10)
        H[place, place] += weights[i] * np.einsum("kab,lba->kl", QE, QE)
    H[positive, positive] += weight_positive / x[positive] ** 2
    return H
