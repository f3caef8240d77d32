"""Rotations in bulk as arrays: matrices (count, 3, 3), quaternions x y z w (count, 4), rotation vectors (count, 3)."""

from __future__ import annotations

import numpy as np

from rne_dynamics.model.inertia import Array


def wrapped(angle: Array) -> Array:
    """The same angles in [−π, π)."""
    return np.asarray(np.remainder(angle + np.pi, 2.0 * np.pi) - np.pi)


def quaternion_matrices(quaternion: Array) -> Array:
    """Rotation matrices of quaternions of any length but zero."""
    x, y, z, w = quaternion.T
    s = 2.0 / (x * x + y * y + z * z + w * w)
    rows = np.stack(
        [
            1.0 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w),
            s * (x * y + z * w), 1.0 - s * (x * x + z * z), s * (y * z - x * w),
            s * (x * z - y * w), s * (y * z + x * w), 1.0 - s * (x * x + y * y),
        ],
        axis=1,
    )  # fmt: skip
    return rows.reshape(-1, 3, 3)


def rotation_quaternions(rotation: Array) -> Array:
    """Unit quaternions of rotation matrices, the largest component positive.

    All four columns of 4·(the quaternion times itself) are at hand; the longest loses no digits.
    """
    R = rotation
    trace = R[:, 0, 0] + R[:, 1, 1] + R[:, 2, 2]
    square = np.empty((len(R), 4, 4))
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        square[:, k, k] = 1.0 + 2.0 * R[:, k, k] - trace
        square[:, i, j] = square[:, j, i] = R[:, i, j] + R[:, j, i]
        square[:, k, 3] = square[:, 3, k] = R[:, j, i] - R[:, i, j]
    square[:, 3, 3] = 1.0 + trace
    largest = np.argmax(square[:, range(4), range(4)], axis=1)
    longest = square[np.arange(len(R)), largest]
    return np.asarray(longest / np.linalg.norm(longest, axis=1, keepdims=True))


def rotation_vectors(rotation: Array) -> Array:
    """Rotation vectors (axis times angle up to π) of rotation matrices."""
    quaternion = rotation_quaternions(rotation)
    quaternion = np.where(quaternion[:, 3:] < 0.0, -quaternion, quaternion)
    sine = np.linalg.norm(quaternion[:, :3], axis=1, keepdims=True)
    small = sine < 1e-9
    angle = 2.0 * np.arctan2(sine, quaternion[:, 3:])
    return np.asarray(np.where(small, 2.0, angle / np.where(small, 1.0, sine)) * quaternion[:, :3])


def vector_quaternions(vector: Array) -> Array:
    """Unit quaternions of rotation vectors."""
    half = 0.5 * np.linalg.norm(vector, axis=1, keepdims=True)
    return np.concatenate([0.5 * np.sinc(half / np.pi) * vector, np.cos(half)], axis=1)


def quaternion_product(a: Array, b: Array) -> Array:
    """The rotations b first, then a: R(a) R(b)."""
    ax, ay, az, aw = a.T
    bx, by, bz, bw = b.T
    return np.stack(
        [
            aw * bx + bw * ax + ay * bz - az * by,
            aw * by + bw * ay + az * bx - ax * bz,
            aw * bz + bw * az + ax * by - ay * bx,
            aw * bw - ax * bx - ay * by - az * bz,
        ],
        axis=1,
    )
