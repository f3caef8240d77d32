"""Motion of all bodies along the root link's axes, and what hangs on them summed up at each joint.

The algorithms that fill a matrix (`coriolis`, `inverse_derivatives`, `regressor`) meet every pair of a joint and
one of its ancestors. With all vectors along the same axes a pair costs a few dot and cross products and no rotation.
Each body keeps its own origin as reference point, though: referred to one common point, the small inertia of an
outer link would drown in the m r² of its distance (tried: it cost iCub's forward derivatives nearly four digits).

Velocities and accelerations are spatial ones here (Featherstone, Rigid Body Dynamics Algorithms, chapter 2): (v, ω) of
the body at its origin, and the rate (v̇, ω̇) of (v, ω) of the body's material passing there, which is ω × v less than
the origin's acceleration as a point. A uniform velocity changes no effort (Galileo), so the base's own linear
velocity is left out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, in_place_helper
from rne_dynamics.dynamics.composite.mass_matrix import moved_inertia
from rne_dynamics.dynamics.kinematics.joint_motion import inertia_of, placement_at_turn, put_joint_turns
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, MULTIPLIER, PARENT, PRISMATIC, VELOCITY_INDEX
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.rows import matrix_at, put, put_matrix, slice_vector, symmetric_at, vector_at
from rne_dynamics.spatial.vector import (
    Matrix,
    Symmetric,
    Vector,
    add,
    column,
    compose,
    cross,
    dot,
    rotate,
    rotate_symmetric,
    scale,
    subtract,
    times,
)

# Columns of the work array: axes R, origin seen from the parent's, motion; then what hangs on the joint: m, h = m c, J,
# momentum P = ∫ u dm, the matrix T of `flow_of`, force and moment. One row a body, and the base in one row more, the
# last, which is where λ = −1 points.
(
    ROTATION, OFFSET, V, W, DV, DW,
    M, H, J, P, T, F, N,
    WORK_COLUMNS,
) = columns(9, 3, 3, 3, 3, 3, 1, 3, 6, 3, 9, 3, 3)  # fmt: skip

# columns of the array of axes, one row for each axis of each joint: the motion (v, ω) of the body for unit speed
S_V, S_W, AXIS_COLUMNS = columns(3, 3)

#: (m, h, J, P, T) of a body or of all that hangs on a joint, about the joint's origin.
Composite = tuple[float, Vector, Symmetric, Vector, Matrix]


@helper
def first_axes(topology: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each body's axes start in the array of axes (six for a floating joint, else one), and their number."""
    first = np.zeros(topology.shape[0] + 1, np.int64)
    for i in range(topology.shape[0]):
        first[i + 1] = first[i] + (6 if topology[i, KIND] == FLOATING else 1)
    return first


@helper
def gear(topology: NDArray[np.int64], parameters: Array, i: int) -> float:
    """Speed of joint i for unit speed of its coordinate."""
    return 1.0 if topology[i, KIND] == FLOATING else parameters[i, MULTIPLIER]


@helper
def motion_cross(v: Vector, w: Vector, sv: Vector, sw: Vector) -> tuple[Vector, Vector]:
    """(v, ω) × (s, σ): how a motion that is carried along by (v, ω) changes."""
    return add(cross(w, sv), cross(v, sw)), cross(w, sw)


@helper
def parent_motion(work: Array, parent: int, d: Vector) -> tuple[Vector, Vector, Vector, Vector]:
    """(v, ω, v̇, ω̇) of the parent at the point d from its origin."""
    w, dw = vector_at(work, parent, W), vector_at(work, parent, DW)
    v = add(vector_at(work, parent, V), cross(w, d))
    return v, w, add(vector_at(work, parent, DV), cross(dw, d)), dw


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
    put_matrix(work, bodies, ROTATION, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0))
    put(work, bodies, V, (0.0, 0.0, 0.0))
    put(work, bodies, W, slice_vector(base, 3))
    put(work, bodies, DV, slice_vector(base, 6))  # with v = 0 the origin's acceleration is the spatial one
    put(work, bodies, DW, slice_vector(base, 9))
    put_joint_turns(topology, parameters, q, work, OFFSET)  # where the offsets will be
    for i in range(bodies):
        parent = topology[i, PARENT]
        iv = topology[i, VELOCITY_INDEX]
        R, p = placement_at_turn(topology, parameters, i, q, (work[i, OFFSET], work[i, OFFSET + 1]))
        R_parent = matrix_at(work, parent, ROTATION)
        d = rotate(R_parent, p)
        R = compose(R_parent, R)
        v, w, dv, dw = parent_motion(work, parent, d)
        # the joint's own velocity and acceleration
        jv, jw = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        jdv, jdw = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        ratio = gear(topology, parameters, i)
        for a in range(first[i], first[i + 1]):
            k = a - first[i]
            if topology[i, KIND] == FLOATING:
                e = column(R, k % 3)
                turns = k >= 3
            else:
                e = column(R, 2)
                turns = topology[i, KIND] != PRISMATIC
            sv, sw = ((0.0, 0.0, 0.0), e) if turns else (e, (0.0, 0.0, 0.0))
            put(axes, a, S_V, sv)
            put(axes, a, S_W, sw)
            rate, acceleration = ratio * qd[iv + k], ratio * qdd[iv + k]
            jv, jw = add(jv, scale(rate, sv)), add(jw, scale(rate, sw))
            jdv, jdw = add(jdv, scale(acceleration, sv)), add(jdw, scale(acceleration, sw))
        cv, cw = motion_cross(v, w, jv, jw)
        put_matrix(work, i, ROTATION, R)
        put(work, i, OFFSET, d)
        put(work, i, V, add(v, jv))
        put(work, i, W, add(w, jw))
        put(work, i, DV, add(dv, add(cv, jdv)))
        put(work, i, DW, add(dw, add(cw, jdw)))


