"""The constant inertia of a model's bodies and rotors, as the matrix formulations take it."""

from __future__ import annotations

import numpy as np

from rne_dynamics.errors import check_loaded
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import INERTIA, MASS, MOMENT, MULTIPLIER, ROTOR, VELOCITY_INDEX
from rne_dynamics.model.robot import RobotModel


def generalized_inertia(robot: RobotModel) -> Array:
    """𝓜 = [m 1, −h̃; h̃, I] of every body about its frame's origin in its own axes; shape (bodies, 6, 6)."""
    row = robot.parameters
    out = np.zeros((robot.bodies, 6, 6))
    x, y, z = row[:, MOMENT : MOMENT + 3].T
    for k in range(3):
        out[:, k, k] = row[:, MASS]
    for (r, c), value in {(0, 1): -z, (0, 2): y, (1, 2): -x}.items():  # h̃
        out[:, 3 + r, c], out[:, 3 + c, r] = value, -value
        out[:, r, 3 + c], out[:, c, 3 + r] = -value, value
    upper = np.triu_indices(3)
    out[:, 3 + upper[0], 3 + upper[1]] = row[:, INERTIA : INERTIA + 6]
    out[:, 3 + upper[1], 3 + upper[0]] = row[:, INERTIA : INERTIA + 6]
    return out


def rotor_inertia(robot: RobotModel) -> Array:
    """Reflected rotor inertia of every coordinate, kg·m² or kg; shape (n,).

    It is the part of inverse dynamics that is not in `inertial_parameters`: rotor inertia · q̈. Joints that mimic a
    coordinate count with the square of their multiplier.
    """
    check_loaded(robot)
    out = np.zeros(robot.n)
    reflected = robot.parameters[:, MULTIPLIER] ** 2 * robot.parameters[:, ROTOR]
    np.add.at(out, robot.topology[:, VELOCITY_INDEX], reflected)
    return out
