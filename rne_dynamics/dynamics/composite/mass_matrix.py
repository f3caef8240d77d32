"""The joint-space mass matrix M(q) by composite rigid bodies (Walker and Orin's third method).

Seen from joint i, everything it carries is one rigid body. Its inertia times the joint's unit acceleration is
the force there; carried down to the base, it meets every joint on the way. Entries between branches stay zero
and cost nothing. All vectors are along the base's axes, each body's about its own origin, so that a force that is
carried down is not turned: a pair of joints costs a cross and a dot product. (By inverse dynamics, column by column:
`mass_matrix_columns`.)
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import helper, in_place_helper, in_place_kernel
from rne_dynamics.dynamics.composite.mass_matrix_columns import mass_matrix_columns
from rne_dynamics.dynamics.declared.arm import Arm, body_rows
from rne_dynamics.dynamics.declared.forms import N
from rne_dynamics.dynamics.declared.quantity import Engine, Quantity
from rne_dynamics.dynamics.kinematics.joint_motion import inertia_of, placement_at_turn, put_joint_turns
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import (
    FLOATING,
    KIND,
    MULTIPLIER,
    PARENT,
    PRISMATIC,
    ROTOR,
    VELOCITY_INDEX,
)
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.rows import matrix_at, put, put_matrix, put_symmetric, symmetric_at, vector_at
from rne_dynamics.spatial.vector import (
    Symmetric,
    Vector,
    add,
    add_symmetric,
    column,
    compose,
    cross,
    dot,
    rotate,
    rotate_back,
    rotate_symmetric,
    scale,
    times,
)

# columns of the work array, one row a body: R, origin seen from the parent's, and the composite body's mass, first
# moment, inertia
_R, _D, _M, _H, _J, WORK_COLUMNS = columns(9, 3, 1, 3, 6)


@helper
def moved_inertia(J: Symmetric, h: Vector, m: float, p: Vector) -> Symmetric:
    """Inertia about a point from which the present one is seen at p; h is the first moment about the old point."""
    d = 2.0 * dot(h, p) + m * dot(p, p)
    return (
        J[0] + d - 2.0 * h[0] * p[0] - m * p[0] * p[0],
        J[1] - h[0] * p[1] - h[1] * p[0] - m * p[0] * p[1],
        J[2] - h[0] * p[2] - h[2] * p[0] - m * p[0] * p[2],
        J[3] + d - 2.0 * h[1] * p[1] - m * p[1] * p[1],
        J[4] - h[1] * p[2] - h[2] * p[1] - m * p[1] * p[2],
        J[5] + d - 2.0 * h[2] * p[2] - m * p[2] * p[2],
    )


@in_place_helper
def _add_column(
    topology: NDArray[np.int64], parameters: Array, i: int, column: int, f: Vector, n: Vector, work: Array, M: Array
) -> None:
    """Row and column of a coordinate of joint i, from the force and moment at its origin that accelerate it by one."""
    j = i
    while j >= 0:
        row = topology[j, VELOCITY_INDEX]
        kind = topology[j, KIND]
        R = matrix_at(work, j, _R)
        if kind == FLOATING:
            entries = (*rotate_back(R, f), *rotate_back(R, n))
            for k in range(6):
                if j != i or row + k <= column:  # its own block by its upper half, so that M is exactly symmetric
                    M[row + k, column] += entries[k]
                    if row + k != column:
                        M[column, row + k] += entries[k]
        else:
            entry = parameters[j, MULTIPLIER] * dot((R[2], R[5], R[8]), f if kind == PRISMATIC else n)
            M[row, column] += entry
            if j != i:
                M[column, row] += entry
        n = add(n, cross(vector_at(work, j, _D), f))
        j = topology[j, PARENT]


@in_place_kernel
def mass_matrix_kernel(arm: Arm, q: Array, M: Array) -> None:
    """Fill M, shape (n, n), for one state: q (nq,). `arm.work` is (bodies, WORK_COLUMNS)."""
    topology, parameters, _, _, work = arm
    bodies = topology.shape[0]
    for row in range(M.shape[0]):
        for k in range(M.shape[1]):
            M[row, k] = 0.0
    put_joint_turns(topology, parameters, q, work, _H)  # where the first moments will be
    for i in range(bodies):
        parent = topology[i, PARENT]
        R, d = placement_at_turn(topology, parameters, i, q, (work[i, _H], work[i, _H + 1]))
        if parent >= 0:
            R_parent = matrix_at(work, parent, _R)
            R, d = compose(R_parent, R), rotate(R_parent, d)
        m, h, J = inertia_of(parameters, i)
        put_matrix(work, i, _R, R)
        put(work, i, _D, d)
        work[i, _M] = m
        put(work, i, _H, rotate(R, h))
        put_symmetric(work, i, _J, rotate_symmetric(R, J))
        if topology[i, KIND] != FLOATING:
            iv = topology[i, VELOCITY_INDEX]
            M[iv, iv] += parameters[i, MULTIPLIER] * parameters[i, MULTIPLIER] * parameters[i, ROTOR]
    for i in range(bodies - 1, -1, -1):
        parent = topology[i, PARENT]
        kind = topology[i, KIND]
        iv = topology[i, VELOCITY_INDEX]
        R = matrix_at(work, i, _R)
        m, h, J = work[i, _M], vector_at(work, i, _H), symmetric_at(work, i, _J)
        # force and moment for a unit acceleration along each of the joint's axes
        for axis in range(6) if kind == FLOATING else range(1):
            e = column(R, axis % 3) if kind == FLOATING else scale(parameters[i, MULTIPLIER], (R[2], R[5], R[8]))
            if kind == PRISMATIC or (kind == FLOATING and axis < 3):
                f, n = scale(m, e), cross(h, e)
            else:
                f, n = cross(e, h), times(J, e)
            _add_column(topology, parameters, i, iv + axis, f, n, work, M)
        if parent >= 0:
            d = vector_at(work, i, _D)
            work[parent, _M] += m
            put(work, parent, _H, add(vector_at(work, parent, _H), add(h, scale(m, d))))
            J = moved_inertia(J, h, m, d)
            put_symmetric(work, parent, _J, add_symmetric(symmetric_at(work, parent, _J), J))


Method = Literal["composite", "columns"]
MASS_MATRIX = Quantity("mass_matrix", mass_matrix_kernel, ("q",), (N, N), body_rows(WORK_COLUMNS))
_ENGINES: Mapping[Method, Engine] = MappingProxyType(
    {"composite": MASS_MATRIX.compute, "columns": mass_matrix_columns}
)


@MASS_MATRIX.public
def mass_matrix(robot: RobotModel, q: ArrayLike, *, method: Method = "composite") -> Array:
    """The mass matrix M(q), reflected rotor inertia on its diagonal; shape (…, n, n), symmetric.

    Parameters
    ----------
    robot
        The model.
    q
        Positions, shape (…, nq).
    method
        ``"composite"``: by composite rigid bodies. ``"columns"``: each column by inverse dynamics with a unit
        acceleration, as documents 000 and 002 have it; it is symmetric up to round-off only.

    Raises
    ------
    ArgumentError
        A wrong shape, NaN or infinity, an unknown method.
    """
    if method not in _ENGINES:
        raise ArgumentError(f"method is {method!r}; it must be one of {', '.join(map(repr, _ENGINES))}")
    return MASS_MATRIX.answer(robot, q, engine=_ENGINES[method])
