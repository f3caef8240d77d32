"""Pose and motion of all bodies in the world, the base at rest: one recursion from the base to the tips."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.dynamics.declared.specialised import Output, RowsForm, own_rows, recipe_of
from rne_dynamics.dynamics.kinematics.joint_motion import placement_at_turn, put_joint_turns
from rne_dynamics.dynamics.kinematics.kinematics import POSE_COLUMNS, POSITION, ROTATION
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, MULTIPLIER, PARENT, PRISMATIC, VELOCITY_INDEX
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.pairs import (
    NONE,
    Pair,
    acceleration_at,
    motion_at,
    pair_at,
    plus,
    put_pair,
    slice_pair,
    turned,
)
from rne_dynamics.spatial.rows import matrix_at, put, put_matrix, vector_at
from rne_dynamics.spatial.vector import ZERO, Matrix, add, column, compose, cross, rotate, scale
from rne_dynamics.straight_line.recipe import Recipe

# columns, one row a body, all in world axes: the pose as in `kinematics`, (v, ω), and (v̇, ω̇) at q̈ = 0
_, VELOCITY, DRIFT, DRIFT_COLUMNS = columns(POSE_COLUMNS, 6, 6)
#: Columns without the accelerations.
WORK_COLUMNS = DRIFT
#: Where the velocity of the origin and the angular velocity are.
LINEAR, ANGULAR = slice(VELOCITY, VELOCITY + 3), slice(VELOCITY + 3, DRIFT)


@helper
def _joint_velocity(topology: NDArray[np.int64], parameters: Array, i: int, qd: Array, R: Matrix) -> Pair:
    """Velocity of body i, whose axes are R, relative to its parent."""
    kind = topology[i, KIND]
    iv = topology[i, VELOCITY_INDEX]
    if kind == FLOATING:
        return turned(R, slice_pair(qd, iv))
    axis = scale(parameters[i, MULTIPLIER] * qd[iv], column(R, 2))
    return (axis, ZERO) if kind == PRISMATIC else (ZERO, axis)


@helper
def world_motion(
    topology: NDArray[np.int64], parameters: Array, q: Array, qd: Array, work: Array, drift: Any
) -> None:
    """Fill pose and (v, ω) of every body, and (v̇, ω̇) at q̈ = 0 unless `drift` is None.

    `work` has a row for each body, of WORK_COLUMNS or DRIFT_COLUMNS. numba leaves out what None excludes.
    """
    put_joint_turns(topology, parameters, q, work, POSITION)  # columns free until the position is stored
    for i in range(topology.shape[0]):
        parent = topology[i, PARENT]
        R, d = placement_at_turn(topology, parameters, i, q, (work[i, POSITION], work[i, POSITION + 1]))
        p, V = d, NONE
        if parent >= 0:
            R_parent = matrix_at(work, parent, ROTATION)
            R, d = compose(R_parent, R), rotate(R_parent, d)
            p = add(vector_at(work, parent, POSITION), d)
            V = motion_at(pair_at(work, parent, VELOCITY), d)
        joint = _joint_velocity(topology, parameters, i, qd, R)
        if drift is not None:
            a, w = NONE, V[1]
            if parent >= 0:
                a = acceleration_at(pair_at(work, parent, DRIFT), w, d)
            coriolis = cross(add(scale(2.0, w), joint[1]), joint[0]), cross(w, joint[1])
            put_pair(work, i, DRIFT, plus(a, coriolis))
        put_matrix(work, i, ROTATION, R)
        put(work, i, POSITION, p)
        put_pair(work, i, VELOCITY, plus(V, joint))


@helper
def body_motions_kernel(topology: NDArray[np.int64], parameters: Array, q: Array, qd: Array, work: Array) -> None:
    """Pose, velocity of the origin and angular velocity of every body in world axes; work (bodies, WORK_COLUMNS)."""
    world_motion(topology, parameters, q, qd, work, None)


@kernel
def body_motions_batch(topology: NDArray[np.int64], parameters: Array, q: Array, qd: Array, work: Array) -> None:
    """`body_motions_kernel` over rows: q (B, nq), qd (B, n), work (B, bodies, WORK_COLUMNS)."""
    for b in range(q.shape[0]):
        body_motions_kernel(topology, parameters, q[b], qd[b], work[b])


def body_motions(robot: RobotModel, q: Array, qd: Array) -> Array:
    """What `body_motions_kernel` computes, of checked rows; (B, bodies, WORK_COLUMNS)."""
    shape, model = (robot.bodies, WORK_COLUMNS), (robot.topology, robot.parameters)

    def recipe() -> Recipe:
        output = Output("body motions", ("q", "qd"), shape, 0)
        return recipe_of(output, RowsForm(body_motions_batch, model), robot, None)

    own = own_rows(robot, "body motions", recipe, (q, qd), shape)
    if own is not None:
        return own
    out = np.empty((len(q), *shape))
    body_motions_batch(*model, q, qd, out)
    return out
