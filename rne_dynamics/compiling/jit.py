"""Kernels: functions that are compiled at their first call; without LLVM they stay plain Python.

Decorators; functions of Python that make or fill the answer of a kernel, ``f(a0, …, out=None)``; and the memory layout
of CPython's and NumPy's objects, which compiled functions read themselves.
"""

from __future__ import annotations

import ctypes
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar, cast

import numpy as np

from rne_dynamics.advice import install
from rne_dynamics.compiling.kinds import kind_of
from rne_dynamics.compiling.processor import processor

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


def python_function(address: int, name: str, given: tuple[Any, ...], doc: str = "") -> Any:
    """The function of Python at an address, whose `self` is what is `given`, and what must live as long."""
    definition = MethodDefinition(name.encode(), address, _METH_FASTCALL | _METH_KEYWORDS, doc.encode())
    kind = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.POINTER(MethodDefinition), ctypes.py_object, ctypes.c_void_p
    )  # fmt: skip
    make = kind(("PyCFunction_NewEx", ctypes.pythonapi))
    return make(ctypes.byref(definition), (*given, definition), None)


F = TypeVar("F", bound=Callable[..., Any])
UNCOMPILED_TEXT = "{}: the dynamics kernels run as plain Python, about 200 times slower. To compile them: {}"

#: Environment variable: where it is set, kernels run as plain Python.
PLAIN = "RNE_DYNAMICS_PLAIN"


def _uncompiled() -> str:
    if os.environ.get(PLAIN):
        return UNCOMPILED_TEXT.format(f"{PLAIN} is set", "unset it")
    try:
        import llvmlite  # noqa: F401
    except ImportError:
        return UNCOMPILED_TEXT.format("llvmlite is not installed", install("llvmlite", "python3-llvmlite"))
    if processor() is None or not lie_as_expected():
        return UNCOMPILED_TEXT.format("this computer is none that kernels are compiled for", "see docs/install.md")
    return ""


#: Why kernels run as plain Python, and what to do; empty where they are compiled.
UNCOMPILED = _uncompiled()
#: True where kernels are compiled.
COMPILED = not UNCOMPILED
if UNCOMPILED:
    warnings.warn(UNCOMPILED, RuntimeWarning, stacklevel=2)


def kernel(function: F) -> F:
    """A function that Python calls, compiled once and kept on disk; see `Kernel`."""
    return _made(function)


def threaded_kernel(function: F) -> F:
    """As `kernel`, for long calls (loops over many states): other Python threads run meanwhile.

    Not for single states: releasing Python's lock costs time in every call, and another thread may then hold it
    for milliseconds.
    """
    return _made(function, releases_lock=True)


def rare_kernel(function: F) -> F:
    """As `kernel`, for what is called `apart` at rare events: compiled in 20 % of the time, up to 20 times slower."""
    return _made(function, rare=True)


def _made(function: F, **options: Any) -> F:
    if not COMPILED:
        return function
    from rne_dynamics.compiling.kernel import Kernel

    return cast("F", Kernel(function, **options))


def helper(function: F) -> F:
    """A function that only kernels and other helpers call: a part of each of them."""
    function.attributes = "alwaysinline"  # type: ignore[attr-defined]
    return function


def routine(function: F) -> F:
    """As `helper`, for long functions with several callers: called instead of inlined, which compiles faster."""
    function.attributes = ""  # type: ignore[attr-defined]
    return function


def filling(
    kernel: Any,
    first: tuple[Any, ...],
    widths: Sequence[int],
    shape: tuple[int, ...],
    otherwise: Callable[..., Any],
    name: str,
    doc: str = "",
    keep: Any = None,
) -> Callable[..., Any]:
    """``f(a0, …, out=None)``, compiled now: it takes vectors of `widths`, and gives `out` or a new array of `shape`.

    ``kernel(*first, a0, …, out)`` returns 0 where it has filled `out`. Where it has not, and for all but C-contiguous
    arrays of float64 of these shapes apart in memory, `otherwise` is called as `f`. `keep` must live as long as `f`.
    """
    like = *(np.empty(width) for width in widths), np.empty(shape)
    if COMPILED:
        kinds, lengths = tuple(map(kind_of, (*first, *like))), np.array([n for x in like for n in x.shape], np.int64)
        made: Callable[..., Any] = kernel.filling(kinds, len(first), (otherwise, *first, lengths, keep), name, doc)
        return made

    def plain(*given: Any, **named: Any) -> Any:
        arrays = (*given, *named.values())
        if len(arrays) == len(widths):
            arrays = *arrays, np.empty(shape)
        counted = named.keys() <= {"out"} and len(given) >= len(widths) and len(arrays) == len(like)
        taken = counted and all(map(_is_like, arrays, like)) and arrays[-1].flags.writeable
        if taken and not any(np.shares_memory(arrays[-1], x) for x in arrays[:-1]) and kernel(*first, *arrays) == 0:
            return arrays[-1]
        return otherwise(*given, **named)

    plain.__name__ = plain.__qualname__ = name
    plain.keep = keep  # type: ignore[attr-defined]
    return plain


def _is_like(value: Any, like: Any) -> bool:
    same = type(value) is np.ndarray and value.dtype == like.dtype and value.shape == like.shape
    return same and value.flags.c_contiguous and value.flags.aligned
