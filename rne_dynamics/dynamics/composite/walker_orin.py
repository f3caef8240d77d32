"""Forward dynamics by the mass matrix: M(q) q̈ = τ − bias, solved by Cholesky (Walker and Orin).

M comes from composite rigid bodies (their third method) or column by column from inverse dynamics (their first, which
documents 000 and 002 refer to); the bias is inverse dynamics with q̈ = 0, loads and base motion in it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import kernel
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


@kernel
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
    bodies = topology.shape[0]
    force_work = np.empty((bodies, _FORCE_COLUMNS))
    mass_work = np.empty((bodies, _MASS_COLUMNS))
    M = np.empty((n, n))
    rest = np.zeros(n)
    left = np.empty(n)
    unit, column = np.zeros(n), np.empty(n)
    weightless = Arm(topology, parameters, np.zeros(12), np.empty((0, 6)), force_work)
    for b in range(q.shape[0]):
        loads = wrenches[b if wrenches.shape[0] > 1 else 0]
        arm = Arm(topology, parameters, base[b if base.shape[0] > 1 else 0], loads, force_work)
        inverse_dynamics_kernel(arm, q[b], qd[b], rest, left)
        for k in range(n):
            left[k] = tau[b, k] - left[k]
        if by_columns:
            mass_matrix_columns_kernel(weightless, q[b], rest, unit, column, M)
        else:
            mass_matrix_kernel(Arm(topology, parameters, arm.base, loads, mass_work), q[b], M)
        singular = scaled_cholesky_solve(M, left, scale[b], qdd[b])
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
