"""Identification of an arm: the consistent fit to triangles, with noise and friction from the recording."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.dynamics.derivatives.regressor import inertial_parameters
from rne_dynamics.identification.columns import Friction, Layout, own_columns
from rne_dynamics.identification.consistent_fit import consistent_fit, hessian
from rne_dynamics.identification.friction_choice import USUAL, chosen_friction
from rne_dynamics.identification.motion import Motion
from rne_dynamics.identification.pseudo_inertia import ball, corrected, moved, parameters_of
from rne_dynamics.identification.triangles import Triangles, filtered_rows, triangle
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

    @property
    def deviations(self) -> Array:
        """Standard deviations of the parameters."""
        return np.sqrt(np.diag(self.covariance))

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

    def residuals(self, motion: Motion) -> Array:
        """Measured less predicted efforts in the motion's band, N·m or N; shape (rows, n), fewer than the motion's."""
        columns, effort = filtered_rows(self.layout, motion)
        places = self.layout.places(self.forms)
        x = [np.r_[self.parameters[: self.layout.links], self.parameters[place]] for place in places]
        return effort - np.stack([self._of_joint(W, form) @ x[j] for j, (W, form) in
                                  enumerate(zip(columns, self.forms, strict=True))], axis=1)  # fmt: skip

    def _of_joint(self, columns: Array, form: Friction) -> Array:
        links = self.layout.links
        return np.concatenate((columns[:, :links], columns[:, links + self.layout.own_columns(form)]), axis=1)


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
    fit = _Fit(triangles, prior, forms or (USUAL,) * layout.robot.n, np.maximum(0.1 * effort, 1e-9))
    rounds = 0
    while True:
        x = fit.solved()
        new = np.sqrt(triangles.squares(x, fit.forms) / triangles.rows)
        # half of the variance is that of all joints: what remains is mostly the model's error, which may be small for
        # one joint by chance, and its rows would then decide alone
        weighed = np.sqrt(0.5 * (new**2 + (new**2).mean()))
        weighed = np.maximum(weighed, _LEAST_NOISE * effort + 1e-12)
        settled = bool((np.abs(weighed / fit.noise - 1.0) < _SETTLED).all())
        better = fit.forms if forms else chosen_friction(triangles, x[: layout.links], stribeck=stribeck)
        rounds += 1
        if (settled and (better == fit.forms or rounds > _ROUNDS // 2)) or rounds == _ROUNDS:
            break
        fit = replace(fit, noise=weighed, forms=better if rounds <= _ROUNDS // 2 else fit.forms)
    before = np.sqrt(np.diag(np.linalg.inv(fit.hessian_of_prior())))
    return Identified(layout, fit.forms, x, fit.covariance(x), before, new, prior)


@dataclass(frozen=True, eq=False)
class _Fit:
    """Triangles, weighted, and a prior."""

    triangles: Triangles
    prior: Prior
    forms: tuple[Friction, ...]
    #: Standard deviation of a row of each joint.
    noise: Array

    @property
    def layout(self) -> Layout:
        return self.triangles.layout

    def rows(self, parts: tuple[Array, ...]) -> Array:
        """Rows [all parameters, effort] of the joints' triangles, as independent rows of standard deviation 1."""
        size, places, found = len(self.layout.names(self.forms)), self.layout.places(self.forms), []
        for j, form in enumerate(self.forms):
            given = self.triangles.system(parts[j], form)
            rows = np.zeros((len(given), size + 1))
            rows[:, np.r_[: self.layout.links, places[j], size]] = given
            found.append(rows / (self.noise[j] * np.sqrt(self.triangles.alike)))
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
            R[:, :-1], R[:, -1], self.prior.bodies, positive, typical, self.prior.weights, TRUST_OWN**-2
        )

    def covariance(self, x: Array) -> Array:
        """The covariance of the fit: of the prior, and of noise or of the scatter between blocks, the larger one."""
        blocks = [self.rows(parts) for parts in self.triangles.blocks]
        data = sum((W[:, :-1].T @ W[:, :-1] for W in blocks), np.zeros((len(x), len(x))))
        slopes = np.stack([W[:, :-1].T @ (W @ np.r_[x, -1.0]) for W in blocks])
        slopes -= np.array(self.triangles.counts)[:, None] / self.triangles.rows * slopes.sum(axis=0)
        scatter = slopes.T @ slopes * len(blocks) / max(len(blocks) - 1, 1)
        H = self._hessian(x, data)
        inverse = np.linalg.inv(H)
        noise, between = inverse @ data @ inverse, inverse @ scatter @ inverse
        ratio = np.sqrt(np.maximum(np.diag(between) / np.maximum(np.diag(noise), 1e-300), 1.0))
        return np.asarray(inverse - noise + noise * np.outer(ratio, ratio))

    def hessian_of_prior(self) -> Array:
        """Second derivatives at the prior, without data."""
        x = np.zeros(len(self.layout.names(self.forms)))
        positive, typical = _positive(self.layout, self.forms)
        x[: self.layout.links], x[positive] = parameters_of(self.prior.bodies), typical
        H = self._hessian(x, np.zeros((len(x), len(x))))
        free = np.diag(H) == 0.0
        H[free, free] = 1e-12
        return H

    def _hessian(self, x: Array, data: Array) -> Array:
        links, known = self.layout.links, self.prior.known[:, :-1]
        H0 = data.copy()
        H0[:links, :links] += known.T @ known
        positive, _ = _positive(self.layout, self.forms)
        return hessian(x, H0, links, positive, self.prior.weights, TRUST_OWN**-2)


def _positive(layout: Layout, forms: tuple[Friction, ...]) -> tuple[NDArray[np.int64], Array]:
    """Which parameters are positive besides the bodies', and what the model file says of them."""
    friction, rotors = joint_friction(layout.robot), rotor_inertia(layout.robot)
    places, typical = [], []
    for j, own in enumerate(layout.places(forms)):
        places += [own[0], own[1], *([own[-1]] if layout.rotors else [])]
        typical += [friction.viscous[j], friction.coulomb[j], *([rotors[j]] if layout.rotors else [])]
    return np.array(places), np.maximum(typical, _LEAST_OWN)
