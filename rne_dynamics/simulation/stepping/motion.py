"""Accelerations of a plant with some joints locked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.addresses import call
from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.dynamics.articulated.nasser import nasser_kernel
from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale_kernel
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix_kernel
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics_kernel
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import ROTOR, VELOCITY_INDEX
from rne_dynamics.simulation.plant.arrays import LOCK, VISCOUS, PlantArrays, without_loops_and_flex
from rne_dynamics.simulation.plant.base_course import BASE
from rne_dynamics.simulation.plant.bending import Flex, flexible_mass_and_bias
from rne_dynamics.simulation.plant.configuration_rate import configuration_rate
from rne_dynamics.simulation.plant.loops import Loops, closed_mass_and_bias
from rne_dynamics.spatial.arrays import copy_into
from rne_dynamics.spatial.cholesky import scaled_cholesky_solve
from rne_dynamics.straight_line.status import REFUSED


class Memory(NamedTuple):
    """Workspace of a step.

    Parameters
    ----------
    work
        For any kernel of the dynamics; shape (bodies, at least its columns).
    M, bias
        Mass matrix and bias torque last evaluated; shapes (n, n), (n,).
    tau, qdd, qd_stage, qd_sum
        Shape (n,).
    rate, q_stage, q_sum
        Shape (nq,).
    base
        Motion of the base at the time of an evaluation; shape (12,).
    """

    M: Array
    bias: Array
    tau: Array
    qdd: Array
    qd_stage: Array
    qd_sum: Array
    rate: Array
    q_stage: Array
    q_sum: Array
    base: Array


class Piece(NamedTuple):
    """A smooth piece of a step: each joint slides one way under constant Coulomb torque, is locked, or is free.

    Parameters
    ----------
    q, qd
        State at its start; shapes (nq,), (n,).
    locked
        Joints held by friction or in a stop; shape (n,).
    direction
        In which the others slide: +1, −1, or 0 without a direction; shape (n,).
    drive
        Efforts and Coulomb friction, constant in the piece; shape (n,).
    """

    q: Array
    qd: Array
    locked: NDArray[np.bool_]
    direction: Array
    drive: Array


@helper
def memory_of(bodies: int, nq: int, n: int) -> Memory:
    """Workspace for a plant of that size."""
    return Memory(
        np.empty((n, n)), np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(nq),
        np.empty(nq), np.empty(nq), np.empty(BASE),
    )  # fmt: skip


@helper
def piece_of(nq: int, n: int) -> Piece:
    """Memory for a piece, no joint locked."""
    return Piece(np.empty(nq), np.empty(n), np.zeros(n, dtype=np.bool_), np.zeros(n), np.empty(n))


@helper
def mass_and_bias(
    plant: PlantArrays, loops: Loops | None, flex: Flex | None, memory: Memory, q: Array, qd: Array, implicit: float,
    factor: Array,
) -> bool:  # fmt: skip
    """Fill M(q) and c(q, q̇) + g(q) − Jᵀ f of `memory`, the base moving as there; False: not determined.

    `implicit` and `factor` as for `closed_mass_and_bias` and `flexible_mass_and_bias`.
    """
    M, bias, base = memory.M, memory.bias, memory.base
    if flex is not None:
        flexible_mass_and_bias(flex, base, plant.wrenches, q, qd, implicit, M, factor, bias)
        return True
    if loops is not None:
        return closed_mass_and_bias(loops, base, plant.wrenches, q, qd, implicit, M, factor, bias)
    rest = memory.qdd
    for j in range(qd.shape[0]):
        rest[j] = 0.0
    arm = Arm(plant.topology, plant.parameters, base, plant.wrenches)
    apart(inverse_dynamics_kernel, (arm, q, qd, rest, bias))
    apart(mass_matrix_kernel, (arm, q, M))
    return True


@helper
def mass_scale(
    plant: PlantArrays, loops: Loops | None, flex: Flex | None, memory: Memory, q: Array, scale: Array
) -> None:
    """Size of the terms of M's diagonal for `scaled_cholesky_solve`, after `mass_and_bias`; 0 for modes."""
    for j in range(scale.shape[0]):
        scale[j] = 0.0
    if loops is None:
        joints = q.shape[0] if flex is None else flex.packed.joints
        apart(inertia_scale_kernel, (plant.topology, plant.parameters, q[:joints], scale[:joints]))
        return
    tree, T = np.empty(loops.posture.shape[0]), loops.T
    apart(inertia_scale_kernel, (plant.topology, plant.parameters, loops.posture, tree))
    for i in range(tree.shape[0]):
        for j in range(scale.shape[0]):
            scale[j] += tree[i] * T[i, j] * T[i, j]


