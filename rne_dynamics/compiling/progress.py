"""Progress reports while numba compiles: a first start takes many seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

try:
    from numba.core import event as _events
except ImportError:  # nothing is compiled
    _events = None  # type: ignore[assignment]

_numba: Any = _events  # typed in parts
_Listener: Any = object if _events is None else _events.Listener
_FILE = "rne_dynamics:kernel file"


@dataclass(frozen=True)
class Compiling:
    """Progress of compiling.

    Parameters
    ----------
    kernel
        Module and name of the kernel that is being compiled; empty when none is.
    done
        Number of kernels compiled so far.
    seconds
        Time since the first of them was begun.
    """

    kernel: str
    done: int
    seconds: float


@contextmanager
def watch_compiling(report: Callable[[Compiling], None]) -> Iterator[None]:
    """Within the context, call `report` at the beginning of each kernel and when none is left."""
    with ExitStack() as stack:
        if _numba is not None:
            stack.enter_context(_numba.install_listener("numba:compile", _Kernels(report)))
        yield


@contextmanager
def watch_files(report: Callable[[Path, bool], None]) -> Iterator[None]:
    """Within the context, call `report` for each file of machine code that is read (False) or written (True)."""
    with ExitStack() as stack:
        if _numba is not None:
            stack.enter_context(_numba.install_listener(_FILE, _Files(report)))
        yield


def announce_file(path: Path, new: bool) -> None:
    """Report a file of machine code, read or newly written, to `watch_files`."""
    _numba.broadcast(_numba.Event(_FILE, _numba.EventStatus.END, (path, new)))


class _Files(_Listener):  # type: ignore[misc]
    def __init__(self, report: Callable[[Path, bool], None]) -> None:
        self._report = report

    def on_start(self, event: Any) -> None:
        """Files report their end only."""

    def on_end(self, event: Any) -> None:
        self._report(*event.data)


class _Kernels(_Listener):  # type: ignore[misc]
    """Reports kernels only; numba's events include helpers and its own functions."""

    def __init__(self, report: Callable[[Compiling], None]) -> None:
        self._report, self._done, self._open, self._began = report, 0, 0, 0.0

    def on_start(self, event: Any) -> None:
        name = _kernel(event)
        if name:
            self._began = self._began or time.monotonic()
            self._open += 1
            self._send(name)

    def on_end(self, event: Any) -> None:
        if _kernel(event):
            self._open -= 1
            self._done += 1
            if not self._open:
                self._send("")

    def _send(self, name: str) -> None:
        self._report(Compiling(name, self._done, time.monotonic() - self._began))


def _kernel(event: Any) -> str:
    dispatcher = event.data["dispatcher"]
    module, name = dispatcher.py_func.__module__, dispatcher.py_func.__name__
    ours = module.startswith("rne_dynamics.") and "forceinline" not in dispatcher.targetoptions
    return f"{module.removeprefix('rne_dynamics.')}.{name}" if ours else ""
