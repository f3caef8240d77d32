"""The physically consistent fit: least squares with the model file as prior, every body positive definite.

It minimises ½ ‖A x − b‖² + Σ λᵢ D(Pᵢ ‖ P̂ᵢ) + μ Σ (x_k / x̂_k − log x_k), over the bodies' pseudo-inertias P and
parameters that must be positive (viscous and Coulomb friction, rotors). D is the log-det divergence to the prior P̂,
tr(P̂⁻¹ P) − log det(P̂⁻¹ P) − 4: the entropic distance of the bodies' densities. Both terms are barriers. The problem is
convex; damped Newton steps end after 10 to 40.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.identification.pseudo_inertia import BASIS, parameters_of, pseudo_inertia
from rne_dynamics.model.inertia import Array

#: Newton decrement at which a fit ends, as of a log-likelihood and as a part of the cost, and most steps.
_SETTLED, _ROUND_OFF, _STEPS = 1e-8, 1e-12, 200
#: Pull of parameters with neither prior nor bound, offsets and Stribeck: only against a singular matrix.
_FREE = 1e-6


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

    def cost(x: Array) -> float:
        try:
            diagonal = np.diagonal(np.linalg.cholesky(pseudo_inertia(x[:links])), axis1=1, axis2=2)
        except np.linalg.LinAlgError:
            return np.inf
        if (x[positive] <= 0.0).any():
            return np.inf
        own = float((x[positive] / typical - np.log(x[positive])).sum())
        divergence = pull @ x[:links] - 2.0 * weights @ np.log(diagonal).sum(axis=1)
        residual, loose = A @ x - b, x[free]
        fitted = 0.5 * (residual @ residual + _FREE * loose @ loose)
        return float(fitted + divergence + weight_positive * own)

    value = cost(x)
    for _ in range(_STEPS):
        slope = A.T @ (A @ x - b)
        slope[free] += _FREE * x[free]
        step, decrement = _newton_step(x, H0, slope, pull, positive, typical, weights, weight_positive)
        if decrement < _SETTLED + _ROUND_OFF * abs(value):
            return x
        size = 1.0
        while not cost(x + size * step) <= value - 1e-4 * size * decrement:
            size *= 0.5
            if size < 1e-12:
                return x  # round-off: no step improves the fit any more
        x = x + size * step
        value = cost(x)
    raise RneDynamicsError(
        f"the consistent fit has not converged in {_STEPS} steps; raise --trust, or record a motion that excites more"
    )


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


def _newton_step(
    x: Array, H0: Array, slope: Array, pull: Array, positive: NDArray[np.int64], typical: Array, weights: Array,
    weight_positive: float,
) -> tuple[Array, float]:
    """The step, and by how much it would lower the cost, twice."""
    links = len(pull)
    g = slope.copy()
    inverse = np.linalg.inv(pseudo_inertia(x[:links]))
    g[:links] += pull - np.einsum("i,iab,kba->ik", weights, inverse, BASIS).ravel()
    g[positive] += weight_positive * (1.0 / typical - 1.0 / x[positive])
    H = hessian(x, H0, links, positive, weights, weight_positive)
    scale = np.sqrt(np.diag(H))  # parameters differ by 1e6 in size
    step = -np.linalg.solve(H / np.outer(scale, scale), g / scale) / scale
    return step, float(-g @ step)
