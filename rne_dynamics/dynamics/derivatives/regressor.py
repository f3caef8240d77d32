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

from collections.abc import Callable

from numpy.typing import ArrayLike

from rne_dynamics.compiling.jit import helper
from rne_dynamics.dynamics.declared.arguments import Arm, BaseMotion
from rne_dynamics.dynamics.declared.quantity import BODIES, N, Quantity
from rne_dynamics.dynamics.derivatives.inverse_derivatives import spatial_motions
from rne_dynamics.dynamics.kinematics.joint_motion import axes_of, place_of, unit_motion
from rne_dynamics.errors import check_loaded
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE, INERTIA, KIND, MASS, MULTIPLIER, PARENT, VELOCITY_INDEX
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.pairs import Pair, into_child
from rne_dynamics.spatial.vector import IDENTITY, ZERO, Vector, add, cross, dot, placed

#: Inertial parameters of a body, in order: m, m·c (3), Ixx Ixy Ixz Iyy Iyz Izz about the body frame's origin.
PARAMETERS = 10


@helper
def _add_powers(s: float, S: Pair, acceleration: Pair, w: Vector, Y: Array, row: int, column: int) -> None:
    """Add s times the ten powers on the motion S = (a, b) to Y[row, column …]."""
    (a, b), (dv, dw) = S, acceleration
    h = add(add(cross(a, dw), cross(w, cross(w, a))), cross(dv, b))
    c = cross(b, w)
    powers = (
        dot(a, dv),
        *h,
        b[0] * dw[0] + c[0] * w[0],
        b[0] * dw[1] + b[1] * dw[0] + c[0] * w[1] + c[1] * w[0],
        b[0] * dw[2] + b[2] * dw[0] + c[0] * w[2] + c[2] * w[0],
        b[1] * dw[1] + c[1] * w[1],
        b[1] * dw[2] + b[2] * dw[1] + c[1] * w[2] + c[2] * w[1],
        b[2] * dw[2] + c[2] * w[2],
    )
    for k in range(PARAMETERS):
        Y[row, column + k] += s * powers[k]


@helper
def regressor_kernel(arm: Arm, q: Array, qd: Array, qdd: Array, Y: Array) -> None:
    """Fill Y (n, 10·bodies) for one state: q (nq,), qd and qdd (n,)."""
    topology, parameters, base, _ = arm
    Y[:, :] = 0.0
    X, _, V, dV = spatial_motions(topology, parameters, base, q, qd, qdd)
    for i in range(topology.shape[0]):
        (v, w), rate = V[i], dV[i]
        acceleration = add(rate[0], cross(w, v)), rate[1]  # the origin's as a point
        R, p = IDENTITY, ZERO  # placement of body i in body j
        j = i
        while j != BASE:
            row, kind = topology[j, VELOCITY_INDEX], topology[j, KIND]
            for k in range(axes_of(kind)):
                S = into_child(R, p, unit_motion(place_of(kind, k)))
                _add_powers(parameters[j, MULTIPLIER], S, acceleration, w, Y, row + k, PARAMETERS * i)
            R, p = placed(X[j], (R, p))
            j = topology[j, PARENT]


REGRESSOR = Quantity(
    "regressor", regressor_kernel, ("q", "qd", "qdd"), (N, PARAMETERS * BODIES), base_motion=True
)


@REGRESSOR.public
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
        try:
            call: Callable[..., Array] = robot.own_code["regressor"]
        except (AttributeError, KeyError):
            call = REGRESSOR.of(robot)
        return call(q, qd, qdd)
    return REGRESSOR.answer(robot, q, qd, qdd, base_motion=base_motion)


def inertial_parameters(robot: RobotModel) -> Array:
    """The parameters that `regressor` multiplies, shape (10·bodies,).

    For each body, in the order of `robot.body_names`: m (kg), m·c (3, kg·m), Ixx Ixy Ixz Iyy Iyz Izz (kg·m²) about the
    origin of the body's frame, along its axes: the joint's frame, turned so that z is the joint's axis. Where such a
    frame sits relative to a link's, `robot.link(name)` says (`rotation`, `position`).
    """
    check_loaded(robot)
    return robot.parameters[:, MASS : INERTIA + 6].flatten()
