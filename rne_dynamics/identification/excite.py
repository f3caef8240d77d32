"""The search for a motion that excites all parameters of an arm within its limits."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from rne_dynamics.control.trajectory import SampledTrajectory
from rne_dynamics.dispatch import gravity_torque
from rne_dynamics.errors import ArgumentError, ModelError
from rne_dynamics.identification.base_parameters import structure
from rne_dynamics.identification.excitation import Design, Reach
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
#: Least part of a joint's range that is free on either side of a given start, and of one that is chosen.
_LEAST_FREE, _FREE = 0.05, 0.25
#: Points of the trajectory for a period of the highest harmonic: quintics between them deviate by less than 1 µrad.
_POINTS = 20
#: Times for one point at which the limits are checked.
_FINE = 5


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion that excites the parameters of an arm."""

    #: From rest to rest at the same posture, with velocities and accelerations.
    trajectory: SampledTrajectory
    #: Bounds that it keeps.
    reach: Reach
    #: Scaled condition number of its columns, and of the best random motion.
    condition: float
    random: float
    #: Number of parameters that a fit has.
    parameters: int
    #: Largest part of the bounds of position, velocity and effort that each joint uses; shape (3, n).
    used: Array


class Evaluations(NamedTuple):
    """A number of motions that a search tries."""

    motions: int


def excite(
    robot: Robot, *, seconds: float = 10.0, harmonics: int = 5, scale: float = SCALE,
    start: Mapping[str, float] | None = None, box: Mapping[str, tuple[float, float]] | None = None,
    rotors: bool = False, budget: float | Evaluations = 30.0, seed: int = 0,
    progress: Callable[[str, float], object] = lambda what, share: None,
) -> Excitation:
    """Search for a motion with the least scaled condition number of the columns of a fit.

    Random motions are followed by a descent (L-BFGS-B) from each of the best ones, until the budget is used.

    Parameters
    ----------
    robot
        An open arm on a fixed base.
    seconds, harmonics
        Period of the series, s, and its number of harmonics, at least 2.
    scale
        Part of the ways from the start to the position limits, and of the velocity limits, that is used.
    start
        Positions of joints at the start and the end, rad or m; by default neutral, or as near as the middle half of the
        joint's range allows, or where gravity needs less effort.
    box
        Ranges of joints instead of their limits, rad or m. Collisions are not known here.
    rotors
        Whether the fit has rotors: efforts are measured on the motor's side of the gears.
    budget
        CPU time of this thread, s, on an idle computer the same as time; or a number of evaluations, with which the
        answer does not depend on how fast the computer is.
    seed
        Of the random motions.
    progress
        Called with what is done and the share of the budget that is used.

    Returns
    -------
    Excitation

    Raises
    ------
    ArgumentError
        A box beyond the limits, a start near or outside its range.
    ModelError
        Not an open arm on a fixed base, or one whose efforts cannot hold it at the start.
    """
    arm = robot.open_tree  # itself, if it is one
    if robot.kind != "arm" or robot.nq != robot.n or robot.base != "fixed" or robot.n == 0:
        raise ModelError(f"robot {robot.name!r} is no open arm on a fixed base, whose parameters are identified")
    reach = _reach(arm, scale, start or {}, box or {}, 2.0 * np.pi * harmonics / seconds)
    design = Design(arm, reach, structure(arm, rotors=rotors).kept, seconds, harmonics)
    points = np.linspace(0.0, seconds, _POINTS * harmonics + 1)
    fine = np.linspace(0.0, seconds, _FINE * _POINTS * harmonics + 1)
    random, best = _search(design, fine, _Budget(budget), np.random.default_rng(seed), progress)
    q, qd, qdd = design.states(best, points)
    q[-1], qd[[0, -1]], qdd[[0, -1]] = q[0], 0.0, 0.0  # round-off
    return Excitation(
        SampledTrajectory(points, q, qd, qdd, robot.joint_names), reach, design.condition(best, points),
        design.condition(random, points), len(design.kept) + 3 * robot.n,
        np.array([np.abs(part).max(axis=0) for part in design.used(design.states(best, fine))]),
    )


class _Budget:
    """What a search may use."""

    def __init__(self, whole: float | Evaluations) -> None:
        self._whole = whole
        self._begun, self._done = time.thread_time(), 0

    def used(self) -> float:
        """The share that is used after one more evaluation."""
        self._done += 1
        return self.share

    @property
    def share(self) -> float:
        """The share that is used."""
        if isinstance(self._whole, Evaluations):
            return self._done / self._whole.motions
        return (time.thread_time() - self._begun) / self._whole


