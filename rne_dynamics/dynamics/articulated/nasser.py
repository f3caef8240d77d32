"""O(n) forward dynamics in Nasser's formulation (document 000).

The inbound pass reduces the subtree behind each joint to A* and B*, with the joint's own acceleration eliminated
(G = L⁻¹ in closed form, since L differs from the identity in one column only); the outbound pass starts from
the prescribed base motion and finds the accelerations. Revolute and prismatic joints, trees, actuator inertia
J^a, external loads. Equation numbers are the document's. One difference: each link works in a frame that moves
with it instead of the frame i − 1, so that its inertia stays constant.

The document lets a control force f_i^c and torque n_i^c of any direction act at joint i: on link i at its proximal
joint, and reversed on link i − 1 at its distal one (2.1.2), (2.1.5.3). Five of the six components only
change the reaction and not the motion, because the unknowns of (2.1.7.1) and (2.2.3)
are the five reaction components and q̈, and Zᵀ G F keeps of (f, n) the component along the axis only. That component
is `tau`, and so `tau` is all the control there is.

A floating joint, which the document does not have, transmits its actuators' effort and nothing else: its own
six accelerations follow from A* alone. Mimic joints it does not have either (`forward_dynamics.FORWARD_DYNAMICS`).
"""

from __future__ import annotations

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.compiling.tables import per_body
from rne_dynamics.dynamics.articulated.articulated import (
    SINGULAR,
    is_singular,
    minus_outer,
    of_rigid_body,
    on_axis,
    on_joint,
    on_linear,
    plus_articulated,
    seen_from_parent,
    size_along,
    solve,
)
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.kinematics.joint_motion import (
    along,
    inertia_of,
    joint_speed,
    joint_turns,
    placement_at_turn,
    plus_along,
)
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE, FLOATING, KIND, PARENT, ROTOR, VELOCITY_INDEX
from rne_dynamics.spatial.pairs import (
    gyroscopic,
    into_child,
    minus,
    minus_load,
    onto_parent,
    plus,
    power,
    put_slice_pair,
    scaled,
    slice_pair,
)
from rne_dynamics.spatial.rows import slice_vector
from rne_dynamics.spatial.vector import add, cross, rotate_back


@kernel
def nasser_kernel(arm: Arm, q: Array, qd: Array, tau: Array, qdd: Array) -> int:
    """Fill `qdd` (n,) for one state, without mimic joints; −1, or the number of a body whose joint moves no inertia."""
    topology, parameters, base, loads = arm
    bodies = topology.shape[0]
    X, w, sigma, kappa = per_body(topology), per_body(topology), per_body(topology), per_body(topology)
    A, B, AZ = per_body(topology), per_body(topology), per_body(topology)
    u, d, a = per_body(topology), per_body(topology), per_body(topology)
    w[BASE], a[BASE] = slice_vector(base, 3), slice_pair(base, 6)
    turns = joint_turns(topology, parameters, q)
    for i in range(bodies):
        turning, body = w[topology[i, PARENT]], inertia_of(parameters, i)
        R, p = X[i] = placement_at_turn(topology, parameters, i, q, turns[i])
        w[i], sigma[i] = joint_speed(topology, parameters, i, qd, rotate_back(R, turning))
        kappa[i] = rotate_back(R, cross(turning, cross(turning, p)))  # the centripetal part of σ*
        A[i] = of_rigid_body(body)
        B[i] = minus_load(gyroscopic(body, w[i]), loads, i)  # β, β* of (2.1.3.2), (2.1.6.2) without accelerations
    for i in range(bodies - 1, -1, -1):
        parent, kind, iv, (R, p) = topology[i, PARENT], topology[i, KIND], topology[i, VELOCITY_INDEX], X[i]
        if kind == FLOATING:
            if is_singular(A[i]):
                return i
            if parent != BASE:  # the reaction is the actuators' effort, whatever the motion
                B[parent] = plus(B[parent], onto_parent(R, p, slice_pair(tau, iv)))
            continue
        AZ[i] = on_axis(A[i], kind)
        with_joint = plus(B[i], on_joint(A[i], kind, sigma[i]))  # B* + A* σ*
        d[i] = along(kind, AZ[i]) + parameters[i, ROTOR]  # −L's joint column of (2.1.19.1), with the actuator's J^a
        if not d[i] > SINGULAR * size_along(A[i], kind):
            return i
        u[i] = tau[iv] - along(kind, with_joint)
        if parent != BASE:
            GA = minus_outer(A[i], AZ[i], 1.0 / d[i])  # γ G A*
            GB = plus(plus(with_joint, on_linear(GA, kappa[i])), scaled(u[i] / d[i], AZ[i]))  # γ G B* + γ G A* κ
            A[parent] = plus_articulated(A[parent], seen_from_parent(R, p, GA))  # (2.1.19.3), (2.1.19.4), (2.3.3)
            B[parent] = plus(B[parent], onto_parent(R, p, GB))  # (2.1.19.5)–(2.1.19.7), (2.3.4)
    for i in range(bodies):
        kind, iv, (R, p) = topology[i, KIND], topology[i, VELOCITY_INDEX], X[i]
        dv, dw = into_child(R, p, a[topology[i, PARENT]])
        before = add(dv, kappa[i]), dw
        if kind == FLOATING:
            a[i] = solve(A[i], minus(slice_pair(tau, iv), B[i]))
            put_slice_pair(qdd, iv, minus(minus(a[i], before), sigma[i]))
        else:
            qdd[iv] = (u[i] - power(AZ[i], before)) / d[i]  # (2.1.20): q̈ = Zᵀ G F
            a[i] = plus(before, plus_along(kind, sigma[i], qdd[iv]))  # (2.1.13)
    return -1
