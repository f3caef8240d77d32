"""Calls of kernels that do not wait for the compiler: plain Python answers while another process compiles."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property, partial
from importlib import import_module
from typing import Any

from rne_dynamics.compiling.addresses import in_python
from rne_dynamics.compiling.meanwhile import MOST_ROWS, Meanwhile, is_possible
from rne_dynamics.compiling.ready import is_ready


class Unwaiting:
    """A kernel that another process compiles at its first call, if it is not on disk.

    Nodes and commands compile it themselves, as everything does for more than `MOST_ROWS` rows.

    Parameters
    ----------
    kernel
        A kernel of a module.
    """

    def __init__(self, kernel: Callable[..., Any]) -> None:
        self._kernel, self._ready = kernel, False
        self._elsewhere: Meanwhile | None = None

    def __call__(self, rows: int, *arguments: Any) -> Any:
        """What the kernel returns, and fills, for its arguments, which hold so many rows of states."""
        if self._ready or rows > MOST_ROWS:
            return self._kernel(*arguments)
        if self._elsewhere is None:
            if is_possible() and not is_ready(self._kernel, *arguments):
                self._elsewhere = Meanwhile(partial(_call, self._kernel.__module__, self._kernel.__name__, arguments))
            else:
                self._ready = True
        if self._elsewhere is not None:
            self._ready = self._elsewhere.over()
        return (self._kernel if self._ready else self._in_python)(*arguments)

    @cached_property
    def _in_python(self) -> Callable[..., Any]:
        return in_python(self._kernel)


@cache
def unwaiting(kernel: Callable[..., Any], variant: int = 0) -> Unwaiting:
    """`Unwaiting`, kept for a kernel and for what of its arguments determines which kernels it calls apart."""
    return Unwaiting(kernel)


def _call(module: str, name: str, arguments: tuple[Any, ...]) -> None:
    """Call a kernel, in the other process."""
    getattr(import_module(module), name)(*arguments)
