"""Memory layout of CPython's and NumPy's objects, which compiled functions read themselves."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

import numpy as np

#: Where the fields begin, bytes: of arrays, and the number of a float.
TYPE, DATA, DIMENSIONS, SHAPE, STRIDES, DTYPE, FLAGS, FLOAT_VALUE = 8, 16, 24, 32, 40, 56, 64, 16
#: Of a tuple: where its length and its first item are.
LENGTH, ITEMS = 16, 24
#: NumPy's flags: C-contiguous; and aligned; and writable too.
CONTIGUOUS, READABLE, WRITABLE = 0x1, 0x101, 0x501
#: Place of PyArray_New among the functions that NumPy offers to C code.
_PYARRAY_NEW = 93
_METH_FASTCALL, _METH_KEYWORDS = 0x80, 0x02


class MethodDefinition(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    )  # fmt: skip


@cache
def lie_as_expected() -> bool:
    """Whether objects are as compiled functions read them: CPython of 64 bits, without debugging fields."""
    odd = "t" in sys.abiflags or hasattr(sys, "getobjects")  # without Python's lock; with references traced
    if sys.implementation.name != "cpython" or sys.maxsize != 2**63 - 1 or odd:
        return False
    shape = (3, 5)
    array, name, number = np.zeros(shape), sys.intern("out"), 2.5
    names = (name,)
    readonly = array.view()
    readonly.flags.writeable = False

    def read(x: object, offset: int, kind: Any) -> Any:
        return kind.from_address(id(x) + offset).value or 0

    pointer, integer = ctypes.c_void_p, ctypes.c_int32
    lengths = read(array, SHAPE, pointer)
    flags = [read(x, FLAGS, integer) & WRITABLE for x in (array, readonly, array[:, ::2])]
    return bool(
        read(array, TYPE, pointer) == id(np.ndarray)
        and read(array, DATA, pointer) == array.ctypes.data
        and read(array, DIMENSIONS, integer) == 2
        and tuple((ctypes.c_int64 * 2).from_address(lengths)) == shape
        and tuple((ctypes.c_int64 * 2).from_address(read(array, STRIDES, pointer))) == array.strides
        and read(array, DTYPE, pointer) == id(np.dtype(np.float64))
        and flags == [WRITABLE, READABLE, WRITABLE & ~1]
        and read(names, LENGTH, ctypes.c_int64) == 1
        and read(names, ITEMS, pointer) == id(name)
        and read(number, FLOAT_VALUE, ctypes.c_double) == number
    )


@cache
def new_array() -> int:
    """Address of NumPy's function PyArray_New."""
    core = sys.modules.get("numpy._core._multiarray_umath") or sys.modules["numpy.core._multiarray_umath"]
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    table = get(("PyCapsule_GetPointer", ctypes.pythonapi))(core._ARRAY_API, None)
    return ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[_PYARRAY_NEW] or 0


def python_function(
    address: int, name: str, otherwise: Any, doc: str | None = None
) -> tuple[Any, MethodDefinition]:
    """The function of Python at an address with `otherwise` as its `self`, and memory that must live as long."""
    flags = _METH_FASTCALL if doc is None else _METH_FASTCALL | _METH_KEYWORDS
    definition = MethodDefinition(name.encode(), address, flags, (doc or "").encode())
    kind = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.POINTER(MethodDefinition), ctypes.py_object, ctypes.c_void_p
    )  # fmt: skip
    made = kind(("PyCFunction_NewEx", ctypes.pythonapi))(ctypes.byref(definition), otherwise, None)
    return made, definition
