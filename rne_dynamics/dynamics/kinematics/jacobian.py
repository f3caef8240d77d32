"""The Jacobian of a link.

Rows are linear then angular velocity of the link's frame at its origin, in world axes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.compiling.tables import per_body
from rne_dynamics.dynamics.declared.arguments import state_arrays
from rne_dynamics.dynamics.declared.declared import Declared
from rne_dynamics.dynamics.declared.forms import Compiled, N
from rne_dynamics.dynamics.declared.specialised import RowsForm
from rne_dynamics.dynamics.kinematics.joint_motion import joint_placement
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE, FLOATING, KIND, MULTIPLIER, PARENT, PRISMATIC, VELOCITY_INDEX
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
    shared,
    topology_of,
)
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.rows import slice_vector
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
)


@helper
def add_column(J: Array, column: int, s: float, linear: Vector, angular: Vector) -> None:
    """Add s (linear, angular) to a column of J."""
    for k in range(3):
        J[k, column] += s * linear[k]
        J[3 + k, column] += s * angular[k]


@helper
def jacobian_kernel(
    topology: NDArray[np.int64], parameters: Array, body: int, point: Array, q: Array, J: Array
) -> None:
    """The Jacobian at a point fixed in a body for one state: point (3,) in the body's frame, q (nq,); fills J (6, n).

    Only the way from the body to the base counts: once for the body's axes in the world, once for the columns.
    """
    J[:, :] = 0.0
    X, R, i = per_body(topology), IDENTITY, body
    while i != BASE:
        X[i] = joint_placement(topology, parameters, i, q)
        R = compose(X[i][0], R)
        i = topology[i, PARENT]
    arm = rotate(R, slice_vector(point, 0))  # from the origin of body i to the point
    i = body
    while i != BASE:
        _add_joint(topology, parameters, i, R, arm, J)
        R_joint, p = X[i]
        R = compose_back(R, R_joint)
        arm = add(arm, rotate(R, p))
        i = topology[i, PARENT]


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


@kernel
def jacobian_batch(topology: NDArray[np.int64], parameters: Array, body: int, point: Array, q: Array, J: Array) -> None:
    """`jacobian_kernel` over rows: q (B, nq), J (B, 6, n)."""
    for b in range(q.shape[0]):
        jacobian_kernel(topology, parameters, body, point, q[b], J[b])


@helper
def refusal_of_link(arm: Array, link: int, J: Array) -> int:
    """`OK`, or why there is no such link, or J is not (6, n)."""
    if not 0 <= link < head_of(arm, LINKS):
        return NO_SUCH_LINK
    return OK if J.shape[0] == 6 and J.shape[1] == head_of(arm, COORDINATES) else WRONG_SHAPE


@kernel
def jacobian_packed(arm: Array, link: int, q: Array, J: Array) -> int:
    """Fill J (6, n) of the link of that number; otherwise as `compiled_forms`."""
    code = refusal(arm, q)
    if code == OK:
        code = refusal_of_link(arm, link, J)
    if code != OK:
        return code
    if shared(J, arm, q):
        return OVERLAPPING
    topology, parameters, body = topology_of(arm), parameters_of(arm), link_bodies_of(arm)[link]
    if body < 0:
        J[:, :] = 0.0
    else:
        jacobian_kernel(topology, parameters, body, link_frames_of(arm)[link, FRAME_POSITION:], q, J)
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
        call: Callable[..., Array] = robot.own_code["jacobian", link]
    except (AttributeError, KeyError):
        call = JACOBIAN.first_call(robot, _jacobian, link)
    return call(q)


def _jacobian(robot: RobotModel, link: str, q: ArrayLike) -> Array:
    frame = robot.link(link)
    lead, (positions,) = state_arrays(robot, q=q)
    own = JACOBIAN.own_rows(robot, (positions,), link)
    if own is not None:
        return own.reshape((*lead, 6, robot.n))
    J = np.zeros((positions.shape[0], 6, robot.n))
    if frame.body >= 0:
        jacobian_batch(robot.topology, robot.parameters, frame.body, frame.position, positions, J)
    return J.reshape((*lead, 6, robot.n))


def rows_form(kernel: Compiled, robot: RobotModel, link: str) -> RowsForm:
    """The form for rows of states of one link, of a kernel as `jacobian_batch`."""
    frame = robot.link(link)
    if frame.body < 0:
        return RowsForm(_fixed, (robot.topology, robot.parameters))
    return RowsForm(kernel, (robot.topology, robot.parameters, frame.body, frame.position))


def _fixed(*model_inputs_and_out: Array) -> None:
    """The Jacobian, and its rate, of a link fixed to the base."""
    model_inputs_and_out[-1][:] = 0.0


JACOBIAN = Declared(
    "jacobian", ("q",), (6, N), jacobian_packed, jacobian, ("link",),
    rows=partial(rows_form, jacobian_batch),
)  # fmt: skip
