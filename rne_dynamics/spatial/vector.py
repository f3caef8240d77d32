"""3-vectors, 3×3 matrices and rotation vectors (axis times angle) as tuples of floats, for use inside kernels.

A vector is ``(x, y, z)``; a matrix is nine numbers, row after row; a symmetric matrix is six,
``(xx, xy, xz, yy, yz, zz)``. ``R_AB`` turns a vector from frame B into frame A.
"""

from __future__ import annotations

import math

import numpy as np

from rne_dynamics.compiling.jit import helper

Vector = tuple[float, float, float]
Matrix = tuple[float, float, float, float, float, float, float, float, float]
Symmetric = tuple[float, float, float, float, float, float]
#: (R, p) of a frame in another.
Placement = tuple[Matrix, Vector]

ZERO: Vector = (0.0, 0.0, 0.0)
IDENTITY: Matrix = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@helper
def add(a: Vector, b: Vector) -> Vector:
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@helper
def subtract(a: Vector, b: Vector) -> Vector:
    """a − b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@helper
def scale(s: float, a: Vector) -> Vector:
    """s·a."""
    return s * a[0], s * a[1], s * a[2]


@helper
def dot(a: Vector, b: Vector) -> float:
    """a·b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@helper
def cross(a: Vector, b: Vector) -> Vector:
    """a × b."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@helper
def rotate(R: Matrix, v: Vector) -> Vector:
    """R v: a vector of frame B seen from A, for R = R_AB."""
    return (
        R[0] * v[0] + R[1] * v[1] + R[2] * v[2],
        R[3] * v[0] + R[4] * v[1] + R[5] * v[2],
        R[6] * v[0] + R[7] * v[1] + R[8] * v[2],
    )


@helper
def rotate_back(R: Matrix, v: Vector) -> Vector:
    """Rᵀ v: a vector of frame A seen from B, for R = R_AB."""
    return (
        R[0] * v[0] + R[3] * v[1] + R[6] * v[2],
        R[1] * v[0] + R[4] * v[1] + R[7] * v[2],
        R[2] * v[0] + R[5] * v[1] + R[8] * v[2],
    )


@helper
def column(R: Matrix, k: int) -> Vector:
    """Column k of a matrix: axis k of frame B seen from A, for R = R_AB."""
    return R[k], R[3 + k], R[6 + k]


@helper
def compose(A: Matrix, B: Matrix) -> Matrix:
    """The matrix product A B."""
    return (
        A[0] * B[0] + A[1] * B[3] + A[2] * B[6],
        A[0] * B[1] + A[1] * B[4] + A[2] * B[7],
        A[0] * B[2] + A[1] * B[5] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[3] + A[5] * B[6],
        A[3] * B[1] + A[4] * B[4] + A[5] * B[7],
        A[3] * B[2] + A[4] * B[5] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[3] + A[8] * B[6],
        A[6] * B[1] + A[7] * B[4] + A[8] * B[7],
        A[6] * B[2] + A[7] * B[5] + A[8] * B[8],
    )


@helper
def compose_back(A: Matrix, B: Matrix) -> Matrix:
    """The matrix product A Bᵀ."""
    return (
        A[0] * B[0] + A[1] * B[1] + A[2] * B[2],
        A[0] * B[3] + A[1] * B[4] + A[2] * B[5],
        A[0] * B[6] + A[1] * B[7] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[1] + A[5] * B[2],
        A[3] * B[3] + A[4] * B[4] + A[5] * B[5],
        A[3] * B[6] + A[4] * B[7] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[1] + A[8] * B[2],
        A[6] * B[3] + A[7] * B[4] + A[8] * B[5],
        A[6] * B[6] + A[7] * B[7] + A[8] * B[8],
    )


@helper
def placed(X: Placement, Y: Placement) -> Placement:
    """Placement of frame Y, given in a frame that is placed at X: X Y."""
    return compose(X[0], Y[0]), add(X[1], rotate(X[0], Y[1]))


@helper
def transpose(A: Matrix) -> Matrix:
    """Aᵀ."""
    return A[0], A[3], A[6], A[1], A[4], A[7], A[2], A[5], A[8]


@helper
def about_z(R: Matrix, c: float, s: float) -> Matrix:
    """R Rot_z(θ) for c = cos θ, s = sin θ, in twelve multiplications."""
    return (
        c * R[0] + s * R[1],
        c * R[1] - s * R[0],
        R[2],
        c * R[3] + s * R[4],
        c * R[4] - s * R[3],
        R[5],
        c * R[6] + s * R[7],
        c * R[7] - s * R[6],
        R[8],
    )


@helper
def from_quaternion(x: float, y: float, z: float, w: float) -> Matrix:
    """Rotation matrix of the quaternion (x, y, z, w), which is normalised here."""
    s = 2.0 / (x * x + y * y + z * z + w * w)
    return (
        1.0 - s * (y * y + z * z),
        s * (x * y - z * w),
        s * (x * z + y * w),
        s * (x * y + z * w),
        1.0 - s * (x * x + z * z),
        s * (y * z - x * w),
        s * (x * z - y * w),
        s * (y * z + x * w),
        1.0 - s * (x * x + y * y),
    )


@helper
def quaternion_times(
    a: tuple[float, float, float, float], b: tuple[float, float, float, float]
) -> tuple[float, float, float, float]:
    """The quaternion of the rotation b first, then a; both (x, y, z, w)."""
    return (
        a[3] * b[0] + b[3] * a[0] + a[1] * b[2] - a[2] * b[1],
        a[3] * b[1] + b[3] * a[1] + a[2] * b[0] - a[0] * b[2],
        a[3] * b[2] + b[3] * a[2] + a[0] * b[1] - a[1] * b[0],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    )


@helper
def add_matrix(A: Matrix, B: Matrix) -> Matrix:
    """A + B."""
    return (
        A[0] + B[0], A[1] + B[1], A[2] + B[2],
        A[3] + B[3], A[4] + B[4], A[5] + B[5],
        A[6] + B[6], A[7] + B[7], A[8] + B[8],
    )  # fmt: skip


@helper
def add_symmetric(A: Symmetric, B: Symmetric) -> Symmetric:
    """A + B for symmetric matrices."""
    return A[0] + B[0], A[1] + B[1], A[2] + B[2], A[3] + B[3], A[4] + B[4], A[5] + B[5]


@helper
def times(S: Symmetric, v: Vector) -> Vector:
    """S v for a symmetric matrix S."""
    return (
        S[0] * v[0] + S[1] * v[1] + S[2] * v[2],
        S[1] * v[0] + S[3] * v[1] + S[4] * v[2],
        S[2] * v[0] + S[4] * v[1] + S[5] * v[2],
    )


@helper
def rotate_symmetric(R: Matrix, S: Symmetric) -> Symmetric:
    """R S Rᵀ for a symmetric matrix S (the rotation law of inertia)."""
    # columns of S Rᵀ are S times the rows of R
    a = times(S, (R[0], R[1], R[2]))
    b = times(S, (R[3], R[4], R[5]))
    c = times(S, (R[6], R[7], R[8]))
    return (
        R[0] * a[0] + R[1] * a[1] + R[2] * a[2],
        R[0] * b[0] + R[1] * b[1] + R[2] * b[2],
        R[0] * c[0] + R[1] * c[1] + R[2] * c[2],
        R[3] * b[0] + R[4] * b[1] + R[5] * b[2],
        R[3] * c[0] + R[4] * c[1] + R[5] * c[2],
        R[6] * c[0] + R[7] * c[1] + R[8] * c[2],
    )


@helper
def cos_sin(angle: float) -> tuple[float, float]:
    """(cos θ, sin θ); NaN for infinity in plain Python too, which math's functions raise `ValueError` for."""
    return np.cos(angle), np.sin(angle)


