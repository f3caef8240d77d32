"""Calls of kernels whose machine code is made once, and not in each of their callers.

A kernel that is called is compiled as a part of its caller; one that is called apart is compiled by itself and kept on
disk like any other, when it is called for the first time: what a program never calls is never compiled. What it
returns is known from its annotation.
"""

from __future__ import annotations

import ctypes
import os
import traceback
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from rne_dynamics.compiling.instructions import UntranslatableError
from rne_dynamics.compiling.kinds import (
    BOOL,
    FLOAT,
    INT,
    Compiled,
    Fixed,
    Kind,
    TupleKind,
)

R = TypeVar("R")
#: Symbol of `_address_of`.
SYMBOL = "rne_dynamics_apart"
_KINDS: dict[str, Kind] = {"None": Fixed(None), "int": INT, "float": FLOAT, "bool": BOOL}


def apart(kernel: Callable[..., R], arguments: tuple[Any, ...]) -> R:
    """A call of a kernel, translated by `expressions.py`."""
    return kernel(*arguments)


def declared(name: str, kernel: Any, kinds: tuple[Kind, ...]) -> Compiled:
    """A kernel as its callers know it before it is compiled."""
    return Compiled(name, kinds, _declared_kind(kernel), allocates=True)


def _declared_kind(kernel: Any) -> Kind:
    annotation = str(kernel.py_func.__annotations__.get("return"))
    is_tuple = annotation.startswith("tuple[")
    items = tuple(map(_KINDS.get, annotation.removeprefix("tuple[").removesuffix("]").split(", ")))
    if None in items:
        raise UntranslatableError(
            f"{kernel.__module__}.{kernel.__qualname__} is called apart, and annotated to return {annotation}; "
            f"allowed are {', '.join(_KINDS)} and tuples of them, as text"
        )
    return TupleKind(tuple, items) if is_tuple else items[0]  # type: ignore[return-value]  # None is refused above


def _address(kernel: Any, kinds: tuple[Kind, ...]) -> int:
    loaded = kernel.load(kinds)
    compiled, address = loaded.compiled, loaded.addresses[loaded.compiled.name]
    if compiled.returned != _declared_kind(kernel):
        raise UntranslatableError(
            f"{kernel.__module__}.{kernel.__qualname__} returns {compiled.returned}, and is annotated to return "
            f"{_declared_kind(kernel)}; correct the annotation, which its callers rely on"
        )
    return int(address)


class Cell(ctypes.Structure):
    """Cell with a kernel's address for compiled code (0 before the first call), and whether Ctrl-C came meanwhile."""

    _fields_ = (("address", ctypes.c_void_p), ("number", ctypes.c_int64), ("interrupted", ctypes.c_int64))


_cells: list[tuple[Any, tuple[Kind, ...], Cell]] = []
_numbers: dict[tuple[Any, tuple[Kind, ...]], int] = {}


def cell_address(kernel: Any, kinds: tuple[Kind, ...]) -> int:
    """Address of a kernel's cell."""
    number = _numbers.setdefault((kernel, kinds), len(_cells))
    if number == len(_cells):
        _cells.append((kernel, kinds, Cell(None, number, 0)))
    return ctypes.addressof(_cells[number][2])


def load_all() -> None:
    """Load whatever compiled code may call apart: before something begins that must not stall."""
    for kernel, kinds, cell in _cells:  # which become more meanwhile
        cell.address = _address(kernel, kinds)


def _address_of(number: int) -> int:
    """The address of a kernel that compiled code calls for the first time."""
    kernel, kinds, cell = _cells[number]
    while not cell.address:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default")  # no exception can leave this function
                cell.address = _address(kernel, kinds)
        except KeyboardInterrupt:
            cell.interrupted = 1
        except BaseException:  # noqa: BLE001 printed; compiled code cannot go on without what it calls
            traceback.print_exc()
            os._exit(70)
    return int(cell.address)


_callback = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(_address_of)
#: Address of `SYMBOL`.
ADDRESS = ctypes.cast(_callback, ctypes.c_void_p).value or 0


#: The address in a cell.
FIND = f"""
define internal ptr @find(ptr %cell) nounwind {{
entry:
  %known = load atomic ptr, ptr %cell acquire, align 8
  %is_known = icmp ne ptr %known, null
  br i1 %is_known, label %end, label %first
first:
  %number_place = getelementptr i64, ptr %cell, i64 1
  %number = load i64, ptr %number_place
  %made = call ptr @{SYMBOL}(i64 %number)
  %place = getelementptr i64, ptr %cell, i64 2
  %interrupted = load i64, ptr %place
  %is_interrupted = icmp ne i64 %interrupted, 0
  br i1 %is_interrupted, label %again, label %end
again:
  store i64 0, ptr %place
  call void @PyErr_SetInterrupt()
  br label %end
end:
  %found = phi ptr [%known, %entry], [%made, %first], [%made, %again]
  ret ptr %found
}}
declare ptr @{SYMBOL}(i64)
declare void @PyErr_SetInterrupt()
"""