@helper
def _lock(M: Array, tau: Array, scale: Array, locked: NDArray[np.bool_]) -> None:
    """Replace the rows of locked joints in M q̈ = τ by q̈ = 0."""
    n = tau.shape[0]
    for j in range(n):
        if locked[j]:
            tau[j] = 0.0
            for k in range(n):
                M[j, k] = 0.0
                M[k, j] = 0.0
            M[j, j], scale[j] = 1.0, 1.0


@kernel
def locked_forward(arm: Arm, mimic: bool, q: Array, qd: Array, tau: Array, lock: Array, qdd: Array) -> int:
    """Fill `qdd` (n,) of an open arm with the inertias `lock` (n,) added to those of its rotors.

    −1, or a number of what moves no inertia.
    """
    topology, parameters, base, loads = arm
    if mimic:
        n = qd.shape[0]
        M, left = np.empty((n, n)), np.empty(n)
        apart(inverse_dynamics_kernel, (arm, q, qd, np.zeros(n), left))
        apart(mass_matrix_kernel, (arm, q, M))
        apart(inertia_scale_kernel, (topology, parameters, q, qdd))
        for j in range(n):
            left[j] = tau[j] - left[j]
            M[j, j] += lock[j]
        return scaled_cholesky_solve(M, left, qdd, qdd)
    heavy = parameters.copy()
    for i in range(topology.shape[0]):
        heavy[i, ROTOR] += lock[topology[i, VELOCITY_INDEX]]
    return apart(nasser_kernel, (Arm(topology, heavy, base, loads), q, qd, tau, qdd))


@kernel
def accelerations(
    plant: PlantArrays, loops: Loops | None, flex: Flex | None, memory: Memory, q: Array, qd: Array, drive: Array,
    locked: NDArray[np.bool_],
) -> bool:  # fmt: skip
    """Fill `memory.qdd` under the torque `drive` less viscous friction, the base moving as in `memory.base`.

    Locked joints do not accelerate. False where the motion is not determined.
    """
    n, tau, qdd = qd.shape[0], memory.tau, memory.qdd
    for j in range(n):
        tau[j] = drive[j] - plant.joints[j, VISCOUS] * qd[j]
    if loops is None and flex is None:
        lock = np.zeros(n)
        for j in range(n):
            if locked[j]:
                lock[j] = LOCK
        if plant.code == 0 or call(plant.code, (q, qd, tau, lock, plant.wrenches, qdd)) & REFUSED != 0:
            arm = Arm(plant.topology, plant.parameters, memory.base, plant.wrenches)
            if apart(locked_forward, (arm, plant.mimic, q, qd, tau, lock, qdd)) >= 0:
                return False
        for j in range(n):
            if locked[j]:
                qdd[j] = 0.0
        return True
    if not mass_and_bias(plant, loops, flex, memory, q, qd, 0.0, memory.M):
        return False
    mass_scale(plant, loops, flex, memory, q, qdd)
    for j in range(n):
        tau[j] -= memory.bias[j]
    _lock(memory.M, tau, qdd, locked)
    return bool(scaled_cholesky_solve(memory.M, tau, qdd, qdd) < 0)


@helper
def position_rate(plant: PlantArrays, loops: Loops | None, flex: Flex | None, q: Array, qd: Array, rate: Array) -> None:
    """Fill dq/dt (nq,)."""
    if loops is None and flex is None:
        configuration_rate(plant.topology, q, qd, rate)
    else:
        copy_into(rate, qd)


@kernel
def rates(given: PlantArrays, q: Array, qd: Array, drive: Array, rate: Array, qdd: Array) -> bool:
    """Fill dq/dt (nq,) and q̈ (n,) with no joint locked and the base at the step's begin; False: not determined."""
    n, plant, loops, flex = qd.shape[0], without_loops_and_flex(given), given.loops, given.flex
    memory = memory_of(plant.topology.shape[0], q.shape[0], n)
    for k in range(BASE):
        memory.base[k] = plant.base[k]
    position_rate(plant, loops, flex, q, qd, rate)
    determined = accelerations(plant, loops, flex, memory, q, qd, drive, np.zeros(n, dtype=np.bool_))
    copy_into(qdd, memory.qdd)
    return determined
