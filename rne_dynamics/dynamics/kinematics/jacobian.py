"""The Jacobian of a link and its rate of change.

Rows are linear then angular velocity of the link's frame at its origin, in world axes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import helper, in_place_helper, in_place_kernel, kernel
from rne_dynamics.compiling.sealed import Sealed
from rne_dynamics.compiling.views import shaped
from rne_dynamics.dynamics.declared.arguments import quick, state_arrays
from rne_dynamics.dynamics.declared.forms import Compiled, N
from rne_dynamics.dynamics.declared.quantity import Declared, RowsForm
from rne_dynamics.dynamics.kinematics.joint_motion import joint_placement
from rne_dynamics.dynamics.kinematics.kinematics import POSE_COLUMNS, POSITION, ROTATION
from rne_dynamics.dynamics.kinematics.world_motion import VELOCITY, WORK_COLUMNS, body_motions_kernel
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, MULTIPLIER, PARENT, PRISMATIC, VELOCITY_INDEX
from rne_dynamics.model.packed_arm import (
    COORDINATES,
    FRAME_POSITION,
    LINKS,
    NO_SUCH_LINK,
    OK,
    OVERLAPPING,
    WRONG_SHAPE,
    head_of,
    link_bodies_of,
    link_frames_of,
    parameters_of,
    refusal,
    refusal_of_position,
    shared,
    topology_of,
    work_part,
)
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.pairs import motion_at, pair_at
from rne_dynamics.spatial.rows import matrix_at, put, put_matrix, slice_vector, vector_at
from rne_dynamics.spatial.vector import (
    IDENTITY,
    ZERO,
    Matrix,
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
def _add_column(J: Array, column: int, s: float, linear: Vector, angular: Vector) -> None:
    for k in range(3):
        J[k, column] += s * linear[k]
        J[3 + k, column] += s * angular[k]


@in_place_helper
def _rows(
    topology: NDArray[np.int64],
    parameters: Array,
    body: int,
    point: Array,
    q: Array,
    J: Array,
    placements: Array,
) -> None:
    for b in range(q.shape[0]):
        for k in range(6):
            for c in range(J.shape[2]):
                J[b, k, c] = 0.0
        # only the way from the body to the base counts: once for the body's axes in the world, once for the columns
        R = IDENTITY
        i = body
        while i >= 0:
            R_joint, p = joint_placement(topology, parameters, i, q[b])
            put_matrix(placements, i, ROTATION, R_joint)
            put(placements, i, POSITION, p)
            R = compose(R_joint, R)
            i = topology[i, PARENT]
        arm = rotate(R, slice_vector(point, 0))  # from the origin of body i to the point
        i = body
        while i >= 0:
            _add_joint(topology, parameters, i, R, arm, J[b])
            R = compose_back(R, matrix_at(placements, i, ROTATION))
            arm = add(arm, rotate(R, vector_at(placements, i, POSITION)))
            i = topology[i, PARENT]


@helper
def _add_joint(topology: NDArray[np.int64], parameters: Array, i: int, R: Matrix, arm: Vector, J: Array) -> None:
    """The columns of joint i, whose axes in the world are R, for a point to which `arm` leads from its origin."""
    iv = topology[i, VELOCITY_INDEX]
    if topology[i, KIND] == FLOATING:
        for k in range(3):
            e = column(R, k)
            _add_column(J, iv + k, 1.0, e, ZERO)
            _add_column(J, iv + 3 + k, 1.0, cross(e, arm), e)
    elif topology[i, KIND] == PRISMATIC:
        _add_column(J, iv, parameters[i, MULTIPLIER], column(R, 2), ZERO)
    else:
        e = column(R, 2)
        _add_column(J, iv, parameters[i, MULTIPLIER], cross(e, arm), e)


@kernel
def jacobian_batch(topology: NDArray[np.int64], parameters: Array, body: int, point: Array, q: Array, J: Array) -> None:
    """Jacobians at a point fixed in a body: point (3,) in the body's frame, q (B, nq), J (B, 6, n)."""
    placements = np.empty((topology.shape[0], POSE_COLUMNS))
    _rows(topology, parameters, body, point, q, J, placements)


