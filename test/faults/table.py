"""The table of faults in test/faults/README.md."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from faults.fault import Fault

from rne_dynamics.errors import ArgumentError

BEGIN = "<!-- faults: written by `make faults`; changes here are lost -->"
END = "<!-- faults: end -->"


def markdown(faults: Iterable[Fault]) -> str:
    """One table a kind: name, what is injected, the reaction."""
    lines = []
    for kind, group in groupby(faults, key=lambda fault: fault.kind):
        lines += ["", f"### {kind.capitalize()}", "", "| fault | what is injected | reaction |", "|---|---|---|"]
        lines += [f"| `{f.name}` | {_cell(f.injected)} | {_cell(f.reaction)} |" for f in group]
    return "\n".join([*lines, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("~/", "\\~/")


def inserted(text: str, faults: Iterable[Fault]) -> str:
    """A page with the table between its two markers.

    Raises
    ------
    ArgumentError
        The page lacks the markers.
    """
    before, found, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (found and ended):
        raise ArgumentError(f"the page has no place for the table: it needs the lines {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n{markdown(faults)}\n{END}{after}"
