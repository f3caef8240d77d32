"""Symbolic execution of a kernel: straight-line code for one robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

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
    """

    graph: Graph
    widths: tuple[int, ...]
    results: tuple[int, ...]
    regular: bool


def trace(recipe: Recipe) -> Program:
    """Record the operations of a kernel for one state; `TooLargeError` for too many."""
    graph, places, rows = Graph(), 0, []
    for values in recipe.sample:
        row = zeros((1, len(values)))
        row[0] = [Symbol(graph, graph.input(places + k, value)) for k, value in enumerate(values.tolist())]
        places += len(values)
        rows.append(row)
    out = zeros((*recipe.shape[: recipe.axis], 1, *recipe.shape[recipe.axis :]))
    given = [_symbolic(value) for value in (*recipe.model, *rows, *recipe.loads)]
    fault = symbolic_kernels(graph)(recipe.kernel)(*given, out)
    results = tuple(node_of(graph, x) for x in out.reshape(-1))
    return Program(graph, recipe.widths, results, fault is None or fault < 0)


def _symbolic(value: Any) -> Any:
    """What a kernel reads, to be calculated with; integers as they are."""
    return value.astype(object) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value
