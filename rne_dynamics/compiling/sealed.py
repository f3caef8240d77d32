"""Kernels that accept one signature and never compile themselves for another."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from rne_dynamics.compiling.jit import COMPILED
from rne_dynamics.compiling.kinds import INT, ArrayKind

#: What is raised for arguments that a `Sealed` function does not take.
ODD_ARGUMENTS = (TypeError, ValueError)
#: One thread prepares at a time.
_PREPARING = threading.Lock()


class Sealed:
    """A kernel that raises `TypeError` for arguments of other types, where `kernel` would compile again.

    Nothing is compiled on import: before `prepare` every call raises `TypeError`, so that calls need not check
    whether the kernel is compiled.

    Parameters
    ----------
    function
        A kernel.
    dimensions
        The number of dimensions of each argument, a writable C-contiguous array of float64; 0 for an integer.

    Attributes
    ----------
    call
        The compiled function.
    """

    __slots__ = ("_dimensions", "_function", "_ready", "call")

    def __init__(self, function: Callable[..., int], *dimensions: int) -> None:
        self._function, self._dimensions = function, dimensions
        self._ready = not COMPILED
        self.call: Callable[..., int] = _odd if COMPILED else _guarded(function, dimensions)

    def prepare(self) -> bool:
        """Compile, or load from disk; False if that was done before, so that a `TypeError` is the arguments' fault."""
        if self._ready:
            return False
        with _PREPARING:
            if not self._ready:
                kernel: Any = self._function
                kinds = tuple(INT if d == 0 else ArrayKind("<f8", d) for d in self._dimensions)
                self.call, self._ready = kernel.entry(kinds, _odd, writable=True), True
        return True


def _odd(*arguments: Any) -> int:
    raise TypeError(f"no such arguments are taken: {[type(x).__name__ for x in arguments]}")


def _guarded(function: Callable[..., Any], dimensions: tuple[int, ...]) -> Callable[..., Any]:
    """`function` with the argument checks of a compiled kernel, for machines without LLVM."""

    def call(*arguments: Any) -> Any:
        for k, (value, d) in enumerate(zip(arguments, dimensions, strict=True)):
            plain = type(value) is np.ndarray and value.dtype == np.float64 and value.flags.carray
            if d and not (plain and value.ndim == d):
                raise TypeError(f"argument {k} must be a writable C-contiguous array of float64, {d} dimensions")
        return function(*arguments)

    return call
