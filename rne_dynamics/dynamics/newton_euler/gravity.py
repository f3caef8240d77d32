"""Efforts that hold the arm still against gravity, O(n).

At rest the recursion of `newton_euler` needs only mass and first moment of the subtree behind each joint: the
force on body i is −(composite mass) g, its moment about the joint −(composite m·c) × g.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.compiling.tables import per_body
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.declared.forms import N
from rne_dynamics.dynamics.declared.quantity import Quantity
from rne_dynamics.dynamics.kinematics.joint_motion import joint_turns, placement_at_turn
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import (
    BASE,
    FLOATING,
    KIND,
    MASS,
    MOMENT,
    MULTIPLIER,
    PARENT,
    PRISMATIC,
    VELOCITY_INDEX,
)
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.pairs import put_slice_pair
from rne_dynamics.spatial.rows import slice_vector, vector_at
from rne_dynamics.spatial.vector import add, cross, rotate, rotate_back, scale


@kernel
def gravity_torque_kernel(arm: Arm, q: Array, tau: Array) -> None:
    """Gravity efforts for one state: q (nq,); fills tau (n,)."""
    topology, parameters, base, _ = arm
    X, up, m, h = per_body(topology), per_body(topology), per_body(topology), per_body(topology)
    up[BASE] = slice_vector(base, 6)  # −g
    tau[:] = 0.0
    turns = joint_turns(topology, parameters, q)
    for i in range(topology.shape[0]):
        R, _ = X[i] = placement_at_turn(topology, parameters, i, q, turns[i])
        up[i] = rotate_back(R, up[topology[i, PARENT]])
        m[i], h[i] = parameters[i, MASS], vector_at(parameters, i, MOMENT)
    for i in range(topology.shape[0] - 1, -1, -1):
        parent, kind, iv = topology[i, PARENT], topology[i, KIND], topology[i, VELOCITY_INDEX]
        force, moment = scale(m[i], up[i]), cross(h[i], up[i])
        if kind == FLOATING:
            put_slice_pair(tau, iv, (force, moment))
        else:
            tau[iv] += parameters[i, MULTIPLIER] * (force[2] if kind == PRISMATIC else moment[2])
        if parent != BASE:  # a floating body's weight too acts on its parent, on which its actuators are
            R, p = X[i]
            m[parent], h[parent] = m[parent] + m[i], add(h[parent], add(rotate(R, h[i]), scale(m[i], p)))


GRAVITY_TORQUE = Quantity("gravity_torque", gravity_torque_kernel, ("q",), (N,))


@GRAVITY_TORQUE.public
def gravity_torque(robot: RobotModel, q: ArrayLike) -> Array:
    """Efforts g(q) that hold an open arm at rest; as `rne_dynamics.gravity_torque`."""
    return GRAVITY_TORQUE.of(robot)(q)
