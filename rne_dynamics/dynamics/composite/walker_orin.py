"""Forward dynamics by the mass matrix: M(q) q̈ = τ − bias, solved by Cholesky (Walker and Orin).

M comes from composite rigid bodies (their third method) or column by column from inverse dynamics (their first, which
documents 000 and 002 refer to); the bias is inverse dynamics with q̈ = 0, loads and base motion in it. With composite
bodies it is also the default of `forward_dynamics` for robots with mimic joints, which document 000 does not have.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, in_place_helper, in_place_kernel
from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale_kernel
from rne_dynamics.dynamics.composite.mass_matrix import WORK_COLUMNS as _MASS_COLUMNS
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix_kernel
from rne_dynamics.dynamics.composite.mass_matrix_columns import mass_matrix_columns_kernel
from rne_dynamics.dynamics.declared.arm import Arm, Workspace, body_rows, with_rest
from rne_dynamics.dynamics.declared.forms import N
from rne_dynamics.dynamics.declared.quantity import Quantity
from rne_dynamics.dynamics.newton_euler.newton_euler import WORK_COLUMNS as _FORCE_COLUMNS
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics_kernel
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, VELOCITY_INDEX
from rne_dynamics.model.packed_arm import efforts_of, mass_of
from rne_dynamics.spatial.cholesky import scaled_cholesky_solve

#: Columns of the work array of `walker_orin_kernel`.
WORK_COLUMNS = max(_FORCE_COLUMNS, _MASS_COLUMNS)


@helper
def _coordinates(topology: NDArray[np.int64]) -> int:
    n = 0
    for i in range(topology.shape[0]):
        end = topology[i, VELOCITY_INDEX] + (6 if topology[i, KIND] == FLOATING else 1)
        if end > n:  # noqa: PLR1730 (straight-line code replaces `max`)
            n = end
    return n


def _with_mass(work: Workspace) -> Workspace:
    """Scratch memory, a mass matrix (n, n), and two vectors as rows (2, n)."""
    part_of, new_of = work

    @in_place_helper
    def part(array: Array) -> tuple[Any, Array, Array]:
        return part_of(array), mass_of(array), efforts_of(array)

    @helper
    def new(topology: NDArray[np.int64]) -> tuple[Any, Array, Array]:
        n = _coordinates(topology)
        return new_of(topology), np.empty((n, n)), np.empty((2, n))

    return Workspace(part, new)


@in_place_helper
def mass_matrix_solve(arm: Arm, q: Array, qd: Array, tau: Array, qdd: Array) -> int:
    """Joint accelerations from the mass matrix in `arm.work`, where inverse dynamics gives the bias.

    `qdd` holds on entry what `inertia_scale_kernel` gives. Returns −1, or a coordinate without inertia.
    """
    (work, rest, _), M, vectors = arm.work
    left = vectors[0]
    inverse_dynamics_kernel(Arm(arm.topology, arm.parameters, arm.base, arm.wrenches, work), q, qd, rest, left)
    for k in range(left.shape[0]):
        left[k] = tau[k] - left[k]
    return scaled_cholesky_solve(M, left, qdd, qdd)


@in_place_kernel
def walker_orin_kernel(arm: Arm, q: Array, qd: Array, tau: Array, qdd: Array) -> int:
    """Joint accelerations for one state, M by composite rigid bodies; −1, or a coordinate without inertia."""
    (work, _, _), M, _ = arm.work
    mass_matrix_kernel(Arm(arm.topology, arm.parameters, arm.base, arm.wrenches, work), q, M)
    inertia_scale_kernel(arm.topology, arm.parameters, q, work, qdd)
    return mass_matrix_solve(arm, q, qd, tau, qdd)


@in_place_helper
def put_mass_matrix_by_columns(arm: Arm, q: Array) -> None:
    """Fill the mass matrix in `arm.work` by inverse dynamics."""
    (work, rest, still), M, vectors = arm.work
    unit, column = vectors[0], vectors[1]
    for k in range(unit.shape[0]):
        unit[k] = 0.0
    weightless = Arm(arm.topology, arm.parameters, still, arm.wrenches[:0], work)
    mass_matrix_columns_kernel(weightless, q, rest, unit, column, M)


@in_place_kernel
def walker_orin_columns_kernel(arm: Arm, q: Array, qd: Array, tau: Array, qdd: Array) -> int:
    """As `walker_orin_kernel`, with M column by column from inverse dynamics."""
    put_mass_matrix_by_columns(arm, q)
    inertia_scale_kernel(arm.topology, arm.parameters, q, arm.work[0][0], qdd)
    return mass_matrix_solve(arm, q, qd, tau, qdd)


_WORK = _with_mass(with_rest(body_rows(WORK_COLUMNS)))
_INPUTS = ("q", "qd", "tau")
WALKER_ORIN = Quantity("walker_orin", walker_orin_kernel, _INPUTS, (N,), _WORK, fault="joint_names")
WALKER_ORIN_COLUMNS = Quantity(
    "walker_orin_columns", walker_orin_columns_kernel, _INPUTS, (N,), _WORK, fault="joint_names"
)