@in_place_helper
def _rate_rows(
    topology: NDArray[np.int64],
    parameters: Array,
    body: int,
    point: Array,
    q: Array,
    qd: Array,
    J: Array,
    work: Array,
) -> None:
    for b in range(q.shape[0]):
        J[b] = 0.0
        body_motions_kernel(topology, parameters, q[b], qd[b], work)
        r = rotate(matrix_at(work, body, ROTATION), slice_vector(point, 0))
        target = add(vector_at(work, body, POSITION), r)
        target_rate, _ = motion_at(pair_at(work, body, VELOCITY), r)
        i = body
        while i >= 0:
            R = matrix_at(work, i, ROTATION)
            v, w = pair_at(work, i, VELOCITY)
            arm = subtract(target, vector_at(work, i, POSITION))
            arm_rate = subtract(target_rate, v)
            iv = topology[i, VELOCITY_INDEX]
            kind = topology[i, KIND]
            # an axis fixed in the body turns with it: ė = ω × e
            for k in range(3):
                if kind != FLOATING and k != 2:
                    continue
                e = column(R, k)
                turn = cross(w, e)
                s = 1.0 if kind == FLOATING else parameters[i, MULTIPLIER]
                if kind == FLOATING or kind == PRISMATIC:
                    _add_column(J[b], iv + k if kind == FLOATING else iv, s, turn, (0.0, 0.0, 0.0))
                if kind != PRISMATIC:
                    swing = add(cross(turn, arm), cross(e, arm_rate))
                    _add_column(J[b], iv + 3 + k if kind == FLOATING else iv, s, swing, turn)
            i = topology[i, PARENT]


@kernel
def jacobian_rate_batch(
    topology: NDArray[np.int64], parameters: Array, body: int, point: Array, q: Array, qd: Array, J: Array
) -> None:
    """Time derivatives of the Jacobians at a point fixed in a body; shapes as for `jacobian_batch`."""
    work = np.empty((topology.shape[0], WORK_COLUMNS))
    _rate_rows(topology, parameters, body, point, q, qd, J, work)


@helper
def _refusal_of_link(arm: Array, link: int, J: Array) -> int:
    if not 0 <= link < head_of(arm, LINKS):
        return NO_SUCH_LINK
    return OK if J.shape[0] == 6 and J.shape[1] == head_of(arm, COORDINATES) else WRONG_SHAPE


_poses_of, _work_of = work_part(POSE_COLUMNS), work_part(WORK_COLUMNS)


@in_place_kernel
def jacobian_packed(arm: Array, link: int, q: Array, J: Array) -> int:
    """Fill J (6, n) of the link of that number; otherwise as other `compiled` functions."""
    code = refusal_of_position(arm, q)
    if code == OK:
        code = _refusal_of_link(arm, link, J)
    if code != OK:
        return code
    if shared(J, arm, q, q, q):
        return OVERLAPPING
    topology, parameters, body = topology_of(arm), parameters_of(arm), link_bodies_of(arm)[link]
    if body < 0:
        J[:, :] = 0.0
    else:
        point, rows = link_frames_of(arm)[link, FRAME_POSITION:], shaped(q, (1, q.shape[0]))
        _rows(topology, parameters, body, point, rows, shaped(J, (1, 6, J.shape[1])), _poses_of(arm))
    return OK


@in_place_kernel
def jacobian_rate_packed(arm: Array, link: int, q: Array, qd: Array, J: Array) -> int:
    """`jacobian_packed` for the Jacobian's time derivative."""
    code = refusal(arm, q, qd, qd)
    if code == OK:
        code = _refusal_of_link(arm, link, J)
    if code != OK:
        return code
    if shared(J, arm, q, qd, qd):
        return OVERLAPPING
    topology, parameters, body = topology_of(arm), parameters_of(arm), link_bodies_of(arm)[link]
    if body < 0:
        J[:, :] = 0.0
    else:
        rows, rates, out = shaped(q, (1, q.shape[0])), shaped(qd, (1, J.shape[1])), shaped(J, (1, 6, J.shape[1]))
        point = link_frames_of(arm)[link, FRAME_POSITION:]
        _rate_rows(topology, parameters, body, point, rows, rates, out, _work_of(arm))
    return OK


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
        call = robot.own_code["jacobian", link]
    except (AttributeError, KeyError):
        call = _first_call(JACOBIAN, _jacobian, robot, link)
    return cast("Array", call(q))


