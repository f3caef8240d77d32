"""Rotation vectors (axis times angle) in kernels: of a rotation, and the rotation of one."""

from __future__ import annotations

import math

from rne_dynamics.compiling.jit import helper
from rne_dynamics.spatial.vector import IDENTITY, Matrix, Vector, dot

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
