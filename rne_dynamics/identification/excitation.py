"""Motions that excite all parameters of an arm: Fourier series from rest to rest, and the search for a good one.

q(t) = start + Σₖ (aₖ sin(ωₖ t) + bₖ (1 − cos(ωₖ t))) / ωₖ with ωₖ = 2π k / T, Σ aₖ = 0 and Σ bₖ ωₖ = 0: velocity and
acceleration are zero at both ends. The columns are those of a fit: base parameters of links, rotors where they are
felt, viscous and Coulomb friction and offsets. Scaled to equal length they have the condition number σ₁/σₘ. The cost is
log(σ₁/σₘ) with p-norms instead of the largest and the least, so that it is smooth, and squares of what exceeds a limit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import count, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from rne_dynamics.control.trajectory import SampledTrajectory
from rne_dynamics.dispatch import gravity_torque
from rne_dynamics.dynamics.derivatives.regressor import inertial_parameters, regressor
from rne_dynamics.dynamics.friction import OWN, joint_parameters
from rne_dynamics.errors import ArgumentError, ModelError
from rne_dynamics.identification.triangles import USUAL, motion_columns, structure
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot
from rne_dynamics.model.robot import RobotModel

#: Random motions that the search begins with, and how many descents share the budget at least.
STARTS, RUNS = 50, 3
#: Part of the limits that a motion uses, and of the effort limits, whatever the scale: gravity has no scale.
SCALE, EFFORT = 0.8, 0.8
#: Largest way from the start, rad or m, and velocity of joints without limit, rad/s or m/s.
_WAY, _VELOCITY = np.pi, 1.0
#: Part of the effort that a start may need to hold the arm; random postures that are compared where neutral needs more.
_HELD, _POSTURES = 0.5, 500
#: Part of a joint's range that is free on either side of the start.
_MIDDLE = 0.25
#: Samples of a period of the highest harmonic, as points of the trajectory too: quintics between them deviate by less
#: than 1 µrad. Times for one point at which the limits are checked.
_SAMPLES, _FINE = 20, 5
#: p of the norms: squares of singular values are raised to this power.
_POWER = 20.0
#: Part of a limit from which a motion costs, and weight of what is above.
_FREE, _WEIGHT = 0.97, 3.0
#: Part of a limit that times may use at which it is checked: what is between them uses slightly more.
_INSIDE = 0.999
#: Differences of positions, velocities and accelerations: columns are linear in the last and quadratic in the second.
_STEPS = (1e-6, 1e-5, 1.0)
#: Least singular value of scaled columns: the round-off of their products.
_LEAST = 1e-6

#: Positions, velocities and accelerations along a motion; shape (samples, n) each.
States = tuple[Array, Array, Array]


class Evaluations(int):
    """A number of motions that a search tries."""


class Reach(NamedTuple):
    """What a motion may use: the start and the bounds of positions, speeds and efforts; (n,) each, SI units."""

    start: Array
    lower: Array
    upper: Array
    velocity: Array
    effort: Array


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion that excites the parameters of an arm."""

    #: From rest to rest at the same posture, with velocities and accelerations.
    trajectory: SampledTrajectory
    #: Scaled condition number of its columns, and of the best random motion.
    condition: float
    random: float
    #: Number of independent parameters of a fit; combinations of links with friction are one.
    parameters: int
    #: Largest part of the bounds of position, velocity and effort that each joint uses; shape (3, n).
    used: Array


def series(seconds: float, harmonics: int, times: Array) -> States:
    """Functions of time whose combinations are the series, less their start; none is faster than 1 rad/s."""
    w = 2.0 * np.pi / seconds * np.arange(1, harmonics + 1)
    phase = np.outer(times, w)
    a, b = (np.linalg.svd(row[None])[2][1:].T for row in (np.ones(harmonics), w))
    sine, cosine = np.sin(phase), np.cos(phase)
    scale = 1.0 / np.concatenate((np.abs(a).sum(axis=0), np.abs(b).sum(axis=0)))
    rows = (sine / w @ a, (1.0 - cosine) / w @ b), (cosine @ a, sine @ b), (-w * sine @ a, w * cosine @ b)
    q, qd, qdd = (scale * np.hstack(parts) for parts in rows)
    return q, qd, qdd


