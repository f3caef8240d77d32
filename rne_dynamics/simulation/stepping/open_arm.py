"""Smooth motion of an open arm, made in memory that is there for the whole step: nothing is made, nothing counted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, in_place_kernel
from rne_dynamics.dynamics.articulated.nasser import WORK_COLUMNS as _NASSER_COLUMNS
from rne_dynamics.dynamics.articulated.nasser import nasser_kernel
from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale_kernel
from rne_dynamics.dynamics.composite.mass_matrix import WORK_COLUMNS as _MASS_COLUMNS
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix_kernel
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.newton_euler.newton_euler import WORK_COLUMNS as _FORCE_COLUMNS
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics_kernel
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, POSITION_INDEX, VELOCITY_INDEX
from rne_dynamics.simulation.plant.base_course import BASE, base_at
from rne_dynamics.simulation.plant.plant import VISCOUS
from rne_dynamics.spatial.cholesky import cholesky_solve, scaled_cholesky_solve
from rne_dynamics.spatial.rows import slice_vector
from rne_dynamics.spatial.vector import from_quaternion, rotate

_WORK_COLUMNS = max(_NASSER_COLUMNS, _FORCE_COLUMNS, _MASS_COLUMNS)


class Memory(NamedTuple):
    """What stepping writes to in between.

    Parameters
    ----------
    work
        For any kernel of the dynamics; shape (bodies, at least its columns).
    M, tau, bias, qdd, qd_stage, qd_sum
        Shapes (n, n) and (n,).
    rate, q_stage, q_sum
        Shape (nq,).
    base
        A moving base at the time of a stage; shape (12,).
    """

    work: Array
    M: Array
    tau: Array
    bias: Array
    qdd: Array
    qd_stage: Array
    qd_sum: Array
    rate: Array
    q_stage: Array
    q_sum: Array
    base: Array


@helper
def memory_of(bodies: int, nq: int, n: int) -> Memory:
    """Memory for an arm of that size."""
    return Memory(
        np.empty((bodies, _WORK_COLUMNS)), np.empty((n, n)), np.empty(n), np.empty(n), np.empty(n), np.empty(n),
        np.empty(n), np.empty(nq), np.empty(nq), np.empty(nq), np.empty(BASE),
    )  # fmt: skip


@in_place_kernel
def open_arm_accelerations(
    topology: NDArray[np.int64], parameters: Array, base: Array, mimic: bool, joints: Array, wrenches: Array,
    q: Array, qd: Array, drive: Array, locked: NDArray[np.bool_], memory: Memory, qdd: Array,
) -> bool:  # fmt: skip
    """`motion.accelerations` of an open arm."""
    n = qd.shape[0]
    tau, bias, M = memory.tau, memory.bias, memory.M
    any_locked = False
    for j in range(n):
        tau[j] = drive[j] - joints[j, VISCOUS] * qd[j]
        any_locked = any_locked or locked[j]
    if not any_locked and not mimic:
        return bool(nasser_kernel(topology, parameters, base, q, qd, tau, wrenches, memory.work, qdd) < 0)
    for j in range(n):
        qdd[j] = 0.0
    arm = Arm(topology, parameters, base, wrenches, memory.work)
    inverse_dynamics_kernel(arm, q, qd, qdd, bias)
    mass_matrix_kernel(arm, q, M)
    inertia_scale_kernel(topology, parameters, q, memory.work, qdd)
    for j in range(n):
        tau[j] -= bias[j]
    for j in range(n):
        if locked[j]:
            tau[j] = 0.0
            for k in range(n):
                M[j, k] = 0.0
                M[k, j] = 0.0
            M[j, j], qdd[j] = 1.0, 1.0
    return bool(scaled_cholesky_solve(M, tau, qdd, qdd) < 0)


@in_place_kernel
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


@in_place_kernel
def normalize_quaternions(topology: NDArray[np.int64], q: Array) -> None:
    """Give the quaternions of floating joints length 1 again."""
    for i in range(topology.shape[0]):
        if topology[i, KIND] == FLOATING:
            k = topology[i, POSITION_INDEX] + 3
            norm = np.sqrt(q[k] * q[k] + q[k + 1] * q[k + 1] + q[k + 2] * q[k + 2] + q[k + 3] * q[k + 3])
            for i4 in range(4):
                q[k + i4] /= norm


@in_place_kernel
def open_arm_runge_kutta(
    topology: NDArray[np.int64], parameters: Array, base: Array, mimic: bool, joints: Array, wrenches: Array,
    q: Array, qd: Array, drive: Array, locked: NDArray[np.bool_], elapsed: float, h: float, memory: Memory,
    q_new: Array, qd_new: Array,
) -> bool:  # fmt: skip
    """`motion.runge_kutta` of an open arm."""
    n, nq = qd.shape[0], q.shape[0]
    q_stage, qd_stage, rate, qdd = memory.q_stage, memory.qd_stage, memory.rate, memory.qdd
    q_sum, qd_sum = memory.q_sum, memory.qd_sum
    for k in range(nq):
        q_stage[k], q_sum[k] = q[k], 0.0
    for j in range(n):
        qd_stage[j], qd_sum[j] = qd[j], 0.0
    here = memory.base if base.shape[0] > BASE else base
    for stage in range(4):
        if base.shape[0] > BASE:
            base_at(base, elapsed if stage == 0 else (elapsed + h if stage == 3 else elapsed + 0.5 * h), here)
        determined = open_arm_accelerations(
            topology, parameters, here, mimic, joints, wrenches, q_stage, qd_stage, drive, locked, memory, qdd
        )
        if not determined:
            return False
        configuration_rate(topology, q_stage, qd_stage, rate)
        weight = 1.0 if stage == 0 or stage == 3 else 2.0
        ahead = h if stage == 2 else 0.5 * h
        for k in range(nq):
            q_sum[k] += weight * rate[k]
            q_stage[k] = q[k] + ahead * rate[k]
        for j in range(n):
            qd_sum[j] += weight * qdd[j]
            qd_stage[j] = qd[j] + ahead * qdd[j]
    for k in range(nq):
        q_new[k] = q[k] + h / 6.0 * q_sum[k]
    for j in range(n):
        qd_new[j] = qd[j] + h / 6.0 * qd_sum[j]
    normalize_quaternions(topology, q_new)
    return True


@in_place_kernel
def viscous_rate(topology: NDArray[np.int64], parameters: Array, joints: Array, q: Array, memory: Memory) -> float:
    """Σ D_j (M⁻¹)_jj, which bounds the fastest decay by viscous friction, 1/s; −1 where a joint moves no inertia.

    (M⁻¹)_jj is the squared length of column j of L⁻¹, M = L Lᵀ.
    """
    M, x = memory.M, memory.qdd
    n = M.shape[0]
    mass_matrix_kernel(Arm(topology, parameters, None, None, memory.work), q, M)
    for j in range(n):
        x[j] = 0.0
    if cholesky_solve(M, x, x) >= 0:
        return -1.0
    rate = 0.0
    for j in range(n):
        if joints[j, VISCOUS] == 0.0:
            continue
        squares = 0.0
        for i in range(j, n):
            t = 1.0 if i == j else 0.0
            for k in range(j, i):
                t -= M[i, k] * x[k]
            x[i] = t / M[i, i]
            squares += x[i] * x[i]
        rate += joints[j, VISCOUS] * squares
    return rate
