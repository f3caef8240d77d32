"""Generalised momentum and the known part of its rate, O(n), with a bound by the bodies' own efforts, O(n depth).

With T(q, q̇) the kinetic energy, p = ∂T/∂q̇ = M q̇ and ṗ = τ + ∂T/∂q − g + τ_ext, where ∂T/∂q = Cᵀ q̇ for the Coriolis
matrix of Christoffel symbols. By joints, with motion V of body i and momentum H of all that it moves:
p_i = Sᵀ H and ∂T/∂q_i = H · (V × S).
"""

from __future__ import annotations

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.compiling.tables import per_body
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.kinematics.joint_motion import (
    along,
    inertia_of,
    joint_acceleration,
    joint_speed,
    joint_turns,
    placement_at_turn,
    plus_along,
)
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE, KIND, MULTIPLIER, PARENT, ROTOR, VELOCITY_INDEX
from rne_dynamics.spatial.pairs import (
    NONE,
    acceleration_at,
    inertial_wrench,
    into_child,
    momentum_of,
    motion_cross,
    onto_parent,
    plus,
    power,
    slice_pair,
    turned_back,
)
from rne_dynamics.spatial.rows import slice_vector
from rne_dynamics.spatial.vector import ZERO, rotate_back

#: Rows that the kernel fills.
MOMENTUM, DRIFT, WEIGHT, OWN, MOMENTUM_ROWS = range(5)


@kernel
def momentum_terms_kernel(arm: Arm, q: Array, qd: Array, qdd: Array, rows: Array) -> None:
    """p, Cᵀq̇, g and Σ |effort of one body|, the last with q̈, into `rows` (4, n); of an arm on a base at rest."""
    topology, parameters, base, _ = arm
    X, V, H = per_body(topology), per_body(topology), per_body(topology)
    a, F, weight = per_body(topology), per_body(topology), per_body(topology)
    V[BASE], a[BASE] = NONE, slice_pair(base, 6)
    rows[:] = 0.0
    turns = joint_turns(topology, parameters, q)
    up = per_body(topology)
    up[BASE] = slice_vector(base, 6)  # −g
    for i in range(topology.shape[0]):
        parent, kind = topology[i, PARENT], topology[i, KIND]
        R, p = X[i] = placement_at_turn(topology, parameters, i, q, turns[i])
        rate = parameters[i, MULTIPLIER] * qd[topology[i, VELOCITY_INDEX]]
        V[i] = plus_along(kind, into_child(R, p, V[parent]), rate)
        up[i] = rotate_back(R, up[parent])
        before = turned_back(R, acceleration_at(a[parent], V[parent][1], p))
        w, sigma = joint_speed(topology, parameters, i, qd, rotate_back(R, V[parent][1]))
        a[i] = joint_acceleration(topology, parameters, i, qdd, before, sigma)
        body = inertia_of(parameters, i)
        H[i] = momentum_of(body, V[i])
        F[i] = inertial_wrench(body, w, a[i])
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
