"""The constant inertia of a model's bodies and rotors: as matrices, and with fewer parameters.

`with_moved_masses` gives other inertial parameters with the same equations of motion: what a joint leaves at rest
belongs to its parent. A revolute joint's axis passes through its body's origin along z, so that the body's mass, put
there as a point, and the z component of its first moment move with the parent; so does the whole inertia of a body that
a prismatic joint moves, which does not turn it. (M. Gautier and W. Khalil, Direct calculation of minimum set of
inertial parameters of serial robots, IEEE Transactions on Robotics and Automation 6 (1990), call it grouping. The one
parameter more that they group for a revolute joint is left: with it, the trace of a body's inertia says no longer how
large the numbers are that forward dynamics compares an inertia's round-off with.)

Efforts and accelerations stay the same for any base motion and loads. Reactions in joints do not, nor does the first
moment of the robot: what the first joint leaves at rest is left out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.plain import in_python
from rne_dynamics.errors import check_loaded
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import (
    FLOATING,
    INERTIA,
    KIND,
    MASS,
    MOMENT,
    MULTIPLIER,
    PARENT,
    PLACEMENT,
    PRISMATIC,
    REVOLUTE,
    ROTATION,
    ROTOR,
    VELOCITY_INDEX,
)
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.pairs import rigid_seen_from_parent


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


#: What joints of each kind leave at rest, of the columns m, h, J.
_AT_REST = np.zeros((3, ROTOR - MASS), dtype=bool)
_AT_REST[REVOLUTE, [0, MOMENT + 2 - MASS]] = True
_AT_REST[PRISMATIC, INERTIA - MASS :] = True
assert not _AT_REST[FLOATING].any()


def kept_inertia(topology: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of m, h and J of each body `with_moved_masses` keeps, (bodies, 10); the others become 0."""
    return np.asarray(~_AT_REST[topology[:, KIND]])


def with_moved_masses(topology: NDArray[np.int64], parameters: Array) -> Array:
    """The parameters of a model (see `layout`) with as many zeros as its joints allow; efforts stay as they are."""
    changed: Array = parameters.copy()
    at_rest, seen_from_parent = ~kept_inertia(topology), in_python(rigid_seen_from_parent)
    for i in range(len(changed) - 1, -1, -1):
        body, parent = changed[i, MASS:ROTOR], topology[i, PARENT]
        if parent >= 0:
            R, p = changed[i, ROTATION:PLACEMENT].tolist(), changed[i, PLACEMENT:MASS].tolist()
            m, *others = np.where(at_rest[i], body, 0.0).tolist()
            m, h, J = seen_from_parent(R, p, (m, others[:3], others[3:]))
            changed[parent, MASS:ROTOR] += (m, *h, *J)
        body[at_rest[i]] = 0.0
    return changed
