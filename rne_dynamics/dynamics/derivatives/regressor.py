"""Inverse dynamics as a linear function of the inertial parameters: τ = Y(q, q̇, q̈) π + (rotor inertia) q̈, O(n·depth).

The effort of joint j is the power of all forces on the bodies of its subtree for unit speed of j. So the entries of
Y for joint j and body i are the powers of the ten forces that unit parameters of body i need, on the motion
(a, b) of body i's origin for unit speed of joint j, all in body i's axes. With the motion ω, ω̇, v̇ (gravity included)
of body i:

    m      a·v̇
    m c    a × ω̇ + ω × (ω × a) + v̇ × b
    I      the coefficients of the six numbers of I in b·(I ω̇ + ω × I ω)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import helper, in_place_helper, in_place_kernel, kernel
from rne_dynamics.compiling.views import shaped
from rne_dynamics.dynamics.declared.arguments import quick, state_arrays
from rne_dynamics.dynamics.declared.base_motion import BaseMotion, packed_base
from rne_dynamics.dynamics.declared.forms import BODIES as ROBOT_BODIES
from rne_dynamics.dynamics.declared.forms import N
from rne_dynamics.dynamics.declared.quantity import Declared
from rne_dynamics.dynamics.derivatives.ground_motion import (
    AXIS,
    AXIS_COLUMNS,
    MOTION,
    OFFSET,
    RATE,
    ROTATION,
    first_axes,
    gear,
    ground_motion,
)
from rne_dynamics.dynamics.derivatives.ground_motion import BODY as MOTION_COLUMNS
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import INERTIA, MASS, PARENT, VELOCITY_INDEX
from rne_dynamics.model.packed_arm import (
    BODIES,
    COORDINATES,
    OK,
    OVERLAPPING,
    WRONG_SHAPE,
    axes_part,
    base_row_of,
    first_of,
    head_of,
    parameters_of,
    refusal,
    shared,
    topology_of,
    work_part,
)
from rne_dynamics.model.protocol import check_loaded
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.pairs import Pair, motion_at, pair_at, turned_back
from rne_dynamics.spatial.rows import matrix_at, vector_at
from rne_dynamics.spatial.vector import ZERO, Vector, add, cross, dot, rotate_back

#: Inertial parameters of a body, in order: m, m·c (3), Ixx Ixy Ixz Iyy Iyz Izz about the body frame's origin.
PARAMETERS = 10


@helper
def _add_powers(s: float, S: Pair, acceleration: Pair, w: Vector, Y: Array, row: int, column: int) -> None:
    """Add s times the ten powers on the motion S = (a, b) to Y[row, column …]."""
    (a, b), (dv, dw) = S, acceleration
    h = add(add(cross(a, dw), cross(w, cross(w, a))), cross(dv, b))
    c = cross(b, w)
    Y[row, column] += s * dot(a, dv)
    for k in range(3):
        Y[row, column + 1 + k] += s * h[k]
    Y[row, column + 4] += s * (b[0] * dw[0] + c[0] * w[0])
    Y[row, column + 5] += s * (b[0] * dw[1] + b[1] * dw[0] + c[0] * w[1] + c[1] * w[0])
    Y[row, column + 6] += s * (b[0] * dw[2] + b[2] * dw[0] + c[0] * w[2] + c[2] * w[0])
    Y[row, column + 7] += s * (b[1] * dw[1] + c[1] * w[1])
    Y[row, column + 8] += s * (b[1] * dw[2] + b[2] * dw[1] + c[1] * w[2] + c[2] * w[1])
    Y[row, column + 9] += s * (b[2] * dw[2] + c[2] * w[2])


@in_place_helper
def _rows(
    topology: NDArray[np.int64],
    parameters: Array,
    base: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    Y: Array,
    first: NDArray[np.int64],
    work: Array,
    axes: Array,
) -> None:
    for b in range(q.shape[0]):
        Y[b] = 0.0
        ground_motion(topology, parameters, base[b if base.shape[0] > 1 else 0], q[b], qd[b], qdd[b], first, work, axes)
        for i in range(topology.shape[0]):
            R = matrix_at(work, i, ROTATION)
            V, rate = pair_at(work, i, MOTION), pair_at(work, i, RATE)
            point = add(rate[0], cross(V[1], V[0])), rate[1]  # the origin's acceleration as a point
            w, acceleration = rotate_back(R, V[1]), turned_back(R, point)
            arm = ZERO  # from the origin of body j to that of body i
            j = i
            while j >= 0:
                row = topology[j, VELOCITY_INDEX]
                ratio = gear(topology, parameters, j)
                for axis in range(first[j], first[j + 1]):
                    S = turned_back(R, motion_at(pair_at(axes, axis, AXIS), arm))
                    _add_powers(ratio, S, acceleration, w, Y[b], row, PARAMETERS * i)
                    row += 1
                arm = add(arm, vector_at(work, j, OFFSET))
                j = topology[j, PARENT]


@kernel
def regressor_batch(
    topology: NDArray[np.int64], parameters: Array, base: Array, q: Array, qd: Array, qdd: Array, Y: Array
) -> None:
    """Fill Y (B, n, 10·bodies); base (1 or B, 12), q (B, nq), qd and qdd (B, n)."""
    bodies = topology.shape[0]
    first = first_axes(topology)
    work = np.empty((bodies + 1, MOTION_COLUMNS))
    axes = np.empty((first[bodies], AXIS_COLUMNS))
    _rows(topology, parameters, base, q, qd, qdd, Y, first, work, axes)


_work_of, _axes_of = work_part(MOTION_COLUMNS), axes_part(AXIS_COLUMNS)


@in_place_kernel
def regressor_packed(arm: Array, q: Array, qd: Array, qdd: Array, Y: Array) -> int:
    """Fill Y (n, 10·bodies) for one state of a packed arm (`compiled`); `OK`, or why not."""
    code = refusal(arm, q, qd, qdd)
    if code != OK:
        return code
    n, width = head_of(arm, COORDINATES), PARAMETERS * head_of(arm, BODIES)
    if Y.shape[0] != n or Y.shape[1] != width:
        return WRONG_SHAPE
    if shared(Y, arm, q, qd, qdd):
        return OVERLAPPING
    topology, parameters = topology_of(arm), parameters_of(arm)
    rows, rates, accelerations = shaped(q, (1, q.shape[0])), shaped(qd, (1, n)), shaped(qdd, (1, n))
    base, out, first = base_row_of(arm), shaped(Y, (1, n, width)), first_of(arm)
    _rows(topology, parameters, base, rows, rates, accelerations, out, first, _work_of(arm), _axes_of(arm))
    return OK


def regressor(
    robot: RobotModel, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, base_motion: BaseMotion | None = None
) -> Array:
    """The matrix Y with `inverse_dynamics` = Y `inertial_parameters` + `rotor_inertia` · q̈.

    Parameters
    ----------
    robot
        The model; its masses and inertias do not enter.
    q, qd, qdd
        Positions (…, nq), velocities and accelerations (…, n). Leading dimensions broadcast.
    base_motion
        As for `inverse_dynamics`.

    Returns
    -------
    ndarray
        Shape (…, n, 10·bodies); the columns are ordered as in `inertial_parameters`.

    Raises
    ------
    ArgumentError
        Wrong shapes, NaN or infinity, or a base motion for a floating base.
    """
    if base_motion is None:
        Y = np.empty((robot.n, PARAMETERS * robot.bodies))
        if quick(REGRESSOR.sealed, robot.packed, q, qd, qdd, Y):
            return Y
    lead, (positions, velocities, accelerations) = state_arrays(robot, q=q, qd=qd, qdd=qdd)
    base = packed_base(robot, base_motion, lead)
    Y = np.empty((positions.shape[0], robot.n, PARAMETERS * robot.bodies))
    regressor_batch(robot.topology, robot.parameters, base, positions, velocities, accelerations, Y)
    return Y.reshape((*lead, robot.n, PARAMETERS * robot.bodies))


def inertial_parameters(robot: RobotModel) -> Array:
    """The parameters that `regressor` multiplies, shape (10·bodies,).

    For each body, in the order of `robot.body_names`: m (kg), m·c (3, kg·m), Ixx Ixy Ixz Iyy Iyz Izz (kg·m²) about the
    origin of the body's frame, along its axes: the joint's frame, turned so that z is the joint's axis. Where such a
    frame sits relative to a link's, `robot.link(name)` says (`rotation`, `position`).
    """
    check_loaded(robot)
    return robot.parameters[:, MASS : INERTIA + 6].flatten()


REGRESSOR = Declared(
    "regressor", ("q", "qd", "qdd"), (N, PARAMETERS * ROBOT_BODIES), regressor_packed, regressor, ("base_motion",)
)
