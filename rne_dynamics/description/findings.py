"""What a check of a robot description says: one finding a fault, with its place and its mend."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from rne_dynamics.advice import rne
from rne_dynamics.errors import DescriptionError

_T = TypeVar("_T")


class Severity(Enum):
    """How much a finding matters."""

    #: `load_urdf` refuses the file: there is no robot in it, or its dynamics would be wrong.
    ERROR = "error"
    #: The file loads, and would mislead a controller or a simulation.
    WARNING = "warning"
    #: Correct, and maybe not what was meant.
    NOTE = "note"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong or doubtful in a description.

    Parameters
    ----------
    severity
        How much it matters.
    line
        Line of the element in the file (of the expanded text for xacro); 0 where the file as a whole is meant.
    element
        The element, e.g. ``joint 'elbow' <limit>``.
    message
        What is wrong, with the value found and what is allowed.
    mend
        What to do about it.
    """

    severity: Severity
    line: int
    element: str
    message: str
    mend: str

    def __str__(self) -> str:
        """Everything but severity and file, on one line."""
        return f"{self.element}: {self.message}; {self.mend}"


#: A check that yields findings and returns what it has read.
Reading = Generator[Finding, None, _T]


@dataclass(frozen=True)
class Report:
    """All findings on one description.

    Parameters
    ----------
    file
        What was read: a path, or ``<text>``, ``<stdin>``.
    findings
        In the order of their lines.
    repairs
        Those of them that tell of a repair; without ``lenient`` there is none.
    repairable
        Whether what is refused loads with ``lenient``.
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
        """Whether `load_urdf` takes the file."""
        return not self.of(Severity.ERROR)


class FaultyDescriptionError(DescriptionError):
    """A finding that makes reading on impossible, as an error.

    Parameters
    ----------
    file
        What was being read.
    finding
        The finding.
    more
        How many further errors were found.
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


def error(line: int, element: str, message: str, mend: str) -> Finding:
    """A finding of severity error."""
    return Finding(Severity.ERROR, line, element, message, mend)


def warning(line: int, element: str, message: str, mend: str) -> Finding:
    """A finding of severity warning."""
    return Finding(Severity.WARNING, line, element, message, mend)


def note(line: int, element: str, message: str, mend: str) -> Finding:
    """A finding of severity note."""
    return Finding(Severity.NOTE, line, element, message, mend)


def collect(reading: Reading[_T], found: list[Finding]) -> _T:
    """Run a check to its end, append what it finds, and return what it read."""
    while True:
        try:
            found.append(next(reading))
        except StopIteration as end:
            value: _T = end.value
            return value
