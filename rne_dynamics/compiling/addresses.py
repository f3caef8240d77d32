"""Calls of machine code by its address, from compiled code."""

from __future__ import annotations

import ctypes
import secrets
from collections.abc import Callable
from typing import Any

import numpy as np

from rne_dynamics.compiling.jit import COMPILED
from rne_dynamics.compiling.plain import PlainKernels

#: A number that no other process has: addresses that come with another number are of another process. A forked process
#: has the memory, and so the number, of its parent.
PROCESS = secrets.randbits(62) | 1


def call_from_python(address: int, arrays: tuple[Any, ...]) -> int:
    """`call` outside compiled code."""
    function = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * len(arrays))(int(address))
    return int(function(*(array.ctypes.data for array in arrays)))


def call_rows_from_python(address: int, rows: int, arrays: tuple[Any, ...]) -> int:
    """`call_rows` outside compiled code."""
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * len(arrays))(int(address))
    function(rows, *(array.ctypes.data for array in arrays))
    return 0


if COMPILED:
    import llvmlite.binding as llvm
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic as _intrinsic

    intrinsic: Any = _intrinsic  # numba's type says that such a function never returns
    _MEMORY, _SYMBOL = ctypes.c_int64(PROCESS), "rne_dynamics_process"
    llvm.add_symbol(_SYMBOL, ctypes.addressof(_MEMORY))

    def _process(_context: Any) -> Any:
        def generate(_target: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
            module = builder.module
            where = module.globals.get(_SYMBOL) or ir.GlobalVariable(module, ir.IntType(64), _SYMBOL)
            return builder.load(where)

        return types.int64(), generate

    #: `process()`: the `PROCESS` of the process that runs it, not of the one that compiled it.
    process: Callable[[], int] = intrinsic(_process)

    _POINTER = ir.IntType(8).as_pointer()

    def _data(context: Any, builder: Any, kinds: Any, arrays: Any) -> list[Any]:
        """Pointers to the memory of a tuple of arrays."""
        values = [builder.extract_value(arrays, k) for k in range(len(kinds))]
        return [
            builder.bitcast(context.make_array(kind)(context, builder, value).data, _POINTER)
            for kind, value in zip(kinds, values, strict=True)
        ]

    def _call(_context: Any, address: Any, arrays: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = _data(context, builder, list(signature.args[1]), arguments[1])
            function = ir.FunctionType(ir.IntType(32), [_POINTER] * len(data)).as_pointer()
            return builder.call(builder.inttoptr(arguments[0], function), data)

        return types.int32(address, arrays), generate

    def _call_rows(_context: Any, address: Any, rows: Any, arrays: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = _data(context, builder, list(signature.args[2]), arguments[2])
            function = ir.FunctionType(ir.VoidType(), [ir.IntType(64), *[_POINTER] * len(data)]).as_pointer()
            builder.call(builder.inttoptr(arguments[0], function), [arguments[1], *data])
            return ir.Constant(ir.IntType(32), 0)

        return types.int32(address, types.int64, arrays), generate

    #: `call(address, arrays)`: the status that a function of pointers to the arrays' memory returns.
    call: Callable[[int, tuple[Any, ...]], int] = intrinsic(_call)

    #: `call_rows(address, rows, arrays)`: 0 after a call of `BatchCode.run`.
    call_rows: Callable[[int, int, tuple[Any, ...]], int] = intrinsic(_call_rows)

    def _unfailing(typing: Any, function: Any, arguments: Any) -> Any:
        signature = function.get_call_type(typing, tuple(arguments), {})

        def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
            compiled = function.dispatcher.get_compile_result(signature)
            context.active_code_library.add_linking_library(compiled.library)
            given = [builder.extract_value(values[1], k) for k in range(len(arguments))]
            _, answer = context.call_internal_no_propagate(builder, compiled.fndesc, signature, given)
            return answer

        return signature.return_type(function, arguments), generate

    #: `unfailing(function, arguments)`: a call of a compiled function that cannot raise. A call that might raise keeps
    #: numba from removing the caller's counting of references, which takes longer than a recursion over six joints.
    unfailing: Callable[..., Any] = intrinsic(_unfailing)

else:

    def unfailing(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """A call of a function."""
        return function(*arguments)

    def process() -> int:
        """The `PROCESS` of the process that runs it."""
        return PROCESS

    call = call_from_python
    call_rows = call_rows_from_python


def in_python(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel as plain Python; machine code that it calls by address runs."""
    return PlainKernels({}, np.zeros, {call: call_from_python, call_rows: call_rows_from_python})(kernel)
