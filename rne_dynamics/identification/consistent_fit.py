"""The physically consistent fit: least squares with the model file as prior, every body positive definite.

The pseudo-inertia of a body, P = [Σ, m c; m cᵀ, m] with Σ = ½ tr(I) 1 − I, is linear in its ten parameters and positive
definite for every body of positive density (Wensing, Kim and Slotine, Linear matrix inequalities for physically
consistent inertial parameter identification, 2018).

The fit minimises ½ ‖A x − b‖² + Σ λᵢ D(Pᵢ ‖ P̂ᵢ) + μ Σ (x_k / x̂_k − log x_k), over the bodies and parameters that must
be positive. D is the log-det divergence to the prior P̂, tr(P̂⁻¹ P) − log det(P̂⁻¹ P) − 4: the entropic distance of the
bodies' densities. The problem is convex, and solved by damped Newton steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.inertia import Array, symmetric

#: Newton decrement at which a fit ends, as of a log-likelihood and as a part of the cost, and most steps.
_SETTLED, _ROUND_OFF, _STEPS = 1e-8, 1e-12, 200
#: Pull of parameters with neither prior nor bound, offsets: only against a singular matrix.
_FREE = 1e-6
#: Part of the way to the edge of a barrier that one step may go: near it later steps are short.
_CENTRAL = 0.5
#: Factors of the barriers, one after the other: from the prior to the fit without coming close to their edges.
_STAGES = (1e4, 1e3, 1e2, 10.0, 1.0)
#: A body's prior is at least as heavy, kg, and at least as large, m, and no flatter than this part of its size.
LIGHTEST, _SMALLEST, _FLATTEST = 0.02, 0.005, 0.03
_UPPER = np.triu_indices(3)


def pseudo_inertia(parameters: Array) -> Array:
    """P of bodies, shape (bodies, 4, 4), of parameters as `inertial_parameters`, shape (10·bodies,)."""
    P: Array = np.einsum("ik,kab->iab", parameters.reshape(-1, 10), BASIS)
    return P


def parameters_of(P: Array) -> Array:
    """The parameters of pseudo-inertias, shape (10·bodies,)."""
    second = P[:, :3, :3]
    inertia = np.trace(second, axis1=1, axis2=2)[:, None, None] * np.eye(3) - second
    return np.concatenate((P[:, 3, 3, None], P[:, :3, 3], inertia[:, _UPPER[0], _UPPER[1]]), axis=1).ravel()


def _of_one(ten: Array) -> Array:
    P, inertia = np.diag([0.0, 0.0, 0.0, ten[0]]), symmetric(ten[4:])
    P[:3, 3] = P[3, :3] = ten[1:4]
    P[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    return P


#: P = Σ parameter · E; shape (10, 4, 4).
BASIS = np.array([_of_one(ten) for ten in np.eye(10)])
BASIS.flags.writeable = False


def corrected(parameters: Array, names: tuple[str, ...]) -> tuple[Array, tuple[str, ...]]:
    """Pseudo-inertias that are positive definite with a margin, and the names of the bodies that were not.

    A model file may have links without mass, as points or as plates: no prior, since their distance from any body is
    infinite. They get a least mass and a least extent about their mass centre.
    """
    P, changed = pseudo_inertia(parameters), []
    for i, body in enumerate(P):
        mass = max(body[3, 3], LIGHTEST)
        centre = body[:3, 3] / body[3, 3] if body[3, 3] > 0.0 else np.zeros(3)
        values, axes = np.linalg.eigh(body[:3, :3] - body[3, 3] * np.outer(centre, centre))
        least = mass * max(_SMALLEST**2, _FLATTEST**2 * max(values[-1] / mass, 0.0))
        if values[0] < least or body[3, 3] < LIGHTEST:
            changed.append(names[i])
            about_centre = np.diag([0.0, 0.0, 0.0, mass])
            about_centre[:3, :3] = (axes * np.maximum(values, least)) @ axes.T
            P[i] = moved(about_centre, np.eye(3), centre)
    return P, tuple(changed)


def ball(mass: float, radius: float) -> Array:
    """P of a ball of even density about its centre, shape (4, 4)."""
    return mass * np.diag([0.2 * radius**2] * 3 + [1.0])


def moved(P: Array, rotation: Array, position: Array) -> Array:
    """P in a frame in which its own has this placement; shape (4, 4)."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation, position
    return np.asarray(T @ P @ T.T)


