"""Calls of kernels whose machine code is made once, at their first call, and not in each of their callers.

numba puts all that a function calls into the function's own machine code and optimises it there once more, at every
level of callers, whether it is ever called or not: a step of a mechanism held its equations of motion five times, and
those of an open arm too. A kernel that is called apart is compiled by itself and kept on disk like any other.

The call is not inlined. From functions that count references (not `in_place_…`) it takes some 0.4 us for a plant's 30
arrays, which numba counts for the tuple of arguments.

Each place of a call has a slot of memory for the kernel's address. The first call there finds it empty, and asks Python
to fill it: for the kernel by module and name, and its argument types.
"""

from __future__ import annotations

import ctypes
import pickle
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol, TypeVar

from rne_dynamics.compiling.jit import COMPILED

R = TypeVar("R")


def apart_from_python(kernel: Callable[..., R], arguments: tuple[Any, ...]) -> R:
    """`apart` outside compiled code."""
    return kernel(*arguments)


class _Apart(Protocol):
    def __call__(self, kernel: Callable[..., R], arguments: tuple[Any, ...]) -> R: ...


#: `apart(kernel, arguments)`: a call of a `kernel` with a tuple of arguments.
apart: _Apart = apart_from_python

if COMPILED:
    import llvmlite.binding as llvm
    from llvmlite import ir
    from numba import types as _types
    from numba.extending import intrinsic as _intrinsic

    # numba is typed in parts
    intrinsic: Any = _intrinsic
    types: Any = _types
    _callback: Any = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64))
    _WORD, _BYTE = ir.IntType(64), ir.IntType(8)
    _FIND = "rne_dynamics_find_kernel"
    _RETURNS = {"None": types.none, "bool": types.boolean, "int": types.int64, "float": types.float64}
    _RETURNS["tuple[int, float]"] = types.Tuple((types.int64, types.float64))
    #: What `_find` says; the exceptions that compiled code raises then.
    _FAILED = {
        1: (KeyboardInterrupt, ()),
        2: (RuntimeError, ("a kernel was not compiled: the reason is on standard error",)),
    }

    def _find(asked: int, length: int, slot: Any) -> int:
        """Put the address of a kernel into a slot, for compiled code; 0, or a key of `_FAILED`."""
        try:
            module, name, kinds, answer = pickle.loads(ctypes.string_at(asked, length))
            kernel = getattr(import_module(module), name)
            kernel.compile(kinds)  # finds it in memory, on disk, or makes it
            found = kernel.overloads[kinds]
            if types.unliteral(found.signature.return_type) != answer:
                raise TypeError(f"{module}.{name} returns {found.signature.return_type}; it is annotated as {answer}")
            slot[0] = found.library.get_pointer_to_function(found.fndesc.llvm_func_name)
        except KeyboardInterrupt:
            return 1
        except BaseException as error:  # noqa: BLE001 - compiled code raises its own instead
            sys.excepthook(type(error), error, error.__traceback__)
            return 2
        return 0

    _CALLED: Any = _callback(_find)
    llvm.add_symbol(_FIND, ctypes.cast(_CALLED, ctypes.c_void_p).value)

    def _apart(_typing: Any, function: Any, arguments: Any) -> Any:
        kinds, source = tuple(map(types.unliteral, arguments)), function.dispatcher.py_func
        answer = _RETURNS[source.__annotations__["return"]]  # numba would compile the kernel to find it out
        asked = pickle.dumps((source.__module__, source.__name__, kinds, answer), 4)

        def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
            module, convention = builder.module, context.call_conv
            text = ir.GlobalVariable(module, ir.ArrayType(_BYTE, len(asked)), module.get_unique_name("asked"))
            text.initializer = ir.Constant(text.type.pointee, bytearray(asked))
            text.global_constant, text.linkage = True, "internal"
            slot = ir.GlobalVariable(module, _WORD, module.get_unique_name("slot"))
            slot.initializer, slot.linkage = ir.Constant(_WORD, 0), "internal"
            kind = ir.FunctionType(ir.IntType(32), [_BYTE.as_pointer(), _WORD, _WORD.as_pointer()])
            find = module.globals.get(_FIND) or ir.Function(module, kind, _FIND)
            with builder.if_then(builder.icmp_unsigned("==", builder.load(slot), ir.Constant(_WORD, 0)), likely=False):
                where = builder.bitcast(text, _BYTE.as_pointer())
                said = builder.call(find, [where, ir.Constant(_WORD, len(asked)), slot])
                for number, (error, words) in _FAILED.items():
                    is_this = builder.icmp_unsigned("==", said, ir.Constant(said.type, number))
                    with builder.if_then(is_this, likely=False):
                        convention.return_user_exc(builder, error, words)
            code = builder.inttoptr(builder.load(slot), convention.get_function_type(answer, kinds).as_pointer())
            given = [builder.extract_value(values[1], k) for k in range(len(kinds))]
            status, value = convention.call_function(builder, code, answer, kinds, given)
            with builder.if_then(status.is_error, likely=False):
                convention.return_status_propagate(builder, status)
            return value

        return answer(function, arguments), generate

    apart = intrinsic(_apart)
