"""How one joint places its body: the only place in the kernels that reads joint positions."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, in_place_helper
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import (
    FLOATING,
    INERTIA,
    KIND,
    MASS,
    MOMENT,
    MULTIPLIER,
    OFFSET,
    PLACEMENT,
    POSITION_INDEX,
    PRISMATIC,
    ROTATION,
)
from rne_dynamics.spatial.rows import matrix_at, slice_vector, symmetric_at, vector_at
from rne_dynamics.spatial.vector import (
    Matrix,
    Symmetric,
    Vector,
    about_z,
    add,
    column,
    compose,
    cos_sin,
    from_quaternion,
    rotate,
    scale,
)


@helper
def inertia_of(parameters: Array, i: int) -> tuple[float, Vector, Symmetric]:
    """(m, m·c, I about the joint origin) of body i."""
    return parameters[i, MASS], vector_at(parameters, i, MOMENT), symmetric_at(parameters, i, INERTIA)


@helper
def joint_turn(topology: NDArray[Any], parameters: Array, i: int, q: Array) -> tuple[float, float]:
    """(cos, sin) of a revolute joint's angle; (position, 0) of a prismatic joint; zeros for a floating one."""
    kind = topology[i, KIND]
    if kind == FLOATING:
        return 0.0, 0.0
    x = parameters[i, MULTIPLIER] * q[topology[i, POSITION_INDEX]] + parameters[i, OFFSET]
    if kind == PRISMATIC:
        return x, 0.0
    return cos_sin(x)


@in_place_helper
def put_joint_turns(topology: NDArray[Any], parameters: Array, q: Array, work: Array, k: int) -> None:
    """`joint_turn` of every joint into columns k, k + 1 of its row.

    In a loop of its own, because the library's sine, called amid a recursion, empties all registers into memory.
    """
    for i in range(topology.shape[0]):
        work[i, k], work[i, k + 1] = joint_turn(topology, parameters, i, q)


@helper
def placement_at_turn(
    topology: NDArray[Any], parameters: Array, i: int, q: Array, turn: tuple[float, float]
) -> tuple[Matrix, Vector]:
    """Placement (R, p) of body i in its parent's frame, from its joint's `joint_turn`."""
    kind = topology[i, KIND]
    R0 = matrix_at(parameters, i, ROTATION)
    p0 = vector_at(parameters, i, PLACEMENT)
    if kind == FLOATING:
        iq = topology[i, POSITION_INDEX]
        R = compose(R0, from_quaternion(q[iq + 3], q[iq + 4], q[iq + 5], q[iq + 6]))
        return R, add(p0, rotate(R0, slice_vector(q, iq)))
    if kind == PRISMATIC:
        return R0, add(p0, scale(turn[0], column(R0, 2)))
    return about_z(R0, turn[0], turn[1]), p0


@helper
def joint_placement(topology: NDArray[Any], parameters: Array, i: int, q: Array) -> tuple[Matrix, Vector]:
    """Placement (R, p) of body i in its parent's frame at configuration q."""
    return placement_at_turn(topology, parameters, i, q, joint_turn(topology, parameters, i, q))
