"""Machine code as a function of Python, without a Python function in front of it."""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from rne_dynamics.straight_line import entry_ir

_METH_FASTCALL, _METH_KEYWORDS = 0x80, 0x02
#: Place of PyArray_New among the functions that NumPy offers to C code.
_PYARRAY_NEW = 93


class _MethodDefinition(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    )  # fmt: skip


class Otherwise:
    """What an entry calls with arguments that it does not take; keeps the entry's memory.

    Parameters
    ----------
    function
        Takes the same arguments.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.keep: tuple[Any, ...] = ()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """The other function's answer."""
        return self._function(*arguments, **named)


def python_function(address: int, name: str, doc: str, otherwise: Callable[..., Any], *keep: object) -> Any:
    """The function of Python whose machine code, an `entry_ir.entry_text`, lies at an address.

    Parameters
    ----------
    address
        Where it is.
    name, doc
        Of the function; `doc` begins with its signature, as those of functions in C do.
    otherwise
        Called with all arguments that the entry does not take.
    keep
        What its memory belongs to.
    """
    definition = _MethodDefinition(name.encode(), address, _METH_FASTCALL | _METH_KEYWORDS, doc.encode())
    self = Otherwise(otherwise)
    self.keep = (definition, *keep)
    kind = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.POINTER(_MethodDefinition), ctypes.py_object, ctypes.c_void_p
    )  # fmt: skip
    return kind(("PyCFunction_NewEx", ctypes.pythonapi))(ctypes.byref(definition), self, None)


@cache
def addresses() -> Mapping[str, int] | None:
    """Addresses for `entry_ir.SYMBOLS`; None where objects do not lie in memory as entries expect."""
    if not _is_known_python() or not _arrays_lie_as_expected():
        return None
    api = ctypes.pythonapi
    functions = {"increment": api.Py_IncRef, "decrement": api.Py_DecRef, "call_python": api.PyObject_Vectorcall}
    found = {name: ctypes.cast(function, ctypes.c_void_p).value or 0 for name, function in functions.items()}
    found |= {"array_type": id(np.ndarray), "double_dtype": id(np.dtype(np.float64)), "out_name": id(sys.intern("out"))}
    return MappingProxyType({**found, "new_array": _numpy_function(_PYARRAY_NEW)})


def _is_known_python() -> bool:
    """CPython with reference counts in one number, 64 bits, no debugging fields in objects."""
    odd = sysconfig.get_config_var("Py_GIL_DISABLED") or sysconfig.get_config_var("Py_TRACE_REFS")
    return sys.implementation.name == "cpython" and sys.maxsize == 2**63 - 1 and not odd


def _arrays_lie_as_expected() -> bool:
    """Whether the fields of NumPy's arrays and CPython's tuples are where entries read them."""
    shape = (3, 5)
    array, name = np.zeros(shape), sys.intern("out")
    names = (name,)
    readonly = array.view()
    readonly.flags.writeable = False

    def read(x: object, offset: int, kind: Any) -> int:
        return int(kind.from_address(id(x) + offset).value or 0)

    pointer, integer = ctypes.c_void_p, ctypes.c_int32
    lengths = read(array, entry_ir.SHAPE, pointer)
    flags = [read(x, entry_ir.FLAGS, integer) & entry_ir.WRITABLE for x in (array, readonly, array[:, ::2])]
    return (
        read(array, entry_ir.TYPE, pointer) == id(np.ndarray)
        and read(array, entry_ir.DATA, pointer) == array.ctypes.data
        and read(array, entry_ir.DIMENSIONS, integer) == 2
        and tuple((ctypes.c_int64 * 2).from_address(lengths)) == shape
        and read(array, entry_ir.DTYPE, pointer) == id(np.dtype(np.float64))
        and flags == [entry_ir.WRITABLE, entry_ir.READABLE, entry_ir.WRITABLE & ~1]
        and read(names, entry_ir.NAMES, ctypes.c_int64) == 1
        and read(names, entry_ir.FIRST_NAME, pointer) == id(name)
    )


def _numpy_function(number: int) -> int:
    """Address of a function that NumPy offers to C code."""
    core = sys.modules.get("numpy._core._multiarray_umath") or sys.modules["numpy.core._multiarray_umath"]
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    table = get(("PyCapsule_GetPointer", ctypes.pythonapi))(core._ARRAY_API, None)
    return ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[number] or 0
