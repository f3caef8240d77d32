"""Pose and motion of all bodies in the world, the base at rest: one recursion from the base to the tips."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.compiling.tables import per_body
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.declared.forms import BODIES
from rne_dynamics.dynamics.declared.quantity import Quantity
from rne_dynamics.dynamics.kinematics.joint_motion import joint_turns, placement_at_turn
from rne_dynamics.dynamics.kinematics.kinematics import POSE_COLUMNS, put_pose
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE, FLOATING, KIND, MULTIPLIER, PARENT, PRISMATIC, VELOCITY_INDEX, columns
from rne_dynamics.spatial.pairs import (
    NONE,
    Pair,
    acceleration_at,
    motion_at,
    plus,
    put_pair,
    slice_pair,
    turned,
)
from rne_dynamics.spatial.vector import IDENTITY, ZERO, Matrix, add, column, compose, cross, rotate, scale

# columns, one row a body, all in world axes: the pose as in `kinematics`, and (v, ω)
_, VELOCITY, WORK_COLUMNS = columns(POSE_COLUMNS, 6)
#: Where the velocity of the origin and the angular velocity are.
LINEAR, ANGULAR = slice(VELOCITY, VELOCITY + 3), slice(VELOCITY + 3, WORK_COLUMNS)


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
        before, joint = motion_at(V[parent], d), _joint_velocity(topology, parameters, i, qd, R)
        X[i] = R, add(p_parent, d)
        V[i] = plus(before, joint)
        if drift is not None:
            w = before[1]
            coriolis = cross(add(scale(2.0, w), joint[1]), joint[0]), cross(w, joint[1])
            a[i] = plus(acceleration_at(a[parent], w, d), coriolis)
    return X, V, a


@kernel
def _body_motions(arm: Arm, q: Array, qd: Array, out: Array) -> None:
    """Pose and (v, ω) of every body, of one state; out (bodies, WORK_COLUMNS)."""
    X, V, _ = motions_in_world(arm.topology, arm.parameters, q, qd, None)
    for i in range(out.shape[0]):
        put_pose(out, i, X[i])
        put_pair(out, i, VELOCITY, V[i])


BODY_MOTIONS = Quantity("body_motions", _body_motions, ("q", "qd"), (BODIES, WORK_COLUMNS), every_mass=True)
