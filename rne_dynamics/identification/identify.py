"""Identification of an arm: the consistent fit to triangles, with noise and friction from the recording."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.dynamics.derivatives.regressor import inertial_parameters
from rne_dynamics.identification.base_parameters import BaseParameters, base_parameters
from rne_dynamics.identification.columns import Friction, Layout, own_columns
from rne_dynamics.identification.consistent_fit import consistent_fit, divergence, hessian
from rne_dynamics.identification.friction_choice import USUAL, chosen_friction
from rne_dynamics.identification.motion import Motion
from rne_dynamics.identification.pseudo_inertia import ball, corrected, moved, parameters_of
from rne_dynamics.identification.triangles import Triangles, triangle
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.generalized_inertia import rotor_inertia
from rne_dynamics.model.inertia import Array

#: Relative standard deviation of the model file's inertias, of its friction and rotors, and of a payload's.
TRUST, TRUST_OWN, TRUST_PAYLOAD = 0.3, 3.0, 3.0
#: Least friction and rotor that counts as a prior, N·m or N and kg·m² or kg: files often have none.
_LEAST_OWN = 0.05
#: Change of the noise at which it has settled, and most rounds.
_SETTLED, _ROUNDS = 0.02, 12
#: Least noise over the root mean square of a joint's effort.
_LEAST_NOISE = 1e-4
#: Most factor of the prior's variance where the recording contradicts it.
_WIDEST = 3.0
#: Number of parameters that the distance of all bodies from the prior counts as, in the uncertainty of one.
_ALL = 8.0
#: Factor of the prior's variance, since its distances are seen along few directions only.
_CAREFUL = 3.0
#: A payload of unknown mass as it is assumed: mass, kg, and radius, m. Part of a known mass that is its deviation.
_PAYLOAD, _RADIUS, _KNOWN = 1.0, 0.08, 0.002


@dataclass(frozen=True, eq=False)
class Prior:
    """What is known before the recording."""

    #: Positive definite pseudo-inertias of the bodies, and the weight of each; shapes (bodies, 4, 4), (bodies,).
    bodies: Array
    weights: Array
    #: Bodies whose inertia in the model file is none that a body can have.
    corrected: tuple[str, ...]
    #: Rows [parameters of the bodies, value] of what is known exactly, in its standard deviations.
    known: Array

    @classmethod
    def of(cls, layout: Layout, trust: float = TRUST, mass: float | None = None) -> Prior:
        """That of a robot, trusted to a relative standard deviation; with the `mass` of the payload, kg, if known."""
        bodies, changed = corrected(inertial_parameters(layout.robot), layout.robot.body_names)
        weights = np.full(len(bodies), trust**-2)
        known = np.zeros((0, layout.links + 1))
        if layout.payload is not None:
            frame = layout.robot.links[layout.payload]
            guess = moved(ball(mass or _PAYLOAD, _RADIUS), frame.rotation, frame.position)
            bodies, weights = np.concatenate((bodies, guess[None])), np.append(weights, TRUST_PAYLOAD**-2)
            if mass is not None:
                known = np.zeros((1, layout.links + 1))
                known[0, [-11, -1]] = 1.0 / (_KNOWN * mass), 1.0 / _KNOWN
        return cls(bodies, weights, changed, known)


@dataclass(frozen=True, eq=False)
class Identified:
    """Parameters of an arm that were identified."""

    layout: Layout
    #: Form of every joint's friction.
    forms: tuple[Friction, ...]
    #: All parameters, in the order of `Layout.names`, and their covariance.
    parameters: Array
    covariance: Array
    #: Standard deviations before the recording.
    before: Array
    #: Standard deviation of the efforts' residuals, N·m or N; shape (n,).
    noise: Array
    prior: Prior
    #: Triangle [columns of all parameters, effort], of rows with the standard deviation 1.
    system: Array

    @property
    def deviations(self) -> Array:
        """Standard deviations of the parameters."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @cached_property
    def base(self) -> BaseParameters:
        """Combinations of all parameters that the recording determines."""
        return base_parameters(self.system[:, :-1])

    def without_payload(self) -> Identified:
        """The parameters of the robot alone."""
        if self.layout.payload is None:
            return self
        links = self.layout.links
        kept = np.r_[: links - 10, links : len(self.parameters)]
        return replace(
            self, layout=replace(self.layout, payload=None), parameters=self.parameters[kept],
            covariance=self.covariance[np.ix_(kept, kept)], before=self.before[kept],
            system=self.system[:, np.r_[kept, -1]],
        )  # fmt: skip

    @property
    def from_data(self) -> NDArray[np.bool_]:
        """Whether each is known from the data rather than from the model file: half as uncertain as before."""
        return self.deviations < 0.5 * self.before

    def efforts(self, motion: Motion) -> Array:
        """The efforts along a motion, N·m or N; shape (rows, n)."""
        links, places = self.layout.links, self.layout.places(self.forms)
        tau = self.layout.link_columns(motion) @ self.parameters[:links]
        for j, form in enumerate(self.forms):
            tau[:, j] += own_columns(motion, j)[:, self.layout.own_columns(form)] @ self.parameters[places[j]]
        return np.asarray(tau)


