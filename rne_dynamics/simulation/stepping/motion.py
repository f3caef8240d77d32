"""The smooth part of the motion: accelerations with some joints locked, and one step of fourth order.

Within such a step every joint keeps its state: sliding one way (constant Coulomb torque), locked (by friction or
in a stop), or free. `events.py` finds where that stops being true.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.dynamics.composite.mass_matrix import WORK_COLUMNS as _MASS_COLUMNS
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix_kernel
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.newton_euler.newton_euler import WORK_COLUMNS as _FORCE_COLUMNS
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics_kernel
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.base_course import BASE, base_at
from rne_dynamics.simulation.plant.bending import Flex, flexible_mass_and_bias
from rne_dynamics.simulation.plant.loops import Loops, closed_mass_and_bias
from rne_dynamics.simulation.plant.plant import VISCOUS
from rne_dynamics.simulation.stepping.open_arm import memory_of, open_arm_accelerations
from rne_dynamics.spatial.cholesky import cholesky_solve


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
    inverse_dynamics_kernel(Arm(topology, parameters, base, wrenches, work), q, qd, np.zeros(qd.shape[0]), bias)
    masses = np.empty((topology.shape[0], _MASS_COLUMNS))
    mass_matrix_kernel(Arm(topology, parameters, base, wrenches, masses), q, M)


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
    if loops is None and flex is None:
        memory = memory_of(topology.shape[0], q.shape[0], n)
        return open_arm_accelerations(
            topology, parameters, base, mimic, joints, wrenches, q, qd, drive, locked, memory, qdd
        )
    tau = np.empty(n)
    for j in range(n):
        tau[j] = drive[j] - joints[j, VISCOUS] * qd[j]
    M, bias = np.empty((n, n)), np.empty(n)
    if flex is not None:
        flexible_mass_and_bias(flex, base, wrenches, q, qd, 0.0, M, M, bias)
    elif loops is not None:
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
    elapsed: float,
    h: float,
    q_new: Array,
    qd_new: Array,
) -> bool:
    """The classical fourth-order step of length `h`; False where the motion is not determined.

    Of mechanisms and flexible links, whose positions are as many as their velocities; open arms have their own.
    `base` is one of `base_course`, of a step that began `elapsed` seconds before.
    """
    n = qd.shape[0]
    qdd, q_stage, qd_stage = np.empty(n), q.copy(), qd.copy()
    q_sum, qd_sum = np.zeros(n), np.zeros(n)
    here = np.empty(BASE) if base.shape[0] > BASE else base
    for stage in range(4):
        if base.shape[0] > BASE:
            base_at(base, elapsed if stage == 0 else (elapsed + h if stage == 3 else elapsed + 0.5 * h), here)
        if not accelerations(
            topology, parameters, loops, flex, here, mimic, joints, wrenches, q_stage, qd_stage, drive, locked, qdd
        ):
            return False
        weight = 1.0 if stage == 0 or stage == 3 else 2.0
        ahead = h if stage == 2 else 0.5 * h
        for j in range(n):
            q_sum[j] += weight * qd_stage[j]
            qd_sum[j] += weight * qdd[j]
            q_stage[j] = q[j] + ahead * qd_stage[j]
            qd_stage[j] = qd[j] + ahead * qdd[j]
    for j in range(n):
        q_new[j] = q[j] + h / 6.0 * q_sum[j]
        qd_new[j] = qd[j] + h / 6.0 * qd_sum[j]
    return True
