"""Output on terminals and pipes, progress bars, and termination by signals, the same for all commands."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn

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
    """A progress bar; the function sets what is being done, and the share that is done."""
    if quiet:  # rich computes also what it does not show
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
