"""Size of the inertia behind each coordinate, relative to which round-off in the mass matrix is measured.

A mass on its joint's axis adds nothing to the diagonal of M, but as the difference of numbers as large as
its inertia across the axis. The rest is round-off, 1e-36 or 1e-17, which an engine that compares a pivot with that
diagonal alone takes for an inertia. Nasser's recursion compares with the trace of A*; the engines that have a mass
matrix compare with the numbers here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.compiling.plain import per_body
from rne_dynamics.dynamics.kinematics.joint_motion import axes_of, place_of
from rne_dynamics.errors import no_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import (
    BASE,
    FLOATING,
    INERTIA,
    KIND,
    MASS,
    MULTIPLIER,
    OFFSET,
    PARENT,
    PLACEMENT,
    POSITION_INDEX,
    PRISMATIC,
    ROTOR,
    VELOCITY_INDEX,
)
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.cholesky import scaled_cholesky_solve


@kernel
def inertia_scale_kernel(topology: NDArray[np.int64], parameters: Array, q: Array, scale: Array) -> None:
    """Fill `scale` (n,) for one state.

    For a composite body of mass m, the trace of its inertia about the joint's origin, or 3 m; rotors included, joints
    that share a coordinate together. The trace is an upper bound: with g² = ∫ r² dm, moving the point of reference by p
    gives at most g + |p| √m (Minkowski's inequality), whatever the directions.
    """
    bodies, mass, squares = topology.shape[0], per_body(topology), per_body(topology)
    scale[:] = 0.0
    for i in range(bodies):
        trace = parameters[i, INERTIA] + parameters[i, INERTIA + 3] + parameters[i, INERTIA + 5]
        mass[i], squares[i] = parameters[i, MASS], 0.5 * max(trace, 0.0)
    for i in range(bodies - 1, -1, -1):
        parent = topology[i, PARENT]
        kind = topology[i, KIND]
        iq = topology[i, POSITION_INDEX]
        iv = topology[i, VELOCITY_INDEX]
        m, square = mass[i], squares[i]
        ratio, travel = parameters[i, MULTIPLIER], 0.0
        for k in range(axes_of(kind)):
            size = 3.0 * m if place_of(kind, k) < 3 else 2.0 * square
            scale[iv + k] += ratio * ratio * (size + parameters[i, ROTOR])
        if kind == FLOATING:
            for k in range(3):
                travel += abs(q[iq + k])
        elif kind == PRISMATIC:
            travel = abs(ratio * q[iq] + parameters[i, OFFSET])
        if parent != BASE:
            for k in range(3):
                travel += abs(parameters[i, PLACEMENT + k])
            moved = np.sqrt(square) + travel * np.sqrt(m)
            mass[parent], squares[parent] = mass[parent] + m, squares[parent] + moved * moved


def inertia_scale(robot: RobotModel, q: Array) -> Array:
    """`inertia_scale_kernel` for checked rows q (B, nq); shape (B, n)."""
    scale = np.empty((len(q), robot.n))
    for row, out in zip(q, scale, strict=True):
        inertia_scale_kernel(robot.topology, robot.parameters, row, out)
    return scale


def solved_accelerations(M: Array, left: Array, scale: Array, robot: str, names: tuple[str, ...]) -> Array:
    """q̈ of M q̈ = left (B, n), M (B, n, n) being written over; `scale` is as for `scaled_cholesky_solve`.

    `SingularInertiaError` names a coordinate without inertia, of the `names` of all, and the robot.
    """
    qdd = np.empty_like(left)
    for row, matrix in enumerate(M):
        coordinate = scaled_cholesky_solve(matrix, left[row], scale[row], qdd[row])
        if coordinate >= 0:
            raise no_inertia(names[coordinate], robot)
    return qdd