@dataclass(frozen=True, eq=False)
class Design:
    """A family of motions of an arm, each given by n · (2 harmonics − 2) numbers x, and their cost."""

    robot: RobotModel
    reach: Reach
    seconds: float
    harmonics: int
    #: Whether rotors are felt.
    rotors: bool = False

    @property
    def size(self) -> int:
        """Length of x."""
        return self.robot.n * (2 * self.harmonics - 2)

    @cached_property
    def kept(self) -> NDArray[np.int64]:
        """Places of independent columns."""
        return structure(self.robot, rotors=self.rotors, joints=True).kept

    @cached_property
    def _parameters(self) -> Array:
        return np.concatenate((inertial_parameters(self.robot), joint_parameters(self.robot).ravel()))

    @cached_property
    def _basis(self) -> States:
        return series(self.seconds, self.harmonics, self.times())

    def times(self, fine: int = 0) -> Array:
        """Those at which a motion is judged, s; or, finer, from the start to the end."""
        samples = max(fine, 1) * _SAMPLES * self.harmonics
        return np.linspace(0.0, self.seconds, samples + (fine > 0), endpoint=fine > 0)

    def states(self, x: Array, times: Array | None = None) -> States:
        """The motion x, by default at `times`."""
        q, qd, qdd = self._basis if times is None else series(self.seconds, self.harmonics, times)
        c = x.reshape(self.robot.n, -1).T * self.reach.velocity
        return self.reach.start + q @ c, qd @ c, qdd @ c

    def widened(self, x: Array, times: Array | None = None, most: float = np.inf) -> Array:
        """The motion with every joint's amplitude as large as position and velocity allow, times `most` at most."""
        q, qd, _ = self.states(x, times)
        way, reach = q - self.reach.start, self.reach
        found = np.maximum((way.max(axis=0), -way.min(axis=0), np.abs(qd).max(axis=0)), 1e-9)
        factor = _INSIDE * ((reach.upper - reach.start, reach.start - reach.lower, reach.velocity) / found).min(axis=0)
        return np.asarray((x.reshape(self.robot.n, -1) * np.minimum(factor, most)[:, None]).ravel())

    def narrowed(self, x: Array, times: Array) -> Array:
        """The motion, amplitudes reduced until it is inside every bound at given times, s."""
        x = self.widened(x, times, 1.0)
        while (np.abs(self.used(x, times)[2]) > _INSIDE).any():
            x = 0.97 * x
        return x

    def used(self, x: Array, times: Array) -> Array:
        """Position, velocity and effort along a motion as parts of their bounds, −1 to 1; (3, samples, n)."""
        states = self.states(x, times)
        return self._used(states, motion_columns(self.robot, *states, rotors=self.rotors))

    def _used(self, states: States, columns: Array) -> Array:
        r, effort = self.reach, columns @ self._parameters
        position = (2.0 * states[0] - r.lower - r.upper) / (r.upper - r.lower)
        return np.array((position, states[1] / r.velocity, effort / r.effort))

    def _products(self, columns: Array) -> tuple[Array, Array, Array]:
        """The independent columns, (rows, columns), their lengths, and the products of the scaled ones."""
        rows = columns[:, :, self.kept].reshape(-1, len(self.kept))
        products = rows.T @ rows
        length = np.sqrt(np.maximum(np.diag(products), np.finfo(float).tiny))
        return rows, length, products / np.outer(length, length)

    def condition(self, x: Array, times: Array | None = None) -> float:
        """The scaled condition number of the motion x."""
        columns = motion_columns(self.robot, *self.states(x, times), rotors=self.rotors)
        squares = np.linalg.eigvalsh(self._products(columns)[2])
        return float(np.sqrt(squares[-1] / max(squares[0], _LEAST**2)))

    def cost(self, x: Array) -> tuple[float, Array]:
        """The cost of the motion x and its derivatives."""
        states, n, links = self.states(x), self.robot.n, 10 * self.robot.bodies
        columns = motion_columns(self.robot, *states, rotors=self.rotors)
        rows, length, products = self._products(columns)
        value, slope = _log_condition(products)
        K = slope / np.outer(length, length) - np.diag((slope * products).sum(axis=1) / length**2)
        used = self._used(states, columns)
        above = np.sign(used) * np.maximum(np.abs(used) - _FREE, 0.0)
        bounds = np.array((0.5 * (self.reach.upper - self.reach.lower), self.reach.velocity, self.reach.effort))
        by_q, by_qd, by_effort = 2.0 * _WEIGHT * above / bounds[:, None]
        by_columns = by_effort[:, :, None] * self._parameters
        by_columns[:, :, self.kept] += (2.0 * rows @ K).reshape(len(columns), n, -1)
        own = dict(zip(OWN, np.einsum("sjjp->psj", by_columns[..., links:].reshape(-1, n, n, len(OWN))), strict=True))
        growing = np.maximum(1.5 - 1.5 * (states[1] / USUAL.threshold) ** 2, 0.0) / USUAL.threshold
        by_qd += own["viscous"] + own["coulomb"] * growing
        by_state = np.array((by_q, by_qd, own["rotor"] * self.rotors))
        for (part, step), k in product(enumerate(_STEPS), range(n)):
            moved = list(states)
            moved[part] = states[part] + step * (np.arange(n) == k)
            change = regressor(self.robot, *moved) - columns[..., :links]
            by_state[part, :, k] += np.einsum("sjc,sjc->s", change, by_columns[..., :links]) / step
        by_coefficients = np.einsum("psc,psk->ck", self._basis, by_state)
        return value + _WEIGHT * float((above**2).sum()), np.asarray((by_coefficients * self.reach.velocity).T.ravel())


