"""The joint-space mass matrix M(q) by composite rigid bodies, and forward dynamics by it (Walker and Orin).

Third method: the subtree behind joint i is one rigid body. Its inertia times the joint's unit acceleration is the
wrench there; its component along each joint between there and the base is an entry. Entries between branches stay zero
and cost nothing. Each body has its own axes and origin, so that the component is one of six numbers, and straight-line
code takes 41 % (UR5) to 64 % (Baxter) of the operations that it takes with common axes.

First method: column by column from inverse dynamics. At rest and without gravity, the efforts that accelerate
coordinate j alone by one unit are column j of M. Document 002 builds M so, and document 000 measures itself against it.
O(n²) and more work than composite rigid bodies, but nothing else than inverse dynamics is in it.

Forward dynamics: M(q) q̈ = τ − bias, solved by Cholesky; the bias is inverse dynamics with q̈ = 0, loads and base
motion in it. With composite bodies it is also the default of `forward_dynamics` for robots with mimic joints, which
document 000 does not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.compiling.plain import per_body
from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale_kernel
from rne_dynamics.dynamics.declared.arguments import Arm
from rne_dynamics.dynamics.declared.quantity import Compiled, Engine, N, Quantity
from rne_dynamics.dynamics.kinematics.joint_motion import (
    axes_of,
    component,
    inertia_of,
    joint_turns,
    place_of,
    placement_at_turn,
    unit_motion,
)
from rne_dynamics.dynamics.newton_euler.newton_euler import bias_torque_kernel, inverse_dynamics_kernel
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import (
    BASE,
    KIND,
    MULTIPLIER,
    PARENT,
    ROTOR,
    VELOCITY_INDEX,
)
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.cholesky import scaled_cholesky_solve
from rne_dynamics.spatial.pairs import Pair, momentum_of, onto_parent, plus_rigid, rigid_seen_from_parent, scaled


@kernel
def mass_matrix_columns_kernel(arm: Arm, q: Array, M: Array) -> None:
    """Fill M, shape (n, n), for one state: q (nq,); symmetric up to round-off. Base motion and loads do not enter."""
    n = M.shape[0]
    still = Arm(arm.topology, arm.parameters, np.zeros(12), np.empty((0, 6)))
    rest, unit, column = np.zeros(n), np.zeros(n), np.empty(n)
    for j in range(n):
        unit[j] = 1.0
        inverse_dynamics_kernel(still, q, rest, unit, column)
        unit[j] = 0.0
        M[:, j] = column


#: Base motion and loads do not enter.
MASS_MATRIX_COLUMNS = Quantity("mass_matrix_columns", mass_matrix_columns_kernel, ("q",), (N, N))


@helper
def _add_column(topology: NDArray[np.int64], parameters: Array, i: int, column: int, F: Pair, X: Any, M: Array) -> None:
    """Row and column of a coordinate of joint i, from the wrench at its origin that accelerates it by one."""
    j = i
    while j != BASE:
        kind, ratio = topology[j, KIND], parameters[j, MULTIPLIER]
        for k in range(axes_of(kind)):
            row = topology[j, VELOCITY_INDEX] + k
            if j != i or row <= column:  # its own block by its upper half, so that M is exactly symmetric
                entry = ratio * component(F, place_of(kind, k))
                M[row, column] += entry
                if j != i or row != column:
                    M[column, row] += entry
        R, p = X[j]
        F = onto_parent(R, p, F)
        j = topology[j, PARENT]


@kernel
def mass_matrix_kernel(arm: Arm, q: Array, M: Array) -> None:
    """Fill M, shape (n, n), for one state: q (nq,)."""
    topology, parameters, bodies = arm.topology, arm.parameters, arm.topology.shape[0]
    X, composite = per_body(topology), per_body(topology)
    M[:, :] = 0.0
    turns = joint_turns(topology, parameters, q)
    for i in range(bodies):
        X[i] = placement_at_turn(topology, parameters, i, q, turns[i])
        composite[i] = inertia_of(parameters, i)
        iv = topology[i, VELOCITY_INDEX]
        M[iv, iv] += parameters[i, MULTIPLIER] * parameters[i, MULTIPLIER] * parameters[i, ROTOR]
    for i in range(bodies - 1, -1, -1):
        parent, kind, ratio = topology[i, PARENT], topology[i, KIND], parameters[i, MULTIPLIER]
        for k in range(axes_of(kind)):
            F = scaled(ratio, momentum_of(composite[i], unit_motion(place_of(kind, k))))  # for a unit acceleration
            _add_column(topology, parameters, i, topology[i, VELOCITY_INDEX] + k, F, X, M)
        if parent != BASE:
            R, p = X[i]
            composite[parent] = plus_rigid(composite[parent], rigid_seen_from_parent(R, p, composite[i]))


Method = Literal["composite", "columns"]
MASS_MATRIX = Quantity("mass_matrix", mass_matrix_kernel, ("q",), (N, N))
_ENGINES: Mapping[Method, Engine] = MappingProxyType(
    {"composite": MASS_MATRIX.compute, "columns": MASS_MATRIX_COLUMNS.compute}
)


@MASS_MATRIX.public
def mass_matrix(robot: RobotModel, q: ArrayLike, *, method: Method = "composite") -> Array:
    """The mass matrix of an open arm, of ``"columns"`` symmetric up to round-off; as `rne_dynamics.mass_matrix`."""
    if method not in _ENGINES:
        raise ArgumentError(f"method is {method!r}; it must be one of {', '.join(map(repr, _ENGINES))}")
    if method == "composite":
        return MASS_MATRIX.of(robot)(q)
    return MASS_MATRIX.answer(robot, q, engine=_ENGINES[method])


@helper
def mass_matrix_solve(arm: Arm, M: Array, q: Array, qd: Array, tau: Array, qdd: Array) -> int:
    """Joint accelerations from the mass matrix, where inverse dynamics gives the bias.

    `qdd` holds on entry what `inertia_scale_kernel` gives. Returns −1, or a coordinate without inertia.
    """
    left = np.empty(qd.shape[0])
    bias_torque_kernel(arm, q, qd, left)
    for k in range(left.shape[0]):
        left[k] = tau[k] - left[k]
    return scaled_cholesky_solve(M, left, qdd, qdd)


def _declared(name: str, put_mass_matrix: Compiled) -> Quantity:
    """Joint accelerations by a kernel for M; −1, or a coordinate without inertia."""

    @kernel
    def walker_orin(arm: Arm, q: Array, qd: Array, tau: Array, qdd: Array) -> int:
        M = np.empty((qd.shape[0], qd.shape[0]))
        put_mass_matrix(arm, q, M)
        inertia_scale_kernel(arm.topology, arm.parameters, q, qdd)
        return mass_matrix_solve(arm, M, q, qd, tau, qdd)

    return Quantity(name, walker_orin, ("q", "qd", "tau"), (N,), fault="joint_names")


WALKER_ORIN = _declared("walker_orin", mass_matrix_kernel)
WALKER_ORIN_COLUMNS = _declared("walker_orin_columns", mass_matrix_columns_kernel)
