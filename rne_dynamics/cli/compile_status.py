"""Progress line on the terminal while a command compiles kernels."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rne_dynamics.compiling.progress import Compiling

_BACK = "\r\x1b[K"


@contextmanager
def compile_status(command: str) -> Iterator[None]:
    """Within the context, show on a terminal what a command compiles; files and pipes get no output."""
    stream = sys.stderr
    if not stream.isatty():
        yield
        return
    from rne_dynamics.compiling.first_start import StatusLine
    from rne_dynamics.compiling.progress import watch_compiling

    line = StatusLine(command)

    def show(now: Compiling) -> None:
        stream.write(_BACK + line.text(now)[: shutil.get_terminal_size().columns - 1])
        stream.flush()

    with watch_compiling(show):
        yield
