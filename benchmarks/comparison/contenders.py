"""Contenders, the comparison of their answers, and which of their times are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rne_dynamics.model.inertia import Array


@dataclass(frozen=True, eq=False)
class Contender:
    """One way of computing a quantity.

    Parameters
    ----------
    name
        Name in reports.
    call
        The statement that is timed.
    names
        Values of the names in `call`.
    answer
        Result of the call in this package's coordinates; `None` for an empty call, whose time is subtracted from
        another's.
    n
        Joints.
    states
        Number of states that one execution computes.
    threads
        Number of cores that it uses.
    less
        Name of a contender, an empty call, whose time is subtracted.
    """

    name: str
    call: str
    names: Mapping[str, Any]
    answer: Callable[[], Array] | None
    n: int
    states: int = 1
    threads: int = 1
    less: str | None = None


@dataclass(frozen=True)
class Comparison:
    """Ratio of two times.

    Parameters
    ----------
    ours, theirs
        Contenders; the fastest of theirs counts.
    goal
        Key in `goals.GOALS` that the ratio has to meet.
    called
        Name of theirs in reports.
    """

    ours: str
    theirs: tuple[str, ...]
    goal: str | None = None
    called: str | None = None


@dataclass(frozen=True, eq=False)
class Case:
    """Contenders that are timed in alternating rounds.

    Parameters
    ----------
    section, robot, quantity
        Place in the report.
    contenders
        What is timed.
    comparisons
        Ratios to report.
    tolerance
        Largest difference of two answers over the largest entry of the first.
    pairs
        Contenders whose answers must agree, first with second; `None` for all with the first.
    each_link
        Whether times are divided by the number of joints before they are compared.
    long
        Whether one execution takes many milliseconds, so that there are fewer rounds.
    """

    section: str
    robot: str
    quantity: str
    contenders: tuple[Contender, ...]
    comparisons: tuple[Comparison, ...]
    tolerance: float = 1e-9
    pairs: tuple[tuple[str, str], ...] | None = None
    each_link: bool = False
    long: bool = False

    @property
    def n(self) -> int:
        """Joints, of the largest contender."""
        return max(contender.n for contender in self.contenders)

    def rounds(self, repeats: int) -> int:
        """Number of rounds of this case if others have `repeats`."""
        return max(1, repeats // 4) if self.long else repeats

    @property
    def label(self) -> str:
        """Name for progress reports."""
        return f"{self.section}: {self.robot}, {self.quantity}"


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
