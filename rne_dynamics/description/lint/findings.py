"""Findings of description checks: each with severity, line, element, message and fix."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import islice
from typing import TypeVar

from rne_dynamics.advice import rne
from rne_dynamics.errors import DescriptionError, shortened

_T = TypeVar("_T")
#: Longest element, message or fix, characters.
LONGEST_TEXT = 500


class Severity(Enum):
    """Severity of a finding."""

    #: `load_urdf` refuses the file: it describes no robot, or its dynamics would be wrong.
    ERROR = "error"
    #: The file loads, but would mislead a controller or a simulation.
    WARNING = "warning"
    #: Correct, but possibly unintended.
    NOTE = "note"


@dataclass(frozen=True)
class Finding:
    """One fault or doubt about a description."""

    #: Its severity.
    severity: Severity
    #: Line of the element in the file (of the expanded text for xacro); 0 for the file as a whole.
    line: int
    #: The element, e.g. ``joint 'elbow' <limit>``.
    element: str
    #: What is wrong, with the value found and what is allowed.
    message: str
    #: What to do.
    fix: str

    def __post_init__(self) -> None:
        """Shorten what a file gives at any length."""
        for name in ("element", "message", "fix"):
            object.__setattr__(self, name, shortened(getattr(self, name), LONGEST_TEXT))

    def __str__(self) -> str:
        """Element, message and fix on one line."""
        return f"{self.element}: {self.message}; {self.fix}"


#: A check that yields findings and returns the value that it read.
Reading = Generator[Finding, None, _T]


@dataclass(frozen=True)
class Report:
    """All findings on one description."""

    #: Name of the description: a path, or ``<text>``, ``<stdin>``.
    file: str
    #: In the order of their lines.
    findings: tuple[Finding, ...]
    #: Those of them that report a repair; empty without ``lenient``.
    repairs: tuple[Finding, ...] = ()
    #: Whether a refused description loads with ``lenient``.
    repairable: bool = False

    def of(self, severity: Severity) -> tuple[Finding, ...]:
        """The findings of one severity."""
        return tuple(f for f in self.findings if f.severity is severity)

    @property
    def ok(self) -> bool:
        """Whether `load_urdf` accepts the file."""
        return not self.of(Severity.ERROR)


class FaultyDescriptionError(DescriptionError):
    """An error of `file` as an exception; `more`: further ones; `repairable`: whether it loads with ``lenient``."""

    def __init__(self, file: str, finding: Finding, more: int = 0, *, repairable: bool = False) -> None:
        where = f"{file}:{finding.line}" if finding.line else file
        rest = f" (and {more} more: `{rne('check')}` lists them)" if more else ""
        lenient = "; or load it with lenient=True (--lenient), which repairs it with warnings" if repairable else ""
        super().__init__(f"{where}: {finding}{rest}{lenient}")
        self.file = file
        self.finding = finding


#: Findings of each severity: line, element, message and fix.
error, warning, note = (partial(Finding, severity) for severity in Severity)
#: Whether a fault is there, the maker of its finding, message and fix.
Case = tuple[bool, Callable[[int, str, str, str], Finding], str, str]


def first_of(line: int, element: str, *cases: Case) -> Iterator[Finding]:
    """Yield the finding of the first case that holds, if any does."""
    yield from islice((make(line, element, message, fix) for holds, make, message, fix in cases if holds), 1)


def collect(reading: Reading[_T], found: list[Finding]) -> _T:
    """Run a check, append its findings to `found`, and return the value that it read."""
    while True:
        try:
            found.append(next(reading))
        except StopIteration as end:
            value: _T = end.value
            return value
