"""Configurations as a space of their own: a floating joint's orientation is a unit quaternion, not three numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.declared.forms import NQ
from rne_dynamics.dynamics.declared.quantity import Quantity
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, POSITION_INDEX, VELOCITY_INDEX
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.rows import slice_vector
from rne_dynamics.spatial.vector import add, cross, dot, from_quaternion, rotate, scale


@kernel
def integrate_configuration_kernel(topology: NDArray[np.int64], q: Array, step: Array, out: Array) -> None:
    """One state: q (nq,), step (n,), out (nq,), which must not be q."""
    for i in range(topology.shape[0]):
        iq = topology[i, POSITION_INDEX]
        iv = topology[i, VELOCITY_INDEX]
        if topology[i, KIND] != FLOATING:
            out[iq] = q[iq] + step[iv]
            continue
        # the twist (v, φ) held for unit time: p += R V(φ) v, R := R exp(φ̃)
        v, phi = slice_vector(step, iv), slice_vector(step, iv + 3)
        x, y, z, w = q[iq + 3], q[iq + 4], q[iq + 5], q[iq + 6]
        angle = np.sqrt(dot(phi, phi))
        if angle < 1e-4:  # series, exact to round-off here
            half_sinc = 0.5 - angle * angle / 48.0
            b = 1.0 / 6.0 - angle * angle / 120.0
        else:
            half_sinc = np.sin(0.5 * angle) / angle
            b = (angle - np.sin(angle)) / (angle * angle * angle)  # times angle² below: its lost digits do not count
        a = 2.0 * half_sinc * half_sinc  # (1 − cos φ)/φ², whose difference would lose half of the digits
        swept = cross(phi, v)
        moved = add(v, add(scale(a, swept), scale(b, cross(phi, swept))))
        p = add(slice_vector(q, iq), rotate(from_quaternion(x, y, z, w), moved))
        c = np.cos(0.5 * angle)
        s = scale(half_sinc, phi)
        X = w * s[0] + x * c + y * s[2] - z * s[1]
        Y = w * s[1] + y * c + z * s[0] - x * s[2]
        Z = w * s[2] + z * c + x * s[1] - y * s[0]
        W = w * c - x * s[0] - y * s[1] - z * s[2]
        norm = np.sqrt(X * X + Y * Y + Z * Z + W * W)
        for k in range(3):
            out[iq + k] = p[k]
        out[iq + 3], out[iq + 4], out[iq + 5], out[iq + 6] = X / norm, Y / norm, Z / norm, W / norm


@kernel
def _integrate(arm: Arm, q: Array, step: Array, out: Array) -> None:
    integrate_configuration_kernel(arm.topology, q, step, out)


INTEGRATE_CONFIGURATION = Quantity("integrate_configuration", _integrate, ("q", "step"), (NQ,))


@INTEGRATE_CONFIGURATION.public
def integrate_configuration(robot: RobotModel, q: ArrayLike, step: ArrayLike) -> Array:
    """The configuration reached from `q` by a displacement in velocity coordinates (velocity times time).

    Plain addition for one-axis joints; floating joints follow the screw motion of (v, ω) held constant.

    Parameters
    ----------
    robot
        The model.
    q, step
        Positions (…, nq) and displacements (…, n).

    Raises
    ------
    ArgumentError
        A wrong shape, NaN or infinity.
    """
    try:
        call: Callable[..., Array] = robot.own_code["integrate_configuration"]
    except (AttributeError, KeyError):
        call = INTEGRATE_CONFIGURATION.of(robot)
    return call(q, step)
