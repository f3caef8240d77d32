"""Expressions of Python in compiled functions: operators, Python's and NumPy's functions, methods of arrays."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.arrays import Arrays, Variable, Variables
from rne_dynamics.compiling.instructions import UntranslatableError
from rne_dynamics.compiling.kinds import (
    FLOAT,
    INT,
    Compiled,
    Kind,
    Number,
    Scalar,
    Table,
    View,
    kind_of,
)
from rne_dynamics.compiling.plain import call, call_rows, per_body, table


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
    status = code.let(f"call i32 {pointer}({', '.join(f'ptr {array.data}' for array in arrays)})")
    return Number(INT, code.let(f"sext i32 {status} to i64"))


def _call_rows(code: Arrays, address: Any, rows: Any, arrays: tuple[View, ...]) -> int:
    pointer = code.let(f"inttoptr i64 {code.register(address, INT)} to ptr")
    given = [f"i64 {code.register(rows, INT)}", *(f"ptr {array.data}" for array in arrays)]
    code.do(f"call void {pointer}({', '.join(given)})")
    return 0


#: By function; the first argument is the translator.
REPLACED: Mapping[Any, Callable[..., Any]] = {
    **{f: lambda code, x: code.absolute(x) for f in (abs, np.abs)},
    bool: lambda code, x: code.truth(x),
    float: _float,
    int: lambda code, x: code.whole(x),
    np.int64: lambda code, x: code.whole(x),
    len: lambda _code, x: x.shape[0] if isinstance(x, View) else len(x),
    min: lambda code, *x: code.extreme("min", *(x if len(x) > 1 else x[0])),
    max: lambda code, *x: code.extreme("max", *(x if len(x) > 1 else x[0])),
    np.empty: _empty,
    np.zeros: _zeros,
    **dict.fromkeys((np.isfinite, math.isfinite), lambda code, x: code.compare("Lt", code.absolute(x), math.inf)),
    **dict.fromkeys((np.isnan, math.isnan), lambda code, x: code.compare("NotEq", x, x)),
    np.sign: lambda code, x: code.sign(x),
    math.ceil: lambda code, x: code.whole(code.of_float("llvm.ceil.f64", x)),
    np.ceil: _of_c("llvm.ceil.f64"),
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


class Callees(Protocol):
    """The functions that a function may call, and the arrays that it reads: a `Module`."""

    def function(self, function: Any, kinds: tuple[Kind, ...]) -> Compiled:
        """A function for kinds of arguments."""

    def other(self, kernel: Any, kinds: tuple[Kind, ...]) -> Compiled:
        """A kernel with a module of its own."""

    def constant(self, array: NDArray[Any]) -> View:
        """An array that is known while functions are translated."""


class Expressions(Variables):
    """Assembly for the expressions of a function, which calls functions of `module`."""

    def __init__(self, module: Callees, function: FunctionType, assigned: Mapping[str, int]) -> None:
        super().__init__(assigned)
        self.module, self._globals = module, function.__globals__
        cells = function.__closure__ or ()
        self._cells = {
            name: cell.cell_contents for name, cell in zip(function.__code__.co_freevars, cells, strict=True)
        }

    def value(self, node: ast.expr) -> Any:
        """The value of an expression."""
        return getattr(self, f"_of_{type(node).__name__}")(node)

    def _of_Constant(self, node: ast.Constant) -> Any:
        return node.value

    def _of_Name(self, node: ast.Name) -> Any:
        if node.id in self.scope:
            found = self.scope[node.id]
            return self.get(found) if isinstance(found, Variable) else found
        for place in (self._cells, self._globals, vars(builtins)):
            if node.id in place:
                found = place[node.id]
                return self.module.constant(found) if isinstance(found, np.ndarray) else found
        raise UntranslatableError(f"{node.id} has no value yet")

    def _of_Tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self._values(node.elts))

    def _values(self, nodes: Sequence[ast.expr]) -> list[Any]:
        """The values of expressions, of which some may be starred tuples."""
        found: list[Any] = []
        for node in nodes:
            found += self.value(node.value) if isinstance(node, ast.Starred) else [self.value(node)]
        return found

    def _of_GeneratorExp(self, node: ast.GeneratorExp | ast.ListComp) -> tuple[Any, ...]:
        """A tuple of an expression's values for each item of a tuple."""
        (one,) = node.generators
        assert isinstance(one.target, ast.Name), "a comprehension has one name"
        assert not one.ifs, "a comprehension has no condition"
        found, outside = [], dict(self.scope)
        for value in self.value(one.iter):
            self.scope[one.target.id] = value
            found.append(self.value(node.elt))
        self.scope = outside
        return tuple(found)

    _of_ListComp = _of_GeneratorExp

    def _of_Attribute(self, node: ast.Attribute) -> Any:
        value = self.value(node.value)
        if not isinstance(value, View):
            return getattr(value, node.attr)
        if node.attr in ("shape", "size"):
            return value.shape if node.attr == "shape" else self.product(value.shape)
        return METHODS[node.attr], value

    def _of_BinOp(self, node: ast.BinOp) -> Any:
        return self.binary(type(node.op).__name__, self.value(node.left), self.value(node.right))

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Any:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return self.opposite(value)
        return self.minus(value) if isinstance(node.op, ast.USub) else value

    def _of_Compare(self, node: ast.Compare) -> Any:
        left, answer = self.value(node.left), True
        for operator, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.value(right_node)
            if isinstance(operator, (ast.Is, ast.IsNot)):
                one = (left is right) == isinstance(operator, ast.Is)
            else:
                one = self.compare(type(operator).__name__, left, right)
            answer = one if answer is True else self.both(answer, one)
            left = right
        return answer

    def _of_BoolOp(self, node: ast.BoolOp) -> Any:
        """`and`, `or`: what follows is not evaluated once it is decided."""
        first, *others = node.values
        if not others:
            return self.truth(self.value(first))
        rest = ast.BoolOp(node.op, others)
        if isinstance(node.op, ast.And):
            return self._of_IfExp(ast.IfExp(first, rest, ast.Constant(False)))
        return self._of_IfExp(ast.IfExp(first, ast.Constant(True), rest))

    def _of_IfExp(self, node: ast.IfExp) -> Any:
        condition = self.truth(self.value(node.test))
        if not isinstance(condition, Number):
            return self.value(node.body if condition else node.orelse)
        if all(isinstance(x, (ast.Constant, ast.Name)) for x in (node.body, node.orelse)):
            a, b = self.value(node.body), self.value(node.orelse)
            if isinstance(kind_of(a), Scalar) and isinstance(kind_of(b), Scalar):
                return self.choose(condition, a, b)
        yes, no, after = (self.new("l") for _ in range(3))
        self.branch(condition.text, yes, no)
        self.label(yes)
        a = self.value(node.body)
        result = self.new_variable(kind_of(a))
        self.put(result, a)
        self.go(after)
        self.label(no)
        self.put(result, self.value(node.orelse), "a choice")
        self.label(after)
        return self.get(result)

    def _of_Subscript(self, node: ast.Subscript) -> Any:
        value, indices = self.value(node.value), self.indices(node.slice)
        if isinstance(value, View):
            return self.item(value, indices)
        (index,) = indices
        if isinstance(value, Table):
            return self.item_of_table(value, index)
        return self.item_of_tuple(value, index) if isinstance(index, Number) else value[index]

    def indices(self, node: ast.expr) -> tuple[Any, ...]:
        """Indices and slices in brackets."""
        return tuple(
            slice(*(None if x is None else self.value(x) for x in (one.lower, one.upper, one.step)))
            if isinstance(one, ast.Slice) else self.value(one)
            for one in (node.elts if isinstance(node, ast.Tuple) else [node])
        )  # fmt: skip

    # calls

    def _of_Call(self, node: ast.Call) -> Any:
        function, arguments = self.value(node.func), self._values(node.args)
        return self.called(function, arguments, {word.arg or "": self.value(word.value) for word in node.keywords})

    def called(self, function: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
        """Result of a function for values."""
        if isinstance(function, tuple):  # a method and its array
            method, array = function
            return method(self, array, *arguments, **named)
        in_code = _replacement(function)
        if in_code is not None:
            return in_code(self, *arguments, **named)
        if isinstance(function, type) and issubclass(function, tuple):
            return function(*arguments, **named)
        source = getattr(function, "py_func", function)
        if not isinstance(source, FunctionType):
            raise UntranslatableError(f"{function!r} cannot be called by compiled functions")
        names = source.__code__.co_varnames[len(arguments) : source.__code__.co_argcount]
        arguments += [named[name] for name in names]
        return self.result(self.module.function(function, tuple(map(kind_of, arguments))), arguments)


def _replacement(function: Any) -> Any:
    try:
        return REPLACED.get(function)
    except TypeError:  # not hashable
        return None
