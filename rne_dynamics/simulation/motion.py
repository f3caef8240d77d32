"""The smooth part of the motion: accelerations with some joints locked, and one step of fourth order.

Within such a step every joint keeps its state: sliding one way (constant Coulomb torque), locked (by friction or
in a stop), or free. `events.py` finds where that stops being true.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.dynamics.mass_matrix import WORK_COLUMNS as _MASS_COLUMNS
from rne_dynamics.dynamics.mass_matrix import mass_matrix_kernel
from rne_dynamics.dynamics.nasser import WORK_COLUMNS as _NASSER_COLUMNS
from rne_dynamics.dynamics.nasser import nasser_kernel
from rne_dynamics.dynamics.newton_euler import WORK_COLUMNS as _FORCE_COLUMNS
from rne_dynamics.dynamics.newton_euler import inverse_dynamics_kernel
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, POSITION_INDEX, VELOCITY_INDEX
from rne_dynamics.simulation.bending import Flex, flexible_mass_and_bias
from rne_dynamics.simulation.loops import Loops, closed_mass_and_bias
from rne_dynamics.simulation.plant import VISCOUS
from rne_dynamics.spatial.arrays import copy_into
from rne_dynamics.spatial.cholesky import cholesky_solve
from rne_dynamics.spatial.jit import helper, kernel
from rne_dynamics.spatial.rows import slice_vector
from rne_dynamics.spatial.vector import from_quaternion, rotate


@helper
def mass_and_bias(
    topology: NDArray[np.int64],
    parameters: Array,
    base: Array,
    wrenches: Array,
    q: Array,
    qd: Array,
    M: Array,
    bias: Array,
) -> None:
    """M(q) (n, n) and c(q, q̇) + g(q) − Jᵀ f (n,)."""
    work = np.empty((topology.shape[0], _FORCE_COLUMNS))
    inverse_dynamics_kernel(
        topology, parameters, base, q, qd, np.zeros(qd.shape[0]), wrenches, work, bias
    )
    mass_matrix_kernel(topology, parameters, q, np.empty((topology.shape[0], _MASS_COLUMNS)), M)


@kernel
def accelerations(
    topology: NDArray[np.int64],
    parameters: Array,
    loops: Loops | None,
    flex: Flex | None,
    base: Array,
    mimic: bool,
    joints: Array,
    wrenches: Array,
    q: Array,
    qd: Array,
    drive: Array,
    locked: NDArray[np.bool_],
    qdd: Array,
) -> bool:
    """q̈ under the torque `drive` less viscous friction; locked joints do not accelerate. False: not determined.

    Parameters
    ----------
    loops
        None for an open arm. Wherever a kernel asks that alone, numba compiles the one answer only: the open arm's
        kernels hold nothing of the loops.
    flex
        None where nothing bends, likewise. Otherwise `q` and `qd` are z and ż, and what is of the joints has rows for
        the modes too.
    mimic
        Whether the robot has mimic joints.
    joints
        `ArmPlant.joints`.
    drive
        Efforts and Coulomb friction; shape (n,).
    locked
        Shape (n,).
    """
    n = qd.shape[0]
    tau = np.empty(n)
    any_locked = False
    for j in range(n):
        tau[j] = drive[j] - joints[j, VISCOUS] * qd[j]
        any_locked = any_locked or locked[j]
    M, bias = np.empty((n, n)), np.empty(n)
    if flex is not None:
        flexible_mass_and_bias(flex, base, wrenches, q, qd, 0.0, M, M, bias)
    elif loops is None:
        recursive = not any_locked and not mimic
        if recursive:
            work = np.empty((topology.shape[0], _NASSER_COLUMNS))
            return bool(nasser_kernel(topology, parameters, base, q, qd, tau, wrenches, work, qdd) < 0)
        mass_and_bias(topology, parameters, base, wrenches, q, qd, M, bias)
    else:
        closed = closed_mass_and_bias(loops, base, wrenches, q, qd, 0.0, M, M, bias)
        if not closed:
            return False
    for j in range(n):
        tau[j] -= bias[j]
    for j in range(n):
        if locked[j]:
            tau[j] = 0.0
            for k in range(n):
                M[j, k] = 0.0
                M[k, j] = 0.0
            M[j, j] = 1.0
    return bool(cholesky_solve(M, tau, qdd) < 0)


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


@helper
def runge_kutta(
    topology: NDArray[np.int64],
    parameters: Array,
    loops: Loops | None,
    flex: Flex | None,
    base: Array,
    mimic: bool,
    joints: Array,
    wrenches: Array,
    q: Array,
    qd: Array,
    drive: Array,
    locked: NDArray[np.bool_],
    h: float,
    q_new: Array,
    qd_new: Array,
) -> bool:
    """The classical fourth-order step of length `h`; False where the motion is not determined."""
    n, nq = qd.shape[0], q.shape[0]
    qdd, rate = np.empty(n), np.empty(nq)
    q_stage, qd_stage = q.copy(), qd.copy()
    q_sum, qd_sum = np.zeros(nq), np.zeros(n)
    for stage in range(4):
        if not accelerations(
            topology, parameters, loops, flex, base, mimic, joints, wrenches, q_stage, qd_stage, drive, locked, qdd
        ):
            return False
        if loops is None and flex is None:
            configuration_rate(topology, q_stage, qd_stage, rate)
        else:
            copy_into(rate, qd_stage)
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
    if loops is None and flex is None:
        normalize_quaternions(topology, q_new)
    return True
