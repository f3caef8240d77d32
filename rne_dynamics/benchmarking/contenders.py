"""Contenders, and which of their times are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

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
