"""Identification of an arm: the consistent fit to triangles; noise, friction and drive gains from the recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.dynamics.derivatives.regressor import inertial_parameters
from rne_dynamics.dynamics.friction import OWN, joint_parameters
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.identification.consistent_fit import (
    LIGHTEST,
    Prior,
    ball,
    consistent_fit,
    corrected,
    moved,
    parameters_of,
)
from rne_dynamics.identification.triangles import (
    THRESHOLDS,
    USUAL,
    BaseParameters,
    Friction,
    Layout,
    Triangles,
    base_parameters,
    triangle,
)
from rne_dynamics.model.inertia import Array

#: Relative standard deviation of the model file's inertias, of its friction and rotors, and of a payload's or those of
#: links without mass.
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
#: A payload of unknown mass and a link without mass as they are assumed: masses, kg, and radius, m. Part of a known
#: mass that is its deviation.
_PAYLOAD, _UNKNOWN, _RADIUS, _KNOWN = 1.0, 0.2, 0.08, 0.002
#: Error of another threshold, and with friction that is larger at low speed, over that of the usual form, to be taken.
_OTHER, _STRIBECK = 0.7, 0.5
#: Least part of the largest singular value of a joint's own columns.
_SINGULAR = 1e-9
#: Of the search for gains: most steps, the longest in log K, changes at which it ends, and the least curvature, of a
#: gain that neither load nor model say anything of.
_GAIN_STEPS, _LONGEST, _GAINS_SETTLED, _LEAST_CURVATURE = 40, 0.4, 2e-3, 1e-2


@dataclass(frozen=True, eq=False)
class Identified:
    """Parameters of an arm that were identified."""

    layout: Layout
    #: Form of every joint's friction.
    forms: tuple[Friction, ...]
    #: All parameters, in the order of `Layout.names`, and their covariance; 0 where `Layout.used` is false.
    parameters: Array
    covariance: Array
    #: Standard deviations before the recording.
    before: Array
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

    @property
    def corrected(self) -> tuple[str, ...]:
        """Bodies whose inertia in the model file is none that a body can have."""
        return corrected(inertial_parameters(self.layout.robot), self.layout.robot.body_names)[1]

    @property
    def from_data(self) -> NDArray[np.bool_]:
        """Whether each is known from the data rather than from the model file: half as uncertain as before."""
        return self.deviations < 0.5 * self.before


def identify(
    triangles: Triangles, *, trust: float = TRUST, forms: tuple[Friction, ...] | None = None,
    payload_mass: float | None = None,
) -> Identified:
    """Fit all parameters to one or several recordings, with the robot's as prior.

    `trust`: relative standard deviation of the robot's inertias, 0.1 for a data sheet, 1 for a guess. `forms`: of the
    joints' friction; by default those that predict best. `payload_mass`: kg, of the layout's payload, if it is known.
    """
    layout, least = triangles.layout, _LEAST_NOISE * triangles.effort + 1e-12
    fit = _Fit(triangles, forms or (USUAL,) * layout.robot.n, 0.1 * triangles.effort + 1e-9, trust, payload_mass)
    for k in range(1, _ROUNDS + 1):
        x, steady = fit.solved(), k > _ROUNDS // 2
        square, far = triangles.squares(x, fit.forms), fit.far(x)
        # half of the variance is that of all joints: what remains is mostly the model's error, which may be small for
        # one joint by chance, and its rows would then decide alone
        noise = np.maximum(np.sqrt(0.5 * (square + square.mean())), least)
        better = fit.forms if forms or steady else chosen_friction(triangles, x[: layout.links])
        widened = float(np.clip(fit.widened * far, 1.0, _WIDEST))
        settled = (np.abs(noise / fit.noise - 1.0) < _SETTLED).all() and abs(widened / fit.widened - 1.0) < _SETTLED
        if (settled and better == fit.forms) or k == _ROUNDS:
            break
        fit = replace(fit, noise=noise, forms=better, widened=widened)
    covariance = fit.covariance(x, np.maximum(np.sqrt(square), least))
    return Identified(layout, fit.forms, x, covariance, fit.before(x), triangle(fit.flat))


def chosen_friction(triangles: Triangles, links: Array) -> tuple[Friction, ...]:
    """The form of every joint's friction, for given parameters of the links: the usual one or a much better one.

    What decides is the prediction of blocks of the recording from fits to all others.
    """
    parts = [np.concatenate((R[..., len(links) : -1], R[..., -1:] - R[..., : len(links)] @ links[:, None]), axis=-1)
             for R in triangles.blocks]  # fmt: skip
    grams = np.array([own.swapaxes(1, 2) @ own for own in parts])
    found = []
    for gram in grams.swapaxes(0, 1):
        error = {form: _left_out(gram, form, rotor=triangles.layout.rotors)
                 for form in (Friction(*form) for form in product(THRESHOLDS, (False, True)))}  # fmt: skip
        part = {form: value / (_STRIBECK if form.stribeck else _OTHER) for form, value in error.items()}
        best = min(part, key=part.__getitem__)
        found.append(best if part[best] < error[USUAL] else USUAL)
    return tuple(found)


def _left_out(grams: Array, form: Friction, *, rotor: bool) -> float:
    """Sum of the squared errors in every block of the fit to all others."""
    place = 3 + 2 * THRESHOLDS.index(form.threshold)
    columns = [*range(not rotor, 3), *range(place, place + 1 + form.stribeck)]
    total, error = grams.sum(axis=0), 0.0
    for gram in grams:
        rest, own = total - gram, gram[np.ix_(columns, columns)]
        x = np.linalg.pinv(rest[np.ix_(columns, columns)], rcond=_SINGULAR, hermitian=True) @ rest[columns, -1]
        error += x @ own @ x - 2.0 * x @ gram[columns, -1] + gram[-1, -1]
    return float(error)


@dataclass(frozen=True, eq=False)
class _Fit:
    """Triangles, weighted, and a prior."""

    triangles: Triangles
    forms: tuple[Friction, ...]
    #: Standard deviation of a row of each joint.
    noise: Array
    trust: float
    #: Mass of the payload, kg, if it is known.
    mass: float | None = None
    #: Variance of the prior over that of its trust.
    widened: float = 1.0

    @cached_property
    def prior(self) -> Prior:
        """That of the robot and its payload."""
        layout, robot = self.triangles.layout, self.triangles.layout.robot
        bodies, _ = corrected(inertial_parameters(robot), robot.body_names)
        known = inertial_parameters(robot)[::10] >= LIGHTEST
        bodies[~known] = ball(_UNKNOWN, _RADIUS)
        weights = np.where(known, self.trust, np.maximum(self.trust, TRUST_PAYLOAD)) ** -2
        if layout.payload is not None:
            frame = robot.links[layout.payload]
            guess = moved(ball(self.mass or _PAYLOAD, _RADIUS), frame.rotation, frame.position)
            bodies, weights = np.concatenate((bodies, guess[None])), np.append(weights, TRUST_PAYLOAD**-2)
        bounded = np.tile([part != "offset" for part in OWN], robot.n)
        own = np.flatnonzero(layout.used(self.forms)[layout.links :] & bounded)
        typical = np.maximum(joint_parameters(robot).ravel()[own], _LEAST_OWN)
        return Prior(len(layout.names), bodies, weights / self.widened, own + layout.links, typical, TRUST_OWN**-2)

    def rows(self, R: Array, factor: Array | float = 1.0) -> Array:
        """Rows [all parameters, effort] of joints' triangles, of independent rows of standard deviation 1 if the
        noise is that of the fit; times a factor of each joint."""
        return self.triangles.system(R, self.forms, factor / (self.noise * np.sqrt(self.triangles.alike)))

    @cached_property
    def flat(self) -> Array:
        """Rows of all joints, and of the payload's mass if it is known."""
        rows = np.concatenate(self.rows(self.triangles.whole))
        if self.mass is None:
            return rows
        known = np.zeros((1, rows.shape[1]))
        known[0, [self.triangles.layout.links - 10, -1]] = np.array([1.0 / self.mass, 1.0]) / _KNOWN
        return np.concatenate((rows, known))

    @cached_property
    def data(self) -> Array:
        """Their products."""
        return np.asarray(self.flat[:, :-1].T @ self.flat[:, :-1])

    def solved(self) -> Array:
        """The parameters."""
        R = triangle(self.flat)
        return consistent_fit(R[:, :-1], R[:, -1], self.prior)

    def slopes_of_gains(self, x: Array) -> tuple[Array, Array]:
        """First and second derivatives of the least cost over the logarithms of factors of efforts and noise.

        At the parameters x of that least cost; shapes (n,), (n, n).
        """
        W = self.rows(self.triangles.whole)
        predicted = W[..., :-1] @ x
        mixed = np.einsum("jrk,jr->kj", W[..., :-1], predicted)
        curvature = np.diag((predicted**2).sum(axis=1)) - mixed.T @ np.linalg.solve(self._hessian(x), mixed)
        return (predicted * (W[..., -1] - predicted)).sum(axis=1), 0.5 * (curvature + curvature.T)

    def _hessian(self, x: Array) -> Array:
        return self.data + self.prior.curvature(x)

    def _apart(self, x: Array) -> tuple[Array, Array]:
        """Of every body its squared distance from the prior, and how many of its parameters the data determine."""
        known = np.diag(np.linalg.solve(self._hessian(x), self.data))[: self.prior.links].reshape(-1, 10).sum(axis=1)
        return 2.0 * self.prior.weights * self.prior.divergence(x), known

    def far(self, x: Array) -> float:
        """How far the fit is from the prior: squared distance over that of as many parameters as the data determine."""
        apart, known = self._apart(x)
        return float(apart.sum() / max(known.sum(), 1.0))

    def covariance(self, x: Array, noise: Array) -> Array:
        """The covariance of the fit: a part of the prior, and one of the data.

        That is the part of the rows' noise, or of the scatter between blocks if it is larger.
        """
        blocks = [np.concatenate(self.rows(R)) for R in self.triangles.blocks]
        slopes = np.stack([W[:, :-1].T @ (W @ np.r_[x, -1.0]) for W in blocks])
        counts = np.array(self.triangles.counts)
        slopes -= counts[:, None] / counts.sum() * slopes.sum(axis=0)
        scatter = slopes.T @ slopes * len(blocks) / max(len(blocks) - 1, 1)
        true = np.concatenate(self.rows(self.triangles.whole, noise / self.noise))[:, :-1]
        inverse, factors = np.linalg.inv(self._hessian(x)), self._factors(x)
        own, between = (inverse @ part @ inverse for part in (true.T @ true, scatter))
        ratio = np.sqrt(np.maximum(np.diag(between) / np.maximum(np.diag(own), 1e-300), 1.0))
        prior = inverse @ (self.prior.curvature(x) * factors) @ inverse
        return np.asarray(prior + own * np.outer(ratio, ratio))

    def before(self, x: Array) -> Array:
        """Standard deviations without the data, where the fit x is as far from the prior as it is."""
        covariance = np.linalg.inv(self.prior.curvature(self.prior.start)) * self._factors(x)
        return np.asarray(np.sqrt(np.diag(covariance)))

    def _factors(self, x: Array) -> Array:
        """Factors of the prior's covariance: how far bodies are from it, over what it was trusted to."""
        apart, known = self._apart(x)
        # a body's own distance says little of it where few of its parameters are known: that of all counts as some more
        far = (apart + _ALL * apart.sum() / max(known.sum(), 1.0)) / (known + _ALL)
        factor = np.sqrt(np.r_[np.repeat(_CAREFUL * far, 10), np.ones(len(x) - 10 * len(far))])
        return np.outer(factor, factor)