def _log_condition(products: Array) -> tuple[float, Array]:
    """log(σ₁/σₘ) with p-norms of the singular values, and its derivatives by the products of scaled columns."""
    squares, axes = np.linalg.eigh(products)
    squares = np.maximum(squares, _LEAST**2)
    large, small = (squares / squares[-1]) ** _POWER, (squares[0] / squares) ** _POWER
    norms = np.log([squares[-1], squares[0]]) + np.log([large.sum(), 1.0 / small.sum()]) / _POWER
    slopes = 0.5 * (large / large.sum() - small / small.sum()) / squares
    return float(0.5 * (norms[0] - norms[1])), np.asarray((axes * slopes) @ axes.T)


def excite(
    robot: Robot, *, seconds: float = 10.0, harmonics: int = 5, scale: float = SCALE,
    box: Mapping[str, tuple[float, float]] | None = None, rotors: bool = False,
    budget: float | Evaluations = 30.0, seed: int = 0,
    progress: Callable[[str, float], object] = lambda what, share: None,
) -> Excitation:
    """Search for a motion of an open arm with the least scaled condition number of the columns of a fit.

    Random motions are followed by a descent (L-BFGS-B) from each of the best ones, until the budget is used. Collisions
    are not known here. The motion starts at neutral, or as near as the middle half of each joint's range allows, or
    where gravity needs less effort.

    `seconds`, `harmonics`: period of the series, s, and its number of harmonics, at least 2. `scale`: part of the ways
    from the start to the position limits, and of the velocity limits, that is used. `box`: ranges of joints instead of
    their limits, rad or m. `rotors`: whether the fit has them, of efforts measured on the motor's side of the gears.
    `budget`: CPU time of this thread, s, or a number of evaluations, with which the answer does not depend on how fast
    the computer is. `progress` receives what is done and the share of the budget that is used. Raises ArgumentError: a
    box beyond the limits; ModelError: not an open arm on a fixed base, or one that cannot hold itself at the start.
    """
    arm = robot.open_tree  # itself, if it is one
    if robot.kind != "arm" or robot.nq != robot.n or robot.base != "fixed" or robot.n == 0:
        raise ModelError(f"robot {robot.name!r} is no open arm on a fixed base, whose parameters are identified")
    design = Design(arm, _reach(arm, scale, box or {}), seconds, harmonics, rotors)
    begun, done = time.thread_time(), count(1)

    def used(what: str) -> float:
        part = next(done) / budget if isinstance(budget, Evaluations) else (time.thread_time() - begun) / budget
        progress(what, part)
        return part

    random, best = _search(design, used, np.random.default_rng(seed))
    points = design.times(1)
    q, qd, qdd = design.states(best, points)
    q[-1], qd[[0, -1]], qdd[[0, -1]] = q[0], 0.0, 0.0  # round-off
    return Excitation(
        SampledTrajectory(points, q, qd, qdd, robot.joint_names), design.condition(best, points),
        design.condition(random, points), len(design.kept),
        np.abs(design.used(best, design.times(_FINE))).max(axis=1),
    )  # fmt: skip


