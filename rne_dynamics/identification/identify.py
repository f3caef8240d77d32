"""Identification of an arm: the consistent fit to triangles; noise, friction and drive gains from the recording."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.dynamics.derivatives.regressor import inertial_parameters
from rne_dynamics.dynamics.friction import OWN, joint_parameters
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.identification import consistent_fit as fits
from rne_dynamics.identification import triangles as linear
from rne_dynamics.identification.triangles import FORMS, USUAL, Friction, Layout, Triangles
from rne_dynamics.model.inertia import Array

#: Relative standard deviation of the model file's inertias; of its friction and rotors, a payload and links without
#: mass.
TRUST, _UNSURE = 0.3, 3.0
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
    #: Combinations of all parameters that the recording determines.
    base: linear.BaseParameters

    @property
    def deviations(self) -> Array:
        """Standard deviations of the parameters."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def corrected(self) -> tuple[str, ...]:
        """Bodies whose inertia in the model file is none that a body can have."""
        return fits.corrected(inertial_parameters(self.layout.robot), self.layout.robot.body_names)[1]

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
        square = triangles.squares(x, fit.forms)
        # half of the variance is that of all joints: what remains is mostly the model's error, which may be small for
        # one joint by chance, and its rows would then decide alone
        noise = np.maximum(np.sqrt(0.5 * (square + square.mean())), least)
        better = fit.forms if forms or steady else chosen_friction(triangles, x[: layout.links])
        apart, known = fit.apart(x)  # squared distance from the prior over that of as many parameters as data determine
        widened = float(np.clip(fit.widened * apart.sum() / max(known.sum(), 1.0), 1.0, _WIDEST))
        settled = (np.abs(noise / fit.noise - 1.0) < _SETTLED).all() and abs(widened / fit.widened - 1.0) < _SETTLED
        if (settled and better == fit.forms) or k == _ROUNDS:
            break
        fit = replace(fit, noise=noise, forms=better, widened=widened)
    used = layout.used(fit.forms)
    covariance, before = fit.uncertainty(x, np.maximum(np.sqrt(square), least))
    base = linear.base_parameters(linear.triangle(fit.flat)[:, :-1])
    return Identified(layout, fit.forms, x * used, covariance * np.outer(used, used), before, base)


def chosen_friction(triangles: Triangles, links: Array) -> tuple[Friction, ...]:
    """The form of every joint's friction, for given parameters of the links: the usual one or a much better one.

    What decides is the prediction of blocks of the recording from fits to all others.
    """
    k, free = len(links), not triangles.layout.rotors
    parts = [np.dstack((R[..., k:-1], R[..., -1] - R[..., :k] @ links)) for R in triangles.blocks]
    found = []
    for grams in np.array([own.swapaxes(1, 2) @ own for own in parts]).swapaxes(0, 1):
        error = {form: _left_out(grams, linear.own_places(form)[free : 4 + form.stribeck]) for form in FORMS}
        part = {form: value / (_STRIBECK if form.stribeck else _OTHER) for form, value in error.items()}
        best = min(part, key=part.__getitem__)
        found.append(best if part[best] < error[USUAL] else USUAL)
    return tuple(found)


