"""Compiled counterparts of Python's and NumPy's functions, and of methods of arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rne_dynamics.compiling.addresses import call, call_rows
from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.kinds import FLOAT, INT, Number, View, kind_of
from rne_dynamics.compiling.tables import per_body, table

if TYPE_CHECKING:
    from rne_dynamics.compiling.arrays import Arrays


def _of_c(name: str) -> Callable[..., Any]:
    return lambda code, *values: code.of_float(name, *values)


def _empty(code: Arrays, shape: Any, dtype: Any = np.float64) -> View:
    lengths = shape if isinstance(shape, tuple) else (shape,)
    return code.new_array(np.dtype(dtype).str, lengths)


def _zeros(code: Arrays, shape: Any, dtype: Any = np.float64) -> View:
    view = _empty(code, shape, dtype)
    code.fill(view, 0)
    return view


def _float(code: Arrays, value: Any) -> Any:
    return Number(FLOAT, code.register(value, FLOAT)) if isinstance(value, Number) else float(value)


def _copy(code: Arrays, view: View) -> View:
    made = code.new_array(view.element, view.shape)
    code.fill(made, view)
    return made


def _call(code: Arrays, address: Any, arrays: tuple[View, ...]) -> Number:
    pointer = code.let(f"inttoptr i64 {code.register(address, INT)} to ptr")
    code.wrote(arrays[-1].data)
    status = code.let(f"call i32 {pointer}({', '.join(f'ptr {array.data}' for array in arrays)})")
    return Number(INT, code.let(f"sext i32 {status} to i64"))


def _call_rows(code: Arrays, address: Any, rows: Any, arrays: tuple[View, ...]) -> int:
    pointer = code.let(f"inttoptr i64 {code.register(address, INT)} to ptr")
    for array in arrays[-2:]:
        code.wrote(array.data)
    given = [f"i64 {code.register(rows, INT)}", *(f"ptr {array.data}" for array in arrays)]
    code.do(f"call void {pointer}({', '.join(given)})")
    return 0


#: By function; the first argument is the translator.
REPLACED: Mapping[Any, Callable[..., Any]] = {
    **{f: lambda code, x: code.absolute(x) for f in (abs, np.abs)},
    bool: lambda code, x: code.truth(x),
    np.bool_: lambda code, x: code.truth(x),
    float: _float,
    np.float64: _float,
    int: lambda code, x: code.whole(x),
    np.int64: lambda code, x: code.whole(x),
    len: lambda _code, x: x.shape[0] if isinstance(x, View) else len(x),
    min: lambda code, *x: code.extreme("min", *(x if len(x) > 1 else x[0])),
    max: lambda code, *x: code.extreme("max", *(x if len(x) > 1 else x[0])),
    np.empty: _empty,
    np.zeros: _zeros,
    np.isfinite: lambda code, x: code.is_finite(x),
    math.isfinite: lambda code, x: code.is_finite(x),
    np.isnan: lambda code, x: code.is_nan(x),
    math.isnan: lambda code, x: code.is_nan(x),
    np.sign: lambda code, x: code.sign(x),
    math.ceil: lambda code, x: code.whole(code.of_float("llvm.ceil.f64", x)),
    np.ceil: _of_c("llvm.ceil.f64"),
    np.floor: _of_c("llvm.floor.f64"),
    **{f: _of_c("llvm.sqrt.f64") for f in (math.sqrt, np.sqrt)},
    **{f: _of_c("llvm.copysign.f64") for f in (math.copysign, np.copysign)},
    **{f: _of_c(name) for name in ("exp", "expm1") for f in (getattr(math, name), getattr(np, name))},
    # LLVM's, which it joins to one call of C's sincos
    **{f: _of_c(f"llvm.{name}.f64") for name in ("sin", "cos") for f in (getattr(math, name), getattr(np, name))},
    math.atan2: _of_c("atan2"),
    table: lambda code, count: code.new_table(count),
    per_body: lambda code, topology: code.new_table(code.binary("Add", topology.shape[0], 1)),
    call: _call,
    call_rows: _call_rows,
    apart: lambda code, kernel, given: code.result(code.module.other(kernel, tuple(map(kind_of, given))), given),
}
#: By name; the second argument is the array.
METHODS: Mapping[str, Callable[..., Any]] = {
    "copy": _copy,
    "reshape": lambda _, view, *at: View(view.element, view.data, at[0] if isinstance(at[0], tuple) else at),
}
