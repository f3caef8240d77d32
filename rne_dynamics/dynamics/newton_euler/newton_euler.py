"""Inverse dynamics by the recursive Newton–Euler method, O(n).

The outward pass computes the motion of every body, the inward pass the wrenches. Each body works in its own
frame at its own joint, whose z is the joint axis. Accelerations are those of the frame's origin as a point
(not Featherstone's spatial ones), as in documents 000 and 001 (seeds); the equations are (A.2.5), (2.1.13),
(2.1.1) and (2.1.5) of document 000 written for known joint accelerations, with (2.2.x) for prismatic joints.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.compiling.tables import per_body
from rne_dynamics.dynamics.declared.arguments import Wrenches
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.declared.base_motion import BaseMotion
from rne_dynamics.dynamics.declared.forms import N
from rne_dynamics.dynamics.declared.quantity import Quantity
from rne_dynamics.dynamics.kinematics.joint_motion import (
    inertia_of,
    joint_acceleration,
    joint_speed,
    joint_turns,
    placement_at_turn,
    put_efforts,
)
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE, PARENT
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.pairs import (
    acceleration_at,
    inertial_wrench,
    minus_load,
    onto_parent,
    plus,
    slice_pair,
    turned_back,
)
from rne_dynamics.spatial.rows import slice_vector
from rne_dynamics.spatial.vector import rotate_back


@helper
def body_wrenches(arm: Arm, q: Array, qd: Array, qdd: Array) -> tuple[Any, Any, Any, Any]:
    """By body: placement X in its parent, motion ω and a = (v̇ − g, ω̇), and the reaction F at its joint."""
    topology, parameters, base, loads = arm
    X, w, a, F = per_body(topology), per_body(topology), per_body(topology), per_body(topology)
    w[BASE], a[BASE] = slice_vector(base, 3), slice_pair(base, 6)
    turns = joint_turns(topology, parameters, q)
    for i in range(topology.shape[0]):
        parent = topology[i, PARENT]
        R, p = X[i] = placement_at_turn(topology, parameters, i, q, turns[i])
        before = turned_back(R, acceleration_at(a[parent], w[parent], p))  # (2.1.13)
        w[i], sigma = joint_speed(topology, parameters, i, qd, rotate_back(R, w[parent]))
        a[i] = joint_acceleration(topology, parameters, i, qdd, before, sigma)
        F[i] = minus_load(inertial_wrench(inertia_of(parameters, i), w[i], a[i]), loads, i)  # (2.1.1), (2.1.5)
    for i in range(topology.shape[0] - 1, -1, -1):
        parent, (R, p) = topology[i, PARENT], X[i]
        if parent != BASE:
            F[parent] = plus(F[parent], onto_parent(R, p, F[i]))  # (2.1.2), (2.1.5.2)
    return X, w, a, F


@kernel
def inverse_dynamics_kernel(arm: Arm, q: Array, qd: Array, qdd: Array, tau: Array) -> None:
    """Joint efforts for one state: q (nq,), qd, qdd (n,); fills tau (n,)."""
    _, _, _, F = body_wrenches(arm, q, qd, qdd)
    put_efforts(arm.topology, arm.parameters, F, qdd, tau)


@kernel
def bias_torque_kernel(arm: Arm, q: Array, qd: Array, tau: Array) -> None:
    """`inverse_dynamics_kernel` at zero acceleration."""
    inverse_dynamics_kernel(arm, q, qd, np.zeros(tau.shape[0]), tau)


INVERSE_DYNAMICS = Quantity(
    "inverse_dynamics", inverse_dynamics_kernel, ("q", "qd", "qdd"), (N,), base_motion=True
)
BIAS_TORQUE = Quantity("bias_torque", bias_torque_kernel, ("q", "qd"), (N,))


@INVERSE_DYNAMICS.public
def inverse_dynamics(
    robot: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
) -> Array:
    """Efforts of an open arm that give the accelerations `qdd`; as `rne_dynamics.inverse_dynamics`."""
    if wrenches is None and base_motion is None:
        return INVERSE_DYNAMICS.of(robot)(q, qd, qdd)
    return INVERSE_DYNAMICS.answer(robot, q, qd, qdd, wrenches=wrenches, base_motion=base_motion)


@BIAS_TORQUE.public
def bias_torque(robot: RobotModel, q: ArrayLike, qd: ArrayLike) -> Array:
    """Efforts c(q, q̇) + g(q) of an open arm; as `rne_dynamics.bias_torque`."""
    return BIAS_TORQUE.of(robot)(q, qd)
