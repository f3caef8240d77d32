"""A robot on a base whose motion is given, as one on a floating body of no mass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.model.inertia import Array, read_only
from rne_dynamics.model.layout import (
    COLUMNS,
    FLOATING,
    KIND,
    MULTIPLIER,
    PARENT,
    POSITION_INDEX,
    ROTATION,
    VELOCITY_INDEX,
)
from rne_dynamics.model.robot import RobotModel


def with_floating_root(robot: RobotModel) -> tuple[NDArray[np.int64], Array]:
    """Topology and parameters with a floating body of no mass below all others: 7 positions and 6 velocities first."""
    root = np.zeros((1, robot.topology.shape[1]), dtype=np.int64)
    root[0, PARENT], root[0, KIND] = -1, FLOATING
    above = robot.topology.copy()
    above[:, PARENT] += 1
    above[:, POSITION_INDEX] += 7
    above[:, VELOCITY_INDEX] += 6
    row = np.zeros((1, COLUMNS))
    row[0, [ROTATION, ROTATION + 4, ROTATION + 8]] = 1.0
    row[0, MULTIPLIER] = 1.0
    # read-only as the model's own: kernels are compiled for these
    return read_only(np.concatenate([root, above])), read_only(np.concatenate([row, robot.parameters]))
