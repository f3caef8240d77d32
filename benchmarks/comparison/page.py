"""Reports of `make bench` as JSON files, and the tables of benchmarks/README.md."""

from __future__ import annotations

import json
from pathlib import Path

from comparison.results import Results
from comparison.summary import footing
from comparison.tables import Cell, Table, tables

from rne_dynamics.errors import ArgumentError
from rne_dynamics.input_file import read_limited

#: A report has a few hundred kilobytes.
_MOST_BYTES = 20_000_000
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"


def figures(results: Results) -> str:
    """All tables as Markdown; goals first."""
    drawn = list(tables(results))
    goals, others = [t for t in drawn if t.title == "goals"], [t for t in drawn if t.title != "goals"]
    lines = [*footing(results), *results.left_out, *(str(d) for d in results.disagreements)]
    return "\n".join(["", *(f"{line}\n" for line in lines), *(_markdown(t) for t in (*goals, *others))])


def around_figures(page: str) -> tuple[str, str]:
    """What is before and after the figures of a page, marks included; `ArgumentError` if it has none."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ArgumentError(f"the page has no marks for figures: write {BEGIN} and {END} into it, on two lines")
    return before + begin, end + after


def read(path: Path) -> Results:
    """Read a report; `ArgumentError` if the file is none."""
    try:
        return Results.from_json(json.loads(read_limited(path, _MOST_BYTES)))
    except (OSError, ValueError, RecursionError) as error:
        raise ArgumentError(f"{path} is no report of `make bench`: {error}") from None


def _markdown(table: Table) -> str:
    align = ["---"] * table.left + ["---:"] * (len(table.header) - table.left)
    rows = [table.header, tuple(align), *(tuple(_text(cell) for cell in row) for row in table.rows)]
    return "\n".join([f"### {_sentence(table.title)}", "", *(f"| {' | '.join(row)} |" for row in rows), ""])


def _text(cell: Cell) -> str:
    return f"**{cell.text}**" if cell.met is False else cell.text


def _sentence(title: str) -> str:
    return title[:1].upper() + title[1:]
