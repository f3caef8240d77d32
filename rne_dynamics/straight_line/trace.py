"""Symbolic execution of the kernels of `dynamics/`: straight-line code for one robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rne_dynamics.dynamics.kinematics.configuration import random_configuration
from rne_dynamics.dynamics.quantities import batched
from rne_dynamics.model.layout import ROTATION
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.straight_line.graph import Graph
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


def trace(robot: RobotModel, quantity: str) -> Program:
    """Record the operations of the general kernel of a quantity for one state, base at rest, no wrenches."""
    graph = Graph()
    sample, places, rows = _sample(robot, quantity), 0, []
    for values in sample:
        row = zeros((1, len(values)))
        row[0] = [Symbol(graph, graph.input(places + k, value)) for k, value in enumerate(values)]
        places += len(values)
        rows.append(row)
    declared = batched()[quantity]
    out, batch = zeros((1, *declared.shape(robot))), symbolic_kernels(graph)(declared.for_robot(robot).batch)
    base: Any = robot.base_at_rest.reshape(1, 12).astype(object)
    fault = batch(robot.topology, _symbolic_parameters(robot), base, *rows, zeros((1, 0, 6)), out)
    results = tuple(node_of(graph, x) for x in out.reshape(-1))
    return Program(graph, tuple(map(len, sample)), results, fault < 0)


def _sample(robot: RobotModel, quantity: str) -> list[list[float]]:
    """A generic state: comparisons in a kernel have the same outcome for almost all states."""
    rng = np.random.default_rng(1)
    q = random_configuration(robot, rng)
    return [(q if name == "q" else rng.normal(size=robot.n)).tolist() for name in batched()[quantity].inputs]


def _symbolic_parameters(robot: RobotModel) -> Any:
    """The model's parameters; entries of rotations within round-off of 0 or ±1 are rounded."""
    parameters = robot.parameters.copy()
    turns = parameters[:, ROTATION : ROTATION + 9]
    whole = np.rint(turns)
    turns[:] = np.where(np.abs(turns - whole) < np.finfo(float).eps, whole, turns)
    return parameters.astype(object)
