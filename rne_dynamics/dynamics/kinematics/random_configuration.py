"""Configurations inside the joint limits, drawn at random."""

from __future__ import annotations

import numpy as np

from rne_dynamics.errors import check_loaded
from rne_dynamics.model.dice import Dice
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, POSITION_INDEX, REVOLUTE, VELOCITY_INDEX
from rne_dynamics.model.robot import RobotModel


def random_configuration(robot: RobotModel, rng: np.random.Generator | Dice | int, count: int | None = None) -> Array:
    """Configurations drawn evenly inside the joint limits (±π rad, ±1 m where there are none).

    Parameters
    ----------
    robot
        The model.
    rng
        Source of randomness, or the seed of a new one.
    count
        Number of configurations; `None` gives one of shape (nq,), otherwise (count, nq).
    """
    check_loaded(robot)
    rows = 1 if count is None else count
    out, rng = np.empty((rows, robot.nq)), rng if isinstance(rng, Dice) else np.random.default_rng(rng)
    for i in range(robot.bodies):
        iq, iv = robot.topology[i, POSITION_INDEX], robot.topology[i, VELOCITY_INDEX]
        if robot.topology[i, KIND] == FLOATING:
            out[:, iq : iq + 3] = rng.uniform(-1.0, 1.0, (rows, 3))
            quaternion = rng.normal(size=(rows, 4))
            out[:, iq + 3 : iq + 7] = quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)
            continue
        reach = np.pi if robot.topology[i, KIND] == REVOLUTE else 1.0
        lower, upper = max(robot.lower[iv], -reach), min(robot.upper[iv], reach)
        if lower > upper:  # the limits lie outside ±reach
            lower, upper = robot.lower[iv], robot.upper[iv]
        if np.isinf(lower) or np.isinf(upper):
            lower, upper = -reach, reach
        out[:, iq] = rng.uniform(lower, upper, (rows,))
    return out[0] if count is None else out
