"""Rate of the positions of an open arm, floating joints included."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, POSITION_INDEX, VELOCITY_INDEX
from rne_dynamics.spatial.rows import slice_vector
from rne_dynamics.spatial.vector import from_quaternion, rotate


@kernel
def configuration_rate(topology: NDArray[np.int64], q: Array, qd: Array, rate: Array) -> None:
    """dq/dt (nq,): the velocity itself, for floating joints R v and the quaternion's ½ Q (ω, 0)."""
    for i in range(topology.shape[0]):
        iq = topology[i, POSITION_INDEX]
        iv = topology[i, VELOCITY_INDEX]
        if topology[i, KIND] != FLOATING:
            rate[iq] = qd[iv]
            continue
        x, y, z, w = q[iq + 3], q[iq + 4], q[iq + 5], q[iq + 6]
        v = rotate(from_quaternion(x, y, z, w), slice_vector(qd, iv))
        a, b, c = slice_vector(qd, iv + 3)
        for k in range(3):
            rate[iq + k] = v[k]
        rate[iq + 3] = 0.5 * (w * a + y * c - z * b)
        rate[iq + 4] = 0.5 * (w * b + z * a - x * c)
        rate[iq + 5] = 0.5 * (w * c + x * b - y * a)
        rate[iq + 6] = -0.5 * (x * a + y * b + z * c)


@kernel
def normalize_quaternions(topology: NDArray[np.int64], q: Array) -> None:
    """Give the quaternions of floating joints length 1 again."""
    for i in range(topology.shape[0]):
        if topology[i, KIND] == FLOATING:
            k = topology[i, POSITION_INDEX] + 3
            norm = np.sqrt(q[k] * q[k] + q[k + 1] * q[k + 1] + q[k + 2] * q[k + 2] + q[k + 3] * q[k + 3])
            for i4 in range(4):
                q[k + i4] /= norm
