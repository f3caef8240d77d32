"""Columns of the arrays `topology` and `parameters` of a model.

`topology` is int64 of shape (bodies, 4), `parameters` float64 of shape (bodies, COLUMNS). A body is a
moving link with everything fixed to it; its frame is the joint's frame, whose z is the joint axis.
Bodies are numbered so that a parent comes before its children.
"""

from __future__ import annotations

from itertools import accumulate

import numpy as np
from numpy.typing import NDArray


def columns(*widths: int) -> tuple[int, ...]:
    """First columns of adjacent fields of the given widths, and at the end the number of columns."""
    return tuple(accumulate(widths, initial=0))


# columns of `topology`
PARENT = 0  # λ(i), BASE for those on the base
KIND = 1  # REVOLUTE, PRISMATIC or FLOATING
POSITION_INDEX = 2  # where the joint's position starts in q
VELOCITY_INDEX = 3  # where the joint's velocity starts in qd; mimic joints share their leader's
TOPOLOGY_COLUMNS = 4

#: Parent of the bodies on the base, and the base's place in tables of bodies (`compiling.plain`): the last one.
BASE = -1

REVOLUTE = 0
PRISMATIC = 1
FLOATING = 2

# columns of `parameters`
(
    ROTATION,  # 9: R of the joint frame in the parent body's frame at q = 0, row after row
    PLACEMENT,  # 3: p of the joint frame in the parent body's frame at q = 0, m
    MASS,  # m, kg
    MOMENT,  # 3: m·c, kg·m
    INERTIA,  # 6: xx xy xz yy yz zz about the joint frame's origin, kg·m²
    ROTOR,  # reflected rotor inertia, kg·m² or kg; 0 for a floating joint
    MULTIPLIER,  # q of this joint = MULTIPLIER · q[POSITION_INDEX] + OFFSET; 1 for a floating one
    OFFSET,
    VISCOUS,  # N·m·s/rad or N·s/m
    COULOMB_FORWARD,  # N·m or N
    COULOMB_BACKWARD,
    STRIBECK,  # N·m or N
    STRIBECK_VELOCITY,  # rad/s or m/s, 0 for none
    THRESHOLD,  # rad/s or m/s, 0 for none
    COLUMNS,
) = columns(9, 3, 1, 3, 6, 1, 1, 1, 1, 1, 1, 1, 1, 1)


def has_mimic(topology: NDArray[np.int64]) -> bool:
    """Whether several bodies of a robot move with the same coordinate."""
    return len(topology) != len(set(topology[:, VELOCITY_INDEX].tolist()))


def same_masses(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Whether the bodies of two models weigh the same, of their `parameters`, wherever their joints are placed."""
    return np.array_equal(one[:, MASS:ROTOR], other[:, MASS:ROTOR])
