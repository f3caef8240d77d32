"""Forward dynamics by the mass matrix: M(q) q̈ = τ − bias, solved by Cholesky (Walker and Orin).

M comes from composite rigid bodies (their third method) or column by column from inverse dynamics (their first, which
documents 000 and 002 refer to); the bias is inverse dynamics with q̈ = 0, loads and base motion in it. With composite
bodies it is also the default of `forward_dynamics` for robots with mimic joints, which document 000 does not have.
"""

from __future__ import annotations

import numpy as np

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale_kernel
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix_columns_kernel, mass_matrix_kernel
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.declared.forms import Compiled, N
from rne_dynamics.dynamics.declared.quantity import Quantity
from rne_dynamics.dynamics.newton_euler.newton_euler import bias_torque_kernel
from rne_dynamics.model.inertia import Array
from rne_dynamics.spatial.cholesky import scaled_cholesky_solve


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
