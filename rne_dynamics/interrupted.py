"""Ctrl-C while the executable of a node is imported: one line and exit code 130.

A KeyboardInterrupt there would become a traceback, or another error of the import that it cuts short.
"""

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

#: Exit code after Ctrl-C.
EXIT_INTERRUPTED = 130

_process = -1


def executable(names: Sequence[str], package: str) -> bool:
    """Whether this process is one of these executables, also where ``python -m`` runs its module of a package."""
    return _program() in names and (sys.argv[0] != "-m" or f"{package}.{_program()}" in sys.orig_argv)


def end_when_interrupted() -> None:
    """End this process at once at Ctrl-C, from now on: there is nothing to stop yet."""
    global _process  # noqa: PLW0603 signals belong to the process
    _process = os.getpid()
    signal.signal(signal.SIGINT, _end)


def report_interrupted() -> int:
    """Print the line of a node that was interrupted before it had started; returns its exit code."""
    os.write(2, f"{_program().removesuffix('.py')}: interrupted before it had started\n".encode())
    return EXIT_INTERRUPTED


def _program() -> str:
    """The name of the program; of a module while ``python -m`` imports its package, that of the module."""
    name = sys.argv[0].rpartition("/")[2] if sys.argv else ""
    if name != "-m":
        return name
    return sys.orig_argv[sys.orig_argv.index("-m") + 1].rpartition(".")[2]


def _end(number: int, frame: FrameType | None) -> None:
    """Not by an exception; a child of this process, which the terminal interrupts too, prints nothing."""
    os._exit(report_interrupted() if os.getpid() == _process else EXIT_INTERRUPTED)
