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

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import in_place_helper, in_place_kernel
from rne_dynamics.dynamics.articulated.articulated import (
    ARTICULATED_COLUMNS,
    SINGULAR,
    add_articulated,
    articulated_at,
    is_singular,
    minus_outer,
    of_rigid_body,
    on_axis,
    on_joint,
    on_linear,
    put_articulated,
    seen_from_parent,
    size_along,
    solve,
)
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.kinematics.joint_motion import (
    along,
    inertia_of,
    joint_speed,
    placement_at_turn,
    plus_along,
    put_joint_turns,
)
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, PARENT, ROTOR, VELOCITY_INDEX
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.pairs import (
    add_pair,
    into_child,
    minus,
    onto_parent,
    pair_at,
    plus,
    power,
    put_pair,
    scaled,
    slice_pair,
)
from rne_dynamics.spatial.rigid import gyroscopic
from rne_dynamics.spatial.rows import matrix_at, put, put_matrix, slice_vector, vector_at
from rne_dynamics.spatial.vector import add, cross, rotate_back

# columns of the work array, one row a body: R, p, ω; σ*, as the joint's part and the centripetal one κ; A*, B*; A* Z,
# what is left of the effort, the effective inertia; a = (v̇, ω̇)
_R, _P, _W, _SIGMA, _KAPPA, _A, _B, _AZ, _U, _D, _MOTION, WORK_COLUMNS = columns(
    9, 3, 3, 6, 3, ARTICULATED_COLUMNS, 6, 6, 1, 1, 6
)


@in_place_helper
def _links(
    topology: NDArray[np.int64], parameters: Array, base: Array, q: Array, qd: Array, wrenches: Array, work: Array
) -> None:
    """R, p, ω, σ*, A and B of every link by itself, from the base to the free ends."""
    put_joint_turns(topology, parameters, q, work, _KAPPA)  # columns free until κ is stored
    for i in range(topology.shape[0]):
        parent = topology[i, PARENT]
        R, p = placement_at_turn(topology, parameters, i, q, (work[i, _KAPPA], work[i, _KAPPA + 1]))
        w_parent = slice_vector(base, 3) if parent < 0 else vector_at(work, parent, _W)
        w, sigma = joint_speed(topology, parameters, i, qd, rotate_back(R, w_parent))
        body = inertia_of(parameters, i)
        B = gyroscopic(body, w)  # β and β* of (2.1.3.2), (2.1.6.2) with all accelerations zero
        if wrenches.shape[0] > 0:
            B = minus(B, pair_at(wrenches, i, 0))
        put_matrix(work, i, _R, R)
        put(work, i, _P, p)
        put(work, i, _W, w)
        put_pair(work, i, _SIGMA, sigma)
        put(work, i, _KAPPA, rotate_back(R, cross(w_parent, cross(w_parent, p))))
        put_articulated(work, i, _A, of_rigid_body(body))
        put_pair(work, i, _B, B)


@in_place_helper
def _inbound(topology: NDArray[np.int64], parameters: Array, tau: Array, work: Array) -> int:
    """A* and B* of every link from the free ends to the base; −1, or the body whose motion has no inertia."""
    for i in range(topology.shape[0] - 1, -1, -1):
        parent = topology[i, PARENT]
        kind = topology[i, KIND]
        iv = topology[i, VELOCITY_INDEX]
        A, B = articulated_at(work, i, _A), pair_at(work, i, _B)
        if kind == FLOATING:
            if is_singular(A):
                return i
            if parent >= 0:  # the reaction is the actuators' effort, whatever the motion
                R, p = matrix_at(work, i, _R), vector_at(work, i, _P)
                add_pair(work, parent, _B, onto_parent(R, p, slice_pair(tau, iv)))
            continue
        AZ = on_axis(A, kind)
        B = plus(B, on_joint(A, kind, pair_at(work, i, _SIGMA)))  # B* + A* σ*
        d = along(kind, AZ) + parameters[i, ROTOR]  # −L's joint column of (2.1.19.1), the actuator's J^a included
        if not d > SINGULAR * size_along(A, kind):
            return i
        u = tau[iv] - along(kind, B)
        put_pair(work, i, _AZ, AZ)
        work[i, _U], work[i, _D] = u, d
        if parent >= 0:
            R, p = matrix_at(work, i, _R), vector_at(work, i, _P)
            GA = minus_outer(A, AZ, 1.0 / d)  # γ G A*
            GB = plus(plus(B, on_linear(GA, vector_at(work, i, _KAPPA))), scaled(u / d, AZ))  # γ G B* + γ G A* κ
            add_articulated(work, parent, _A, seen_from_parent(R, p, GA))  # (2.1.19.3), (2.1.19.4), (2.3.3)
            add_pair(work, parent, _B, onto_parent(R, p, GB))  # (2.1.19.5)–(2.1.19.7), (2.3.4)
    return -1


@in_place_kernel
def nasser_kernel(arm: Arm, q: Array, qd: Array, tau: Array, qdd: Array) -> int:
    """Joint accelerations for one state, without mimic joints; `arm.work` is (bodies, WORK_COLUMNS).

    Fills `qdd` (n,) from q (nq,), qd and tau (n,). Returns −1, or the number of the body whose joint moves no inertia
    (then `qdd` is not filled).
    """
    topology, parameters, base, wrenches, work = arm
    _links(topology, parameters, base, q, qd, wrenches, work)
    singular = _inbound(topology, parameters, tau, work)
    if singular >= 0:
        return singular
    for i in range(topology.shape[0]):
        parent = topology[i, PARENT]
        kind = topology[i, KIND]
        iv = topology[i, VELOCITY_INDEX]
        R, p, sigma = matrix_at(work, i, _R), vector_at(work, i, _P), pair_at(work, i, _SIGMA)
        dv, dw = into_child(R, p, slice_pair(base, 6) if parent < 0 else pair_at(work, parent, _MOTION))
        a = add(dv, vector_at(work, i, _KAPPA)), dw
        if kind == FLOATING:
            moved = solve(articulated_at(work, i, _A), minus(slice_pair(tau, iv), pair_at(work, i, _B)))
            put_pair(work, i, _MOTION, moved)
            v, w = minus(minus(moved, a), sigma)
            for k in range(3):
                qdd[iv + k], qdd[iv + 3 + k] = v[k], w[k]
        else:
            acceleration = (work[i, _U] - power(pair_at(work, i, _AZ), a)) / work[i, _D]  # (2.1.20): q̈ = Zᵀ G F
            qdd[iv] = acceleration
            put_pair(work, i, _MOTION, plus(a, plus_along(kind, sigma, acceleration)))  # (2.1.13)
    return -1
