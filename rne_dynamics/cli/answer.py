"""What a command answers: text and tables on the terminal, JSON, the page of --report, the exit code."""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from rne_dynamics.errors import MissingDependencyError
from rne_dynamics.figures.report import FORMATS, Report
from rne_dynamics.figures.style import FIGURES, figure_file, output_file, require_matplotlib

#: Width from which on a cell with blanks is a sentence, and largest width of a table.
_SENTENCE = 26
_WIDEST = 10_000
#: Width of tables in files and pipes where the environment's COLUMNS gives none.
_PIPE_WIDTH = 200


def console() -> Console:
    """A console on standard output that prints text unchanged, in the terminal's width or that of COLUMNS."""
    given = os.environ.get("COLUMNS", "")
    columns = int(given) if given.isdecimal() else 0
    endless = not sys.stdout.isatty() and not columns
    width = None if sys.stdout.isatty() else columns or _PIPE_WIDTH
    return Console(width=width, soft_wrap=endless, markup=False, emoji=False, highlight=False)


def progress_bar(*, counted: bool = False, quiet: bool = False) -> Progress:
    """A progress bar on standard error, which is removed at the end: with a count or a percentage, or `quiet`."""
    share: ProgressColumn = MofNCompleteColumn() if counted else TextColumn("{task.percentage:3.0f} %")
    return Progress(
        TextColumn("{task.description:32}"), BarColumn(), share, TimeElapsedColumn(),
        console=Console(stderr=True), transient=True, disable=quiet,
    )  # fmt: skip


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[Callable[[str, float], None]]:
    """A progress bar on a terminal; the function sets what is being done, and the share that is done."""
    if quiet or not sys.stderr.isatty():  # rich computes also what it does not show, and leaves an empty line
        yield lambda what, share: None
        return
    with progress_bar() as bar:
        task = bar.add_task("", total=1.0)
        yield lambda what, share: bar.update(task, description=what, completed=share)


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Within the context, SIGTERM raises `SystemExit`, so that child processes are stopped as by Ctrl-C."""

    def stop(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@dataclass(frozen=True)
class Verdict:
    """Whether a command succeeded, and why not."""

    passed: bool
    #: One sentence for a person: the last line on the terminal, and what the report page says.
    text: str
    #: What it is based on, plain values in SI units.
    figures: Mapping[str, Any] = field(default_factory=dict)

    def as_plain(self) -> dict[str, Any]:
        """Its values for `--json`."""
        return {"passed": self.passed, "text": self.text, **self.figures}


class Rows(NamedTuple):
    """A table; the columns `words` have words or sentences, the others numbers; rows may be short."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str | Text]]
    title: str = ""
    words: Collection[int] = (0,)

    def show(self, out: Console) -> None:
        """Print it within the width of the console; no cell is shortened, and no number is broken.

        As a table, with folded headings if that is too wide; else as a record for each row.
        """
        for folded in (False, True):
            table = self._table(folded=folded)
            if out.measure(table, options=out.options.update(width=_WIDEST)).minimum <= out.width:
                out.print(table, soft_wrap=False)
                return
        if self.title:
            out.print(Text(self.title, "italic"))
        for row in self.rows:
            named = zip(self.headings, row, strict=False)
            out.print(Text("  ").join(Text.assemble((f"{name}: ", "bold"), cell) for name, cell in named if str(cell)))

    def _table(self, *, folded: bool) -> Table:
        """The table; only sentences are wrapped, and headings if they are to be."""
        table = Table(title=self.title or None, title_justify="left", header_style="bold")
        for k, heading in enumerate(self.headings):
            cells = [str(row[k]) for row in self.rows if k < len(row)]
            least = max(map(cell_len, [*cells, *heading.split(), " "]))
            wrapped = k in self.words and least > _SENTENCE and any(" " in cell for cell in cells)
            table.add_column(
                fill(heading, least) if folded else heading, no_wrap=not wrapped, overflow="fold",
                min_width=None if wrapped else least if folded else max(least, cell_len(heading)),
                justify="left" if k in self.words else "right",
            )  # fmt: skip
        for row in self.rows:
            table.add_row(*row)
        return table


