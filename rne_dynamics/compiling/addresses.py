"""Calls of machine code by its address, from compiled code and from Python."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from rne_dynamics.compiling.kinds import INT, Number
from rne_dynamics.compiling.plain import PlainKernels

if TYPE_CHECKING:
    from collections.abc import Callable

    from rne_dynamics.compiling.expressions import Expressions

class _Call:
    """`call(address, arrays)`: the status that a function of pointers to the arrays' memory returns."""

    def __call__(self, address: int, arrays: tuple[Any, ...]) -> int:
        function = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * len(arrays))(int(address))
        return int(function(*(array.ctypes.data for array in arrays)))

    @staticmethod
    def in_code(code: Expressions, address: Any, arrays: tuple[Any, ...]) -> Number:
        """The call from compiled code."""
        pointer = code.let(f"inttoptr i64 {code.register(address, INT)} to ptr")
        code.wrote(arrays[-1].data)
        status = code.let(f"call i32 {pointer}({', '.join(f'ptr {array.data}' for array in arrays)})")
        return Number(INT, code.let(f"sext i32 {status} to i64"))


class _CallRows:
    """`call_rows(address, rows, arrays)`: 0 after a call of `BatchCode.run`."""

    def __call__(self, address: int, rows: int, arrays: tuple[Any, ...]) -> int:
        function = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * len(arrays))(int(address))
        function(rows, *(array.ctypes.data for array in arrays))
        return 0

    @staticmethod
    def in_code(code: Expressions, address: Any, rows: Any, arrays: tuple[Any, ...]) -> int:
        """The call from compiled code."""
        pointer = code.let(f"inttoptr i64 {code.register(address, INT)} to ptr")
        given = [f"i64 {code.register(rows, INT)}", *(f"ptr {array.data}" for array in arrays)]
        for array in arrays[-2:]:
            code.wrote(array.data)
        code.do(f"call void {pointer}({', '.join(given)})")
        return 0


call, call_rows = _Call(), _CallRows()


def in_python(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel as plain Python; machine code that it calls by address runs."""
    return PlainKernels({}, np.zeros)(kernel)