#: Sine below which a rotation is a small one, or half a turn.
_SMALL = 1e-9


@helper
def rotation_vector(R: Matrix) -> Vector:
    """Axis times angle, 0 to π, of a rotation; near half a turn the axis is that of the symmetric part."""
    xx, xy, xz, yx, yy, yz, zx, zy, zz = R
    x, y, z = 0.5 * (zy - yz), 0.5 * (xz - zx), 0.5 * (yx - xy)
    cosine = 0.5 * (xx + yy + zz - 1.0)
    sine = math.sqrt(x * x + y * y + z * z)
    angle = math.atan2(sine, cosine)
    if cosine > -0.9:
        scale = angle / sine if sine > _SMALL else 1.0
        return scale * x, scale * y, scale * z
    # (1 − cos) k kᵀ = symmetric part − cos · 1; the largest diagonal entry gives the column with the most digits
    a, b, c = xx - cosine, yy - cosine, zz - cosine
    if a >= b and a >= c:
        u, v, w = a, 0.5 * (xy + yx), 0.5 * (xz + zx)
    elif b >= c:
        u, v, w = 0.5 * (xy + yx), b, 0.5 * (yz + zy)
    else:
        u, v, w = 0.5 * (xz + zx), 0.5 * (yz + zy), c
    scale = angle / math.sqrt(u * u + v * v + w * w)
    if u * x + v * y + w * z < 0.0:
        scale = -scale
    return scale * u, scale * v, scale * w


@helper
def rotation_of(v: Vector) -> Matrix:
    """The rotation about v by its length, rad (Rodrigues)."""
    angle = math.sqrt(dot(v, v))
    if angle == 0.0:
        return IDENTITY
    x, y, z = v[0] / angle, v[1] / angle, v[2] / angle
    s, half = math.sin(angle), math.sin(0.5 * angle)
    c = 2.0 * half * half  # 1 − cos
    return (
        1.0 - c * (y * y + z * z), c * x * y - s * z, c * x * z + s * y,
        c * x * y + s * z, 1.0 - c * (x * x + z * z), c * y * z - s * x,
        c * x * z - s * y, c * y * z + s * x, 1.0 - c * (x * x + y * y),
    )  # fmt: skip
