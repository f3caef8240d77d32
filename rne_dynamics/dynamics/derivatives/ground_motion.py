"""Motion of all bodies along the root link's axes, and the composite body behind each joint.

The algorithms that fill a matrix (`coriolis`, `inverse_derivatives`, `regressor`) need every pair of a joint and
one of its ancestors. With all vectors along the same axes a pair costs a few dot and cross products and no rotation.
Each body keeps its own origin as reference point, though: about one common point, the small inertia of an
outer link would drown in the m r² of its distance (tried: it cost iCub's forward derivatives nearly four digits).

Velocities and accelerations are spatial ones here (Featherstone, Rigid Body Dynamics Algorithms, chapter 2): (v, ω) of
the body at its origin, and the rate (v̇, ω̇) of (v, ω) of the body's material passing there: the origin's acceleration as
a point less ω × v. A uniform velocity changes no effort (Galileo), so the base's own linear velocity is left out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, in_place_helper
from rne_dynamics.dynamics.declared.arm import Workspace
from rne_dynamics.dynamics.kinematics.joint_motion import inertia_of, placement_at_turn, put_joint_turns
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, MULTIPLIER, PARENT, PRISMATIC, VELOCITY_INDEX
from rne_dynamics.model.packed_arm import axes_part, first_of, work_part
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.pairs import (
    NONE,
    Pair,
    add_pair,
    minus,
    motion_at,
    motion_cross,
    pair_at,
    plus,
    put_pair,
    scaled,
    slice_pair,
    turned,
    wrench_at,
    wrench_cross,
)
from rne_dynamics.spatial.rigid import (
    RIGID_COLUMNS,
    Rigid,
    add_rigid,
    momentum_of,
    put_rigid,
    rigid_at,
    rigid_from,
    turned_rigid,
)
from rne_dynamics.spatial.rows import matrix_at, put, put_matrix, slice_vector, vector_at
from rne_dynamics.spatial.vector import (
    IDENTITY,
    ZERO,
    Matrix,
    Vector,
    add,
    column,
    compose,
    cross,
    dot,
    rotate,
    rotate_back,
    scale,
)

# Columns of the work array: axes R, origin seen from the parent's, V = (v, ω), its rate; then of the composite body
# behind the joint: (m, h, J), P = ∫ u dm, the matrix T of `flow_of`, and the wrench it needs. One row a body, and the
# base in one row more, the last, to which λ = −1 points.
ROTATION, OFFSET, MOTION, RATE, BODY, MOMENTUM, FLOW, WRENCH, WORK_COLUMNS = columns(9, 3, 6, 6, RIGID_COLUMNS, 3, 9, 6)

# columns of the array of axes, one row for each axis of each joint: the body's motion for unit speed
AXIS, AXIS_COLUMNS = columns(6)


#: Where each body's axes start; a row for each body and one more; a row for each axis.
AxesWork = tuple[NDArray[np.int64], Array, Array]


@helper
def first_axes(topology: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each body's axes start in the array of axes (six for a floating joint, else one), and their number."""
    first = np.zeros(topology.shape[0] + 1, np.int64)
    for i in range(topology.shape[0]):
        first[i + 1] = first[i] + (6 if topology[i, KIND] == FLOATING else 1)
    return first


def axes_work(columns: int, axes_columns: int) -> Workspace:
    """Scratch memory: `first_axes`, (bodies + 1, columns), and (axes, axes_columns)."""
    work_of, axes_of = work_part(columns), axes_part(axes_columns)

    @in_place_helper
    def part(array: Array) -> AxesWork:
        return first_of(array), work_of(array), axes_of(array)

    @helper
    def new(topology: NDArray[np.int64]) -> AxesWork:
        bodies, first = topology.shape[0], first_axes(topology)
        return first, np.empty((bodies + 1, columns)), np.empty((first[bodies], axes_columns))

    return Workspace(part, new)


@helper
def gear(topology: NDArray[np.int64], parameters: Array, i: int) -> float:
    """Speed of joint i for unit speed of its coordinate."""
    return 1.0 if topology[i, KIND] == FLOATING else parameters[i, MULTIPLIER]


@helper
def parent_motion(work: Array, parent: int, d: Vector) -> tuple[Pair, Pair]:
    """V of the parent and its rate at the point d from its origin."""
    return motion_at(pair_at(work, parent, MOTION), d), motion_at(pair_at(work, parent, RATE), d)