@helper
def inertia_times(m: float, h: Vector, inertia: Symmetric, v: Vector, w: Vector) -> tuple[Vector, Vector]:
    """(force, moment) or (linear, angular momentum) of a rigid body for the motion (v, ω)."""
    return add(scale(m, v), cross(w, h)), add(cross(h, v), times(inertia, w))


@helper
def flow_of(h: Vector, inertia: Symmetric, v: Vector, w: Vector) -> Matrix:
    """T = ∫ [(r·u) 1 − u rᵀ] dm, for material at r that moves with u = v + ω × r.

    Turned with Ω, this material meets the Coriolis force 2 ∫ Ω × u dm = 2 Ω × P and the moment
    2 ∫ r × (Ω × u) dm = 2 T Ω. Where the literature has the 6×6 matrix B (Echeandia and Wensing 2021; Singh, Russell
    and Wensing 2022), only these 3 + 9 numbers are not zero, and they add up over bodies.
    """
    half = 0.5 * (inertia[0] + inertia[3] + inertia[5])
    # columns of Σ = ∫ r rᵀ dm = ½ tr(J) 1 − J, each turned by ω: ∫ u rᵀ dm = v hᵀ + ω̃ Σ
    a = cross(w, (half - inertia[0], -inertia[1], -inertia[2]))
    b = cross(w, (-inertia[1], half - inertia[3], -inertia[4]))
    c = cross(w, (-inertia[2], -inertia[4], half - inertia[5]))
    a, b, c = add(a, scale(h[0], v)), add(b, scale(h[1], v)), add(c, scale(h[2], v))
    trace = a[0] + b[1] + c[2]
    return trace - a[0], -b[0], -c[0], -a[1], trace - b[1], -c[1], -a[2], -b[2], trace - c[2]


@in_place_helper
def put_body(parameters: Array, i: int, work: Array) -> None:
    """m, h, J, P and T of body i alone, about its origin."""
    R = matrix_at(work, i, ROTATION)
    v, w = vector_at(work, i, V), vector_at(work, i, W)
    m, h, inertia = inertia_of(parameters, i)
    h = rotate(R, h)
    inertia = rotate_symmetric(R, inertia)
    work[i, M] = m
    put(work, i, H, h)
    for k in range(6):
        work[i, J + k] = inertia[k]
    put(work, i, P, add(scale(m, v), cross(w, h)))
    put_matrix(work, i, T, flow_of(h, inertia, v, w))


@in_place_helper
def put_force(wrenches: Array, i: int, work: Array) -> None:
    """Force and moment that body i needs to move as it does, less its external load, after `put_body`."""
    v, w = vector_at(work, i, V), vector_at(work, i, W)
    m, h, inertia = work[i, M], vector_at(work, i, H), symmetric_at(work, i, J)
    P_i, L = inertia_times(m, h, inertia, v, w)
    f, n = inertia_times(m, h, inertia, vector_at(work, i, DV), vector_at(work, i, DW))
    f = add(f, cross(w, P_i))
    n = add(n, add(cross(v, P_i), cross(w, L)))
    if wrenches.shape[0] > 0:
        R = matrix_at(work, i, ROTATION)
        f = subtract(f, rotate(R, vector_at(wrenches, i, 0)))
        n = subtract(n, rotate(R, vector_at(wrenches, i, 3)))
    put(work, i, F, f)
    put(work, i, N, n)


@helper
def composite_at(work: Array, i: int) -> Composite:
    """What `put_body` stored, with all that was added by `hand_to_parent`."""
    return (
        work[i, M], vector_at(work, i, H), symmetric_at(work, i, J), vector_at(work, i, P), matrix_at(work, i, T)
    )  # fmt: skip


@in_place_helper
def hand_to_parent(topology: NDArray[np.int64], i: int, work: Array) -> None:
    """Add what hangs on joint i to its parent's composite, about the parent's origin."""
    parent = topology[i, PARENT]
    if parent < 0:
        return
    d = vector_at(work, i, OFFSET)
    m, h, inertia, P_i, T_i = composite_at(work, i)
    inertia = moved_inertia(inertia, h, m, d)
    work[parent, M] += m
    put(work, parent, H, add(vector_at(work, parent, H), add(h, scale(m, d))))
    put(work, parent, P, add(vector_at(work, parent, P), P_i))
    for k in range(6):
        work[parent, J + k] += inertia[k]
    # T + (d·P) 1 − P dᵀ
    along = dot(d, P_i)
    for k in range(3):
        for c in range(3):
            work[parent, T + 3 * k + c] += T_i[3 * k + c] - P_i[k] * d[c]
        work[parent, T + 4 * k] += along


@helper
def hand_force_to_parent(topology: NDArray[np.int64], i: int, work: Array) -> None:
    """Add the force and moment that joint i carries to its parent's, about the parent's origin."""
    parent = topology[i, PARENT]
    if parent >= 0:
        f = vector_at(work, i, F)
        n = moved_moment(work, i, f, vector_at(work, i, N))
        put(work, parent, F, add(vector_at(work, parent, F), f))
        put(work, parent, N, add(vector_at(work, parent, N), n))


@helper
def moved_moment(work: Array, i: int, f: Vector, n: Vector) -> Vector:
    """The moment about the parent's origin of a force f and its moment n about body i's."""
    return add(n, cross(vector_at(work, i, OFFSET), f))


@helper
def power(f: Vector, n: Vector, axes: Array, a: int) -> float:
    """Work of a force and moment along axis a: the effort that they ask of it."""
    return dot(f, vector_at(axes, a, S_V)) + dot(n, vector_at(axes, a, S_W))
