"""Symbolic execution of the kernels of `dynamics/`: straight-line code for one robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rne_dynamics.dynamics.kinematics.configuration import random_configuration
from rne_dynamics.model.layout import ROTATION
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.straight_line.graph import Graph
from rne_dynamics.straight_line.quantities import ARGUMENTS, Arm, Quantity, compute, row_shape
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


def trace(robot: RobotModel, quantity: Quantity) -> Program:
    """Record the operations of the general kernel of a quantity for one state, base at rest, no wrenches."""
    graph = Graph()
    sample, places, rows = _sample(robot, quantity), 0, []
    for values in sample:
        row = zeros((1, len(values)))
        row[0] = [Symbol(graph, graph.input(places + k, value)) for k, value in enumerate(values)]
        places += len(values)
        rows.append(row)
    out = zeros((1, *row_shape(robot, quantity)))
    fault = compute(quantity, symbolic_kernels(graph), _symbolic_arm(robot), *rows, out)
    results = tuple(node_of(graph, x) for x in out.reshape(-1))
    return Program(graph, tuple(map(len, sample)), results, fault < 0)


def _sample(robot: RobotModel, quantity: Quantity) -> list[list[float]]:
    """A generic state: comparisons in a kernel have the same outcome for almost all states."""
    rng = np.random.default_rng(1)
    q = random_configuration(robot, rng)
    return [(q if name == "q" else rng.normal(size=robot.n)).tolist() for name in ARGUMENTS[quantity]]


def _symbolic_arm(robot: RobotModel) -> Arm:
    """The model's arrays; entries of rotations within round-off of 0 or ±1 are rounded."""
    parameters = robot.parameters.copy()
    turns = parameters[:, ROTATION : ROTATION + 9]
    whole = np.rint(turns)
    turns[:] = np.where(np.abs(turns - whole) < np.finfo(float).eps, whole, turns)
    base: Any = robot.base_at_rest.reshape(1, 12).astype(object)
    return Arm(robot.topology, parameters.astype(object), base, zeros, robot.has_mimic)
