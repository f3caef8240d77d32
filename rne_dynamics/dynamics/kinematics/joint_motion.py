"""Placement, motion and axes of a body by its joint. No other kernel reads joint positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper
from rne_dynamics.compiling.plain import per_body
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import (
    FLOATING,
    KIND,
    MASS,
    MULTIPLIER,
    OFFSET,
    PLACEMENT,
    POSITION_INDEX,
    PRISMATIC,
    ROTATION,
    ROTOR,
    VELOCITY_INDEX,
)
from rne_dynamics.spatial.pairs import NONE, Pair, Rigid, plus, put_slice_pair, rigid_at, slice_pair
from rne_dynamics.spatial.rows import matrix_at, slice_vector, vector_at
from rne_dynamics.spatial.vector import (
    ZERO,
    Matrix,
    Vector,
    about_z,
    add,
    column,
    compose,
    cos_sin,
    cross,
    from_quaternion,
    rotate,
    scale,
)


@helper
def axes_of(kind: int) -> int:
    """The number of axes of a joint."""
    return 6 if kind == FLOATING else 1


@helper
def first_axes(topology: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number of each body's first axis, of all axes one behind the other, and how many there are; (bodies + 1,)."""
    first = np.zeros(topology.shape[0] + 1, np.int64)
    for i in range(topology.shape[0]):
        first[i + 1] = first[i] + axes_of(topology[i, KIND])
    return first


@helper
def place_of(kind: int, k: int) -> int:
    """Which of the six numbers (v, ω) of its body axis k of a joint moves, and which of (f, n) is its effort."""
    if kind == FLOATING:
        return k
    return 2 if kind == PRISMATIC else 5


@helper
def unit_motion(place: int) -> Pair:
    """The motion (v, ω) with a 1 at one place."""
    return (
        (1.0 if place == 0 else 0.0, 1.0 if place == 1 else 0.0, 1.0 if place == 2 else 0.0),
        (1.0 if place == 3 else 0.0, 1.0 if place == 4 else 0.0, 1.0 if place == 5 else 0.0),
    )


@helper
def component(F: Pair, place: int) -> float:
    """One of the six numbers of a pair."""
    return (*F[0], *F[1])[place]


@helper
def inertia_of(parameters: Array, i: int) -> Rigid:
    """(m, h = m·c, J about the joint origin) of body i."""
    return rigid_at(parameters, i, MASS)


@helper
def joint_turn(topology: NDArray[Any], parameters: Array, i: int, q: Array) -> tuple[float, float]:
    """(cos, sin) of a revolute joint's angle; (position, 0) of a prismatic joint; zeros for a floating one."""
    kind = topology[i, KIND]
    if kind == FLOATING:
        return 0.0, 0.0
    x = parameters[i, MULTIPLIER] * q[topology[i, POSITION_INDEX]] + parameters[i, OFFSET]
    if kind == PRISMATIC:
        return x, 0.0
    return cos_sin(x)


@helper
def joint_turns(topology: NDArray[Any], parameters: Array, q: Array) -> Any:
    """`joint_turn` of every joint, by body.

    In a loop of its own, because the library's sine, called amid a recursion, empties all registers into memory.
    """
    turns = per_body(topology)
    for i in range(topology.shape[0]):
        turns[i] = joint_turn(topology, parameters, i, q)
    return turns


@helper
def placement_at_turn(
    topology: NDArray[Any], parameters: Array, i: int, q: Array, turn: tuple[float, float]
) -> tuple[Matrix, Vector]:
    """Placement (R, p) of body i in its parent's frame, from its joint's `joint_turn`."""
    kind = topology[i, KIND]
    R0 = matrix_at(parameters, i, ROTATION)
    p0 = vector_at(parameters, i, PLACEMENT)
    if kind == FLOATING:
        iq = topology[i, POSITION_INDEX]
        R = compose(R0, from_quaternion(q[iq + 3], q[iq + 4], q[iq + 5], q[iq + 6]))
        return R, add(p0, rotate(R0, slice_vector(q, iq)))
    if kind == PRISMATIC:
        return R0, add(p0, scale(turn[0], column(R0, 2)))
    return about_z(R0, turn[0], turn[1]), p0


