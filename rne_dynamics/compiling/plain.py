"""Kernels as plain Python functions, for numbers of any type; tables and calls of machine code, as in kernels.

Counting operations and writing straight-line code run a kernel's own source, so that no operation is left out.
`expressions.py` translates tables and calls.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping
from types import CellType, FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

_PACKAGE = __name__.partition(".")[0]


class PlainKernels:
    """Converts kernels to plain Python functions, with all kernels and helpers that they call.

    By name `functions` replace ``sqrt``, ``min`` and others, `instead` helpers; `zeros` replaces ``np.empty``,
    ``np.zeros``.
    """

    def __init__(
        self,
        functions: Mapping[str, Callable[..., Any]],
        zeros: Callable[[tuple[int, ...]], Any],
        instead: Mapping[Any, Callable[..., Any]] | None = None,
    ) -> None:
        def array(shape: int | tuple[int, ...], dtype: Any = np.float64) -> Any:
            return zeros(tuple(np.atleast_1d(shape).tolist())) if dtype is np.float64 else np.zeros(shape, dtype)

        self._functions = functions
        self._modules = {
            id(math): _Replaced(math, functions),
            id(np): _Replaced(np, {**functions, "empty": array, "zeros": array}),
        }
        self._plain: dict[int, Callable[..., Any]] = {}
        for helper, function in (instead or {}).items():
            self._plain[id(getattr(helper, "py_func", helper))] = self(function)

    def __call__(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """A kernel's source as a plain function."""
        source = getattr(kernel, "py_func", kernel)
        if id(source) in self._plain:
            return self._plain[id(source)]
        scope = dict(source.__globals__)
        cells = tuple(CellType() for _ in source.__closure__ or ())
        copy = FunctionType(source.__code__, scope, source.__name__, source.__defaults__, cells)
        self._plain[id(source)] = copy  # before its own names are looked up: it may call itself
        for name in source.__code__.co_names:
            if name in scope:
                scope[name] = self._instead_of(scope[name])
            elif name in self._functions:
                scope[name] = self._functions[name]
        for cell, given in zip(cells, source.__closure__ or (), strict=True):
            cell.cell_contents = self._instead_of(given.cell_contents)
        return copy

    def _instead_of(self, value: Any) -> Any:
        """Replacement of a value that a kernel's source reads; the value itself if it is no kernel or module."""
        if id(value) in self._modules:
            return self._modules[id(value)]
        if id(value) in self._plain:
            return self._plain[id(value)]
        ours = isinstance(value, FunctionType) and value.__module__.partition(".")[0] == _PACKAGE
        # without LLVM, kernels are ordinary functions
        return self(value) if ours or hasattr(value, "attributes") else value


class _Replaced:
    """A module with a few names replaced."""

    def __init__(self, module: Any, instead: Mapping[str, Any]) -> None:
        self._module = module
        self._instead = instead

    def __getattr__(self, name: str) -> Any:
        return self._instead[name] if name in self._instead else getattr(self._module, name)


def call(address: int, arrays: tuple[Any, ...]) -> int:
    """The status that a function of pointers to the arrays' memory returns."""
    function = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * len(arrays))(int(address))
    return int(function(*(array.ctypes.data for array in arrays)))


def call_rows(address: int, rows: int, arrays: tuple[Any, ...]) -> int:
    """0 after a call of `BatchCode.run`."""
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * len(arrays))(int(address))
    function(rows, *(array.ctypes.data for array in arrays))
    return 0


def in_python(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel as plain Python; machine code that it calls by address runs."""
    return PlainKernels({}, np.zeros)(kernel)


def per_body(topology: NDArray[Any]) -> list[Any]:
    """A table with an item for each row, and one at −1: the base, the parent of the first body.

    What is put into it is a number or a tuple, all of one kind. It ends with the function that makes it, unless that
    returns it.
    """
    return [None] * (len(topology) + 1)


def table(count: int) -> list[Any]:
    """As `per_body`, for so many items."""
    return [None] * count
