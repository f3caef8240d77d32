"""Calls of machine code by its address, from compiled code (translated by `functions.py`) and from Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from rne_dynamics.compiling.plain import PlainKernels


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
