"""Motion of all bodies, and the composite body behind each joint, each about its body's origin and along its axes.

The algorithms that fill a matrix for pairs of a joint and one of its ancestors (`coriolis`, `inverse_derivatives`) turn
and move a few wrenches at every joint between the two; the component along an axis there is one of their six numbers.
In straight-line code, where the axes of most joints are square to each other and most offsets have a zero, derivatives
take 63 % (UR5) to 88 % (Baxter) of the operations that common axes take, in the general kernels up to 25 % more time.
About one common point, the small inertia of an outer link would drown in the m r² of its distance (tried: it cost
iCub's forward derivatives nearly four digits).

Velocities and accelerations are spatial ones here (Featherstone, Rigid Body Dynamics Algorithms, chapter 2): (v, ω) of
the body at its origin, and the rate (v̇, ω̇) of (v, ω) of the body's material passing there: the origin's acceleration as
a point less ω × v. A uniform velocity changes no effort (Galileo), so the base's own linear velocity is left out.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper
from rne_dynamics.dynamics.kinematics.joint_axes import axes_of, gear, place_of, unit_motion
from rne_dynamics.dynamics.kinematics.joint_motion import inertia_of, placement_at_turn, put_joint_turns
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import KIND, PARENT, VELOCITY_INDEX
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.pairs import (
    NONE,
    Pair,
    add_pair,
    into_child,
    minus,
    motion_cross,
    onto_parent,
    pair_at,
    plus,
    put_pair,
    scaled,
    slice_pair,
)
from rne_dynamics.spatial.rigid import (
    RIGID_COLUMNS,
    Rigid,
    add_rigid,
    momentum_of,
    put_rigid,
    rigid_at,
    rigid_seen_from_parent,
)
from rne_dynamics.spatial.rows import matrix_at, put, put_matrix, slice_vector, vector_at
from rne_dynamics.spatial.vector import (
    ZERO,
    Matrix,
    Vector,
    add,
    compose,
    compose_back,
    cross,
    dot,
    rotate,
    rotate_back,
    scale,
)

# Columns of the work array: placement (R, p) in the parent, V = (v, ω), its rate, both of the parent at this body's
# origin in this body's axes, then V and its rate; then of the composite body behind the joint: (m, h, J), P = ∫ u dm,
# the matrix T of `flow_of`, and the wrench it needs. One row a body.
ROTATION, OFFSET, PARENT_MOTION, PARENT_RATE, MOTION, RATE, BODY, MOMENTUM, FLOW, WRENCH, WORK_COLUMNS = columns(
    9, 3, 6, 6, 6, 6, RIGID_COLUMNS, 3, 9, 6
)


@helper
def put_motions(
    topology: NDArray[Any], parameters: Array, base: Array, q: Array, qd: Array, qdd: Array, work: Array
) -> None:
    """Placement, velocity and acceleration of every body for one state; arguments as for `inverse_dynamics_kernel`."""
    put_joint_turns(topology, parameters, q, work, OFFSET)  # columns free until the offset is stored
    for i in range(topology.shape[0]):
        parent, kind, iv = topology[i, PARENT], topology[i, KIND], topology[i, VELOCITY_INDEX]
        R, p = placement_at_turn(topology, parameters, i, q, (work[i, OFFSET], work[i, OFFSET + 1]))
        if parent < 0:  # with v = 0 the origin's acceleration is the spatial one
            V, rate = (ZERO, slice_vector(base, 3)), slice_pair(base, 6)
        else:
            V, rate = pair_at(work, parent, MOTION), pair_at(work, parent, RATE)
        V, rate = into_child(R, p, V), into_child(R, p, rate)
        joint, joint_rate = NONE, NONE  # S q̇ and S q̈
        ratio = gear(topology, parameters, i)
        for k in range(axes_of(kind)):
            S = unit_motion(place_of(kind, k))
            joint = plus(joint, scaled(ratio * qd[iv + k], S))
            joint_rate = plus(joint_rate, scaled(ratio * qdd[iv + k], S))
        put_matrix(work, i, ROTATION, R)
        put(work, i, OFFSET, p)
        put_pair(work, i, PARENT_MOTION, V)
        put_pair(work, i, PARENT_RATE, rate)
        put_pair(work, i, MOTION, plus(V, joint))
        put_pair(work, i, RATE, plus(rate, plus(motion_cross(V, joint), joint_rate)))


@helper
def flow_of(body: Rigid, V: Pair) -> Matrix:
    """T = ∫ [(r·u) 1 − u rᵀ] dm, for material at r that moves with u = v + ω × r.

    Turned with Ω, this material needs the Coriolis force 2 ∫ Ω × u dm = 2 Ω × P and the moment
    2 ∫ r × (Ω × u) dm = 2 T Ω. Where the literature has the 6×6 matrix B (Echeandia and Wensing 2021; Singh, Russell
    and Wensing 2022), only these 3 + 9 numbers are not zero, and they add up over bodies.
    """
    (_, h, inertia), (v, w) = body, V
    half = 0.5 * (inertia[0] + inertia[3] + inertia[5])
    # columns of Σ = ∫ r rᵀ dm = ½ tr(J) 1 − J, each turned by ω: ∫ u rᵀ dm = v hᵀ + ω̃ Σ
    a = cross(w, (half - inertia[0], -inertia[1], -inertia[2]))
    b = cross(w, (-inertia[1], half - inertia[3], -inertia[4]))
    c = cross(w, (-inertia[2], -inertia[4], half - inertia[5]))
    a, b, c = add(a, scale(h[0], v)), add(b, scale(h[1], v)), add(c, scale(h[2], v))
    trace = a[0] + b[1] + c[2]
    return trace - a[0], -b[0], -c[0], -a[1], trace - b[1], -c[1], -a[2], -b[2], trace - c[2]


@helper
def flow_times(P: Vector, T: Matrix, S: Pair) -> Pair:
    """B S, half of the Coriolis wrench on material of momentum P and flow T that is turned with S."""
    return cross(S[1], P), rotate(T, S[1])


@helper
def flow_back(P: Vector, T: Matrix, S: Pair) -> Vector:
    """Bᵀ S, which has an angular part only."""
    return add(cross(P, S[0]), rotate_back(T, S[1]))


@helper
def put_body(parameters: Array, i: int, work: Array) -> None:
    """(m, h, J), P and T of body i alone."""
    V, body = pair_at(work, i, MOTION), inertia_of(parameters, i)
    put_rigid(work, i, BODY, body)
    put(work, i, MOMENTUM, momentum_of(body, V)[0])
    put_matrix(work, i, FLOW, flow_of(body, V))


@helper
def composite_at(work: Array, i: int) -> tuple[Rigid, Vector, Matrix]:
    """(m, h, J), P and T that `put_body` stored, with all that `add_to_parent` added."""
    return rigid_at(work, i, BODY), vector_at(work, i, MOMENTUM), matrix_at(work, i, FLOW)


@helper
def put_force(wrenches: Array, i: int, work: Array) -> None:
    """The wrench that body i needs to move as it does, I a + B V, less its external load, after `put_body`."""
    body, P, T = composite_at(work, i)
    F = plus(momentum_of(body, pair_at(work, i, RATE)), flow_times(P, T, pair_at(work, i, MOTION)))
    if wrenches.shape[0] > 0:
        F = minus(F, pair_at(wrenches, i, 0))
    put_pair(work, i, WRENCH, F)


@helper
def add_to_parent(parent: int, i: int, work: Array) -> None:
    """Add the composite body behind joint i to its parent's."""
    R, d = matrix_at(work, i, ROTATION), vector_at(work, i, OFFSET)
    body, P, T = composite_at(work, i)
    add_rigid(work, parent, BODY, rigid_seen_from_parent(R, d, body))
    P, T = rotate(R, P), compose_back(compose(R, T), R)
    put(work, parent, MOMENTUM, add(vector_at(work, parent, MOMENTUM), P))
    # T + (d·P) 1 − P dᵀ
    trace = dot(d, P)
    for k in range(3):
        for c in range(3):
            work[parent, FLOW + 3 * k + c] += T[3 * k + c] - P[k] * d[c]
        work[parent, FLOW + 4 * k] += trace


@helper
def add_force_to_parent(parent: int, i: int, work: Array) -> None:
    """Add the wrench that joint i transmits to its parent's."""
    F = onto_parent(matrix_at(work, i, ROTATION), vector_at(work, i, OFFSET), pair_at(work, i, WRENCH))
    add_pair(work, parent, WRENCH, F)
