"""One line on the terminal while a command compiles kernels."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rne_dynamics.advice import rne

if TYPE_CHECKING:
    from rne_dynamics.spatial.compiling import Compiling

_BACK = "\r\x1b[K"


@contextmanager
def compile_status() -> Iterator[None]:
    """Within the context a terminal shows what is compiled; nothing is written to files and pipes."""
    stream = sys.stderr
    if not stream.isatty():
        yield
        return
    from rne_dynamics.spatial.compiling import watch_compiling

    def tell(now: Compiling) -> None:
        text = ""
        if now.kernel:
            how = rne("warmup")
            text = f"compiling kernels (once, see `{how}`): {now.done} done, {now.seconds:.0f} s, {now.kernel}"
        stream.write(_BACK + text[: shutil.get_terminal_size().columns - 1])
        stream.flush()

    with watch_compiling(tell):
        yield
