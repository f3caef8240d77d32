"""Comparison of the contenders' answers, before times are measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rne_dynamics.benchmarking.contenders import Case
from rne_dynamics.model.inertia import Array


@dataclass(frozen=True)
class Difference:
    """Difference of two contenders' answers.

    Parameters
    ----------
    case
        Label of the case.
    first, second
        Their names.
    relative
        Largest difference over the largest entry of the first; infinite if one is not finite or the shapes differ.
    tolerance
        Largest `relative` allowed.
    """

    case: str
    first: str
    second: str
    relative: float
    tolerance: float

    @property
    def agrees(self) -> bool:
        """Whether they differ by round-off only."""
        return self.relative <= self.tolerance

    def __str__(self) -> str:
        return (
            f"DISAGREEMENT: {self.case}: {self.first} and {self.second} are {self.relative:.1e} apart "
            f"(allowed {self.tolerance:.0e}); not timed"
        )


def differences(case: Case) -> list[Difference]:
    """All pairs of the case that must agree."""
    answers = {c.name: np.asarray(c.answer()) for c in case.contenders if c.answer is not None}
    names = list(answers)
    pairs = [(names[0], other) for other in names[1:]] if case.pairs is None else list(case.pairs)
    return [Difference(case.label, a, b, _relative(answers[a], answers[b]), case.tolerance) for a, b in pairs]


def _relative(first: Array, second: Array) -> float:
    if first.shape != second.shape or not (np.isfinite(first).all() and np.isfinite(second).all()):
        return float("inf")
    if first.size == 0:
        return 0.0
    difference, size = float(np.abs(first - second).max()), float(np.abs(first).max())
    return difference / size if size > 0.0 else difference
