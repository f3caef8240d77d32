"""Identification of an arm: the consistent fit to triangles, with noise and friction from the recording."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.dynamics.derivatives.regressor import inertial_parameters
from rne_dynamics.identification.columns import Friction, Layout, link_columns, own_columns
from rne_dynamics.identification.consistent_fit import consistent_fit, hessian
from rne_dynamics.identification.friction_choice import USUAL, chosen_friction
from rne_dynamics.identification.motion import Motion
from rne_dynamics.identification.pseudo_inertia import corrected, parameters_of
from rne_dynamics.identification.triangles import Triangles, triangle
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.generalized_inertia import rotor_inertia
from rne_dynamics.model.inertia import Array

#: Relative standard deviation of the model file's inertias, and of its friction and rotors.
TRUST, TRUST_OWN = 0.3, 3.0
#: Least friction and rotor that counts as a prior, N·m or N and kg·m² or kg: files often have none.
_LEAST_OWN = 0.05
#: Change of the noise at which it has settled, and most rounds.
_SETTLED, _ROUNDS = 0.02, 12
#: Least noise over the root mean square of a joint's effort.
_LEAST_NOISE = 1e-4


@dataclass(frozen=True, eq=False)
class Identified:
    """Parameters of an arm that were identified."""

    layout: Layout
    #: Form of every joint's friction.
    forms: tuple[Friction, ...]
    #: All parameters, in the order of `Layout.names`, and their standard deviations.
    parameters: Array
    deviations: Array
    #: Whether each is known from the data rather than from the model file: half as uncertain as before.
    from_data: NDArray[np.bool_]
    #: Standard deviation of the efforts' residuals, N·m or N; shape (n,).
    noise: Array
    #: Bodies whose inertia in the model file is none that a body can have.
    corrected: tuple[str, ...]

    def efforts(self, motion: Motion) -> Array:
        """The efforts along a motion, N·m or N; shape (rows, n)."""
        links, places = self.layout.links, self.layout.places(self.forms)
        tau = link_columns(self.layout.robot, motion) @ self.parameters[:links]
        for j, form in enumerate(self.forms):
            tau[:, j] += own_columns(motion, j)[:, self.layout.own_columns(form)] @ self.parameters[places[j]]
        return np.asarray(tau)


def identify(triangles: Triangles, *, trust: float = TRUST, forms: tuple[Friction, ...] | None = None) -> Identified:
    """Fit all parameters to a recording, with the robot's as prior.

    Parameters
    ----------
    triangles
        Of one or several recordings.
    trust
        Relative standard deviation of the robot's inertias: 0.1 for a data sheet, 1 for a guess.
    forms
        Of the joints' friction; by default those that predict best.
    """
    layout = triangles.layout
    prior, changed = corrected(inertial_parameters(layout.robot), layout.robot.body_names)
    effort = np.array([np.linalg.norm(R[:, -1]) for R in triangles.joints]) / np.sqrt(triangles.rows)
    noise, chosen = np.maximum(0.1 * effort, 1e-9), forms or (USUAL,) * layout.robot.n
    rounds = 0
    while True:
        x, H = _fit(triangles, chosen, noise, prior, trust)
        new = np.sqrt(triangles.squares(x, chosen) / triangles.rows)
        # half of the variance is that of all joints: what remains is mostly the model's error, which may be small for
        # one joint by chance, and its rows would then decide alone
        weighed = np.sqrt(0.5 * (new**2 + (new**2).mean()))
        weighed = np.maximum(weighed, _LEAST_NOISE * effort + 1e-12)
        settled = bool((np.abs(weighed / noise - 1.0) < _SETTLED).all())
        better = chosen if forms else chosen_friction(triangles, x[: layout.links])
        rounds += 1
        if (settled and (better == chosen or rounds > _ROUNDS // 2)) or rounds == _ROUNDS:
            break
        noise, chosen = weighed, better if rounds <= _ROUNDS // 2 else chosen
    deviations = np.sqrt(np.diag(np.linalg.inv(H)))
    before = np.sqrt(np.diag(np.linalg.inv(_prior_hessian(layout, chosen, prior, trust))))
    return Identified(layout, chosen, x, deviations, deviations < 0.5 * before, new, changed)


def _fit(
    triangles: Triangles, forms: tuple[Friction, ...], noise: Array, prior: Array, trust: float
) -> tuple[Array, Array]:
    """Parameters and the second derivatives of what they minimise."""
    layout = triangles.layout
    size, places = len(layout.names(forms)), layout.places(forms)
    parts = []
    for j, form in enumerate(forms):
        given = triangles.system(j, form)
        rows = np.zeros((len(given), size + 1))
        rows[:, np.r_[: layout.links, places[j], size]] = given / noise[j]
        parts.append(rows)
    R = triangle(np.concatenate(parts))
    positive, typical = _positive(layout, forms)
    weights = trust**-2, TRUST_OWN**-2
    x = consistent_fit(R[:, :-1], R[:, -1], prior, positive, typical, *weights)
    return x, hessian(x, R[:, :-1].T @ R[:, :-1], layout.links, positive, *weights)


def _positive(layout: Layout, forms: tuple[Friction, ...]) -> tuple[NDArray[np.int64], Array]:
    """Which parameters are positive besides the bodies', and what the model file says of them."""
    friction, rotors = joint_friction(layout.robot), rotor_inertia(layout.robot)
    places, typical = [], []
    for j, own in enumerate(layout.places(forms)):
        places += [own[0], own[1], *([own[-1]] if layout.rotors else [])]
        typical += [friction.viscous[j], friction.coulomb[j], *([rotors[j]] if layout.rotors else [])]
    return np.array(places), np.maximum(typical, _LEAST_OWN)


def _prior_hessian(layout: Layout, forms: tuple[Friction, ...], prior: Array, trust: float) -> Array:
    """Second derivatives at the prior, without data."""
    size = len(layout.names(forms))
    positive, typical = _positive(layout, forms)
    x = np.zeros(size)
    x[: layout.links], x[positive] = parameters_of(prior), typical
    H = hessian(x, np.zeros((size, size)), layout.links, positive, trust**-2, TRUST_OWN**-2)
    free = np.diag(H) == 0.0
    H[free, free] = 1e-12
    return H
