"""The joint-space mass matrix M(q) column by column from inverse dynamics (Walker and Orin's first method).

At rest and without gravity, the efforts that accelerate coordinate j alone by one unit are column j of M. Document
002 builds M so, and document 000 measures itself against it. O(n²) and more work than composite rigid bodies, but
nothing else than inverse dynamics is in it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import in_place_kernel, kernel
from rne_dynamics.dynamics.newton_euler.newton_euler import WORK_COLUMNS, inverse_dynamics_kernel
from rne_dynamics.model.inertia import Array


@in_place_kernel
def mass_matrix_columns_kernel(
    topology: NDArray[np.int64],
    parameters: Array,
    still: Array,
    q: Array,
    rest: Array,
    unit: Array,
    unloaded: Array,
    work: Array,
    column: Array,
    M: Array,
) -> None:
    """Fill M, shape (n, n), for one state; symmetric up to round-off.

    Parameters
    ----------
    topology, parameters
        Packed model (`rne_dynamics.model.layout`).
    still
        A base at rest without gravity: twelve zeros.
    q
        Shape (nq,).
    rest, unit
        Zeros, shape (n,); `unit` is written to and left as it was.
    unloaded
        Shape (0, 6): no external loads.
    work, column
        Scratch, shapes (bodies, WORK_COLUMNS of inverse dynamics) and (n,).
    M
        Filled.
    """
    for j in range(column.shape[0]):
        unit[j] = 1.0
        inverse_dynamics_kernel(topology, parameters, still, q, rest, unit, unloaded, work, column)
        unit[j] = 0.0
        for i in range(column.shape[0]):
            M[i, j] = column[i]


@kernel
def mass_matrix_columns_batch(topology: NDArray[np.int64], parameters: Array, q: Array, M: Array) -> None:
    """`mass_matrix_columns_kernel` over rows: q (B, nq), M (B, n, n)."""
    n = M.shape[1]
    work = np.empty((topology.shape[0], WORK_COLUMNS))
    still, unloaded = np.zeros(12), np.empty((0, 6))
    rest, unit, column = np.zeros(n), np.zeros(n), np.empty(n)
    for b in range(q.shape[0]):
        mass_matrix_columns_kernel(topology, parameters, still, q[b], rest, unit, unloaded, work, column, M[b])
