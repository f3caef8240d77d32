"""Findings of description checks: each with severity, line, element, message and fix."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from enum import Enum
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
    """One fault or doubt about a description.

    Parameters
    ----------
    severity
        Its severity.
    line
        Line of the element in the file (of the expanded text for xacro); 0 for the file as a whole.
    element
        The element, e.g. ``joint 'elbow' <limit>``.
    message
        What is wrong, with the value found and what is allowed.
    fix
        What to do.
    """

    severity: Severity
    line: int
    element: str
    message: str
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
    """All findings on one description.

    Parameters
    ----------
    file
        Name of the description: a path, or ``<text>``, ``<stdin>``.
    findings
        In the order of their lines.
    repairs
        Those of them that report a repair; empty without ``lenient``.
    repairable
        Whether a refused description loads with ``lenient``.
    """

    file: str
    findings: tuple[Finding, ...]
    repairs: tuple[Finding, ...] = ()
    repairable: bool = False

    def of(self, severity: Severity) -> tuple[Finding, ...]:
        """The findings of one severity."""
        return tuple(f for f in self.findings if f.severity is severity)

    @property
    def ok(self) -> bool:
        """Whether `load_urdf` accepts the file."""
        return not self.of(Severity.ERROR)


class FaultyDescriptionError(DescriptionError):
    """A finding of severity error, as an exception.

    Parameters
    ----------
    file
        Name of the description.
    finding
        The finding.
    more
        Number of further errors.
    repairable
        Whether the description loads with ``lenient``.
    """

    def __init__(self, file: str, finding: Finding, more: int = 0, *, repairable: bool = False) -> None:
        where = f"{file}:{finding.line}" if finding.line else file
        rest = f" (and {more} more: `{rne('check')}` lists them)" if more else ""
        lenient = "; or load it with lenient=True (--lenient), which repairs it with warnings" if repairable else ""
        super().__init__(f"{where}: {finding}{rest}{lenient}")
        self.file = file
        self.finding = finding


def error(line: int, element: str, message: str, fix: str) -> Finding:
    """A finding of severity error."""
    return Finding(Severity.ERROR, line, element, message, fix)


def warning(line: int, element: str, message: str, fix: str) -> Finding:
    """A finding of severity warning."""
    return Finding(Severity.WARNING, line, element, message, fix)


def note(line: int, element: str, message: str, fix: str) -> Finding:
    """A finding of severity note."""
    return Finding(Severity.NOTE, line, element, message, fix)


def collect(reading: Reading[_T], found: list[Finding]) -> _T:
    """Run a check, append its findings to `found`, and return the value that it read."""
    while True:
        try:
            found.append(next(reading))
        except StopIteration as end:
            value: _T = end.value
            return value