def _search(design: Design, used: Callable[[str], float], rng: np.random.Generator) -> tuple[Array, Array]:
    """The best random motion and the best of all, inside their bounds; `used`: share of the budget."""
    found, fine, part = list[tuple[float, int, Array]](), design.times(_FINE), 0.0
    for k in range(STARTS):
        x = design.widened(rng.normal(size=design.size))
        found.append((design.cost(x)[0], k, x))
        if (part := used(f"random motion {k + 1} of {STARTS}")) >= 1.0:
            break
    found.sort()
    random = best = design.narrowed(found[0][2], fine)
    least = design.condition(random)
    for _, k, x in found:
        said = f"condition {least:.1f}, descent from motion {k + 1}"
        ended, part = _descended(design.cost, x, partial(used, said), min(1.0, part + 1.0 / RUNS))
        end = design.narrowed(ended, fine)
        if (condition := design.condition(end)) < least:
            best, least = end, condition
        if part >= 1.0:
            break
    return random, best


def _descended(
    cost: Callable[[Array], tuple[float, Array]], x: Array, used: Callable[[], float], end: float
) -> tuple[Array, float]:
    """The best motion of a descent, which ends at a share of the budget at the latest; and the share that is used."""
    best, part = (np.inf, x), 0.0

    def noted(x: Array) -> tuple[float, Array]:
        nonlocal best, part
        value, slope = cost(x)
        best = min(best, (value, x.copy()), key=lambda one: one[0])
        if (part := used()) >= end:
            raise StopIteration
        return value, slope

    with suppress(StopIteration):
        minimize(noted, x, jac=True, method="L-BFGS-B", options={"maxiter": 10_000, "maxfun": 10_000, "maxcor": 30})
    return best[1], part


def _reach(robot: RobotModel, scale: float, box: Mapping[str, tuple[float, float]]) -> Reach:
    """What a motion may use, checked."""
    lower, upper = robot.lower.copy(), robot.upper.copy()
    for name, (low, high) in box.items():
        j = robot.joint_index(name)
        if not robot.lower[j] <= low < high <= robot.upper[j]:
            raise ArgumentError(f"box of joint {name!r} is {low:.6g} to {high:.6g}; it must be a range inside the "
                                f"limits, {robot.lower[j]:.6g} to {robot.upper[j]:.6g}")  # fmt: skip
        lower[j], upper[j] = low, high
    for name, low, high in zip(robot.joint_names, lower, upper, strict=True):
        if low == high:
            raise ModelError(f"joint {name!r} cannot move: its limits are both {low:g}; write its range into the "
                             "description, or make it fixed")
    q = np.clip(robot.neutral, lower, upper)
    lower, upper = np.maximum(lower, q - _WAY), np.minimum(upper, q + _WAY)
    inner = lower + _MIDDLE * (upper - lower), upper - _MIDDLE * (upper - lower)
    known = (robot.velocity_limit > 0.0) & np.isfinite(robot.velocity_limit)
    velocity = scale * np.where(known, robot.velocity_limit, _VELOCITY)
    effort = EFFORT * np.where(robot.effort_limit > 0.0, robot.effort_limit, np.inf)
    postures = np.vstack((np.clip(q, *inner), np.random.default_rng(0).uniform(*inner, (_POSTURES, robot.n))))
    used = (np.abs(gravity_torque(robot, postures)) + joint_friction(robot).static) / effort
    best = 0 if used[0].max() < _HELD else int(used.max(axis=1).argmin())
    q, j = postures[best], int(used[best].argmax())
    if used[best, j] >= 1.0:
        raise ModelError(f"joint {robot.joint_names[j]!r} needs {used[best, j] * effort[j]:.4g} at the start, with "
                         f"friction; {effort[j]:.4g}, {EFFORT:.0%} of its effort limit, may be used. Choose a --box "
                         "with another start, or correct them")  # fmt: skip
    return Reach(q, q + scale * (lower - q), q + scale * (upper - q), velocity, effort)
