"""The joint-space mass matrix M(q) by composite rigid bodies (Walker and Orin's third method).

Seen from joint i, everything it carries is one rigid body. Its inertia times the joint's unit acceleration is
the force there; carried down to the base, it meets every joint on the way. Entries between branches stay zero
and cost nothing. (By inverse dynamics, column by column: `mass_matrix_columns`.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.dynamics.arguments import quick, state_arrays
from rne_dynamics.dynamics.joint_motion import inertia_of, joint_placement
from rne_dynamics.dynamics.mass_matrix_columns import mass_matrix_columns_batch
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
from rne_dynamics.model.packed_arm import (
    COORDINATES,
    OK,
    OVERLAPPING,
    WRONG_SHAPE,
    fits_room,
    head_of,
    parameters_of,
    refusal_of_position,
    shared,
    topology_of,
    work_of,
)
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.jit import helper, in_place_helper, in_place_kernel, kernel, threaded_kernel
from rne_dynamics.spatial.rows import matrix_at, put, put_matrix, symmetric_at, vector_at
from rne_dynamics.spatial.sealed import Sealed
from rne_dynamics.spatial.vector import (
    Symmetric,
    Vector,
    add,
    add_symmetric,
    cross,
    dot,
    rotate,
    rotate_symmetric,
    scale,
    times,
)

# columns of the work array, one row a body: R, p, and the composite body's mass, first moment, inertia
_R, _P, _M, _H, _J, WORK_COLUMNS = columns(9, 3, 1, 3, 6)
fits_room(WORK_COLUMNS)


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


@in_place_kernel
def mass_matrix_kernel(topology: NDArray[np.int64], parameters: Array, q: Array, work: Array, M: Array) -> None:
    """Fill M, shape (n, n), for one state; work has shape (bodies, WORK_COLUMNS)."""
    bodies = topology.shape[0]
    M[:, :] = 0.0
    for i in range(bodies):
        R, p = joint_placement(topology, parameters, i, q)
        m, h, J = inertia_of(parameters, i)
        put_matrix(work, i, _R, R)
        put(work, i, _P, p)
        work[i, _M] = m
        put(work, i, _H, h)
        for k in range(6):
            work[i, _J + k] = J[k]
    for i in range(bodies - 1, -1, -1):
        kind = topology[i, KIND]
        m = work[i, _M]
        h = vector_at(work, i, _H)
        J = symmetric_at(work, i, _J)
        # force and moment for a unit acceleration along each of the joint's axes, met by every joint below
        for axis in range(6) if kind == FLOATING else range(1):
            if (kind == FLOATING and axis < 3) or kind == PRISMATIC:
                along = axis if kind == FLOATING else 2
                e = (1.0 if along == 0 else 0.0, 1.0 if along == 1 else 0.0, 1.0 if along == 2 else 0.0)
                f, n = scale(m, e), cross(h, e)
            else:
                along = axis - 3 if kind == FLOATING else 2
                e = (1.0 if along == 0 else 0.0, 1.0 if along == 1 else 0.0, 1.0 if along == 2 else 0.0)
                f, n = cross(e, h), times(J, e)
            column = topology[i, VELOCITY_INDEX] + axis
            gear = 1.0 if kind == FLOATING else parameters[i, MULTIPLIER]
            j = i
            while j >= 0:
                row = topology[j, VELOCITY_INDEX]
                if topology[j, KIND] == FLOATING:
                    for k in range(3):
                        M[row + k, column] += gear * f[k]
                        M[row + 3 + k, column] += gear * n[k]
                        if j != i:
                            M[column, row + k] += gear * f[k]
                            M[column, row + 3 + k] += gear * n[k]
                else:
                    along_joint = f[2] if topology[j, KIND] == PRISMATIC else n[2]
                    if j == i:
                        along_joint += parameters[i, ROTOR]
                    entry = gear * parameters[j, MULTIPLIER] * along_joint
                    M[row, column] += entry
                    if j != i:
                        M[column, row] += entry
                R = matrix_at(work, j, _R)
                f = rotate(R, f)
                n = add(rotate(R, n), cross(vector_at(work, j, _P), f))
                j = topology[j, PARENT]
        parent = topology[i, PARENT]
        if parent >= 0:
            R, p = matrix_at(work, i, _R), vector_at(work, i, _P)
            h = rotate(R, h)
            J = moved_inertia(rotate_symmetric(R, J), h, m, p)
            J = add_symmetric(symmetric_at(work, parent, _J), J)
            work[parent, _M] += m
            put(work, parent, _H, add(vector_at(work, parent, _H), add(h, scale(m, p))))
            for k in range(6):
                work[parent, _J + k] = J[k]


@in_place_helper
def _rows(
    topology: NDArray[np.int64],
    parameters: Array,
    q: Array,
    M: Array,
    work: Array,
) -> None:
    for b in range(q.shape[0]):
        mass_matrix_kernel(topology, parameters, q[b], work, M[b])


@threaded_kernel
def mass_matrix_batch(topology: NDArray[np.int64], parameters: Array, q: Array, M: Array) -> None:
    """`mass_matrix_kernel` over rows: q (B, nq), M (B, n, n)."""
    work = np.empty((topology.shape[0], WORK_COLUMNS))
    _rows(topology, parameters, q, M, work)


@kernel
def mass_matrix_packed(arm: Array, q: Array, M: Array) -> int:
    """Fill M (n, n) for one state of a packed arm (`compiled`); `OK`, or why not."""
    code = refusal_of_position(arm, q)
    if code != OK:
        return code
    if M.shape[0] != head_of(arm, COORDINATES) or M.shape[1] != head_of(arm, COORDINATES):
        return WRONG_SHAPE
    if shared(M, arm, q, q, q):
        return OVERLAPPING
    mass_matrix_kernel(topology_of(arm), parameters_of(arm), q, work_of(arm, WORK_COLUMNS), M)
    return OK


MASS_MATRIX = Sealed(mass_matrix_packed, 1, 1, 2)

Method = Literal["composite", "columns"]

_BATCHES: Mapping[Method, Callable[[NDArray[np.int64], Array, Array, Array], None]] = MappingProxyType(
    {"composite": mass_matrix_batch, "columns": mass_matrix_columns_batch}
)


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
    if method == "composite":
        M = np.empty((robot.n, robot.n))
        if quick(MASS_MATRIX, robot.packed, q, M):
            return M
    if method not in _BATCHES:
        raise ArgumentError(f"method is {method!r}; it must be one of {', '.join(map(repr, get_args(Method)))}")
    lead, (positions,) = state_arrays(robot, q=q)
    M = np.empty((positions.shape[0], robot.n, robot.n))
    _BATCHES[method](robot.topology, robot.parameters, positions, M)
    return M.reshape((*lead, robot.n, robot.n))