@dataclass(frozen=True, eq=False)
class Prior:
    """What is known before a recording: terms of the cost, with their derivatives."""

    #: Number of parameters; the first are those of the bodies.
    size: int
    #: Positive definite pseudo-inertias of the bodies, and λ of each: 1 / (relative standard deviation)².
    bodies: Array
    weights: Array
    #: Which of the other parameters are positive, their prior, and μ.
    positive: NDArray[np.int64]
    typical: Array
    weight: float

    @property
    def links(self) -> int:
        """Number of parameters of the bodies."""
        return 10 * len(self.bodies)

    @property
    def free(self) -> NDArray[np.int64]:
        """Parameters with neither prior nor bound."""
        return np.setdiff1d(np.arange(self.links, self.size), self.positive)

    @property
    def start(self) -> Array:
        """The parameters of the prior."""
        x = np.zeros(self.size)
        x[: self.links], x[self.positive] = parameters_of(self.bodies), self.typical
        return x

    def scaled(self, factor: float) -> Prior:
        """With other weights."""
        return replace(self, weights=factor * self.weights, weight=factor * self.weight)

    def divergence(self, x: Array) -> Array:
        """D of every body, shape (bodies,); infinite for no body."""
        try:
            L = np.linalg.cholesky(pseudo_inertia(x[: self.links]))
        except np.linalg.LinAlgError:
            return np.full(len(self.bodies), np.inf)
        X = np.linalg.solve(np.linalg.cholesky(self.bodies), L)
        return np.asarray((X**2).sum(axis=(1, 2)) - 2.0 * np.log(np.abs(np.linalg.det(X))) - 4.0)

    def cost(self, x: Array) -> float:
        """Infinite outside the bounds."""
        own, free = x[self.positive], x[self.free]
        if (own <= 0.0).any():
            return np.inf
        positive = self.weight * (own / self.typical - np.log(own)).sum()
        return float(self.weights @ self.divergence(x) + positive + 0.5 * _FREE * free @ free)

    def slope(self, x: Array) -> Array:
        """The first derivatives of the cost."""
        g = np.zeros(self.size)
        g[self.free] = _FREE * x[self.free]
        pull = np.linalg.inv(self.bodies) - np.linalg.inv(pseudo_inertia(x[: self.links]))
        g[: self.links] = np.einsum("i,iab,kba->ik", self.weights, pull, BASIS).ravel()
        g[self.positive] = self.weight * (1.0 / self.typical - 1.0 / x[self.positive])
        return g

    def curvature(self, x: Array) -> Array:
        """The second derivatives of the cost; with those of the data, the inverse is the covariance of the fit."""
        H = np.zeros((self.size, self.size))
        H[self.free, self.free] = _FREE
        for i, QE in enumerate(np.linalg.inv(pseudo_inertia(x[: self.links]))[:, None] @ BASIS):
            place = slice(10 * i, 10 * i + 10)
            H[place, place] = self.weights[i] * np.einsum("kab,lba->kl", QE, QE)
        H[self.positive, self.positive] = self.weight / x[self.positive] ** 2
        return H

    def reach(self, x: Array, step: Array) -> float:
        """How many steps lead to the edge of a barrier."""
        change = np.linalg.solve(pseudo_inertia(x[: self.links]), pseudo_inertia(step[: self.links]))
        own = -step[self.positive] / x[self.positive]
        return 1.0 / max(-float(np.linalg.eigvals(change).real.min()), float(own.max(initial=0.0)), 1e-12)


def consistent_fit(A: Array, b: Array, prior: Prior) -> Array:
    """The parameters of the fit to rows of equal noise, of standard deviation 1; shapes (rows, parameters), (rows,)."""
    x = prior.start
    for stage in _STAGES:
        barrier = prior.scaled(stage)
        enough = 0.0 if stage == 1.0 else 0.1 * float(min(*barrier.weights, barrier.weight))
        x = _descended(A, b, barrier, x, enough)
    return x


def _descended(A: Array, b: Array, prior: Prior, x: Array, enough: float) -> Array:
    """Newton steps from x to a decrement of `enough`, or to the end."""

    def cost(x: Array) -> float:
        barrier = prior.cost(x)
        return barrier if barrier == np.inf else barrier + 0.5 * float(np.sum((A @ x - b) ** 2))

    value, data = cost(x), A.T @ A
    for _ in range(_STEPS):
        g, H = A.T @ (A @ x - b) + prior.slope(x), data + prior.curvature(x)
        scale = np.sqrt(np.diag(H))  # parameters differ by 1e6 in size
        step = -np.linalg.solve(H / np.outer(scale, scale), g / scale) / scale
        decrement = float(-g @ step)  # by how much the step would lower the cost, twice
        if decrement < (enough or _SETTLED + _ROUND_OFF * abs(value)):
            return x
        size = min(1.0, _CENTRAL * prior.reach(x, step))
        while not (lower := cost(x + size * step)) <= value - 1e-4 * size * decrement:
            size *= 0.5
            if size < 1e-12:
                return x  # round-off: no step improves the fit any more
        x, value = x + size * step, lower
    raise RneDynamicsError(
        f"the consistent fit has not converged in {_STEPS} steps; lower --trust, or record a motion that excites more"
    )
