"""The process of the console script `rne`: Ctrl-C at any time, and standard output for the command only.

Ctrl-C, also while commands are imported, ends with a line and exit code 130, whatever becomes of KeyboardInterrupt:
Python drops that exception in destructors, an import that it cuts short may fail with another error, and what comes
after the command's last line would not see it.
"""

from __future__ import annotations

import atexit
import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

EXIT_INTERRUPTED = 130

# before numpy is imported: threads that wait for each other's few numbers take up to five times the time of one
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

_noted = _reported = False
_code: int | None = None  # of the process, once it is known


def main() -> int:
    """Import and run `rne_dynamics.cli.main`, and return its exit code."""
    try:
        note_interrupts()
        from rne_dynamics.cli.main import main as run

        return ended(run())
    except KeyboardInterrupt:
        return ended(report("rne"))
    except SystemExit as end:
        return ended(end.code if isinstance(end.code, int) else 1)
    except Exception:
        if not noted():
            raise
        return ended(report("rne"))  # an import that was cut short


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


_STDOUT, _STDERR = 1, 2


@contextmanager
def clean_stdout() -> Iterator[None]:
    """Within the context, what other than Python writes to standard output goes to standard error, for JSON's sake.

    The ROS middleware prints errors there, also harmless ones. Nothing changes if ``sys.stdout`` is not the process's
    own, or is closed.
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


if __name__ == "__main__":
    from rne_dynamics.cli.start import main as run_once  # this module once more: its state is that of the commands

    sys.exit(run_once())
