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
_code: int | None = None  # of the process, once it is known


def note_interrupts() -> None:
    """Note Ctrl-C from now on, also if the shell has this process ignore it, and raise KeyboardInterrupt."""
    atexit.register(_end)  # the first one: it is called last
    signal.signal(signal.SIGINT, _raise)


def ended(code: int) -> int:
    """Raise nothing any more: the command has ended with this exit code, which is returned."""
    global _code  # noqa: PLW0603 signals belong to the process, here and below
    _only_note()
    _code = code
    return code


def noted() -> bool:
    """Whether Ctrl-C has come."""
    return _noted


def report(name: str, text: str = "interrupted") -> int:
    """Print the line of a command that was interrupted; returns its exit code."""
    global _reported  # noqa: PLW0603
    _only_note()
    print(f"{name}: {text}", file=sys.stderr, flush=True)
    _reported = True
    return EXIT_INTERRUPTED


def _only_note() -> None:
    if signal.getsignal(signal.SIGINT) is _raise:
        signal.signal(signal.SIGINT, _note)


def _note(number: int, frame: FrameType | None) -> None:
    global _noted  # noqa: PLW0603
    _noted = True


def _raise(number: int, frame: FrameType | None) -> None:
    _note(number, frame)
    raise KeyboardInterrupt


def _end() -> None:
    """Exit at once: Ctrl-C while the interpreter tears modules down, for 0.1 s and more, would be lost."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    code = report("rne") if _noted and not _reported else _code
    if code is not None:  # None: an internal error, which Python reports
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # closed, or nobody reads it
                stream.flush()
        os._exit(code)