@helper
def joint_placement(topology: NDArray[Any], parameters: Array, i: int, q: Array) -> tuple[Matrix, Vector]:
    """Placement (R, p) of body i in its parent's frame at configuration q."""
    return placement_at_turn(topology, parameters, i, q, joint_turn(topology, parameters, i, q))


@helper
def along(kind: int, P: Pair) -> float:
    """Zᵀ P: the component of a pair along the axis of a one-axis joint, in the body's axes."""
    return P[0][2] if kind == PRISMATIC else P[1][2]


@helper
def plus_along(kind: int, P: Pair, s: float) -> Pair:
    """P + Z s, with Z of (2.1.7.2) for a revolute joint and of (2.2.7) for a prismatic one."""
    v, w = P
    if kind == PRISMATIC:
        return (v[0], v[1], v[2] + s), w
    return v, (w[0], w[1], w[2] + s)


@helper
def joint_velocity(topology: NDArray[Any], parameters: Array, i: int, qd: Array) -> Pair:
    """S q̇: the velocity (v, ω) of body i relative to its parent in its axes; of accelerations S q̈."""
    kind, iv = topology[i, KIND], topology[i, VELOCITY_INDEX]
    if kind == FLOATING:
        return slice_pair(qd, iv)
    return plus_along(kind, NONE, parameters[i, MULTIPLIER] * qd[iv])


@helper
def joint_speed(topology: NDArray[Any], parameters: Array, i: int, qd: Array, w: Vector) -> tuple[Vector, Pair]:
    """The body's ω and the bias σ* of joint i, from the parent's ω in the body's axes.

    σ* of (2.1.13.2) and (2.2.6) without its centripetal part. The lower row has the sign of (2.1.1): +ω × z q̇.
    """
    kind = topology[i, KIND]
    iv = topology[i, VELOCITY_INDEX]
    if kind == FLOATING:
        v_joint, w_joint = slice_pair(qd, iv)
        return add(w, w_joint), (cross(add(scale(2.0, w), w_joint), v_joint), cross(w, w_joint))
    rate = parameters[i, MULTIPLIER] * qd[iv]
    if kind == PRISMATIC:
        return w, ((2.0 * w[1] * rate, -2.0 * w[0] * rate, 0.0), ZERO)
    return (w[0], w[1], w[2] + rate), (ZERO, (w[1] * rate, -w[0] * rate, 0.0))


@helper
def joint_acceleration(
    topology: NDArray[Any], parameters: Array, i: int, qdd: Array, a: Pair, sigma: Pair
) -> Pair:
    """a + σ* + Z q̈ of (2.1.13): the acceleration behind joint i, from the one before it in the body's axes.

    Of a one-axis joint only the half of σ* is added that the joint moves; the other is zero.
    """
    kind = topology[i, KIND]
    iv = topology[i, VELOCITY_INDEX]
    if kind == FLOATING:
        return plus(a, plus(slice_pair(qdd, iv), sigma))
    acceleration = parameters[i, MULTIPLIER] * qdd[iv]
    (dv, dw), (sv, sw) = a, sigma
    if kind == PRISMATIC:
        return (dv[0] + sv[0], dv[1] + sv[1], dv[2] + acceleration), dw
    return dv, (dw[0] + sw[0], dw[1] + sw[1], dw[2] + acceleration)


@helper
def put_efforts(topology: NDArray[Any], parameters: Array, F: Any, qdd: Array, tau: Array) -> None:
    """Fill `tau` (n,): of each wrench F on a body the component along its joint's axes, and what its rotor needs."""
    tau[:] = 0.0
    for i in range(topology.shape[0]):
        kind, iv, multiplier = topology[i, KIND], topology[i, VELOCITY_INDEX], parameters[i, MULTIPLIER]
        if kind == FLOATING:
            put_slice_pair(tau, iv, F[i])
        else:
            tau[iv] += multiplier * (along(kind, F[i]) + parameters[i, ROTOR] * multiplier * qdd[iv])
