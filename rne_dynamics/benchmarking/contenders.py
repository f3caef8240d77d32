"""What is timed against what."""

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
        What the report calls it.
    call
        The statement that is timed, as one would write it.
    names
        What stands for the names in `call`.
    answer
        What the call computes, in this package's coordinates; `None` for a call that computes nothing, which another
        contender takes off.
    n
        Joints.
    states
        States that one execution computes.
    threads
        Cores that it uses.
    less
        Name of a contender whose time is taken off: what a call costs that computes nothing.
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
    """Two times that are divided.

    Parameters
    ----------
    ours, theirs
        Contenders; of theirs the fastest.
    goal
        Key in `goals.GOALS` that judges the ratio.
    called
        What the report calls theirs.
    """

    ours: str
    theirs: tuple[str, ...]
    goal: str | None = None
    called: str | None = None


@dataclass(frozen=True, eq=False)
class Case:
    """Contenders that are timed in turn.

    Parameters
    ----------
    section, robot, quantity
        Where it belongs.
    contenders
        What is timed.
    comparisons
        Which ratios are told.
    tolerance
        Largest difference of two answers over the largest entry of the first.
    pairs
        Contenders whose answers must agree, first with second; `None` for all with the first.
    each_link
        Whether times are divided by the number of joints before they are compared.
    long
        Whether one execution takes many milliseconds, so that fewer rounds have to do.
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
        """How many rounds the case gets where others get `repeats`."""
        return max(1, repeats // 4) if self.long else repeats

    @property
    def label(self) -> str:
        """For people."""
        return f"{self.section}: {self.robot}, {self.quantity}"
