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
    _FIND = "rne_dynamics_find_kernel"
    # names and not numba's objects: these change with their use, and with them the names of machine code on disk
    _RETURNS = {"None": "none", "bool": "boolean", "int": "int64", "float": "float64"}
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

    def _returned(source: Any) -> Any:
        """numba's type of what a function is annotated to return: numba would compile it to find that out."""
        annotation = str(source.__annotations__["return"])
        parts = annotation.removeprefix("tuple[").removesuffix("]").split(", ")
        kinds = [getattr(types, _RETURNS[part]) for part in parts]
        return types.Tuple(kinds) if annotation.startswith("tuple[") else kinds[0]

    def _apart(_typing: Any, function: Any, arguments: Any) -> Any:
        kinds, source = tuple(map(types.unliteral, arguments)), function.dispatcher.py_func
        answer = _returned(source)
        asked = pickle.dumps((source.__module__, source.__name__, kinds, answer), 4)

        def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
            module, convention = builder.module, context.call_conv
            word, byte = ir.IntType(64), ir.IntType(8)
            text = ir.GlobalVariable(module, ir.ArrayType(byte, len(asked)), module.get_unique_name("asked"))
            text.initializer = ir.Constant(text.type.pointee, bytearray(asked))
            text.global_constant, text.linkage = True, "internal"
            slot = ir.GlobalVariable(module, word, module.get_unique_name("slot"))
            slot.initializer, slot.linkage = ir.Constant(word, 0), "internal"
            kind = ir.FunctionType(ir.IntType(32), [byte.as_pointer(), word, word.as_pointer()])
            find = module.globals.get(_FIND) or ir.Function(module, kind, _FIND)
            with builder.if_then(builder.icmp_unsigned("==", builder.load(slot), ir.Constant(word, 0)), likely=False):
                where = builder.bitcast(text, byte.as_pointer())
                said = builder.call(find, [where, ir.Constant(word, len(asked)), slot])
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
