"""Background load on the computer."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """Run `count` processes that take a core each."""
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            stack.callback(subprocess.Popen([sys.executable, "-c", "while True: pass"]).kill)
        yield