def _search(
    design: Design, fine: Array, budget: _Budget, rng: np.random.Generator, progress: Callable[[str, float], object]
) -> tuple[Array, Array]:
    """The best random motion and the best of all, inside their bounds at the times `fine`."""
    found = []
    for k in range(STARTS):
        x = design.widened(rng.normal(size=design.size))
        found.append((design.cost(x, slopes=False)[0], k, x))
        progress(f"random motion {k + 1} of {STARTS}", budget.used())
        if budget.share >= 1.0:
            break
    found.sort()
    random = best = design.narrowed(found[0][2], fine)
    least = design.condition(random)
    for _, k, start in found:
        end = min(1.0, budget.share + 1.0 / RUNS)
        said = f"condition {least:.1f}, descent from motion {k + 1}"
        x = design.narrowed(_descended(design.cost, start, budget, end, partial(progress, said)), fine)
        if design.condition(x) < least:
            best, least = x, design.condition(x)
        if budget.share >= 1.0:
            break
    return random, best


def _descended(
    cost: Callable[[Array], tuple[float, Array]], x: Array, budget: _Budget, end: float,
    report: Callable[[float], object],
) -> Array:
    """The best motion of a descent, which ends at a share of the budget at the latest."""
    best = [(np.inf, x)]

    def noted(x: Array) -> tuple[float, Array]:
        value, slope = cost(x)
        if value < best[0][0]:
            best[0] = (value, x.copy())
        used = budget.used()
        report(used)
        if used >= end:
            raise StopIteration
        return value, slope

    with suppress(StopIteration):
        minimize(noted, x, jac=True, method="L-BFGS-B", options={"maxiter": 10_000, "maxfun": 10_000, "maxcor": 30})
    return best[0][1]


def _reach(
    robot: RobotModel, scale: float, start: Mapping[str, float], box: Mapping[str, tuple[float, float]], highest: float
) -> Reach:
    """What a motion of harmonics up to a `highest` frequency, rad/s, may use, checked."""
    lower, upper = robot.lower.copy(), robot.upper.copy()
    for name, (low, high) in box.items():
        j = robot.joint_index(name)
        if not robot.lower[j] <= low < high <= robot.upper[j]:
            raise ArgumentError(
                f"box of joint {name!r} is {low:.6g} to {high:.6g}; it must be a range inside the limits, "
                f"{robot.lower[j]:.6g} to {robot.upper[j]:.6g}"
            )
        lower[j], upper[j] = low, high
    q = np.clip(robot.neutral, lower, upper)
    for name, value in start.items():
        q[robot.joint_index(name)] = value
    lower, upper = np.maximum(lower, q - _WAY), np.minimum(upper, q + _WAY)
    span = upper - lower
    for name, value in start.items():
        j = robot.joint_index(name)
        low, high = lower[j] + _LEAST_FREE * span[j], upper[j] - _LEAST_FREE * span[j]
        if not low <= value <= high:
            raise ArgumentError(
                f"start of joint {name!r} is {value:.6g}; it must be {low:.6g} to {high:.6g}, which leaves "
                f"{_LEAST_FREE:.0%} of the range on either side"
            )
    known = (robot.velocity_limit > 0.0) & np.isfinite(robot.velocity_limit)
    velocity = scale * np.where(known, robot.velocity_limit, _VELOCITY)
    friction = joint_friction(robot)
    limit = np.where(robot.effort_limit > 0.0, robot.effort_limit, np.inf)
    # no such series is faster (Bernstein): some descriptions have limits of 100 rad/s
    fastest = np.minimum(velocity, 0.5 * scale * span * highest)
    effort = EFFORT * limit - friction.static - friction.viscous * fastest
    chosen = ~np.isin(robot.joint_names, list(start))
    inner = lower + _FREE * span, upper - _FREE * span
    others = np.random.default_rng(0).uniform(*inner, (_POSTURES, robot.n))
    postures = np.where(chosen, np.vstack((np.clip(q, *inner), others)), q)
    used = np.abs(gravity_torque(robot, postures)) / np.maximum(effort, 1e-9)
    best = 0 if used[0].max() < _HELD else int(used.max(axis=1).argmin())
    q, j = postures[best], int(used[best].argmax())
    if used[best, j] >= 1.0:
        raise ModelError(
            f"joint {robot.joint_names[j]!r} needs {abs(gravity_torque(robot, q)[j]):.4g} at the start; of its effort "
            f"limit {max(effort[j], 0.0):.4g} may be used besides friction. Choose another start, or correct them"
        )
    return Reach(q, q + scale * (lower - q), q + scale * (upper - q), velocity, effort)
