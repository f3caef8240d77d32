"""How one joint places its body: the only place in the kernels that reads joint positions."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

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
from rne_dynamics.spatial.jit import helper
from rne_dynamics.spatial.rows import matrix_at, slice_vector, symmetric_at, vector_at
from rne_dynamics.spatial.vector import (
    Matrix,
    Symmetric,
    Vector,
    about_z,
    add,
    compose,
    cos_sin,
    from_quaternion,
    rotate,
)


@helper
def inertia_of(parameters: Array, i: int) -> tuple[float, Vector, Symmetric]:
    """(m, m·c, I about the joint origin) of body i."""
    return parameters[i, MASS], vector_at(parameters, i, MOMENT), symmetric_at(parameters, i, INERTIA)


@helper
def joint_placement(topology: NDArray[Any], parameters: Array, i: int, q: Array) -> tuple[Matrix, Vector]:
    """Placement (R, p) of body i in its parent's frame at configuration q."""
    kind = topology[i, KIND]
    iq = topology[i, POSITION_INDEX]
    R0 = matrix_at(parameters, i, ROTATION)
    p0 = vector_at(parameters, i, PLACEMENT)
    if kind == FLOATING:
        R = compose(R0, from_quaternion(q[iq + 3], q[iq + 4], q[iq + 5], q[iq + 6]))
        return R, add(p0, rotate(R0, slice_vector(q, iq)))
    x = parameters[i, MULTIPLIER] * q[iq] + parameters[i, OFFSET]
    if kind == PRISMATIC:
        return R0, (p0[0] + R0[2] * x, p0[1] + R0[5] * x, p0[2] + R0[8] * x)
    c, s = cos_sin(x)
    return about_z(R0, c, s), p0
