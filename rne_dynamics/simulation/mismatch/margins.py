"""Stability margins of a law, linearised about an arm at rest that equals its model, without dry friction.

For small deviations δq the arm obeys M δq̈ + B δq̇ + G δq = u with the viscous friction B and G = ∂g/∂q. The law's
u = −(K δq + D δq̇ + I ∫δq dt) is differentiated numerically. It is sampled and held, with period T.

Gain: the sampled loop with the efforts k·u, x⁺ = Φ x + k Γ u, is stable between two k. The lower one is the limit of
arms that feel 1 / k times the model's inertia: with integral gains it is above 0.

Delay: with a delay τ the loop oscillates at ω without end where (ω² M − jω B − G)⁻¹ (K + jω D + I / jω) has the
eigenvalue e^{jωτ}; half a period, for which a held effort is older than a continuous one, is taken off the least τ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rne_dynamics.control.control_law import ControlLaw, terms_of
from rne_dynamics.control.reference import Reference
from rne_dynamics.dispatch import gravity_torque, mass_matrix
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot

#: Step of differences, rad or m and per s; radius of poles that counts as not stable: differences are not exact.
STEP, UNSTABLE = 1e-5, 1.0 + 1e-6
#: Largest gain that is tried, and its growth from one try to the next.
MOST, GROWTH = 1e3, 1.1
#: Lowest frequency, rad/s, and number of frequencies up to half of the highest that is sampled.
LOWEST, FREQUENCIES = 0.05, 600
_HALVINGS = 40


class Margins(NamedTuple):
    """Margins of a law; 1, 1 and 0 where it is not stable."""

    #: Factors of all efforts that answer to deviations between which the loop is stable; 0 below 1 / `MOST`, infinite
    #: above `MOST`.
    least_gain: float
    gain: float
    #: Delay of efforts up to which it is, s; infinite where none is too much.
    delay: float


def stability_margins(law: ControlLaw, robot: RigidRobot, q: Array, period: float) -> Margins:
    """Margins of a law on an arm at rest at `q`, (n,), with efforts every `period`, s; what a law learns is fixed."""
    n, zero = robot.n, np.zeros(robot.n)
    aim = Reference(q, zero, zero)

    def slope(function: Callable[[Array], Array]) -> Array:
        return np.stack([(function(x) - function(-x)) / (2.0 * STEP) for x in STEP * np.eye(n)], axis=1)

    K = -slope(lambda x: terms_of(law, q + x, zero, aim, zero, None, None).total)
    D = -slope(lambda x: terms_of(law, q, x, aim, zero, None, None).total)
    integral = slope(lambda x: terms_of(law, q, zero, aim, x, None, None).total)
    G = slope(lambda x: gravity_torque(robot, q + x))
    M, B = np.asarray(mass_matrix(robot, q)), np.diag(joint_friction(robot).viscous)
    least, most = _gains(M, B, G, (K, D, integral), period)
    return Margins(least, most, 0.0 if most == 1.0 else max(_delay(M, B, G, (K, D, integral), period), 0.0))


def _gains(M: Array, B: Array, G: Array, law: tuple[Array, Array, Array], period: float) -> tuple[float, float]:
    n, unit = len(M), np.eye(len(M))
    rates = np.zeros((3 * n, 3 * n))
    rates[:n, n : 2 * n] = unit
    rates[n : 2 * n, :n], rates[n : 2 * n, n : 2 * n] = -np.linalg.solve(M, G), -np.linalg.solve(M, B)
    rates[n : 2 * n, 2 * n :] = np.linalg.inv(M)
    exact = scipy.linalg.expm(period * rates)
    pushed = np.vstack([exact[: 2 * n, 2 * n :], np.zeros((n, n))])
    free = np.block([[exact[: 2 * n, : 2 * n], np.zeros((2 * n, n))], [period * unit, np.zeros((n, n)), unit]])
    answer = np.hstack(law)
    kept = 3 * n if law[2].any() else 2 * n

    def stable(k: float) -> bool:
        poles = np.linalg.eigvals((free - k * pushed @ answer)[:kept, :kept])
        return bool(np.abs(poles).max() < UNSTABLE)

    if not stable(1.0):
        return 1.0, 1.0
    return _border(stable, 1.0 / GROWTH, 1.0 / MOST, 0.0), _border(stable, GROWTH, MOST, np.inf)


def _border(stable: Callable[[float], bool], growth: float, last: float, beyond: float) -> float:
    """The last stable gain from 1 on in steps of a factor; `beyond` where `last` is stable."""
    inside, outside = 1.0, growth
    while stable(outside):
        inside, outside = outside, growth * outside
        if abs(np.log(inside)) > abs(np.log(last)):
            return beyond
    for _ in range(_HALVINGS):
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if stable(middle) else (inside, middle)
    return inside


def _delay(M: Array, B: Array, G: Array, law: tuple[Array, Array, Array], period: float) -> float:
    K, D, integral = law

    def loci(omega: Array) -> NDArray[np.complex128]:
        """Eigenvalues by size, (…, n), at frequencies (…,)."""
        w = omega[..., None, None]
        loop = np.linalg.solve(w**2 * M - 1j * w * B - G, K + 1j * w * D + integral / (1j * w))
        found = np.asarray(np.linalg.eigvals(loop), dtype=np.complex128)
        return np.take_along_axis(found, np.argsort(np.abs(found), axis=-1), axis=-1)

    omega = np.geomspace(LOWEST, 0.5 * np.pi / period, FREQUENCIES)
    above = np.abs(loci(omega)) > 1.0
    least = np.inf
    for i, k in zip(*np.nonzero(above[1:] != above[:-1]), strict=True):
        low, high = omega[i], omega[i + 1]
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            same = (np.abs(loci(np.array(middle)))[k] > 1.0) == above[i, k]
            low, high = (middle, high) if same else (low, middle)
        angle = float(np.angle(loci(np.array(low))[k])) % (2.0 * np.pi)
        least = min(least, angle / low)
    return least - 0.5 * period
