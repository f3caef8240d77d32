"""Compilation in another process, which keeps machine code on disk, while this process answers from plain Python.

Compiling takes seconds where a robot is large or a kernel general; plain Python answers for one state in milliseconds.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

#: Environment variable: where it is set, processes compile what they need before they answer.
HERE = "RNE_DYNAMICS_COMPILE_HERE"
#: So many states are worth an answer of plain Python, which takes some 0.1 ms a body for each.
MOST_ROWS = 8
#: The other process goes behind those that answer.
NICE = 10
_ROOT = Path(__file__).resolve().parents[2]


def compile_here() -> None:
    """Let this process compile what it needs before it answers: for nodes and commands."""
    os.environ[HERE] = "1"


def is_possible() -> bool:
    """Whether another process may compile for this one: it can be started, and what it compiles can be kept."""
    if HERE in os.environ or not _is_python(sys.executable):
        return False
    from rne_dynamics.compiling.jit import COMPILED  # numba, which `compile_here` can do without

    if not COMPILED:
        return False
    from rne_dynamics.compiling.kernel_cache import target

    return target() is not None


def _is_python(program: str | None) -> bool:
    """Whether a program is Python, and not one that contains it: that would start a second time."""
    return "python" in Path(program or "").name.lower() and not getattr(sys, "frozen", False)


class Meanwhile:
    """A call that another process makes; what it compiles is on disk afterwards.

    One process at a time is started, when somebody asks. It goes on if this process ends: the next one needs the same.

    Parameters
    ----------
    call
        Of module-level functions, without arguments.

    Attributes
    ----------
    turn, running
        Of all: one thread looks at them at a time; the process that was started last.
    """

    turn: ClassVar[threading.Lock] = threading.Lock()
    running: ClassVar[subprocess.Popen[bytes] | None] = None

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call: Callable[[], Any] | None = call
        self._process: subprocess.Popen[bytes] | None = None

    def over(self) -> bool:
        """Whether it has been made, or cannot be made there."""
        with Meanwhile.turn:
            if self._call is not None:
                running = Meanwhile.running
                if running is not None and running.poll() is None:
                    return False
                self._process = Meanwhile.running = _started(self._call)
                self._call = None
            return self._process is None or self._process.poll() is not None


def _started(call: Callable[[], Any]) -> subprocess.Popen[bytes] | None:
    """The process that makes a call; None if it cannot be started, or the call cannot be sent to it."""
    with contextlib.suppress(OSError, pickle.PicklingError, TypeError, AttributeError), tempfile.TemporaryFile() as job:
        job.write(pickle.dumps(call))
        job.seek(0)
        return subprocess.Popen(
            [sys.executable, "-m", __name__], cwd=_ROOT, env={**os.environ, HERE: "1"}, stdin=job,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    return None


def main() -> None:
    """Make the call that standard input holds."""
    with contextlib.suppress(OSError, AttributeError):  # Windows has neither, macOS the first
        os.nice(NICE)
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))  # the other one may run at a real-time priority
    pickle.load(sys.stdin.buffer)()  # from the process that started this one


if __name__ == "__main__":
    main()
