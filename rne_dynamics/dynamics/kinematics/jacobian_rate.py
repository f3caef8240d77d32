"""The time derivative of the Jacobian of a link."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.dynamics.declared.arguments import state_arrays
from rne_dynamics.dynamics.declared.declared import Declared
from rne_dynamics.dynamics.declared.forms import N
from rne_dynamics.dynamics.kinematics.jacobian import add_column, refusal_of_link, rows_form
from rne_dynamics.dynamics.kinematics.world_motion import motions_in_world
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE, FLOATING, KIND, MULTIPLIER, PARENT, PRISMATIC, VELOCITY_INDEX
from rne_dynamics.model.packed_arm import (
    FRAME_POSITION,
    OK,
    OVERLAPPING,
    link_bodies_of,
    link_frames_of,
    parameters_of,
    refusal,
    shared,
    topology_of,
)
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.pairs import motion_at
from rne_dynamics.spatial.rows import slice_vector
from rne_dynamics.spatial.vector import ZERO, add, column, cross, rotate, subtract


@helper
def jacobian_rate_kernel(
    topology: NDArray[np.int64], parameters: Array, body: int, point: Array, q: Array, qd: Array, J: Array
) -> None:
    """The Jacobian's time derivative for one state; arguments as for `jacobian_kernel`, qd (n,)."""
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


@kernel
def jacobian_rate_batch(
    topology: NDArray[np.int64], parameters: Array, body: int, point: Array, q: Array, qd: Array, J: Array
) -> None:
    """`jacobian_rate_kernel` over rows: q (B, nq), qd (B, n), J (B, 6, n)."""
    for b in range(q.shape[0]):
        jacobian_rate_kernel(topology, parameters, body, point, q[b], qd[b], J[b])


@kernel
def jacobian_rate_packed(arm: Array, link: int, q: Array, qd: Array, J: Array) -> int:
    """`jacobian_packed` for the Jacobian's time derivative."""
    code = refusal(arm, q, qd)
    if code == OK:
        code = refusal_of_link(arm, link, J)
    if code != OK:
        return code
    if shared(J, arm, q, qd):
        return OVERLAPPING
    topology, parameters, body = topology_of(arm), parameters_of(arm), link_bodies_of(arm)[link]
    if body < 0:
        J[:, :] = 0.0
    else:
        jacobian_rate_kernel(topology, parameters, body, link_frames_of(arm)[link, FRAME_POSITION:], q, qd, J)
    return OK


def jacobian_rate(robot: RobotModel, q: ArrayLike, qd: ArrayLike, link: str) -> Array:
    """Time derivative of `jacobian`: the link's acceleration is J q̈ + J̇ q̇; shape (…, 6, n).

    Parameters and errors as for `jacobian`, with velocities `qd` of shape (…, n).
    """
    try:
        call: Callable[..., Array] = robot.own_code["jacobian_rate", link]
    except (AttributeError, KeyError):
        call = JACOBIAN_RATE.first_call(robot, _jacobian_rate, link)
    return call(q, qd)


def _jacobian_rate(robot: RobotModel, link: str, q: ArrayLike, qd: ArrayLike) -> Array:
    frame = robot.link(link)
    lead, (positions, velocities) = state_arrays(robot, q=q, qd=qd)
    own = JACOBIAN_RATE.own_rows(robot, (positions, velocities), link)
    if own is not None:
        return own.reshape((*lead, 6, robot.n))
    J = np.zeros((positions.shape[0], 6, robot.n))
    if frame.body >= 0:
        jacobian_rate_batch(robot.topology, robot.parameters, frame.body, frame.position, positions, velocities, J)
    return J.reshape((*lead, 6, robot.n))


JACOBIAN_RATE = Declared(
    "jacobian_rate", ("q", "qd"), (6, N), jacobian_rate_packed, jacobian_rate, ("link",),
    rows=partial(rows_form, jacobian_rate_batch),
)  # fmt: skip
