"""The joint-space mass matrix M(q) column by column from inverse dynamics (Walker and Orin's first method).

At rest and without gravity, the efforts that accelerate coordinate j alone by one unit are column j of M. Document
002 builds M so, and document 000 measures itself against it. O(n²) and more work than composite rigid bodies, but
nothing else than inverse dynamics is in it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics_kernel
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel


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
        for i in range(n):
            M[i, j] = column[i]


@kernel
def mass_matrix_columns_batch(topology: NDArray[np.int64], parameters: Array, q: Array, M: Array) -> None:
    """`mass_matrix_columns_kernel` over rows: q (B, nq), M (B, n, n)."""
    for b in range(q.shape[0]):
        mass_matrix_columns_kernel(Arm(topology, parameters, np.zeros(12), np.empty((0, 6))), q[b], M[b])


def mass_matrix_columns(robot: RobotModel, base: Array, q: Array, wrenches: Array) -> Array:
    """M of checked rows, shape (B, n, n) (engine); `base` and `wrenches` do not enter."""
    M = np.empty((len(q), robot.n, robot.n))
    mass_matrix_columns_batch(robot.topology, robot.parameters, q, M)
    return M
