"""Motions that excite all parameters of an arm: Fourier series from rest to rest, and the cost of one.

q(t) = start + Σₖ (aₖ sin(ωₖ t) + bₖ (1 − cos(ωₖ t))) / ωₖ with ωₖ = 2π k / T, Σ aₖ = 0 and Σ bₖ ωₖ = 0: velocity and
acceleration are zero at both ends. The columns are those of a fit: base parameters of the links (and
of rotors, where they are felt), and of each joint viscous and Coulomb friction and offset. Scaled to equal length they
have the condition number σ₁/σₘ. The cost is log(σ₁/σₘ) with p-norms instead of the largest and the least, so that it is
smooth, and squares of what exceeds a limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.dynamics.derivatives.regressor import inertial_parameters, regressor
from rne_dynamics.identification.friction_choice import USUAL
from rne_dynamics.model.friction import smooth_signs
from rne_dynamics.model.generalized_inertia import rotor_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

#: Samples of a period of the highest harmonic.
_SAMPLES = 20
#: p of the norms: squares of singular values are raised to this power.
_POWER = 20.0
#: Part of a limit from which a motion costs, and weight of what is above.
_FREE, _WEIGHT = 0.97, 3.0
#: Part of a limit that times may use at which it is checked: what is between them uses slightly more.
_INSIDE = 0.999
#: Differences of positions, velocities and accelerations: columns are linear in the last and quadratic in the second.
_STEPS = (1e-6, 1e-5, 1.0)
#: Speed below which Coulomb friction grows, rad/s or m/s.
_COULOMB = USUAL.threshold
#: Least singular value of scaled columns: the round-off of their products.
_LEAST = 1e-6


class Reach(NamedTuple):
    """What a motion may use: the start and the bounds of positions, speeds and efforts; (n,) each, SI units."""

    start: Array
    lower: Array
    upper: Array
    velocity: Array
    #: Less friction at the largest speed.
    effort: Array


class States(NamedTuple):
    """Positions, velocities and accelerations along a motion; shape (samples, n) each."""

    q: Array
    qd: Array
    qdd: Array


def series(seconds: float, harmonics: int, times: Array) -> States:
    """Functions of time whose combinations are the series, less their start; shape (times, 2 harmonics − 2) each.

    None is faster than 1 rad/s.
    """
    w = 2.0 * np.pi / seconds * np.arange(1, harmonics + 1)
    phase = np.outer(times, w)
    a, b = (np.linalg.svd(row[None])[2][1:].T for row in (np.ones(harmonics), w))
    sine, cosine = np.sin(phase), np.cos(phase)
    scale = 1.0 / np.concatenate((np.abs(a).sum(axis=0), np.abs(b).sum(axis=0)))
    return States(
        scale * np.hstack((sine / w @ a, (1.0 - cosine) / w @ b)), scale * np.hstack((cosine @ a, sine @ b)),
        scale * np.hstack((-w * sine @ a, w * cosine @ b)),
    )


@dataclass(frozen=True, eq=False)
class Design:
    """A family of motions of an arm, each given by n · (2 harmonics − 2) numbers x, and their cost."""

    robot: RobotModel
    reach: Reach
    #: Places of the base parameters among those of links and rotors.
    kept: NDArray[np.int64]
    seconds: float
    harmonics: int

    @property
    def size(self) -> int:
        """Length of x."""
        return self.robot.n * (2 * self.harmonics - 2)

    @cached_property
    def times(self) -> Array:
        """Those at which a motion is judged, s."""
        return np.linspace(0.0, self.seconds, _SAMPLES * self.harmonics, endpoint=False)

    @cached_property
    def _basis(self) -> States:
        return series(self.seconds, self.harmonics, self.times)

    def states(self, x: Array, times: Array | None = None) -> States:
        """The motion x, by default at `times`."""
        q, qd, qdd = self._basis if times is None else series(self.seconds, self.harmonics, times)
        c = self._coefficients(x)
        return States(self.reach.start + q @ c, qd @ c, qdd @ c)

    def _coefficients(self, x: Array) -> Array:
        return np.asarray(x.reshape(self.robot.n, -1).T * self.reach.velocity)

    def widened(self, x: Array, times: Array | None = None, most: float = np.inf) -> Array:
        """The motion with every joint's amplitude as large as position and velocity allow, times `most` at most."""
        q, qd, _ = self.states(x, times)
        way, reach = q - self.reach.start, self.reach
        found = (way.max(axis=0), -way.min(axis=0), np.abs(qd).max(axis=0))
        free = (reach.upper - reach.start, reach.start - reach.lower, reach.velocity)
        factor = _INSIDE * np.min([a / np.maximum(b, 1e-9) for a, b in zip(free, found, strict=True)], axis=0)
        return np.asarray((x.reshape(self.robot.n, -1) * np.minimum(factor, most)[:, None]).ravel())

    def narrowed(self, x: Array, times: Array) -> Array:
        """The motion, amplitudes reduced until it is inside every bound at given times, s."""
        x = self.widened(x, times, 1.0)
        while (np.abs(self.used(self.states(x, times))[2]) > _INSIDE).any():
            x = 0.97 * x
        return x

    def used(self, states: States) -> tuple[Array, Array, Array]:
        """Position, velocity and effort along a motion as parts of their bounds, −1 to 1; (samples, n) each."""
        return self._used(states, self._columns(states))

    def _used(self, states: States, columns: Array) -> tuple[Array, Array, Array]:
        r, effort = self.reach, columns @ self._parameters
        return (2.0 * states.q - r.lower - r.upper) / (r.upper - r.lower), states.qd / r.velocity, effort / r.effort

    @cached_property
    def _parameters(self) -> Array:
        return np.concatenate((inertial_parameters(self.robot), rotor_inertia(self.robot)))

    def _columns(self, states: States) -> Array:
        """Columns of links and rotors, shape (samples, n, 10 · bodies + n)."""
        rotors = states.qdd[:, :, None] * np.eye(self.robot.n)
        return np.concatenate((regressor(self.robot, *states), rotors), axis=2)

    def _products(self, columns: Array, qd: Array) -> tuple[Array, Array, Array]:
        """All columns of a fit, (rows, columns), their lengths, and the products of the scaled ones."""
        own = [column[:, :, None] * np.eye(self.robot.n) for column in (qd, _sign(qd), np.ones_like(qd))]
        rows = np.concatenate((columns[:, :, self.kept], *own), axis=2).reshape(qd.size, -1)
        products = rows.T @ rows
        length = np.sqrt(np.maximum(np.diag(products), np.finfo(float).tiny))
        return rows, length, products / np.outer(length, length)

    def condition(self, x: Array, times: Array | None = None) -> float:
        """The scaled condition number of the motion x."""
        states = self.states(x, times)
        squares = np.linalg.eigvalsh(self._products(self._columns(states), states.qd)[2])
        return float(np.sqrt(squares[-1] / max(squares[0], _LEAST**2)))

    def cost(self, x: Array, *, slopes: bool = True) -> tuple[float, Array]:
        """The cost of the motion x and its derivatives, zeros without `slopes`."""
        states, n = self.states(x), self.robot.n
        columns = self._columns(states)
        rows, length, products = self._products(columns, states.qd)
        value, slope = _log_condition(products)
        K = slope / np.outer(length, length) - np.diag((slope * products).sum(axis=1) / length**2)
        weights = (2.0 * rows @ K).reshape(len(columns), n, -1)  # derivatives by the columns
        used = np.array(self._used(states, columns))
        above = np.sign(used) * np.maximum(np.abs(used) - _FREE, 0.0)
        value += _WEIGHT * float((above**2).sum())
        if not slopes:
            return value, np.zeros(self.size)
        bounds = np.array((0.5 * (self.reach.upper - self.reach.lower), self.reach.velocity, self.reach.effort))
        by_q, by_qd, by_effort = 2.0 * _WEIGHT * above / bounds[:, None]
        by_columns = by_effort[:, :, None] * self._parameters
        by_columns[:, :, self.kept] += weights[:, :, : len(self.kept)]
        own = np.einsum("sjkj->ksj", weights[:, :, len(self.kept) :].reshape(len(columns), n, 3, n))
        by_qd += own[0] + own[1] * np.maximum(1.5 - 1.5 * (states.qd / _COULOMB) ** 2, 0.0) / _COULOMB
        by_state = np.array((by_q, by_qd, np.zeros_like(by_q)))
        for (part, step), k in product(enumerate(_STEPS), range(n)):
            change = self._columns(_moved(states, part, k, step)) - columns
            by_state[part, :, k] += np.einsum("sjc,sjc->s", change, by_columns) / step
        by_coefficients = np.einsum("psc,psk->ck", self._basis, by_state)
        return value, np.asarray((by_coefficients * self.reach.velocity).T.ravel())


def _sign(qd: Array) -> Array:
    """The column of Coulomb friction."""
    return smooth_signs(qd, np.full(qd.shape[1], _COULOMB))


def _moved(states: States, part: int, k: int, step: float) -> States:
    """The states with joint k's positions, velocities or accelerations (part 0, 1, 2) moved by a step."""
    moved = states[part].copy()
    moved[:, k] += step
    return States(*(moved if place == part else values for place, values in enumerate(states)))


def _log_condition(products: Array) -> tuple[float, Array]:
    """log(σ₁/σₘ) with p-norms of the singular values, and its derivatives by the products of scaled columns."""
    squares, axes = np.linalg.eigh(products)
    squares = np.maximum(squares, _LEAST**2)
    large, small = (squares / squares[-1]) ** _POWER, (squares[0] / squares) ** _POWER
    norms = np.log([squares[-1], squares[0]]) + np.log([large.sum(), 1.0 / small.sum()]) / _POWER
    slopes = 0.5 * (large / large.sum() - small / small.sum()) / squares
    return float(0.5 * (norms[0] - norms[1])), np.asarray((axes * slopes) @ axes.T)
