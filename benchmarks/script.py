"""What the scripts share: arguments and tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

HELP = {
    "robot": "robot that ships", "rate": "joint states per second, Hz", "seconds": "duration of each measurement, s",
    "rounds": "rounds of each",
}  # fmt: skip


def options(text: str | None, **defaults: Any) -> argparse.ArgumentParser:
    """A parser with --json, and with those of --robot, --rate, --seconds and --rounds that have a default."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in defaults.items():
        parser.add_argument(f"--{name}", type=type(value), default=value, help=f"{HELP[name]} (default: {value})")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> None:
    """Print a table; all columns but the first `left` ones are numbers."""
    table = Table(title=title, title_justify="left")
    for k, column in enumerate(columns):
        table.add_column(column, justify="left" if k < left else "right")
    for row in rows:
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def print_rows(title: str, columns: Sequence[str], rows: dict[str, dict[str, float]]) -> None:
    """Print a table of named rows of numbers: three digits after the point for milliseconds, else three digits."""
    cells = ((f"{v:.3f}" if key.endswith("ms") else f"{v:.3g}" for key, v in row.items()) for row in rows.values())
    print_table(title, columns, ((name, *row) for name, row in zip(rows, cells, strict=True)))
