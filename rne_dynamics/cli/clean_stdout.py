"""Standard output for the command's own words only, also beside libraries in C++ that print there."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_STDOUT, _STDERR = 1, 2


@contextmanager
def clean_stdout() -> Iterator[None]:
    """Within the context only Python writes to standard output; what others write goes to standard error.

    The ROS middleware prints errors to standard output, also harmless ones (a shared-memory file that a killed process
    left), which would spoil JSON that a program reads. Child processes write to standard error too. Where
    ``sys.stdout`` is not the process's standard output, or one of the two is closed, nothing is changed.
    """
    if not _ordinary():
        yield
        return
    sys.stdout.flush()
    own = os.dup(_STDOUT)
    before = sys.stdout
    os.dup2(_STDERR, _STDOUT)
    lines = 1 if before.isatty() else -1
    sys.stdout = os.fdopen(own, "w", lines, encoding=before.encoding, errors=before.errors)
    try:
        yield
    finally:
        try:
            sys.stdout.flush()
        finally:
            os.dup2(own, _STDOUT)
            ours, sys.stdout = sys.stdout, before
            ours.close()


def _ordinary() -> bool:
    """Whether Python's two outputs are the process's own."""
    try:
        return sys.stdout.fileno() == _STDOUT and sys.stderr.fileno() == _STDERR
    except (AttributeError, io.UnsupportedOperation):  # AttributeError: None, closed when the process began
        return False
