"""The inertia of a rigid body: (m, h, J) with first moment h = m c and inertia J, about its frame's origin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper
from rne_dynamics.spatial.pairs import Pair
from rne_dynamics.spatial.rows import symmetric_at, vector_at
from rne_dynamics.spatial.vector import (
    Matrix,
    Symmetric,
    Vector,
    add,
    add_symmetric,
    cross,
    dot,
    rotate,
    rotate_symmetric,
    scale,
    times,
)

Array = NDArray[np.float64]
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
