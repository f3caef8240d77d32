"""The joint-space mass matrix M(q) column by column from inverse dynamics (Walker and Orin's first method).

At rest and without gravity, the efforts that accelerate coordinate j alone by one unit are column j of M. Document
002 builds M so, and document 000 measures itself against it. O(n²) and more work than composite rigid bodies, but
nothing else than inverse dynamics is in it.
"""

from __future__ import annotations

import numpy as np

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.declared.forms import N
from rne_dynamics.dynamics.declared.quantity import Quantity
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics_kernel
from rne_dynamics.model.inertia import Array


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


#: Base motion and loads do not enter.
MASS_MATRIX_COLUMNS = Quantity("mass_matrix_columns", mass_matrix_columns_kernel, ("q",), (N, N))
