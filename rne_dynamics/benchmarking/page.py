"""Tables of docs/performance.md, written from a report of `rne bench`.

    rne bench --out docs/performance.json --plot docs/images
    python -m rne_dynamics.benchmarking.page docs/performance.json docs/performance.md

Without a page the tables go to standard output.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rne_dynamics.benchmarking.results import Results
from rne_dynamics.benchmarking.summary import footing
from rne_dynamics.benchmarking.tables import Cell, Table, tables
from rne_dynamics.errors import ArgumentError, RneDynamicsError
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


def rewritten(page: str, results: Results) -> str:
    """`page` with new figures between its marks; `ArgumentError` if it has none."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ArgumentError(f"the page has no marks for figures: write {BEGIN} and {END} into it, on two lines")
    return f"{before}{BEGIN}\n{figures(results)}\n{END}{after}"


def read(path: Path) -> Results:
    """Read a report; `ArgumentError` if the file is none."""
    try:
        return Results.from_json(json.loads(read_limited(path, _MOST_BYTES)))
    except (OSError, ValueError, RecursionError) as error:
        raise ArgumentError(f"{path} is no report of `rne bench`: {error}") from None


def _markdown(table: Table) -> str:
    align = ["---"] * table.left + ["---:"] * (len(table.header) - table.left)
    rows = [table.header, tuple(align), *(tuple(_text(cell) for cell in row) for row in table.rows)]
    return "\n".join([f"### {_sentence(table.title)}", "", *(f"| {' | '.join(row)} |" for row in rows), ""])


def _text(cell: Cell) -> str:
    return f"**{cell.text}**" if cell.met is False else cell.text


def _sentence(title: str) -> str:
    return title[:1].upper() + title[1:]


def main(argv: list[str] | None = None) -> int:
    """Write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=Path, help="JSON file of `rne bench --out`")
    parser.add_argument("page", type=Path, nargs="?", help=f"file whose text between {BEGIN} and {END} is replaced")
    args = parser.parse_args(argv)
    try:
        results = read(args.report)
        if args.page is None:
            print(figures(results))
        else:
            args.page.write_text(rewritten(args.page.read_text(encoding="utf-8"), results), encoding="utf-8")
    except (RneDynamicsError, OSError) as error:
        print(f"page: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
