"""The Jacobian of a link and its rate.

Rows are linear then angular velocity of the link's frame at its origin, in world axes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.compiling.tables import per_body
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.declared.forms import N
from rne_dynamics.dynamics.declared.quantity import Quantity
from rne_dynamics.dynamics.kinematics.joint_motion import joint_placement
from rne_dynamics.dynamics.kinematics.world_motion import motions_in_world
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE, FLOATING, KIND, MULTIPLIER, PARENT, PRISMATIC, VELOCITY_INDEX
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.pairs import motion_at
from rne_dynamics.spatial.rows import slice_vector
from rne_dynamics.spatial.vector import (
    IDENTITY,
    ZERO,
    Matrix,
    Placement,
    Vector,
    add,
    column,
    compose,
    compose_back,
    cross,
    rotate,
    subtract,
)


@helper
def add_column(J: Array, column: int, s: float, linear: Vector, angular: Vector) -> None:
    """Add s (linear, angular) to a column of J."""
    for k in range(3):
        J[k, column] += s * linear[k]
        J[3 + k, column] += s * angular[k]


@helper
def placed_jacobian(model: Arm, body: int, point: Array, q: Array, J: Array) -> Placement:
    """Fill J (6, n) of a point fixed in a body; the body's axes and the point in the world.

    Only the way from the body to the base counts: once for the body's axes in the world, once for the columns.
    """
    topology, parameters, _, _ = model
    J[:, :] = 0.0
    X, R, i = per_body(topology), IDENTITY, body
    while i != BASE:
        X[i] = joint_placement(topology, parameters, i, q)
        R = compose(X[i][0], R)
        i = topology[i, PARENT]
    axes, arm = R, rotate(R, slice_vector(point, 0))  # from the origin of body i to the point
    i = body
    while i != BASE:
        _add_joint(topology, parameters, i, R, arm, J)
        R_joint, p = X[i]
        R = compose_back(R, R_joint)
        arm = add(arm, rotate(R, p))
        i = topology[i, PARENT]
    return axes, arm


@kernel
def jacobian_kernel(model: Arm, body: int, point: Array, q: Array, J: Array) -> None:
    """Fill the Jacobian J (6, n) of a point fixed in a body for one state: point (3,) in the body's frame, q (nq,)."""
    placed_jacobian(model, body, point, q, J)


@helper
def _add_joint(topology: NDArray[np.int64], parameters: Array, i: int, R: Matrix, arm: Vector, J: Array) -> None:
    """The columns of joint i, whose axes in the world are R, for a point to which `arm` leads from its origin."""
    iv = topology[i, VELOCITY_INDEX]
    if topology[i, KIND] == FLOATING:
        for k in range(3):
            e = column(R, k)
            add_column(J, iv + k, 1.0, e, ZERO)
            add_column(J, iv + 3 + k, 1.0, cross(e, arm), e)
    elif topology[i, KIND] == PRISMATIC:
        add_column(J, iv, parameters[i, MULTIPLIER], column(R, 2), ZERO)
    else:
        e = column(R, 2)
        add_column(J, iv, parameters[i, MULTIPLIER], cross(e, arm), e)


def place_of_link(robot: RobotModel, link: str) -> tuple[int, Array]:
    """A link's body, and its origin in the body's frame."""
    frame = robot.link(link)
    return frame.body, frame.position


JACOBIAN = Quantity("jacobian", jacobian_kernel, ("q",), (6, N), every_mass=True, extra=place_of_link, of_link=True)


@JACOBIAN.public
def jacobian(robot: RobotModel, q: ArrayLike, link: str) -> Array:
    """Jacobian of a link: (linear, angular) velocity of its frame at its origin in world axes = J q̇.

    Parameters
    ----------
    robot
        The model.
    q
        Positions, shape (…, nq).
    link
        Name of a link; one fixed to the base has a zero Jacobian.

    Returns
    -------
    ndarray
        Shape (…, 6, n).

    Raises
    ------
    ArgumentError
        A wrong shape, NaN or infinity.
    ModelError
        An unknown link.
    """
    try:
        call: Callable[..., Array] = robot.own_code["jacobian", link]
    except (AttributeError, KeyError):
        call = JACOBIAN.first_call(robot, link)
    return call(q)


@kernel
def jacobian_rate_kernel(model: Arm, body: int, point: Array, q: Array, qd: Array, J: Array) -> None:
    """The Jacobian's time derivative for one state; arguments as for `jacobian_kernel`, qd (n,)."""
    topology, parameters, _, _ = model
    J[:, :] = 0.0
    X, V, _ = motions_in_world(topology, parameters, q, qd, None)
    R_body, p_body = X[body]
    r = rotate(R_body, slice_vector(point, 0))
    target = add(p_body, r)
    target_rate, _ = motion_at(V[body], r)
    i = body
    while i != BASE:
        kind, iv = topology[i, KIND], topology[i, VELOCITY_INDEX]
        (R, p), (v, w) = X[i], V[i]
        arm, arm_rate = subtract(target, p), subtract(target_rate, v)
        # an axis fixed in the body turns with it: ė = ω × e
        for k in range(3):
            if kind != FLOATING and k != 2:
                continue
            e = column(R, k)
            turn = cross(w, e)
            s = 1.0 if kind == FLOATING else parameters[i, MULTIPLIER]
            if kind == FLOATING or kind == PRISMATIC:
                add_column(J, iv + k if kind == FLOATING else iv, s, turn, ZERO)
            if kind != PRISMATIC:
                swing = add(cross(turn, arm), cross(e, arm_rate))
                add_column(J, iv + 3 + k if kind == FLOATING else iv, s, swing, turn)
        i = topology[i, PARENT]


JACOBIAN_RATE = Quantity(
    "jacobian_rate", jacobian_rate_kernel, ("q", "qd"), (6, N), every_mass=True, extra=place_of_link, of_link=True
)


@JACOBIAN_RATE.public
def jacobian_rate(robot: RobotModel, q: ArrayLike, qd: ArrayLike, link: str) -> Array:
    """Time derivative of `jacobian`: the link's acceleration is J q̈ + J̇ q̇; shape (…, 6, n).

    Parameters and errors as for `jacobian`, with velocities `qd` of shape (…, n).
    """
    try:
        call: Callable[..., Array] = robot.own_code["jacobian_rate", link]
    except (AttributeError, KeyError):
        call = JACOBIAN_RATE.first_call(robot, link)
    return call(q, qd)
