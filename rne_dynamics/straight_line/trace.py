"""Symbolic execution of a kernel: straight-line code for one robot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rne_dynamics.compiling.kinds import made
from rne_dynamics.model.inertia import Array
from rne_dynamics.straight_line.graph import Graph
from rne_dynamics.straight_line.recipe import Recipe
from rne_dynamics.straight_line.symbol import Symbol, node_of, symbolic_kernels, zeros


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
    #: The recipe's last stage for one column, and of how many matrices: its arguments are the program's last matrix and
    #: a column.
    column: Program | None = None
    replaced: int = 0

    def needed(self) -> list[int]:
        """All nodes that the results and the guards depend on, in order."""
        sides = (x for guard in self.graph.guards for x in (guard.left, guard.right))
        return self.graph.needed([*self.results, *sides])

    def answer(self) -> Array:
        """The answer to the sample, flat."""
        values = np.array([self.graph.values[x] for x in self.results])
        if self.column is None:
            return values
        n = self.column.widths[1]
        *matrices, shared = values.reshape(-1, n, n)
        for matrix in matrices[: self.replaced]:
            for c in range(n):
                found = self.column.graph.evaluated([*shared.flat, *matrix[:, c]])
                matrix[:, c] = [found[x] for x in self.column.results]
        return np.concatenate([matrix.ravel() for matrix in matrices])


def trace(recipe: Recipe, recorder: Callable[[], Graph] = Graph) -> Program:
    """Record the operations of a kernel for one state, by `recorder`; `TooLargeError` for too many."""
    repeated, columns = recipe.iteration, recipe.columns
    if repeated is not None:
        x = repeated.sample
        first = replace(recipe, kernel=repeated.kernel, sample=(recipe.sample[0], x), shape=(len(x) + 1,))
        step = _recorded(recorder(), first)
        found = _recorded(recorder(), replace(recipe, sample=(repeated.limit, *recipe.sample)))
        return replace(found, regular=found.regular and step.regular, step=step)
    if columns is not None:
        count, n, _ = recipe.shape
        found = _recorded(recorder(), replace(recipe, shape=(count + 1, n, n)))
        *_, matrix, shared = np.array([found.graph.values[x] for x in found.results]).reshape(-1, n, n)
        sample = shared.ravel(), matrix[:, 0]
        one = replace(recipe, kernel=columns.kernel, model=columns.model, loads=(), sample=sample, shape=(n,))
        return replace(found, column=_recorded(recorder(), one), replaced=columns.matrices)
    return _recorded(recorder(), recipe)


def _recorded(graph: Graph, recipe: Recipe) -> Program:
    places, rows = 0, []
    for values in recipe.sample:
        row = zeros((1, len(values)))
        row[0] = [Symbol(graph, graph.input(places + k, value)) for k, value in enumerate(values.tolist())]
        places += len(values)
        rows.append(row)
    out = zeros((1, *recipe.shape))
    given = [_symbolic(value) for value in (*recipe.model, *rows, *recipe.loads)]
    fault = symbolic_kernels(graph, recipe.instead)(recipe.kernel)(*given, out)
    results = tuple(node_of(graph, x) for x in out.reshape(-1))
    return Program(graph, recipe.widths, results, fault is None or fault < 0)


def _symbolic(value: Any) -> Any:
    """Arguments of a kernel as symbols; integers as they are."""
    if isinstance(value, tuple):
        return made(type(value), [*map(_symbolic, value)])
    return value.astype(object) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value
