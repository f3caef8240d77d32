"""Symbolic execution of a kernel: straight-line code for one robot, recorded in a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from rne_dynamics.compiling.kinds import made
from rne_dynamics.compiling.plain import PlainKernels
from rne_dynamics.model.inertia import Array
from rne_dynamics.straight_line.graph import Graph
from rne_dynamics.straight_line.recipe import Recipe


def _operation(name: str) -> Callable[..., Symbol]:
    return lambda self, *others: self.of(name, *others)


def _comparison(name: str) -> Callable[[Any, Any], bool]:
    return lambda self, other: self.graph.compare(name, self.node, node_of(self.graph, other))


class Symbol:
    """A node of a graph as a number. Comparisons have their outcome in the sample and become guards."""

    __slots__ = ("graph", "node")
    __array_ufunc__ = None  # arithmetic with numpy's numbers is done by this class
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, graph: Graph, node: int) -> None:
        self.graph = graph
        self.node = node

    def of(self, name: str, *others: Any) -> Symbol:
        """The operation of that name on this number and others."""
        return Symbol(self.graph, self.graph.apply(name, self.node, *(node_of(self.graph, x) for x in others)))

    def __truediv__(self, other: Any) -> Symbol:
        return self.of("mul", Symbol(self.graph, node_of(self.graph, other)).of("reciprocal"))

    def __rsub__(self, other: Any) -> Symbol:
        return Symbol(self.graph, self.graph.apply("sub", node_of(self.graph, other), self.node))

    def __rtruediv__(self, other: Any) -> Symbol:
        return self.of("reciprocal").of("mul", other)

    def __bool__(self) -> bool:
        return self != 0.0

    __neg__, __abs__ = _operation("neg"), _operation("abs")
    __add__ = __radd__ = _operation("add")
    __sub__ = _operation("sub")
    __mul__ = __rmul__ = _operation("mul")
    __lt__, __le__, __gt__, __ge__ = (_comparison(name) for name in ("lt", "le", "gt", "ge"))
    __eq__, __ne__ = _comparison("eq"), _comparison("ne")


def node_of(graph: Graph, x: Any) -> int:
    """The node of a symbol or a plain number."""
    return x.node if isinstance(x, Symbol) else graph.constant(float(x))


def symbolic_kernels(graph: Graph, instead: Mapping[Any, Any] | None = None) -> PlainKernels:
    """Converter of kernels to functions of symbols; `instead` as of `PlainKernels`."""

    def function(name: str) -> Callable[..., Symbol]:
        return lambda x, *others: Symbol(graph, node_of(graph, x)).of(name, *others)

    def extreme(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
        def call(*values: Any) -> Any:
            has_symbols = any(isinstance(x, Symbol) for x in values)  # indices have none
            return reduce(function(name), values) if has_symbols else plain(*values)

        return call

    functions: dict[str, Callable[..., Any]] = {x: function(x) for x in ("sqrt", "sin", "cos", "abs", "copysign")}
    functions |= {"min": extreme("min", min), "max": extreme("max", max)}
    functions |= {"float": lambda x: x if isinstance(x, Symbol) else float(x)}
    return PlainKernels(functions, zeros, instead)


def zeros(shape: tuple[int, ...]) -> Any:
    """An array of zeros that can hold symbols."""
    return np.full(shape, 0.0, dtype=object)


@dataclass(frozen=True)
class Program:
    """Straight-line code for one quantity of one robot."""

    #: The operations.
    graph: Graph
    #: Numbers in a row of each argument; inputs are numbered across all arguments.
    widths: tuple[int, ...]
    #: The nodes of one row of the result, flat.
    results: tuple[int, ...]
    #: Whether the kernel computed the sample without a fault; if not, the program is invalid.
    regular: bool
    #: The step of the recipe's iteration; its limit is the program's first argument.
    step: Program | None = None
    #: Shape of the result, if its last matrix, negated, multiplies the others.
    matrices: tuple[int, ...] = ()

    def needed(self) -> list[int]:
        """All nodes that the results and the guards depend on, in order."""
        sides = (x for guard in self.graph.guards for x in (guard.left, guard.right))
        return self.graph.needed([*self.results, *sides])

    def answer(self) -> Array:
        """The answer to the sample, flat."""
        values = np.array([self.graph.values[x] for x in self.results])
        if self.matrices:
            *others, last = values.reshape(self.matrices)
            values = np.concatenate([-(last @ x) for x in others] + [last]).ravel()
        return values


def trace(recipe: Recipe, recorder: Callable[[], Graph] = Graph) -> Program:
    """Record the operations of a kernel for one state, by `recorder`; `TooLargeError` for too many."""
    repeated = recipe.iteration
    if repeated is not None:
        x = repeated.sample
        first = replace(recipe, kernel=repeated.kernel, sample=(recipe.sample[0], x), shape=(len(x) + 1,))
        step = _recorded(recorder(), first)
        found = _recorded(recorder(), replace(recipe, sample=(repeated.limit, *recipe.sample)))
        return replace(found, regular=found.regular and step.regular, step=step)
    return _recorded(recorder(), recipe)


def _recorded(graph: Graph, recipe: Recipe) -> Program:
    places, rows = 0, []
    for values in recipe.sample:
        row = zeros((1, len(values)))
        row[0] = [Symbol(graph, graph.input(places + k, value)) for k, value in enumerate(values.tolist())]
        places += len(values)
        rows.append(row)
    out = zeros((1, *recipe.shape))
    given = [_symbolic(value) for value in (*recipe.model, *rows)]
    fault = symbolic_kernels(graph, recipe.instead)(recipe.kernel)(*given, out)
    results = tuple(node_of(graph, x) for x in out.reshape(-1))
    matrices = recipe.shape if recipe.multiplies else ()
    return Program(graph, recipe.widths, results, fault is None or fault < 0, matrices=matrices)


def _symbolic(value: Any) -> Any:
    """Arguments of a kernel as symbols; integers as they are."""
    if isinstance(value, tuple):
        return made(type(value), [*map(_symbolic, value)])
    return value.astype(object) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value
