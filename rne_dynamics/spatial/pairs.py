"""Pairs of vectors, linear part first: motions and wrenches; and the inertia of a rigid body.

A motion is (v, ω) or (v̇, ω̇) of a frame, at its origin; a wrench is (f, n) on a body, n about that origin. R and p
place the child frame in the parent's. The accelerations are those of the origin as a point. The inertia is (m, h, J)
with first moment h = m c and inertia J, about its frame's origin.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper
from rne_dynamics.spatial.rows import put, slice_vector, symmetric_at, vector_at
from rne_dynamics.spatial.vector import (
    ZERO,
    Matrix,
    Symmetric,
    Vector,
    add,
    add_symmetric,
    cross,
    dot,
    rotate,
    rotate_back,
    rotate_symmetric,
    scale,
    subtract,
    times,
)

Array = NDArray[np.float64]
Pair = tuple[Vector, Vector]

NONE: Pair = (ZERO, ZERO)


@helper
def plus(a: Pair, b: Pair) -> Pair:
    """a + b."""
    return add(a[0], b[0]), add(a[1], b[1])


@helper
def minus(a: Pair, b: Pair) -> Pair:
    """a − b."""
    return subtract(a[0], b[0]), subtract(a[1], b[1])


@helper
def scaled(s: float, a: Pair) -> Pair:
    """s a."""
    return scale(s, a[0]), scale(s, a[1])


@helper
def power(F: Pair, V: Pair) -> float:
    """F · V: the power of a wrench on a motion."""
    return dot(F[0], V[0]) + dot(F[1], V[1])


@helper
def pair_at(a: Array, i: int, k: int) -> Pair:
    """Columns k … k+5 of row i."""
    return vector_at(a, i, k), vector_at(a, i, k + 3)


@helper
def put_pair(a: Array, i: int, k: int, P: Pair) -> None:
    """Store a pair in columns k … k+5 of row i."""
    put(a, i, k, P[0])
    put(a, i, k + 3, P[1])


@helper
def add_pair(a: Array, i: int, k: int, P: Pair) -> None:
    """Add a pair to columns k … k+5 of row i."""
    put_pair(a, i, k, plus(pair_at(a, i, k), P))


@helper
def minus_load(F: Pair, loads: Array, i: int) -> Pair:
    """F less the wrench in row i of `loads`, which may have no rows."""
    return minus(F, pair_at(loads, i, 0)) if loads.shape[0] > 0 else F


@helper
def slice_pair(a: Array, k: int) -> Pair:
    """Elements k … k+5 of a one-dimensional array."""
    return slice_vector(a, k), slice_vector(a, k + 3)


@helper
def put_slice_pair(a: Array, k: int, P: Pair) -> None:
    """Store a pair in elements k … k+5 of a one-dimensional array."""
    for c in range(3):
        a[k + c], a[k + 3 + c] = P[0][c], P[1][c]


@helper
def turned(R: Matrix, P: Pair) -> Pair:
    """The pair along the parent's axes, the reference point unchanged."""
    return rotate(R, P[0]), rotate(R, P[1])


@helper
def turned_back(R: Matrix, P: Pair) -> Pair:
    """The pair along the child's axes, the reference point unchanged."""
    return rotate_back(R, P[0]), rotate_back(R, P[1])


@helper
def motion_at(V: Pair, d: Vector) -> Pair:
    """A rigid body's motion at the point d from the present one."""
    return add(V[0], cross(V[1], d)), V[1]


@helper
def acceleration_at(a: Pair, w: Vector, d: Vector) -> Pair:
    """The acceleration (v̇, ω̇) of a rigid body that turns with ω, at the point d from the present one."""
    return add(a[0], add(cross(a[1], d), cross(w, cross(w, d)))), a[1]


@helper
def wrench_at(F: Pair, d: Vector) -> Pair:
    """A wrench about the point from which the present one is seen at d."""
    return F[0], add(F[1], cross(d, F[0]))


@helper
def into_child(R: Matrix, p: Vector, V: Pair) -> Pair:
    """The parent's motion at the child's origin along the child's axes: R*ᵀ Pᵀ of (2.1.13.3), (2.1.18)."""
    return turned_back(R, motion_at(V, p))


@helper
def onto_parent(R: Matrix, p: Vector, F: Pair) -> Pair:
    """A wrench on the child as one about the parent's origin along its axes: P R* of (2.1.15)–(2.1.18)."""
    return wrench_at(turned(R, F), p)


@helper
def motion_cross(V: Pair, S: Pair) -> Pair:
    """V × S: rate of the motion S where it is fixed in a body that moves with V."""
    return add(cross(V[1], S[0]), cross(V[0], S[1])), cross(V[1], S[1])


@helper
def wrench_cross(V: Pair, F: Pair) -> Pair:
    """V ×* F: rate of the wrench F where it is fixed in a body that moves with V."""
    return cross(V[1], F[0]), add(cross(V[0], F[0]), cross(V[1], F[1]))


Rigid = tuple[float, Vector, Symmetric]


@helper
def rigid_at(a: Array, i: int, k: int) -> Rigid:
    """(m, h, J) from column k of row i on."""
    return a[i, k], vector_at(a, i, k + 1), symmetric_at(a, i, k + 4)


@helper
def plus_rigid(a: Rigid, b: Rigid) -> Rigid:
    """Two bodies as one, about the same origin."""
    return a[0] + b[0], add(a[1], b[1]), add_symmetric(a[2], b[2])


@helper
def rigid_seen_from_parent(R: Matrix, d: Vector, body: Rigid) -> Rigid:
    """The body in the frame in which its own is placed at (R, d): turned, then moved by Steiner's theorem."""
    m, h, J = body[0], rotate(R, body[1]), rotate_symmetric(R, body[2])
    s = 2.0 * dot(h, d) + m * dot(d, d)
    moved = (
        J[0] + s - 2.0 * h[0] * d[0] - m * d[0] * d[0],
        J[1] - h[0] * d[1] - h[1] * d[0] - m * d[0] * d[1],
        J[2] - h[0] * d[2] - h[2] * d[0] - m * d[0] * d[2],
        J[3] + s - 2.0 * h[1] * d[1] - m * d[1] * d[1],
        J[4] - h[1] * d[2] - h[2] * d[1] - m * d[1] * d[2],
        J[5] + s - 2.0 * h[2] * d[2] - m * d[2] * d[2],
    )
    return m, add(h, scale(m, d)), moved


@helper
def momentum_of(body: Rigid, V: Pair) -> Pair:
    """Momentum for a motion V; the wrench for an acceleration where nothing turns."""
    m, h, J = body
    return add(scale(m, V[0]), cross(V[1], h)), add(cross(h, V[0]), times(J, V[1]))


@helper
def gyroscopic(body: Rigid, w: Vector) -> Pair:
    """(ω × (ω × h), ω × J ω): the wrench for the angular velocity ω at zero acceleration."""
    _, h, J = body
    return cross(w, cross(w, h)), cross(w, times(J, w))


@helper
def inertial_wrench(body: Rigid, w: Vector, a: Pair) -> Pair:
    """(2.1.1), (2.1.5) of document 000 about the frame's origin: the wrench for ω and the acceleration a."""
    m, h, J = body
    fw, nw = gyroscopic(body, w)
    return add(scale(m, a[0]), add(cross(a[1], h), fw)), add(times(J, a[1]), add(nw, cross(h, a[0])))