@in_place_helper
def ground_motion(
    topology: NDArray[np.int64],
    parameters: Array,
    base: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    first: NDArray[np.int64],
    work: Array,
    axes: Array,
) -> None:
    """Axes, origin, velocity and acceleration of every body, and every joint axis, for one state.

    Arguments as for `inverse_dynamics_kernel`, with `first` of `first_axes`, work (bodies + 1, WORK_COLUMNS) and
    axes (first[−1], AXIS_COLUMNS).
    """
    bodies = topology.shape[0]
    put_matrix(work, bodies, ROTATION, IDENTITY)
    put_pair(work, bodies, MOTION, (ZERO, slice_vector(base, 3)))
    put_pair(work, bodies, RATE, slice_pair(base, 6))  # with v = 0 the origin's acceleration is the spatial one
    put_joint_turns(topology, parameters, q, work, OFFSET)  # columns free until the offset is stored
    for i in range(bodies):
        parent = topology[i, PARENT]
        iv = topology[i, VELOCITY_INDEX]
        R, p = placement_at_turn(topology, parameters, i, q, (work[i, OFFSET], work[i, OFFSET + 1]))
        R_parent = matrix_at(work, parent, ROTATION)
        d = rotate(R_parent, p)
        R = compose(R_parent, R)
        V, rate = parent_motion(work, parent, d)
        joint, joint_rate = NONE, NONE  # S q̇ and S q̈
        ratio = gear(topology, parameters, i)
        for a in range(first[i], first[i + 1]):
            k = a - first[i]
            S = _axis(R, topology[i, KIND], k)
            put_pair(axes, a, AXIS, S)
            joint = plus(joint, scaled(ratio * qd[iv + k], S))
            joint_rate = plus(joint_rate, scaled(ratio * qdd[iv + k], S))
        put_matrix(work, i, ROTATION, R)
        put(work, i, OFFSET, d)
        put_pair(work, i, MOTION, plus(V, joint))
        put_pair(work, i, RATE, plus(rate, plus(motion_cross(V, joint), joint_rate)))


@helper
def _axis(R: Matrix, kind: int, k: int) -> Pair:
    """Motion of a body with axes R for unit speed along its joint's axis number k."""
    if kind == FLOATING:
        e = column(R, k % 3)
        return (ZERO, e) if k >= 3 else (e, ZERO)
    e = column(R, 2)
    return (e, ZERO) if kind == PRISMATIC else (ZERO, e)


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


@in_place_helper
def put_body(parameters: Array, i: int, work: Array) -> None:
    """(m, h, J), P and T of body i alone, about its origin."""
    V = pair_at(work, i, MOTION)
    body = turned_rigid(matrix_at(work, i, ROTATION), inertia_of(parameters, i))
    put_rigid(work, i, BODY, body)
    put(work, i, MOMENTUM, momentum_of(body, V)[0])
    put_matrix(work, i, FLOW, flow_of(body, V))


@in_place_helper
def put_force(wrenches: Array, i: int, work: Array) -> None:
    """The wrench that body i needs to move as it does, less its external load, after `put_body`."""
    V, body = pair_at(work, i, MOTION), rigid_at(work, i, BODY)
    F = plus(momentum_of(body, pair_at(work, i, RATE)), wrench_cross(V, momentum_of(body, V)))
    if wrenches.shape[0] > 0:
        F = minus(F, turned(matrix_at(work, i, ROTATION), pair_at(wrenches, i, 0)))
    put_pair(work, i, WRENCH, F)


@helper
def composite_at(work: Array, i: int) -> tuple[Rigid, Vector, Matrix]:
    """(m, h, J), P and T that `put_body` stored, with all that `add_to_parent` added."""
    return rigid_at(work, i, BODY), vector_at(work, i, MOMENTUM), matrix_at(work, i, FLOW)


@in_place_helper
def add_to_parent(topology: NDArray[np.int64], i: int, work: Array) -> None:
    """Add the composite body behind joint i to its parent's, about the parent's origin."""
    parent = topology[i, PARENT]
    if parent < 0:
        return
    d = vector_at(work, i, OFFSET)
    body, P, T = composite_at(work, i)
    add_rigid(work, parent, BODY, rigid_from(body, d))
    put(work, parent, MOMENTUM, add(vector_at(work, parent, MOMENTUM), P))
    # T + (d·P) 1 − P dᵀ
    trace = dot(d, P)
    for k in range(3):
        for c in range(3):
            work[parent, FLOW + 3 * k + c] += T[3 * k + c] - P[k] * d[c]
        work[parent, FLOW + 4 * k] += trace


@helper
def add_force_to_parent(topology: NDArray[np.int64], i: int, work: Array) -> None:
    """Add the wrench that joint i transmits to its parent's, about the parent's origin."""
    parent = topology[i, PARENT]
    if parent >= 0:
        add_pair(work, parent, WRENCH, wrench_at(pair_at(work, i, WRENCH), vector_at(work, i, OFFSET)))
