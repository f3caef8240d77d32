"""Symbolic execution of a kernel: straight-line code for one robot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rne_dynamics.model.inertia import Array
from rne_dynamics.straight_line.graph import Graph
from rne_dynamics.straight_line.recipe import Recipe
from rne_dynamics.straight_line.symbol import Symbol, node_of, symbolic_kernels, zeros


@dataclass(frozen=True)
class Program:
    """Straight-line code for one quantity of one robot.

    Attributes
    ----------
    graph
        The operations.
    widths
        Numbers in a row of each argument; inputs are numbered across all arguments.
    results
        The nodes of one row of the result, flat.
    regular
        Whether the kernel computed the sample without a fault; if not, the program is invalid.
    step
        The step of the recipe's iteration; its limit is the program's first argument.
    """

    graph: Graph
    widths: tuple[int, ...]
    results: tuple[int, ...]
    regular: bool
    step: Program | None = None


def trace(recipe: Recipe, recorder: Callable[[], Graph] = Graph) -> Program:
    """Record the operations of a kernel for one state, by `recorder`; `TooLargeError` for too many."""
    repeated = recipe.iteration
    if repeated is None:
        return _recorded(recorder(), recipe, recipe.kernel, recipe.sample, recipe.shape)
    x = repeated.sample
    step = _recorded(recorder(), recipe, repeated.kernel, (recipe.sample[0], x), (len(x) + 1,))
    found = _recorded(recorder(), recipe, recipe.kernel, (repeated.limit, *recipe.sample), recipe.shape)
    return replace(found, regular=found.regular and step.regular, step=step)


def _recorded(
    graph: Graph, recipe: Recipe, kernel: Callable[..., Any], sample: Sequence[Array], shape: tuple[int, ...]
) -> Program:
    places, rows = 0, []
    for values in sample:
        row = zeros((1, len(values)))
        row[0] = [Symbol(graph, graph.input(places + k, value)) for k, value in enumerate(values.tolist())]
        places += len(values)
        rows.append(row)
    out = zeros((*shape[: recipe.axis], 1, *shape[recipe.axis :]))
    given = [_symbolic(value) for value in (*recipe.model, *rows, *recipe.loads)]
    fault = symbolic_kernels(graph, recipe.instead)(kernel)(*given, out)
    results = tuple(node_of(graph, x) for x in out.reshape(-1))
    return Program(graph, tuple(map(len, sample)), results, fault is None or fault < 0)


def _symbolic(value: Any) -> Any:
    """What a kernel reads, to be calculated with; integers as they are."""
    if isinstance(value, tuple):
        return type(value)(*map(_symbolic, value))
    return value.astype(object) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value
