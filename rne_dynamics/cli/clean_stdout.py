"""Standard output for the command only; output of C++ libraries goes to standard error."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_STDOUT, _STDERR = 1, 2


@contextmanager
def clean_stdout() -> Iterator[None]:
    """Within the context, redirect standard output to standard error except for output from Python.

    The ROS middleware prints errors to standard output, also harmless ones (a shared-memory file of a killed process),
    which would corrupt JSON output. Child processes write to standard error too. Nothing is changed if ``sys.stdout``
    is not the process's standard output, or if one of the two streams is closed.
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
    """Whether Python's output streams are those of the process."""
    try:
        return sys.stdout.fileno() == _STDOUT and sys.stderr.fileno() == _STDERR
    except (AttributeError, io.UnsupportedOperation):  # AttributeError: None, closed at the start of the process
        return False