@dataclass(frozen=True, eq=False)
class Gains:
    """Effort over what was logged, of every joint; N·m/A or N/A, shape (n,) each."""

    values: Array
    #: Relative standard deviations.
    deviations: Array


def with_gains(triangles: Triangles, gains: Array) -> Triangles:
    """Triangles of efforts, from those of currents."""
    last = np.arange(triangles.whole.shape[2]) == triangles.whole.shape[2] - 1
    factors = np.where(last, gains[:, None], 1.0)[:, None]
    return replace(triangles, blocks=tuple(R * factors for R in triangles.blocks))


def estimated_gains(triangles: Triangles, mass: float, trust: float = TRUST) -> Gains:
    """The gains of currents in a recording with a payload of known mass, kg.

    Of all gains and parameters the likeliest: currents i = (W x) / K + noise. For given gains the parameters are those
    of the consistent fit; its cost is lowered by Gauss-Newton steps in log K, with the parameters at their own minimum.

    `triangles`: of currents; their layout has the payload. Recordings without it make the gains of joints under its
    weight independent of the model's masses. `trust`: as for `identify`; gains of other joints are known from it.
    """
    forms, currents = (USUAL,) * triangles.layout.robot.n, triangles.effort
    if not currents.all():
        raise RneDynamicsError("some joint's current is zero all the time, so its gain cannot be found; leave it out")
    fit = _Fit(triangles, forms, currents, trust, mass)
    log, noise = np.log(_first(triangles, fit.prior, forms)), currents
    for _ in range(_GAIN_STEPS):
        fit = _Fit(with_gains(triangles, np.exp(log)), forms, np.exp(log) * noise, trust, mass)
        x = fit.solved()
        slope, curvature = fit.slopes_of_gains(x)
        values, axes = np.linalg.eigh(curvature)
        covariance = (axes / np.maximum(values, _LEAST_CURVATURE)) @ axes.T
        step = -covariance @ slope
        log = log + step * min(1.0, _LONGEST / np.abs(step).max())
        before, noise = noise, np.sqrt(fit.triangles.squares(x, forms)) / np.exp(log) + 1e-4 * currents
        if max(np.abs(step).max(), np.abs(noise / before - 1.0).max()) < _GAINS_SETTLED:
            break
    return Gains(np.exp(log), np.sqrt(np.diag(covariance)))


def _first(triangles: Triangles, prior: Prior, forms: Sequence[Friction]) -> Array:
    """Gains with which each joint's efforts are best those of the prior, its own friction aside."""
    found = []
    for rows in triangles.system(triangles.whole, forms):
        own, rigid = rows[:, prior.links : -1], rows[:, : prior.links] @ parameters_of(prior.bodies)
        sides = np.c_[rows[:, -1], -own[:, own.any(axis=0)]]
        length = np.maximum(np.linalg.norm(sides, axis=0), 1e-300)
        gain = np.linalg.lstsq(sides / length, rigid, rcond=1e-6)[0][0] / length[0]
        whole = np.linalg.norm(rigid) / length[0]
        found.append(gain if whole / 3.0 < gain < 3.0 * whole else max(whole, 1e-6))
    return np.array(found)
