"""Symbolic execution of the kernels of `dynamics/`: straight-line code for one robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rne_dynamics.dynamics.declared.quantity import Declared
from rne_dynamics.dynamics.kinematics.configuration import random_configuration
from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import ROTATION
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.straight_line.graph import Graph, TooLargeError
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


def trace(robot: RobotModel, quantity: str, link: str = "", base: Array | None = None) -> Program:
    """Record the operations of the general kernel of a quantity for one state, without loads.

    Parameters
    ----------
    robot, quantity
        What to compute, and of what.
    link
        Of a Jacobian.
    base
        Motion of the base (12,), as `BaseMotion.packed`; at rest by default.

    Raises
    ------
    TooLargeError
        Too many operations.
    """
    graph, declared = Graph(), QUANTITIES[quantity]
    form = declared.rows_form(robot, link)
    if form is None:
        raise TooLargeError(f"{quantity} has no form for rows of states")
    sample, places, rows = _sample(robot, declared), 0, []
    for values in sample:
        row = zeros((1, len(values)))
        row[0] = [Symbol(graph, graph.input(places + k, value)) for k, value in enumerate(values)]
        places += len(values)
        rows.append(row)
    shape = declared.shape(robot)
    parts = 1 if len(shape) == 3 else 0  # three parts come first, then the states
    out = zeros((*shape[:parts], 1, *shape[parts:]))
    model = [_symbolic(robot, value) for value in form.model]
    if base is not None:
        model[2] = base.reshape(1, 12).astype(object)
    fault = symbolic_kernels(graph)(form.kernel)(*model, *rows, *(zeros(x.shape) for x in form.loads), out)
    results = tuple(node_of(graph, x) for x in out.reshape(-1))
    return Program(graph, tuple(map(len, sample)), results, fault is None or fault < 0)


def _sample(robot: RobotModel, declared: Declared) -> list[list[float]]:
    """A generic state: comparisons in a kernel have the same outcome for almost all states."""
    rng = np.random.default_rng(1)
    q = random_configuration(robot, rng)
    return [(q if name == "q" else rng.normal(size=robot.n)).tolist() for name in declared.inputs]


def traced(function: Any, sample: Sequence[Array], results: int, instead: Mapping[Any, Any] | None = None) -> Program:
    """Record the operations of ``function(*vectors, out)`` for one sample of its vectors.

    Parameters
    ----------
    function
        A kernel, or a function that calls kernels; it fills `out` and returns 0, None or −1, or else refuses the state.
    sample
        Values of the vectors.
    results
        Numbers in `out`.
    instead
        Helpers replaced by others, as of `PlainKernels`.

    Raises
    ------
    TooLargeError
        Too many operations.
    """
    graph, places, rows = Graph(), 0, []
    for values in sample:
        row = zeros((len(values),))
        row[:] = [Symbol(graph, graph.input(places + k, value)) for k, value in enumerate(values)]
        places += len(values)
        rows.append(row)
    out = zeros((results,))
    fault = symbolic_kernels(graph, instead)(function)(*rows, out)
    nodes = tuple(node_of(graph, x) for x in out)
    return Program(graph, tuple(map(len, sample)), nodes, fault is None or fault <= 0)


def _symbolic(robot: RobotModel, value: Any) -> Any:
    """What a kernel reads besides the state, to be calculated with; integers as they are."""
    if value is robot.parameters:
        return _parameters(robot).astype(object)
    return value.astype(object) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value


def _parameters(robot: RobotModel) -> Array:
    """The model's parameters; entries of rotations within round-off of 0 or ±1 are rounded."""
    parameters: Array = robot.parameters.copy()
    round_turns(parameters[:, ROTATION : ROTATION + 9])
    return parameters


def round_turns(turns: Array) -> None:
    """Round entries of rotations within round-off of 0 or ±1, in place."""
    whole = np.rint(turns)
    turns[:] = np.where(np.abs(turns - whole) < np.finfo(float).eps, whole, turns)
