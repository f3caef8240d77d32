"""Largest differences of the formulations on one robot or mechanism."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rne_dynamics.dispatch import mass_matrix
from rne_dynamics.errors import SingularInertiaError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.verification.closed_engines import CLOSED_ENGINES
from rne_dynamics.verification.engines import ENGINES, QUANTITIES, Engine, Quantity
from rne_dynamics.verification.states import Rows, bare_states, loaded_states

#: Largest relative difference of two O(n) recursions, and of any two engines.
TOLERANCE_LINEAR = 1e-11
TOLERANCE = 1e-9

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Disagreement:
    """The largest difference of two engines in one quantity."""

    #: The quantity, and the engines' names.
    quantity: Quantity
    first: str
    second: str
    #: Relative to the size of the terms that the quantity is the sum of: for accelerations Σ|M⁻¹|(|τ| + |bias|), since
    #: no solver is more accurate when large terms cancel; for other quantities the largest entry of the state.
    relative: float
    #: Relative to the largest entry of the state.
    plain: float
    #: Largest `relative` allowed.
    tolerance: float

    @property
    def agrees(self) -> bool:
        """Whether the two differ by round-off only; False for NaN."""
        return self.relative <= self.tolerance


@dataclass(frozen=True)
class Agreement:
    """All pairs of engines on one robot, and remarks about engines that could not be compared."""

    disagreements: tuple[Disagreement, ...]
    remarks: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether every pair agrees."""
        return all(d.agrees for d in self.disagreements)

    def worst(self) -> Disagreement | None:
        """The pair with the largest difference relative to its tolerance."""
        return max(self.disagreements, key=lambda d: _size(d.relative / d.tolerance), default=None)


class LargestDifferences:
    """The largest difference of each pair of engines in each quantity, over all states noted."""

    def __init__(self) -> None:
        self._found: dict[tuple[Quantity, str, str], tuple[float, float]] = {}

    def note(self, pair: tuple[Quantity, str, str], apart: Array, size: Array, plain: Array) -> None:
        """Differences of a pair, with the sizes that `Disagreement` relates them to; shape (B,) each."""
        here = [_size(float((apart / x).max(initial=0.0))) for x in (size, plain)]
        relative, absolute = map(max, here, self._found.get(pair, (0.0, 0.0)))
        self._found[pair] = relative, absolute

    def disagreements(self, tolerance: Callable[[str, str], float]) -> tuple[Disagreement, ...]:
        """All of them; `tolerance` of two engines."""
        return tuple(Disagreement(*pair, *found, tolerance(*pair[1:])) for pair, found in self._found.items())


def compare(
    robot: RigidRobot, count: int = 200, seed: int = 0, *, loaded: bool = True, progress: Progress | None = None
) -> Agreement:
    """Run every engine in `count` random states, bare and (if `loaded`) with loads and base motion.

    `progress` gets the current step and the finished fraction. `ArgumentError` as `bare_states`.
    """
    engines = engines_of(robot)
    cases = [bare_states(robot, count, seed)]
    if loaded:
        cases.append(loaded_states(robot, count, seed))
    report = progress or (lambda what, done: None)
    jobs = [(rows, q) for rows in cases for q in QUANTITIES if q != "mass matrix" or rows is cases[0]]
    largest = LargestDifferences()
    remarks: list[str] = []
    total = sum(engine.offers(q) for _, q in jobs for engine in engines)
    done = 0
    for rows, quantity in jobs:
        # the first engine, recursive Newton–Euler, computed the efforts of these accelerations: they are its answer
        answers: dict[str, Array] = {engines[0].name: rows.qdd} if quantity == "forward" else {}
        for engine in engines:
            if not engine.offers(quantity):
                continue
            report(f"{quantity}: {engine.name}", done / total)
            done += 1
            try:
                answers[engine.name] = engine.compute(quantity, robot, rows)
            except SingularInertiaError as error:
                remarks.append(f"{quantity}, {engine.name}: {error}")
        if len(answers) < 2:
            continue
        sizes = _sizes(quantity, robot, rows, answers)
        for (first, a), (second, b) in itertools.combinations(answers.items(), 2):
            apart = np.abs(a - b).reshape(len(a), -1).max(axis=1, initial=0.0)
            largest.note((quantity, first, second), apart, *sizes)
    report("", 1.0)
    linear = {engine.name for engine in engines if engine.linear}
    found = largest.disagreements(lambda a, b: TOLERANCE_LINEAR if {a, b} <= linear else TOLERANCE)
    return Agreement(found, tuple(dict.fromkeys(remarks)))


def engines_of(robot: RigidRobot) -> tuple[Engine[Any], ...]:
    """The formulations of an open arm, or of a mechanism."""
    if robot.loops:
        return CLOSED_ENGINES
    return tuple(engine for engine in ENGINES if engine.mimic or not robot.open_tree.has_mimic)


def _sizes(quantity: Quantity, robot: RigidRobot, rows: Rows, answers: Mapping[str, Array]) -> tuple[Array, Array]:
    """Size of the terms, and largest entry of any engine's answer; shape (B,) each."""
    count = len(rows.q)
    if not answers or robot.n == 0:
        return np.ones(count), np.ones(count)
    plain = np.max([np.abs(a).reshape(count, -1).max(axis=1) for a in answers.values()], axis=0)
    plain = np.where(plain > 0.0, plain, 1.0)
    if quantity != "forward":
        return plain, plain
    M = mass_matrix(robot, rows.q)
    bias = rows.tau - np.einsum("bij,bj->bi", M, rows.qdd)  # loads and base motion included
    one_by_one = np.abs(np.linalg.pinv(M, hermitian=True))
    return np.einsum("bij,bj->bi", one_by_one, np.abs(rows.tau) + np.abs(bias)).max(axis=1), plain


def _size(x: float) -> float:
    """Map NaN to infinity."""
    return float("inf") if np.isnan(x) else x
