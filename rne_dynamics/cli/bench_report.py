"""Tables that `rne bench` prints."""

from __future__ import annotations

from rich import table as rich_table
from rich.console import Console
from rich.text import Text

from rne_dynamics.benchmarking.results import Results
from rne_dynamics.benchmarking.summary import footing
from rne_dynamics.benchmarking.tables import Cell, Table, tables

_STYLES = {True: "green", False: "red", None: ""}


def print_results(out: Console, results: Results) -> None:
    """Print times and ratios of every section, goals, omissions, and the computer."""
    for table in tables(results):
        out.print(_rich(table))
    for line in results.left_out:
        out.print(line)
    for disagreement in results.disagreements:
        out.print(Text(str(disagreement), "bold red"))
    for line in footing(results):
        out.print(line)


def _rich(table: Table) -> rich_table.Table:
    made = rich_table.Table(title=table.title, title_justify="left", header_style="bold")
    for k, column in enumerate(table.header):
        made.add_column(column, justify="left" if k < table.left else "right")
    before: tuple[Cell, ...] = ()
    for row in table.rows:
        if before and table.left == 2 and row[0] != before[0]:
            made.add_section()
        same = bool(before) and table.left == 2 and row[0] == before[0]
        made.add_row("" if same else row[0].text, *(Text(cell.text, _STYLES[cell.met]) for cell in row[1:]))
        before = row
    return made
