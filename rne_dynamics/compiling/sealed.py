"""Kernels that accept one signature and never compile themselves for another."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from rne_dynamics.compiling.jit import COMPILED, another
from rne_dynamics.compiling.ready import is_ready

#: What numba raises for arguments that a `Sealed` function does not take; `ValueError` for an empty list.
ODD_ARGUMENTS = (TypeError, ValueError)
#: One thread prepares at a time.
_PREPARING = threading.Lock()


class Sealed:
    """A kernel that raises `TypeError` for arguments of other types, where `kernel` would compile again.

    Compiling takes a second and more: too long for a caller that passes a strided array or one of float32 once. Nothing
    is compiled on import either: before `prepare` every call raises `TypeError`, so that calls need not check
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
        self.call: Callable[..., int] = _guarded(function, dimensions)
        if COMPILED:
            dispatcher: Any = another(function)
            dispatcher._can_compile = False
            self.call = dispatcher

    def is_ready(self) -> bool:
        """Whether nothing is left to compile: it has been, or the machine code is on disk."""
        sample = (np.empty((1,) * d) if d else 0 for d in self._dimensions)
        return self._ready or is_ready(another(self._function), *sample)

    def prepare(self) -> bool:
        """Compile, or load from disk; False if that was done before, so that a `TypeError` is the arguments' fault.

        Other threads may call meanwhile: they get the new dispatcher after it has compiled.
        """
        if self._ready:
            return False
        with _PREPARING:
            if not self._ready:
                kinds = ("i8" if d == 0 else f"f8[{':, ' * (d - 1)}::1]" for d in self._dimensions)
                dispatcher: Any = another(self._function)
                dispatcher.compile(f"({', '.join(kinds)})")
                dispatcher._can_compile = False
                self.call, self._ready = dispatcher, True
        return True


def _guarded(function: Callable[..., Any], dimensions: tuple[int, ...]) -> Callable[..., Any]:
    """`function` with the argument checks of a compiled kernel, for machines without numba."""

    def call(*arguments: Any) -> Any:
        for k, (value, d) in enumerate(zip(arguments, dimensions, strict=True)):
            plain = type(value) is np.ndarray and value.dtype == np.float64 and value.flags.carray
            if d and not (plain and value.ndim == d):
                raise TypeError(f"argument {k} must be a writable C-contiguous array of float64, {d} dimensions")
        return function(*arguments)

    return call