#: A function that draws into a file, or a file, and the caption.
Picture = tuple[Callable[[Path], object] | Path, str]


class Line(str):
    """Text that stays one line, to be copied."""

    __slots__ = ()


@dataclass(frozen=True, eq=False)
class Answer:
    """What a command answers."""

    #: Plain values for --json.
    values: Any
    #: What the terminal and the page show, in this order.
    parts: Sequence[str | Text | Rows] = ()
    verdict: Verdict | None = None
    #: Sentences of the page only.
    remarks: Sequence[str] = ()
    #: Files that were written.
    written: Sequence[Path | str | None] = ()
    #: Title and pictures of the page; --plot writes the first one.
    title: str = ""
    pictures: Sequence[Picture] = ()
    #: Exit code; by default that of the verdict.
    code: int | None = None

    def given(self, args: argparse.Namespace) -> int:
        """Write the picture of --plot and the page of --report, print it as --json or text; return the exit code."""
        path, plot = getattr(args, "report", None), getattr(args, "plot", None) if self.pictures else None
        if plot:
            draw, _ = self.pictures[0]
            assert callable(draw)
            draw(Path(plot))
        if path:
            self.page(args.command_line).save(path)
        if args.json:
            print(json.dumps(self.values, indent=2))
        else:
            self.show(console(), plot, path)
        failed = self.verdict is not None and not self.verdict.passed
        return int(failed) if self.code is None else self.code

    def show(self, out: Console, *more: Path | None) -> None:
        """Print text, tables, the files that were written, and the verdict."""
        for part in self.parts:
            if isinstance(part, Rows):
                part.show(out)
            else:
                out.print(part, soft_wrap=True if isinstance(part, Line) else None)
        for path in filter(None, (*self.written, *more)):
            out.print(f"wrote {path}", soft_wrap=True)
        if self.verdict is not None:
            out.print(self.verdict.text)

    def page(self, command: str) -> Report:
        """The page of --report of a command line."""
        page = Report(self.title)
        if self.verdict is not None:
            page.verdict(self.verdict.passed, self.verdict.text)
        for part in (*self.remarks, *self.parts):
            if isinstance(part, Rows):
                if part.title:
                    page.heading(part.title)
                page.table(part.headings, [[str(cell) for cell in row] for row in part.rows], left=len(part.words))
            else:
                page.text(str(part))
        for picture, caption in self.pictures:
            if isinstance(picture, Path):
                page.picture(picture, caption)
            else:
                page.figure(picture, caption)
        page.circumstances(command)
        return page


def check_files(args: argparse.Namespace, plot: str = "plot") -> None:
    """Refuse files of --report, --movie and the option `plot` that cannot be written, before a long run."""
    if getattr(args, plot, None):
        figure_file(Path(getattr(args, plot)), f"--{plot}")
    if getattr(args, "movie", None):
        figure_file(args.movie, "--movie", (".gif",))
    if args.report:
        output_file(args.report, FORMATS, "--report")
        require_matplotlib()


def plot_file(given: Path | None, default: str) -> Path:
    """The file of a plot, as --out gives it or in this folder; without ending a .png; raises as `output_file`."""
    path = given or Path(default)
    return output_file(path if path.suffix else path.with_suffix(".png"), FIGURES, "--out")


def plot_if_possible(path: Path, write: Callable[[Path], None], *, wanted: bool) -> str | None:
    """The path of a plot that was written, or None without matplotlib, which is an error only for a `wanted` plot."""
    try:
        write(path)
    except MissingDependencyError as error:
        if wanted:
            raise
        console().print(str(error))
        return None
    return str(path)


def finite(value: float) -> float | None:
    """The value as JSON has it: None if it is not finite."""
    return float(value) if math.isfinite(value) else None


def records(**columns: Any) -> list[dict[str, Any]]:
    """A record for each row of columns, (rows,), as JSON has them: None for what is not finite."""
    rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
    return [
        {key: finite(x) if isinstance(x, float) else x for key, x in zip(columns, row, strict=True)} for row in rows
    ]


def shown(value: float | None, form: str = ".5g") -> str:
    """A number of a table: ``-`` for None, and no signed or tiny zero."""
    return "-" if value is None else format(0.0 if abs(value) < 1e-12 else value, form)