def identify(
    triangles: Triangles, *, trust: float = TRUST, forms: tuple[Friction, ...] | None = None,
    payload_mass: float | None = None, stribeck: bool = True,
) -> Identified:
    """Fit all parameters to a recording, with the robot's as prior.

    Parameters
    ----------
    triangles
        Of one or several recordings.
    trust
        Relative standard deviation of the robot's inertias: 0.1 for a data sheet, 1 for a guess.
    forms
        Of the joints' friction; by default those that predict best, `stribeck` friction among them.
    payload_mass
        kg, of the layout's payload, if it is known.
    """
    layout = triangles.layout
    prior = Prior.of(layout, trust, payload_mass)
    effort = np.array([np.linalg.norm(R[:, -1]) for R in triangles.joints]) / np.sqrt(triangles.rows)
    fit = WeightedFit(triangles, prior, forms or (USUAL,) * layout.robot.n, np.maximum(0.1 * effort, 1e-9))
    rounds = 0
    while True:
        x = fit.solved()
        new = np.sqrt(triangles.squares(x, fit.forms) / triangles.rows)
        # half of the variance is that of all joints: what remains is mostly the model's error, which may be small for
        # one joint by chance, and its rows would then decide alone
        weighed = np.sqrt(0.5 * (new**2 + (new**2).mean()))
        weighed = np.maximum(weighed, _LEAST_NOISE * effort + 1e-12)
        settled = bool((np.abs(weighed / fit.noise - 1.0) < _SETTLED).all())
        far = fit.far(x)
        settled &= abs(far - 1.0) < _SETTLED or (far < 1.0 and fit.widened == 1.0) or fit.widened == _WIDEST
        better = fit.forms if forms else chosen_friction(triangles, x[: layout.links], stribeck=stribeck)
        rounds += 1
        if (settled and (better == fit.forms or rounds > _ROUNDS // 2)) or rounds == _ROUNDS:
            break
        fit = replace(
            fit, noise=weighed, forms=better if rounds <= _ROUNDS // 2 else fit.forms,
            widened=float(np.clip(fit.widened * far, 1.0, _WIDEST)),
        )  # fmt: skip
    covariance = fit.covariance(x, np.maximum(new, _LEAST_NOISE * effort))
    before = np.sqrt(np.diag(fit.covariance_before(x)))
    return Identified(layout, fit.forms, x, covariance, before, new, prior, triangle(fit.rows(triangles.joints)))


@dataclass(frozen=True, eq=False)
class WeightedFit:
    """Triangles, weighted, and a prior."""

    triangles: Triangles
    prior: Prior
    forms: tuple[Friction, ...]
    #: Standard deviation of a row of each joint.
    noise: Array
    #: Variance of the prior over that of its trust.
    widened: float = 1.0

    @property
    def layout(self) -> Layout:
        """That of the triangles."""
        return self.triangles.layout

    @property
    def weights(self) -> Array:
        """Of the bodies' prior."""
        return self.prior.weights / self.widened

    def rows(self, parts: tuple[Array, ...], factor: Array | float = 1.0) -> Array:
        """Rows [all parameters, effort] of the joints' triangles, of independent rows of standard deviation 1 if the
        noise is that of the fit; times a factor of each joint."""
        size, places, found = len(self.layout.names(self.forms)), self.layout.places(self.forms), []
        factors = np.broadcast_to(factor, len(self.forms))
        for j, form in enumerate(self.forms):
            given = self.triangles.system(parts[j], form)
            rows = np.zeros((len(given), size + 1))
            rows[:, np.r_[: self.layout.links, places[j], size]] = given
            found.append(rows * (factors[j] / (self.noise[j] * np.sqrt(self.triangles.alike))))
        return np.concatenate(found)

    def solved(self) -> Array:
        """The parameters."""
        links, known = self.layout.links, self.prior.known
        rows = self.rows(self.triangles.joints)
        more = np.zeros((len(known), rows.shape[1]))
        more[:, np.r_[:links, rows.shape[1] - 1]] = known
        R = triangle(np.concatenate((rows, more)))
        positive, typical = _positive(self.layout, self.forms)
        return consistent_fit(
            R[:, :-1], R[:, -1], self.prior.bodies, positive, typical, self.weights, TRUST_OWN**-2
        )

    def slopes_of_gains(self, x: Array) -> tuple[Array, Array]:
        """First and second derivatives of the least cost over the logarithms of factors of efforts and noise.

        At the parameters x of that least cost; shapes (n,), (n, n).
        """
        W = self.rows(self.triangles.joints)
        lengths = [len(R) for R in self.triangles.joints]
        predicted = W[:, :-1] @ x
        per_joint = np.repeat(np.eye(len(lengths)), lengths, axis=0) * predicted[:, None]
        mixed = W[:, :-1].T @ per_joint
        H = self._hessian(x, W[:, :-1].T @ W[:, :-1])
        curvature = per_joint.T @ per_joint - mixed.T @ np.linalg.solve(H, mixed)
        return per_joint.T @ (W[:, -1] - predicted), 0.5 * (curvature + curvature.T)

    def far(self, x: Array) -> float:
        """How far the fit is from the prior: squared distance over that of as many parameters as the data determine."""
        W = self.rows(self.triangles.joints)[:, :-1]
        apart, known = self._apart(x, W.T @ W)
        return float(apart.sum() / max(known.sum(), 1.0))

    def _apart(self, x: Array, data: Array) -> tuple[Array, Array]:
        """Of every body its squared distance from the prior, and how many of its parameters the data determine."""
        links = self.layout.links
        known = np.diag(np.linalg.solve(self._hessian(x, data), data))[:links].reshape(-1, 10).sum(axis=1)
        return 2.0 * self.weights * divergence(x[:links], self.prior.bodies), known

    def covariance(self, x: Array, noise: Array) -> Array:
        """The covariance of the fit: a part of the prior, and one of the data.

        That is the part of the rows' noise, or of the scatter between blocks if it is larger.
        """
        blocks = [self.rows(parts) for parts in self.triangles.blocks]
        data = sum((W[:, :-1].T @ W[:, :-1] for W in blocks), np.zeros((len(x), len(x))))
        slopes = np.stack([W[:, :-1].T @ (W @ np.r_[x, -1.0]) for W in blocks])
        slopes -= np.array(self.triangles.counts)[:, None] / self.triangles.rows * slopes.sum(axis=0)
        scatter = slopes.T @ slopes * len(blocks) / max(len(blocks) - 1, 1)
        true = self.rows(self.triangles.joints, noise / self.noise)[:, :-1]
        H = self._hessian(x, data)
        inverse = np.linalg.inv(H)
        own, between = (inverse @ part @ inverse for part in (true.T @ true, scatter))
        ratio = np.sqrt(np.maximum(np.diag(between) / np.maximum(np.diag(own), 1e-300), 1.0))
        factor = self._factors(x, data)
        prior = inverse @ ((H - data) * np.outer(factor, factor)) @ inverse
        return np.asarray(prior + own * np.outer(ratio, ratio))

    def covariance_before(self, x: Array) -> Array:
        """The covariance without the data, where the fit x is as far from the prior as it is."""
        W, start = self.rows(self.triangles.joints)[:, :-1], np.zeros(len(x))
        positive, typical = _positive(self.layout, self.forms)
        start[: self.layout.links], start[positive] = parameters_of(self.prior.bodies), typical
        H = self._hessian(start, np.zeros((len(x), len(x))))
        free, factor = np.diag(H) == 0.0, self._factors(x, W.T @ W)
        H[free, free] = 1e-12
        return np.asarray(np.linalg.inv(H) * np.outer(factor, factor))

    def _factors(self, x: Array, data: Array) -> Array:
        """Factors of the prior's deviations: how far bodies are from it, over what it was trusted to."""
        apart, known = self._apart(x, data)
        # a body's own distance says little of it where few of its parameters are known: that of all counts as some more
        far = (apart + _ALL * apart.sum() / max(known.sum(), 1.0)) / (known + _ALL)
        return np.asarray(np.sqrt(np.r_[np.repeat(_CAREFUL * far, 10), np.ones(len(x) - 10 * len(far))]))

    def _hessian(self, x: Array, data: Array) -> Array:
        links, known = self.layout.links, self.prior.known[:, :-1]
        H0 = data.copy()
        H0[:links, :links] += known.T @ known
        positive, _ = _positive(self.layout, self.forms)
        return hessian(x, H0, links, positive, self.weights, TRUST_OWN**-2)


def _positive(layout: Layout, forms: tuple[Friction, ...]) -> tuple[NDArray[np.int64], Array]:
    """Which parameters are positive besides the bodies', and what the model file says of them."""
    friction, rotors = joint_friction(layout.robot), rotor_inertia(layout.robot)
    places, typical = [], []
    for j, own in enumerate(layout.places(forms)):
        places += [own[0], own[1], *own[3:]]
        typical += [friction.viscous[j], friction.coulomb[j], *([0.0] if forms[j].stribeck else [])]
        typical += [rotors[j]] if layout.rotors else []
    return np.array(places), np.maximum(typical, _LEAST_OWN)
