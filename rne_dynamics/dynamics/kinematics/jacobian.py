"""The Jacobian of a link and its rate; pose and motion of all bodies in the world; steps between configurations.

Rows are linear then angular velocity of the link's frame at its origin, in world axes. One recursion from the base, at
rest, to the tips gives pose and motion of the bodies. Configurations are a space of their own: a floating joint's
orientation is a unit quaternion, not three numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.compiling.plain import per_body
from rne_dynamics.dynamics.declared.arguments import Arm
from rne_dynamics.dynamics.declared.quantity import BODIES, NQ, N, Quantity
from rne_dynamics.dynamics.kinematics.joint_motion import (
    axes_of,
    joint_placement,
    joint_turns,
    joint_velocity,
    place_of,
    placement_at_turn,
)
from rne_dynamics.dynamics.kinematics.kinematics import POSE_COLUMNS, put_pose
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import (
    BASE,
    FLOATING,
    KIND,
    MULTIPLIER,
    PARENT,
    POSITION_INDEX,
    VELOCITY_INDEX,
    columns,
)
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.pairs import (
    NONE,
    acceleration_at,
    motion_at,
    plus,
    put_pair,
    turned,
)
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
    dot,
    from_quaternion,
    quaternion_times,
    rotate,
    scale,
    subtract,
)

# columns, one row a body, all in world axes: the pose as in `kinematics`, and (v, ω)
_, VELOCITY, WORK_COLUMNS = columns(POSE_COLUMNS, 6)
#: Where the velocity of the origin and the angular velocity are.
LINEAR, ANGULAR = slice(VELOCITY, VELOCITY + 3), slice(VELOCITY + 3, WORK_COLUMNS)


@helper
def motions_in_world(
    topology: NDArray[np.int64], parameters: Array, q: Array, qd: Array, drift: Any
) -> tuple[Any, Any, Any]:
    """By body, in world axes: its placement X, V = (v, ω), and a = (v̇, ω̇) at q̈ = 0 unless `drift` is None."""
    X, V, a = per_body(topology), per_body(topology), per_body(topology)
    X[BASE], V[BASE], a[BASE] = (IDENTITY, ZERO), NONE, NONE
    turns = joint_turns(topology, parameters, q)
    for i in range(topology.shape[0]):
        parent = topology[i, PARENT]
        R_parent, p_parent = X[parent]
        R, d = placement_at_turn(topology, parameters, i, q, turns[i])
        R, d = compose(R_parent, R), rotate(R_parent, d)
        before, joint = motion_at(V[parent], d), turned(R, joint_velocity(topology, parameters, i, qd))
        X[i] = R, add(p_parent, d)
        V[i] = plus(before, joint)
        if drift is not None:
            w = before[1]
            coriolis = cross(add(scale(2.0, w), joint[1]), joint[0]), cross(w, joint[1])
            a[i] = plus(acceleration_at(a[parent], w, d), coriolis)
    return X, V, a


@kernel
def body_motions_kernel(arm: Arm, q: Array, qd: Array, out: Array) -> None:
    """Pose and (v, ω) of every body, of one state; out (bodies, WORK_COLUMNS)."""
    X, V, _ = motions_in_world(arm.topology, arm.parameters, q, qd, None)
    for i in range(out.shape[0]):
        put_pose(out, i, X[i])
        put_pair(out, i, VELOCITY, V[i])


BODY_MOTIONS = Quantity("body_motions", body_motions_kernel, ("q", "qd"), (BODIES, WORK_COLUMNS), every_mass=True)


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
    for k in range(axes_of(topology[i, KIND])):
        place = place_of(topology[i, KIND], k)
        e, axis = column(R, place % 3), topology[i, VELOCITY_INDEX] + k
        if place < 3:
            add_column(J, axis, parameters[i, MULTIPLIER], e, ZERO)
        else:
            add_column(J, axis, parameters[i, MULTIPLIER], cross(e, arm), e)


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
        (R, p), (v, w) = X[i], V[i]
        arm, arm_rate = subtract(target, p), subtract(target_rate, v)
        for k in range(axes_of(topology[i, KIND])):
            place = place_of(topology[i, KIND], k)
            e, axis = column(R, place % 3), topology[i, VELOCITY_INDEX] + k
            turn = cross(w, e)  # an axis fixed in the body turns with it: ė = ω × e
            if place < 3:
                add_column(J, axis, parameters[i, MULTIPLIER], turn, ZERO)
            else:
                swing = add(cross(turn, arm), cross(e, arm_rate))
                add_column(J, axis, parameters[i, MULTIPLIER], swing, turn)
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


@kernel
def integrate_configuration_kernel(arm: Arm, q: Array, step: Array, out: Array) -> None:
    """One state: q (nq,), step (n,), out (nq,), which must not be q."""
    topology = arm.topology
    for i in range(topology.shape[0]):
        iq = topology[i, POSITION_INDEX]
        iv = topology[i, VELOCITY_INDEX]
        if topology[i, KIND] != FLOATING:
            out[iq] = q[iq] + step[iv]
            continue
        # the twist (v, φ) held for unit time: p += R V(φ) v, R := R exp(φ̃)
        v, phi = slice_vector(step, iv), slice_vector(step, iv + 3)
        x, y, z, w = q[iq + 3], q[iq + 4], q[iq + 5], q[iq + 6]
        angle = np.sqrt(dot(phi, phi))
        if angle < 1e-4:  # series, exact to round-off here
            half_sinc = 0.5 - angle * angle / 48.0
            b = 1.0 / 6.0 - angle * angle / 120.0
        else:
            half_sinc = np.sin(0.5 * angle) / angle
            b = (angle - np.sin(angle)) / (angle * angle * angle)  # times angle² below: its lost digits do not count
        a = 2.0 * half_sinc * half_sinc  # (1 − cos φ)/φ², whose difference would lose half of the digits
        swept = cross(phi, v)
        moved = add(v, add(scale(a, swept), scale(b, cross(phi, swept))))
        p = add(slice_vector(q, iq), rotate(from_quaternion(x, y, z, w), moved))
        c = np.cos(0.5 * angle)
        s = scale(half_sinc, phi)
        X, Y, Z, W = quaternion_times((x, y, z, w), (*s, c))
        norm = np.sqrt(X * X + Y * Y + Z * Z + W * W)
        out[iq], out[iq + 1], out[iq + 2] = p
        out[iq + 3], out[iq + 4], out[iq + 5], out[iq + 6] = X / norm, Y / norm, Z / norm, W / norm


INTEGRATE_CONFIGURATION = Quantity("integrate_configuration", integrate_configuration_kernel, ("q", "step"), (NQ,))


@INTEGRATE_CONFIGURATION.public
def integrate_configuration(robot: RobotModel, q: ArrayLike, step: ArrayLike) -> Array:
    """The configuration reached from `q` by a displacement in velocity coordinates (velocity times time).

    Plain addition for one-axis joints; floating joints follow the screw motion of (v, ω) held constant.

    Parameters
    ----------
    robot
        The model.
    q, step
        Positions (…, nq) and displacements (…, n).

    Raises
    ------
    ArgumentError
        A wrong shape, NaN or infinity.
    """
    try:
        call: Callable[..., Array] = robot.own_code["integrate_configuration"]
    except (AttributeError, KeyError):
        call = INTEGRATE_CONFIGURATION.of(robot)
    return call(q, step)
