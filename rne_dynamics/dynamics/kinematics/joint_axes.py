"""The axes of each joint, one for a revolute or prismatic joint and six for a floating one, in its body's own axes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, MULTIPLIER, PRISMATIC
from rne_dynamics.spatial.pairs import Pair


@helper
def axes_of(kind: int) -> int:
    """The number of axes of a joint."""
    return 6 if kind == FLOATING else 1


@helper
def first_axes(topology: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number of each body's first axis, of all axes one behind the other, and how many there are; (bodies + 1,)."""
    first = np.zeros(topology.shape[0] + 1, np.int64)
    for i in range(topology.shape[0]):
        first[i + 1] = first[i] + axes_of(topology[i, KIND])
    return first


@helper
def gear(topology: NDArray[np.int64], parameters: Array, i: int) -> float:
    """Speed of joint i for unit speed of its coordinate."""
    return 1.0 if topology[i, KIND] == FLOATING else parameters[i, MULTIPLIER]


@helper
def place_of(kind: int, k: int) -> int:
    """Which of the six numbers (v, ω) of its body axis k of a joint moves, and which of (f, n) is its effort."""
    if kind == FLOATING:
        return k
    return 2 if kind == PRISMATIC else 5


@helper
def unit_motion(place: int) -> Pair:
    """The motion (v, ω) with a 1 at one place."""
    return (
        (1.0 if place == 0 else 0.0, 1.0 if place == 1 else 0.0, 1.0 if place == 2 else 0.0),
        (1.0 if place == 3 else 0.0, 1.0 if place == 4 else 0.0, 1.0 if place == 5 else 0.0),
    )


@helper
def component(F: Pair, place: int) -> float:
    """One of the six numbers of a pair."""
    return (*F[0], *F[1])[place]
