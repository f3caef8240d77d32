"""Other inertial parameters with the same equations of motion: what a joint leaves at rest belongs to its parent.

A revolute joint's axis passes through its body's origin along z, so that the body's mass, put there as a point, and the
z component of its first moment move with the parent; so does the whole inertia of a body that a prismatic joint moves,
which does not turn it. (M. Gautier and W. Khalil, Direct calculation of minimum set of inertial parameters of serial
robots, IEEE Transactions on Robotics and Automation 6 (1990), call it grouping. The one parameter more that they group
for a revolute joint is left: with it, the trace of a body's inertia says no longer how large the numbers are that
forward dynamics compares an inertia's round-off with.)

Efforts and accelerations stay the same for any base motion and loads. Reactions in joints do not, nor does the
first moment of the robot: what the first joint leaves at rest is left out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.model.inertia import Array, skew, symmetric
from rne_dynamics.model.layout import (
    FLOATING,
    INERTIA,
    KIND,
    MASS,
    MOMENT,
    PARENT,
    PLACEMENT,
    PRISMATIC,
    REVOLUTE,
    ROTATION,
    ROTOR,
)

_UPPER = np.triu_indices(3)
#: What joints of each kind leave at rest, of the columns m, h, J.
_AT_REST = np.zeros((3, ROTOR - MASS), dtype=bool)
_AT_REST[REVOLUTE, [0, MOMENT + 2 - MASS]] = True
_AT_REST[PRISMATIC, INERTIA - MASS :] = True
assert not _AT_REST[FLOATING].any()


def kept_inertia(topology: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of m, h and J of each body `with_moved_masses` keeps, (bodies, 10); the others become 0."""
    kept: NDArray[np.bool_] = ~_AT_REST[topology[:, KIND]]
    return kept


def with_moved_masses(topology: NDArray[np.int64], parameters: Array) -> Array:
    """The parameters of a model (see `layout`) with as many zeros as its joints allow; efforts stay as they are."""
    changed: Array = parameters.copy()
    at_rest = ~kept_inertia(topology)
    for i in range(len(changed) - 1, -1, -1):
        row, parent = changed[i], topology[i, PARENT]
        body = row[MASS:ROTOR]
        if parent >= 0:
            changed[parent, MASS:ROTOR] += _seen_from_parent(row, np.where(at_rest[i], body, 0.0))
        body[at_rest[i]] = 0.0
    return changed


def _seen_from_parent(row: Array, body: Array) -> Array:
    """m, h and J of a body in its parent's frame, where a joint at 0 has it; shape (10,)."""
    R, p = row[ROTATION : ROTATION + 9].reshape(3, 3), row[PLACEMENT : PLACEMENT + 3]
    m, h, J = body[0], R @ body[MOMENT - MASS : INERTIA - MASS], symmetric(body[INERTIA - MASS :])
    cross, of_h = skew(p), skew(h)
    moved = R @ J @ R.T - m * cross @ cross - cross @ of_h - of_h @ cross
    seen: Array = np.concatenate(([m], h + m * p, moved[_UPPER]))
    return seen
