"""Drive gains of logs in amperes, N·m/A or N/A: found together with the parameters, from a load of known mass.

Of all gains and parameters the likeliest: currents i = (W x) / K + noise. For given gains the parameters are those of
the consistent fit; its cost is lowered by Gauss-Newton steps in log K, with the parameters at their own minimum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.identification.friction_choice import USUAL
from rne_dynamics.identification.identify import TRUST, Prior, WeightedFit
from rne_dynamics.identification.pseudo_inertia import parameters_of
from rne_dynamics.identification.triangles import Triangles
from rne_dynamics.model.inertia import Array

#: Most steps, the longest in log K, and changes at which they end.
_STEPS, _LONGEST, _SETTLED = 40, 0.4, 2e-3
#: Least curvature: of a gain that neither load nor model say anything of.
_LEAST = 1e-2


@dataclass(frozen=True, eq=False)
class Gains:
    """Effort over what was logged, of every joint; N·m/A or N/A, shape (n,) each."""

    values: Array
    #: Relative standard deviations.
    deviations: Array


def with_gains(triangles: Triangles, gains: Array) -> Triangles:
    """Triangles of efforts, from those of currents."""
    blocks = tuple(tuple(_scaled(R, k) for R, k in zip(parts, gains, strict=True)) for parts in triangles.blocks)
    return replace(triangles, blocks=blocks)


def _scaled(R: Array, gain: float) -> Array:
    return np.asarray(np.c_[R[:, :-1], gain * R[:, -1]])


def estimated_gains(triangles: Triangles, mass: float, trust: float = TRUST) -> Gains:
    """The gains of currents in a recording with a payload of known mass, kg.

    Parameters
    ----------
    triangles
        Of currents; their layout has the payload. Recordings without it make the gains of joints under its
        weight independent of the model's masses.
    trust
        As for `identify`; it is what gains of other joints are known from.
    """
    layout = triangles.layout
    prior, forms = Prior.of(layout, trust, mass), (USUAL,) * layout.robot.n
    currents = np.array([np.linalg.norm(R[:, -1]) for R in triangles.joints]) / np.sqrt(triangles.rows)
    if not currents.all():
        raise RneDynamicsError("some joint's current is zero all the time, so its gain cannot be found; leave it out")
    log, noise = np.log(_first(triangles, prior)), currents
    for _ in range(_STEPS):
        fit = WeightedFit(with_gains(triangles, np.exp(log)), prior, forms, np.exp(log) * noise)
        x = fit.solved()
        slope, curvature = fit.slopes_of_gains(x)
        values, axes = np.linalg.eigh(curvature)
        covariance = (axes / np.maximum(values, _LEAST)) @ axes.T
        step = -covariance @ slope
        log = log + step * min(1.0, _LONGEST / np.abs(step).max())
        before, noise = noise, np.sqrt(fit.triangles.squares(x, forms) / triangles.rows) / np.exp(log) + 1e-4 * currents
        if np.abs(step).max() < _SETTLED and (np.abs(noise / before - 1.0) < _SETTLED).all():
            break
    return Gains(np.exp(log), np.sqrt(np.diag(covariance)))


def _first(triangles: Triangles, prior: Prior) -> Array:
    """Gains with which each joint's efforts are best those of the prior, its own friction aside."""
    layout, x, found = triangles.layout, parameters_of(prior.bodies), []
    for R in triangles.joints:
        W = triangles.system(R, USUAL)
        sides = np.c_[W[:, -1], -W[:, layout.links : -1]]
        sides = sides / np.maximum(np.linalg.norm(sides, axis=0), 1e-300)
        gain = np.linalg.lstsq(sides, W[:, : layout.links] @ x, rcond=1e-6)[0][0] / np.linalg.norm(W[:, -1])
        whole = np.linalg.norm(W[:, : layout.links] @ x) / np.linalg.norm(W[:, -1])
        found.append(gain if whole / 3.0 < gain < 3.0 * whole else max(whole, 1e-6))
    return np.array(found)
