"""Forward dynamics by the mass matrix: M(q) q̈ = τ − bias, solved by Cholesky (Walker and Orin).

M comes from composite rigid bodies (their third method) or column by column from inverse dynamics (their first, which
documents 000 and 002 refer to); the bias is inverse dynamics with q̈ = 0, loads and base motion in it. With composite
bodies it is also the default of `forward_dynamics` for robots with mimic joints, which document 000 does not have.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import in_place_kernel, threaded_kernel
from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale
from rne_dynamics.dynamics.composite.mass_matrix import WORK_COLUMNS as _MASS_COLUMNS
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix_kernel
from rne_dynamics.dynamics.composite.mass_matrix_columns import mass_matrix_columns_kernel
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.newton_euler.newton_euler import WORK_COLUMNS as _FORCE_COLUMNS
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics_kernel
from rne_dynamics.errors import no_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.cholesky import scaled_cholesky_solve

#: Columns of the work array of `walker_orin_kernel`.
WORK_COLUMNS = max(_FORCE_COLUMNS, _MASS_COLUMNS)


@in_place_kernel
def walker_orin_kernel(
    topology: NDArray[np.int64],
    parameters: Array,
    base: Array,
    q: Array,
    qd: Array,
    tau: Array,
    wrenches: Array,
    rest: Array,
    work: Array,
    M: Array,
    left: Array,
    qdd: Array,
) -> int:
    """Joint accelerations for one state, M by composite rigid bodies; −1, or a coordinate without inertia.

    Parameters
    ----------
    topology, parameters, base, q, qd, tau, wrenches
        As for `inverse_dynamics_kernel`, with `tau` given.
    rest
        Zeros, shape (n,).
    work, M, left
        Scratch, shapes (bodies, WORK_COLUMNS), (n, n) and (n,).
    qdd
        On entry what `inertia_scale_kernel` gives, on return the accelerations; shape (n,).
    """
    arm = Arm(topology, parameters, base, wrenches, work)
    inverse_dynamics_kernel(arm, q, qd, rest, left)
    for k in range(left.shape[0]):
        left[k] = tau[k] - left[k]
    mass_matrix_kernel(arm, q, M)
    return scaled_cholesky_solve(M, left, qdd, qdd)


@threaded_kernel
def walker_orin_batch(
    topology: NDArray[np.int64],
    parameters: Array,
    by_columns: bool,
    base: Array,
    q: Array,
    qd: Array,
    tau: Array,
    wrenches: Array,
    scale: Array,
    qdd: Array,
) -> int:
    """Joint accelerations over rows, shapes as for `nasser_batch`; −1, or a coordinate without inertia.

    `by_columns` says where M comes from: inverse dynamics, or else composite rigid bodies. `scale` (B, n) is that of
    `inertia_scale`.
    """
    n = tau.shape[1]
    work = np.empty((topology.shape[0], WORK_COLUMNS))
    M = np.empty((n, n))
    rest = np.zeros(n)
    left = np.empty(n)
    unit, column = np.zeros(n), np.empty(n)
    weightless = Arm(topology, parameters, np.zeros(12), np.empty((0, 6)), work)
    for b in range(q.shape[0]):
        here, loads = base[b if base.shape[0] > 1 else 0], wrenches[b if wrenches.shape[0] > 1 else 0]
        if by_columns:
            inverse_dynamics_kernel(Arm(topology, parameters, here, loads, work), q[b], qd[b], rest, left)
            for k in range(n):
                left[k] = tau[b, k] - left[k]
            mass_matrix_columns_kernel(weightless, q[b], rest, unit, column, M)
            singular = scaled_cholesky_solve(M, left, scale[b], qdd[b])
        else:
            for k in range(n):
                qdd[b, k] = scale[b, k]
            singular = walker_orin_kernel(
                topology, parameters, here, q[b], qd[b], tau[b], loads, rest, work, M, left, qdd[b]
            )
        if singular >= 0:
            return singular
    return -1


def walker_orin_forward(robot: RobotModel, base: Array, q: Array, qd: Array, tau: Array, wrenches: Array) -> Array:
    """Joint accelerations (B, n) over checked rows, M by composite rigid bodies.

    Raises
    ------
    SingularInertiaError
        A joint that moves no inertia; the message names it.
    """
    return _solve(robot, False, base, q, qd, tau, wrenches)


def walker_orin_columns_forward(
    robot: RobotModel, base: Array, q: Array, qd: Array, tau: Array, wrenches: Array
) -> Array:
    """As `walker_orin_forward`, with M column by column from inverse dynamics."""
    return _solve(robot, True, base, q, qd, tau, wrenches)


def _solve(robot: RobotModel, by_columns: bool, base: Array, q: Array, qd: Array, tau: Array, wrenches: Array) -> Array:
    qdd = np.empty((q.shape[0], robot.n))
    scale = inertia_scale(robot, q)
    coordinate = walker_orin_batch(
        robot.topology, robot.parameters, by_columns, base, q, qd, tau, wrenches, scale, qdd
    )
    if coordinate >= 0:
        raise no_inertia(robot.joint_names[coordinate], robot.name)
    return qdd