def _left_out(grams: Array, columns: list[int]) -> float:
    """Sum of the squared errors in every block of the fit of columns to all others."""
    own, rest = np.ix_(range(len(grams)), columns, columns), grams.sum(axis=0) - grams
    inverse = np.linalg.pinv(rest[own], rcond=_SINGULAR, hermitian=True)
    x = np.einsum("bij,bj->bi", inverse, rest[:, columns, -1])
    squares = np.einsum("bi,bij,bj->", x, grams[own], x) + grams[:, -1, -1].sum()
    return float(squares - 2.0 * (x * grams[:, columns, -1]).sum())


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
    def prior(self) -> fits.Prior:
        """That of the robot and its payload."""
        robot, payload = self.triangles.layout.robot, self.triangles.layout.payload
        given = inertial_parameters(robot)
        P, known = fits.corrected(given, robot.body_names)[0], given[::10] >= fits.LIGHTEST
        P[~known] = fits.ball(_UNKNOWN, _RADIUS)
        trust = np.where(known, self.trust, max(self.trust, _UNSURE))
        if payload is not None:
            frame = robot.links[payload]
            guess = fits.moved(fits.ball(self.mass or _PAYLOAD, _RADIUS), frame.rotation, frame.position)
            P, trust = np.concatenate((P, guess[None])), np.append(trust, _UNSURE)
        own = np.maximum(joint_parameters(robot), _LEAST_OWN) * [part != "offset" for part in OWN]
        weights = np.r_[trust**-2.0 / self.widened, np.full(robot.n, _UNSURE**-2)]
        return fits.Prior(np.r_[fits.parameters_of(P), own.ravel()], weights, len(P))

    def rows(self, R: Array, factor: Array | float = 1.0) -> Array:
        """Rows [all parameters, effort] of joints' triangles, of independent rows of standard deviation 1 if the
        noise is that of the fit; times a factor of each joint."""
        return self.triangles.system(R, self.forms, factor / (self.noise * np.sqrt(self.triangles.alike)))

    @cached_property
    def flat(self) -> Array:
        """Rows of all joints, and of the payload's mass if it is known."""
        rows = np.concatenate(self.rows(self.triangles.whole))
        known = np.zeros((int(self.mass is not None), rows.shape[1]))
        known[:, self.triangles.layout.links - 10], known[:, -1] = 1.0 / (_KNOWN * (self.mass or 1.0)), 1.0 / _KNOWN
        return np.concatenate((rows, known))

    @cached_property
    def data(self) -> Array:
        """Their products."""
        return np.asarray(self.flat[:, :-1].T @ self.flat[:, :-1])

    def solved(self) -> Array:
        """The parameters."""
        R = linear.triangle(self.flat)
        return fits.consistent_fit(R[:, :-1], R[:, -1], self.prior)

    def hessian(self, x: Array) -> Array:
        """The second derivatives of the cost."""
        return self.data + self.prior.curvature(x)

    def apart(self, x: Array) -> tuple[Array, Array]:
        """Of every body its squared distance from the prior, and how many of its parameters the data determine."""
        known = np.diag(np.linalg.solve(self.hessian(x), self.data))[: self.triangles.layout.links].reshape(-1, 10)
        return (2.0 * self.prior.weights * self.prior.divergence(x))[: len(known)], known.sum(axis=1)

    def uncertainty(self, x: Array, noise: Array) -> tuple[Array, Array]:
        """The covariance of the fit, with a part of the prior and one of the data; standard deviations without data.

        The data's part is that of the rows' noise, or of the scatter between blocks if it is larger.
        """
        blocks = [np.concatenate(self.rows(R)) for R in self.triangles.blocks]
        slopes = np.stack([W[:, :-1].T @ (W @ np.r_[x, -1.0]) for W in blocks])
        counts = np.array(self.triangles.counts)
        slopes -= counts[:, None] / counts.sum() * slopes.sum(axis=0)
        scatter = slopes.T @ slopes * len(blocks) / max(len(blocks) - 1, 1)
        true = np.concatenate(self.rows(self.triangles.whole, noise / self.noise))[:, :-1]
        inverse = np.linalg.inv(self.hessian(x))
        own, between = (inverse @ part @ inverse for part in (true.T @ true, scatter))
        ratio = np.sqrt(np.maximum(np.diag(between) / np.maximum(np.diag(own), 1e-300), 1.0))
        # how far bodies are from the prior, over what it was trusted to: the distance of one says little of it where
        # few of its parameters are known, so that of all counts as some more
        apart, known = self.apart(x)
        far = (apart + _ALL * apart.sum() / max(known.sum(), 1.0)) / (known + _ALL)
        factor = np.sqrt(np.r_[np.repeat(_CAREFUL * far, 10), np.ones(len(x) - 10 * len(far))])
        prior = inverse @ (self.prior.curvature(x) * np.outer(factor, factor)) @ inverse
        around = self.prior.start.copy()  # friction and rotors are uncertain by a part of themselves
        around[self.triangles.layout.links :] = np.maximum(around, x)[self.triangles.layout.links :]
        before = np.sqrt(np.diag(np.linalg.inv(self.prior.curvature(around))))
        return prior + own * np.outer(ratio, ratio), before * factor


@dataclass(frozen=True, eq=False)
class Gains:
    """Effort over what was logged, of every joint, N·m/A or N/A; and relative standard deviations; (n,) each."""

    values: Array
    deviations: Array


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
    links, R = triangles.layout.links, triangles.whole
    rigid = R[..., :links] @ _Fit(triangles, forms, currents, trust, mass).prior.start[:links]
    size = np.linalg.norm(rigid, axis=1) / np.linalg.norm(R[..., -1], axis=1)
    log, noise = np.log(np.maximum(size, 1e-6)), currents  # of joints without load: the steps find theirs
    for _ in range(_GAIN_STEPS):
        fit = _Fit(triangles.with_gains(np.exp(log)), forms, np.exp(log) * noise, trust, mass)
        x = fit.solved()
        slope, curvature = _slopes(fit, x)
        values, axes = np.linalg.eigh(curvature)
        covariance = (axes / np.maximum(values, _LEAST_CURVATURE)) @ axes.T
        step = -covariance @ slope
        log = log + step * min(1.0, _LONGEST / np.abs(step).max())
        before, noise = noise, np.sqrt(fit.triangles.squares(x, forms)) / np.exp(log) + 1e-4 * currents
        if max(np.abs(step).max(), np.abs(noise / before - 1.0).max()) < _GAINS_SETTLED:
            break
    return Gains(np.exp(log), np.sqrt(np.diag(covariance)))


def _slopes(fit: _Fit, x: Array) -> tuple[Array, Array]:
    """Derivatives of the least cost over logarithms of factors of efforts and noise, at its x; (n,) and (n, n)."""
    W = fit.rows(fit.triangles.whole)
    predicted = W[..., :-1] @ x
    mixed = np.einsum("jrk,jr->kj", W[..., :-1], predicted)
    curvature = np.diag((predicted**2).sum(axis=1)) - mixed.T @ np.linalg.solve(fit.hessian(x), mixed)
    return (predicted * (W[..., -1] - predicted)).sum(axis=1), 0.5 * (curvature + curvature.T)
