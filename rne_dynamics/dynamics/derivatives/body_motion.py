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

from typing import Any, NamedTuple

from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper
from rne_dynamics.compiling.tables import per_body
from rne_dynamics.dynamics.kinematics.joint_motion import (
    axes_of,
    gear,
    joint_turns,
    place_of,
    placement_at_turn,
    unit_motion,
)
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE, KIND, PARENT, VELOCITY_INDEX
from rne_dynamics.spatial.pairs import (
    NONE,
    Pair,
    Rigid,
    into_child,
    momentum_of,
    motion_cross,
    plus,
    plus_rigid,
    rigid_seen_from_parent,
    scaled,
    slice_pair,
)
from rne_dynamics.spatial.rows import slice_vector
from rne_dynamics.spatial.vector import (
    ZERO,
    Matrix,
    Vector,
    add,
    add_matrix,
    compose,
    compose_back,
    cross,
    dot,
    rotate,
    rotate_back,
    scale,
)


class Composite(NamedTuple):
    """Moving material, about a point: (m, h, J), its momentum P = ∫ u dm, and T of `flow_of`."""

    inertia: Rigid
    P: Vector
    T: Matrix


@helper
def spatial_motions(
    topology: NDArray[Any], parameters: Array, base: Array, q: Array, qd: Array, qdd: Array
) -> tuple[Any, Any, Any, Any]:
    """By body: its placement X, the parent's V and V̇ there, its own V = (v, ω) and V̇; in its axes."""
    X, before, V, dV = per_body(topology), per_body(topology), per_body(topology), per_body(topology)
    V[BASE] = ZERO, slice_vector(base, 3)
    dV[BASE] = slice_pair(base, 6)  # with v = 0 the origin's acceleration is the spatial one
    turns = joint_turns(topology, parameters, q)
    for i in range(topology.shape[0]):
        parent, kind, iv = topology[i, PARENT], topology[i, KIND], topology[i, VELOCITY_INDEX]
        R, p = X[i] = placement_at_turn(topology, parameters, i, q, turns[i])
        motion, rate = before[i] = into_child(R, p, V[parent]), into_child(R, p, dV[parent])
        joint, joint_rate = NONE, NONE  # S q̇ and S q̈
        ratio = gear(topology, parameters, i)
        for k in range(axes_of(kind)):
            S = unit_motion(place_of(kind, k))
            joint = plus(joint, scaled(ratio * qd[iv + k], S))
            joint_rate = plus(joint_rate, scaled(ratio * qdd[iv + k], S))
        V[i] = plus(motion, joint)
        dV[i] = plus(rate, plus(motion_cross(motion, joint), joint_rate))
    return X, before, V, dV


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
def composite_of(body: Rigid, V: Pair) -> Composite:
    """A body alone that moves with V."""
    return Composite(body, momentum_of(body, V)[0], flow_of(body, V))


@helper
def with_subtree(one: Composite, R: Matrix, d: Vector, other: Composite) -> Composite:
    """`one` and the composite of a child, which is placed at (R, d), as one."""
    P, T = rotate(R, other.P), compose_back(compose(R, other.T), R)
    s = dot(d, P)  # T + (d·P) 1 − P dᵀ
    moved = (
        T[0] - P[0] * d[0] + s, T[1] - P[0] * d[1], T[2] - P[0] * d[2],
        T[3] - P[1] * d[0], T[4] - P[1] * d[1] + s, T[5] - P[1] * d[2],
        T[6] - P[2] * d[0], T[7] - P[2] * d[1], T[8] - P[2] * d[2] + s,
    )  # fmt: skip
    inertia = plus_rigid(one.inertia, rigid_seen_from_parent(R, d, other.inertia))
    return Composite(inertia, add(one.P, P), add_matrix(one.T, moved))
