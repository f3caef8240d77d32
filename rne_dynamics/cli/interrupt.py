"""Ctrl-C of a command: noted, so that it ends with exit code 130 and one line whatever becomes of KeyboardInterrupt.

Python drops that exception in destructors, an import that it cuts short may fail with another error, and what comes
after the command's last line would not see it.
"""

import atexit
import os
import signal
import sys
from contextlib import suppress
from types import FrameType

EXIT_INTERRUPTED = 130

_noted = _reported = False


def note_interrupts() -> None:
    """Note Ctrl-C from now on, also if the shell has this process ignore it, and raise KeyboardInterrupt."""
    atexit.register(_end)  # the first one: it is called last
    signal.signal(signal.SIGINT, _raise)


def only_note() -> None:
    """Raise nothing any more: the command has ended."""
    if signal.getsignal(signal.SIGINT) is _raise:
        signal.signal(signal.SIGINT, _note)


def noted() -> bool:
    """Whether Ctrl-C has come."""
    return _noted


def report(name: str, text: str = "interrupted") -> int:
    """Print the line of a command that was interrupted; returns its exit code."""
    global _reported  # noqa: PLW0603 signals belong to the process
    only_note()
    print(f"{name}: {text}", file=sys.stderr, flush=True)
    _reported = True
    return EXIT_INTERRUPTED


def _note(number: int, frame: FrameType | None) -> None:
    global _noted  # noqa: PLW0603
    _noted = True


def _raise(number: int, frame: FrameType | None) -> None:
    _note(number, frame)
    raise KeyboardInterrupt


def _end() -> None:
    """Exit with the code of an interrupt that came after the command had ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if _noted and not _reported:
        report("rne")
        with suppress(OSError, ValueError):  # closed, or nobody reads it
            sys.stdout.flush()
        os._exit(EXIT_INTERRUPTED)
