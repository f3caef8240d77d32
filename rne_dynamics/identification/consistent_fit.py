"""The physically consistent fit: least squares with the model file as prior, every body positive definite.

The pseudo-inertia of a body, P = [Σ, m c; m cᵀ, m] with Σ = ½ tr(I) 1 − I, is linear in its ten parameters and positive
definite for every body of positive density (Wensing, Kim and Slotine, Linear matrix inequalities for physically
consistent inertial parameter identification, 2018). Rotor and friction of a joint, which must be positive too, are the
diagonal of one matrix P more; its offset is free.

The fit minimises ½ ‖A x − b‖² + Σ λᵢ D(Pᵢ ‖ P̂ᵢ). D is the log-det divergence to the prior P̂, tr(P̂⁻¹ P) − log det(P̂⁻¹ P)
− 4: the entropic distance of the bodies' densities. The problem is convex, and solved by damped Newton steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rne_dynamics.dynamics.friction import OWN
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.inertia import Array, symmetric

#: Newton decrement at which a fit ends, as of a log-likelihood and as a part of the cost, and most steps.
_SETTLED, _ROUND_OFF, _STEPS = 1e-8, 1e-12, 200
#: Pull of offsets to zero: only against a singular matrix.
_FREE = 1e-6
#: Part of the way to the edge of a barrier that one step may go: near it later steps are short.
_CENTRAL = 0.5
#: Factors of the barriers, one after the other: from the prior to the fit without coming close to their edges.
_STAGES = (1e4, 1e3, 1e2, 10.0, 1.0)
#: A body's prior is at least as heavy, kg, and at least as large, m, and no flatter than this part of its size.
LIGHTEST, _SMALLEST, _FLATTEST = 0.02, 0.005, 0.03
_UPPER = np.triu_indices(3)


def _of_one(ten: Array) -> Array:
    P, inertia = np.diag([0.0, 0.0, 0.0, ten[0]]), symmetric(ten[4:])
    P[:3, 3] = P[3, :3] = ten[1:4]
    P[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    return P


#: P = Σ parameter · E of a body, shape (10, 4, 4), and of the `OWN` of a joint, shape (5, 4, 4).
_BODY = np.array([_of_one(ten) for ten in np.eye(10)])
_JOINT = np.insert(np.eye(4)[:, :, None] * np.eye(4)[:, None], OWN.index("offset"), 0.0, axis=0)


def pseudo_inertia(parameters: Array) -> Array:
    """P of bodies, shape (bodies, 4, 4), of parameters as `inertial_parameters`, shape (10·bodies,)."""
    return np.asarray(np.einsum("ik,kab->iab", parameters.reshape(-1, 10), _BODY))


def parameters_of(P: Array) -> Array:
    """The parameters of pseudo-inertias, shape (10·bodies,)."""
    second = P[:, :3, :3]
    inertia = np.trace(second, axis1=1, axis2=2)[:, None, None] * np.eye(3) - second
    return np.concatenate((P[:, 3, 3, None], P[:, :3, 3], inertia[:, _UPPER[0], _UPPER[1]]), axis=1).ravel()


def corrected(parameters: Array, names: tuple[str, ...]) -> tuple[Array, tuple[str, ...]]:
    """Pseudo-inertias that are positive definite with a margin, and the names of the bodies that were not.

    Links without mass, points and plates are no prior, since their distance from any body is infinite. They get a least
    mass and a least extent about their mass centre.
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
    """What is known before a recording: a term of the cost for each body, then for each joint; with derivatives."""

    #: Expected parameters: ten of each body, then the `OWN` of each joint.
    start: Array
    #: λ of each body and joint: 1 / (relative standard deviation)².
    weights: Array
    bodies: int

    @cached_property
    def _owner(self) -> Array:
        """The matrix of each parameter."""
        sizes = np.where(np.arange(len(self.weights)) < self.bodies, len(_BODY), len(_JOINT))
        return np.repeat(np.arange(len(sizes)), sizes)

    @cached_property
    def _basis(self) -> Array:
        """The E of each parameter."""
        return np.concatenate([_BODY] * self.bodies + [_JOINT] * (len(self.weights) - self.bodies))

    @cached_property
    def _pull(self) -> Array:
        """Of each parameter against a singular matrix: those without E have no other."""
        return np.where(self._basis.any(axis=(1, 2)), 0.0, _FREE)

    def matrices(self, x: Array) -> Array:
        """P of every body and joint, shape (bodies + joints, 4, 4)."""
        begins = np.flatnonzero(np.diff(self._owner, prepend=-1))
        return np.asarray(np.add.reduceat(x[:, None, None] * self._basis, begins))

    def divergence(self, x: Array) -> Array:
        """D of every body and joint; infinite if one is not positive definite."""
        try:
            L = np.linalg.cholesky(self.matrices(x))
        except np.linalg.LinAlgError:
            return np.full(len(self.weights), np.inf)
        X = np.linalg.solve(np.linalg.cholesky(self.matrices(self.start)), L)
        return np.asarray((X**2).sum(axis=(1, 2)) - 2.0 * np.log(np.abs(np.linalg.det(X))) - 4.0)

    def cost(self, x: Array) -> float:
        """Infinite outside the bounds."""
        return float(self.weights @ self.divergence(x) + 0.5 * self._pull @ x**2)

    def slope(self, x: Array) -> Array:
        """The first derivatives of the cost."""
        pull = np.linalg.inv(self.matrices(self.start)) - np.linalg.inv(self.matrices(x))
        own = np.einsum("kab,kab->k", pull[self._owner], self._basis)
        return np.asarray(self.weights[self._owner] * own + self._pull * x)

    def curvature(self, x: Array) -> Array:
        """The second derivatives of the cost; with those of the data, the inverse is the covariance of the fit."""
        QE, size = np.linalg.inv(self.matrices(x))[self._owner] @ self._basis, len(x)
        products = QE.reshape(size, 16) @ QE.swapaxes(1, 2).reshape(size, 16).T
        same = self._owner[:, None] == self._owner
        return np.asarray(self.weights[self._owner] * same * products + np.diag(self._pull))

    def reach(self, x: Array, step: Array) -> float:
        """How many steps lead to the edge of a barrier."""
        change = np.linalg.eigvals(np.linalg.solve(self.matrices(x), self.matrices(step)))
        return 1.0 / max(-float(change.real.min()), 1e-12)


def consistent_fit(A: Array, b: Array, prior: Prior) -> Array:
    """The parameters of the fit to rows of equal noise, of standard deviation 1; shapes (rows, parameters), (rows,)."""
    x = prior.start
    for stage in _STAGES:
        barrier = replace(prior, weights=stage * prior.weights)
        x = _descended(A, b, barrier, x, 0.0 if stage == 1.0 else 0.1 * float(barrier.weights.min()))
    return x


def _descended(A: Array, b: Array, prior: Prior, x: Array, enough: float) -> Array:
    """Newton steps from x to a decrement of `enough`, or to the end."""

    def cost(x: Array) -> float:
        return prior.cost(x) + 0.5 * float(np.sum((A @ x - b) ** 2))

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
    raise RneDynamicsError(f"the consistent fit has not converged in {_STEPS} steps; lower --trust, or record a motion "
                           "that excites more")  # fmt: skip
