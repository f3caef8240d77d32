"""What numba compiles, told while it does: a first start takes many seconds, and nobody should wonder at what."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

try:
    from numba.core import event as _events
except ImportError:  # nothing is compiled then
    _events = None  # type: ignore[assignment]

_numba: Any = _events  # typed in parts
_Listener: Any = object if _events is None else _events.Listener
_FILE = "rne_dynamics:kernel file"


@dataclass(frozen=True)
class Compiling:
    """How far the compiling is.

    Parameters
    ----------
    kernel
        What is being compiled, by module and name; empty when all that was asked for is done.
    done
        Kernels compiled so far.
    seconds
        Since the first of them was begun.
    """

    kernel: str
    done: int
    seconds: float


@contextmanager
def watch_compiling(tell: Callable[[Compiling], None]) -> Iterator[None]:
    """Within the context `tell` hears of every kernel that is compiled: when it is begun, and when none is left."""
    with ExitStack() as stack:
        if _numba is not None:
            stack.enter_context(_numba.install_listener("numba:compile", _Watch(tell)))
        yield


@contextmanager
def watch_files(tell: Callable[[Path, bool], None]) -> Iterator[None]:
    """Within the context `tell` hears of every file of machine code that is read (False) or written (True)."""
    with ExitStack() as stack:
        if _numba is not None:
            stack.enter_context(_numba.install_listener(_FILE, _Files(tell)))
        yield


def announce_file(path: Path, new: bool) -> None:
    """Tell those who watch of a file of machine code that was read or written."""
    _numba.broadcast(_numba.Event(_FILE, _numba.EventStatus.END, (path, new)))


class _Files(_Listener):  # type: ignore[misc]
    def __init__(self, tell: Callable[[Path, bool], None]) -> None:
        self._tell = tell

    def on_start(self, event: Any) -> None:
        """Files have no beginning."""

    def on_end(self, event: Any) -> None:
        self._tell(*event.data)


class _Watch(_Listener):  # type: ignore[misc]
    """Kernels only: numba tells of every helper too, and of functions of its own."""

    def __init__(self, tell: Callable[[Compiling], None]) -> None:
        self._tell, self._done, self._open, self._began = tell, 0, 0, 0.0

    def on_start(self, event: Any) -> None:
        name = _kernel(event)
        if name:
            self._began = self._began or time.monotonic()
            self._open += 1
            self._say(name)

    def on_end(self, event: Any) -> None:
        if _kernel(event):
            self._open -= 1
            self._done += 1
            if not self._open:
                self._say("")

    def _say(self, name: str) -> None:
        self._tell(Compiling(name, self._done, time.monotonic() - self._began))


def _kernel(event: Any) -> str:
    dispatcher = event.data["dispatcher"]
    module, name = dispatcher.py_func.__module__, dispatcher.py_func.__name__
    ours = module.startswith("rne_dynamics.") and not dispatcher.targetoptions.get("no_cpython_wrapper")
    return f"{module.removeprefix('rne_dynamics.')}.{name}" if ours else ""