def _first_call(
    quantity: Declared, general: Callable[..., Array], robot: RobotModel, link: str
) -> Callable[..., Array]:
    long_way = partial(general, robot, link)
    if not isinstance(robot, RobotModel):
        return long_way
    call = quantity.own_call(robot, long_way, link) or long_way
    robot.own_code[quantity.name, link] = call
    return call


def _jacobian(robot: RobotModel, link: str, q: ArrayLike) -> Array:
    frame = robot.link(link)
    J = np.empty((6, robot.n))
    if not robot.specialised and quick(JACOBIAN.sealed, robot.packed, robot.link_index(link), q, J):
        return J
    lead, (positions,) = state_arrays(robot, q=q)
    own = JACOBIAN.own_rows(robot, (positions,), link)
    if own is not None:
        return own.reshape((*lead, 6, robot.n))
    J = np.zeros((positions.shape[0], 6, robot.n))
    if frame.body >= 0:
        jacobian_batch(robot.topology, robot.parameters, frame.body, frame.position, positions, J)
    return J.reshape((*lead, 6, robot.n))


def jacobian_rate(robot: RobotModel, q: ArrayLike, qd: ArrayLike, link: str) -> Array:
    """Time derivative of `jacobian`: the link's acceleration is J q̈ + J̇ q̇; shape (…, 6, n).

    Parameters and errors as for `jacobian`, with velocities `qd` of shape (…, n).
    """
    try:
        call = robot.own_code["jacobian_rate", link]
    except (AttributeError, KeyError):
        call = _first_call(JACOBIAN_RATE, _jacobian_rate, robot, link)
    return cast("Array", call(q, qd))


def _jacobian_rate(robot: RobotModel, link: str, q: ArrayLike, qd: ArrayLike) -> Array:
    frame = robot.link(link)
    J = np.empty((6, robot.n))
    index = robot.link_index(link)
    if not robot.specialised and quick(JACOBIAN_RATE.sealed, robot.packed, index, q, qd, J):
        return J
    lead, (positions, velocities) = state_arrays(robot, q=q, qd=qd)
    own = JACOBIAN_RATE.own_rows(robot, (positions, velocities), link)
    if own is not None:
        return own.reshape((*lead, 6, robot.n))
    J = np.zeros((positions.shape[0], 6, robot.n))
    if frame.body >= 0:
        jacobian_rate_batch(robot.topology, robot.parameters, frame.body, frame.position, positions, velocities, J)
    return J.reshape((*lead, 6, robot.n))


def _rows_form(kernel: Compiled, robot: RobotModel, link: str) -> RowsForm:
    frame = robot.link(link)
    if frame.body < 0:
        return RowsForm(_fixed, ())
    return RowsForm(kernel, (robot.topology, robot.parameters, frame.body, frame.position))


def _fixed(*inputs_and_out: Array) -> None:
    """The Jacobian, and its rate, of a link fixed to the base."""
    inputs_and_out[-1][:] = 0.0


JACOBIAN = Declared(
    "jacobian", ("q",), (6, N), jacobian_packed, jacobian, ("link",), sealed=Sealed(jacobian_packed, 1, 0, 1, 2),
    rows=partial(_rows_form, jacobian_batch),
)  # fmt: skip
JACOBIAN_RATE = Declared(
    "jacobian_rate", ("q", "qd"), (6, N), jacobian_rate_packed, jacobian_rate, ("link",),
    sealed=Sealed(jacobian_rate_packed, 1, 0, 1, 1, 2), rows=partial(_rows_form, jacobian_rate_batch),
)  # fmt: skip
