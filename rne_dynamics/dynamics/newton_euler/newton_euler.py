"""Inverse dynamics by the recursive Newton–Euler method, O(n); gravity torque and generalised momentum likewise.

The outward pass computes the motion of every body, the inward pass the wrenches. Each body works in its own frame at
its own joint, whose z is the joint axis. Accelerations are those of the frame's origin as a point (not Featherstone's
spatial ones), as in documents 000 and 001 (seeds); the equations are (A.2.5), (2.1.13), (2.1.1) and (2.1.5) of document
000 written for known joint accelerations, with (2.2.x) for prismatic joints.

Gravity torque: at rest the recursion needs only mass and first moment of the subtree behind each joint. The force on
body i is −(composite mass) g, its moment about the joint −(composite m·c) × g.

Generalised momentum and the known part of its rate, with a bound by the bodies' own efforts, O(n depth): with T(q, q̇)
the kinetic energy, p = ∂T/∂q̇ = M q̇ and ṗ = τ + ∂T/∂q − g + τ_ext, where ∂T/∂q = Cᵀ q̇ for the Coriolis matrix of
Christoffel symbols. By joints, with motion V of body i and momentum H of all that it moves: p_i = Sᵀ H and ∂T/∂q_i = H
· (V × S).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.compiling.plain import per_body
from rne_dynamics.dynamics.declared.arguments import Arm, BaseMotion, Wrenches
from rne_dynamics.dynamics.declared.quantity import N, Quantity
from rne_dynamics.dynamics.derivatives.inverse_derivatives import spatial_motions
from rne_dynamics.dynamics.kinematics.joint_motion import (
    along,
    inertia_of,
    joint_acceleration,
    joint_speed,
    joint_turns,
    placement_at_turn,
    plus_along,
    put_efforts,
)
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
    ROTOR,
    VELOCITY_INDEX,
)
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.pairs import (
    NONE,
    acceleration_at,
    inertial_wrench,
    minus_load,
    momentum_of,
    motion_cross,
    onto_parent,
    plus,
    power,
    put_slice_pair,
    slice_pair,
    turned_back,
)
from rne_dynamics.spatial.rows import slice_vector, vector_at
from rne_dynamics.spatial.vector import ZERO, add, cross, rotate, rotate_back, scale


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


#: Rows that the kernel fills.
MOMENTUM, DRIFT, WEIGHT, OWN, MOMENTUM_ROWS = range(5)


@kernel
def momentum_terms_kernel(arm: Arm, q: Array, qd: Array, qdd: Array, rows: Array) -> None:
    """p, Cᵀq̇, g and Σ |effort of one body|, the last with q̈, into `rows` (4, n); of an arm on a base at rest."""
    topology, parameters, base, _ = arm
    X, _, V, dV = spatial_motions(topology, parameters, base, q, qd, qdd)
    H, F, weight, up = per_body(topology), per_body(topology), per_body(topology), per_body(topology)
    up[BASE] = slice_vector(base, 6)  # −g
    rows[:] = 0.0
    for i in range(topology.shape[0]):
        (R, _), (v, w), (dv, dw), body = X[i], V[i], dV[i], inertia_of(parameters, i)
        up[i] = rotate_back(R, up[topology[i, PARENT]])
        H[i] = momentum_of(body, V[i])
        F[i] = inertial_wrench(body, w, (add(dv, cross(w, v)), dw))  # of the origin's acceleration as a point
        weight[i] = inertial_wrench(body, ZERO, (up[i], ZERO))
    for i in range(topology.shape[0] - 1, -1, -1):
        parent, kind, iv = topology[i, PARENT], topology[i, KIND], topology[i, VELOCITY_INDEX]
        k = parameters[i, MULTIPLIER]
        axis = plus_along(kind, NONE, 1.0)
        rows[MOMENTUM, iv] += k * (along(kind, H[i]) + parameters[i, ROTOR] * k * qd[iv])
        rows[DRIFT, iv] += k * power(H[i], motion_cross(V[i], axis))
        rows[WEIGHT, iv] += k * along(kind, weight[i])
        if parent != BASE:
            R, p = X[i]
            H[parent] = plus(H[parent], onto_parent(R, p, H[i]))
            weight[parent] = plus(weight[parent], onto_parent(R, p, weight[i]))
        own, j = F[i], i
        while j != BASE:
            rows[OWN, topology[j, VELOCITY_INDEX]] += abs(parameters[j, MULTIPLIER] * along(topology[j, KIND], own))
            R, p = X[j]
            own = onto_parent(R, p, own)
            j = topology[j, PARENT]
