"""The joint-space mass matrix M(q) by composite rigid bodies (Walker and Orin's third method).

The subtree behind joint i is one rigid body. Its inertia times the joint's unit acceleration is the wrench there;
its component along each joint between there and the base is an entry. Entries between branches stay zero
and cost nothing. Each body has its own axes and origin, so that the component is one of six numbers, and straight-line
code takes 41 % (UR5) to 64 % (Baxter) of the operations that it takes with common axes. (By inverse dynamics, column by
column: `mass_matrix_columns`.)
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import in_place_helper, in_place_kernel
from rne_dynamics.dynamics.composite.mass_matrix_columns import mass_matrix_columns
from rne_dynamics.dynamics.declared.arm import Arm, body_rows
from rne_dynamics.dynamics.declared.forms import N
from rne_dynamics.dynamics.declared.quantity import Engine, Quantity
from rne_dynamics.dynamics.kinematics.joint_axes import axes_of, component, gear, place_of, unit_motion
from rne_dynamics.dynamics.kinematics.joint_motion import inertia_of, placement_at_turn, put_joint_turns
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import (
    FLOATING,
    KIND,
    MULTIPLIER,
    PARENT,
    ROTOR,
    VELOCITY_INDEX,
)
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.pairs import Pair, onto_parent, scaled
from rne_dynamics.spatial.rigid import (
    RIGID_COLUMNS,
    add_rigid,
    momentum_of,
    put_rigid,
    rigid_at,
    rigid_seen_from_parent,
)
from rne_dynamics.spatial.rows import matrix_at, put, put_matrix, vector_at

# columns of the work array, one row a body: R, p, composite body (m, h, J)
_R, _P, _BODY, WORK_COLUMNS = columns(9, 3, RIGID_COLUMNS)


@in_place_helper
def _add_column(
    topology: NDArray[np.int64], parameters: Array, i: int, column: int, F: Pair, work: Array, M: Array
) -> None:
    """Row and column of a coordinate of joint i, from the wrench at its origin that accelerates it by one."""
    j = i
    while j >= 0:
        kind, ratio = topology[j, KIND], gear(topology, parameters, j)
        for k in range(axes_of(kind)):
            row = topology[j, VELOCITY_INDEX] + k
            if j != i or row <= column:  # its own block by its upper half, so that M is exactly symmetric
                entry = ratio * component(F, place_of(kind, k))
                M[row, column] += entry
                if j != i or row != column:
                    M[column, row] += entry
        F = onto_parent(matrix_at(work, j, _R), vector_at(work, j, _P), F)
        j = topology[j, PARENT]


@in_place_kernel
def mass_matrix_kernel(arm: Arm, q: Array, M: Array) -> None:
    """Fill M, shape (n, n), for one state: q (nq,). `arm.work` is (bodies, WORK_COLUMNS)."""
    topology, parameters, _, _, work = arm
    bodies = topology.shape[0]
    for row in range(M.shape[0]):
        for k in range(M.shape[1]):
            M[row, k] = 0.0
    put_joint_turns(topology, parameters, q, work, _BODY)  # columns free until the body is stored
    for i in range(bodies):
        R, p = placement_at_turn(topology, parameters, i, q, (work[i, _BODY], work[i, _BODY + 1]))
        put_matrix(work, i, _R, R)
        put(work, i, _P, p)
        put_rigid(work, i, _BODY, inertia_of(parameters, i))
        if topology[i, KIND] != FLOATING:
            iv = topology[i, VELOCITY_INDEX]
            M[iv, iv] += parameters[i, MULTIPLIER] * parameters[i, MULTIPLIER] * parameters[i, ROTOR]
    for i in range(bodies - 1, -1, -1):
        parent, kind = topology[i, PARENT], topology[i, KIND]
        body, ratio = rigid_at(work, i, _BODY), gear(topology, parameters, i)
        for k in range(axes_of(kind)):
            F = scaled(ratio, momentum_of(body, unit_motion(place_of(kind, k))))  # for a unit acceleration
            _add_column(topology, parameters, i, topology[i, VELOCITY_INDEX] + k, F, work, M)
        if parent >= 0:
            R, p = matrix_at(work, i, _R), vector_at(work, i, _P)
            add_rigid(work, parent, _BODY, rigid_seen_from_parent(R, p, body))


Method = Literal["composite", "columns"]
MASS_MATRIX = Quantity("mass_matrix", mass_matrix_kernel, ("q",), (N, N), body_rows(WORK_COLUMNS))
_ENGINES: Mapping[Method, Engine] = MappingProxyType({"composite": MASS_MATRIX.compute, "columns": mass_matrix_columns})


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
