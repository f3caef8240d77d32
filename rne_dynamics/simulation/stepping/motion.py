"""Accelerations of a plant with some joints locked, and the smooth step of fourth order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.compiling.plain import call
from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale_kernel
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix_kernel
from rne_dynamics.dynamics.declared.arguments import Arm
from rne_dynamics.dynamics.forward_dynamics import nasser_kernel
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics_kernel
from rne_dynamics.model.friction import faded
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import ROTOR, VELOCITY_INDEX
from rne_dynamics.simulation.plant.arrays import (
    BASE,
    FADING,
    LOCK,
    NO_CODE,
    STRIBECK,
    VISCOUS,
    ArmCode,
    PlantArrays,
    assemble_ahead,
    base_at,
    closed_mass_and_bias,
    configuration_rate,
    flexible_mass_and_bias,
    normalize_quaternions,
)
from rne_dynamics.simulation.plant.contact_law import touch_loads
from rne_dynamics.spatial.cholesky import inverse, scaled_cholesky_solve
from rne_dynamics.spatial.rows import matrix_times
from rne_dynamics.straight_line.recipe import REFUSED


class Piece(NamedTuple):
    """A smooth piece of a step: each joint slides one way under Coulomb friction, is locked, or is free."""

    #: State at its start; shapes (nq,), (n,).
    q: Array
    qd: Array
    #: Joints held by friction or in a stop; shape (n,).
    locked: NDArray[np.bool_]
    #: In which the others slide: +1, −1, or 0 without a direction; shape (n,).
    direction: Array
    #: Efforts and friction as at rest, constant in the piece; shape (n,).
    drive: Array


@helper
def speed_friction(joints: Array, j: int, v: float) -> float:
    """Friction of joint j that its speed adds: viscous, less what Stribeck friction has faded."""
    less = faded(joints[j, STRIBECK], joints[j, FADING], v)
    return float(joints[j, VISCOUS] * v - (less if v > 0.0 else -less))


@helper
def _open_mass_and_bias(arm: Arm, code: ArmCode, q: Array, qd: Array, M: Array, bias: Array) -> None:
    rest = np.zeros(qd.shape[0])
    if code.inverse_dynamics == 0 or call(code.inverse_dynamics, (q, qd, rest, bias)) & REFUSED != 0:
        apart(inverse_dynamics_kernel, (arm, q, qd, rest, bias))
    open_mass_matrix(arm, code, q, M)


@helper
def open_mass_matrix(arm: Arm, code: ArmCode, q: Array, M: Array) -> None:
    """Fill M(q) (n, n) of an open arm."""
    if code.mass_matrix == 0 or call(code.mass_matrix, (q, M)) & REFUSED != 0:
        apart(mass_matrix_kernel, (arm, q, M))


@helper
def mass_and_bias(
    plant: PlantArrays, base: Array, q: Array, qd: Array, implicit: float, M: Array, factor: Array, bias: Array
) -> bool:
    """Fill M(q) (n, n) and c(q, q̇) + g(q) − Jᵀ f (n,) on a base that moves so, (12,); False: not determined."""
    if plant.loops is not None:
        if plant.touch is not None:
            if not apart(assemble_ahead, (plant.loops, q)):
                return False
            speeds = np.empty(plant.loops.posture.shape[0])
            matrix_times(plant.loops.T, qd, speeds)
            put_loads(plant, plant.loops.posture, speeds)
        return closed_mass_and_bias(plant.loops, base, plant.wrenches, q, qd, implicit, M, factor, bias)
    if plant.flex is not None:
        flexible_mass_and_bias(plant.flex, base, plant.wrenches, q, qd, implicit, M, factor, bias)
    else:
        put_loads(plant, q, qd)
        _open_mass_and_bias(Arm(plant.topology, plant.parameters, base, plant.wrenches), plant.code, q, qd, M, bias)
    return True


@helper
def put_loads(plant: PlantArrays, q: Array, qd: Array) -> None:
    """Fill `plant.wrenches` at a state of the tree, where links may touch something."""
    if plant.touch is not None:
        points = plant.touch.where.shape[0]
        forces, felt = np.empty((points, 3)), np.empty((points, 2))
        apart(touch_loads, (plant.topology, plant.parameters, plant.touch, q, qd, 0.0, plant.wrenches, forces, felt))


@helper
def mass_scale(plant: PlantArrays, q: Array, scale: Array) -> None:
    """Size of the terms of M's diagonal for `scaled_cholesky_solve`, after `mass_and_bias`; 0 for modes."""
    scale[:] = 0.0
    if plant.loops is None:
        joints = q.shape[0] if plant.flex is None else plant.flex.packed.joints
        apart(inertia_scale_kernel, (plant.topology, plant.parameters, q[:joints], scale[:joints]))
        return
    tree, T = np.empty(plant.loops.posture.shape[0]), plant.loops.T
    apart(inertia_scale_kernel, (plant.topology, plant.parameters, plant.loops.posture, tree))
    for i in range(tree.shape[0]):
        for j in range(scale.shape[0]):
            scale[j] += tree[i] * T[i, j] * T[i, j]


@helper
def _solve(M: Array, tau: Array, bias: Array, lock: Array, qdd: Array) -> int:
    """(M + lock) q̈ = τ − bias, in place of M, τ and of `mass_scale` in `qdd`; −1, or what moves no inertia."""
    for j in range(tau.shape[0]):
        tau[j] -= bias[j]
        M[j, j] += lock[j]
    return scaled_cholesky_solve(M, tau, qdd, qdd)


@kernel
def locked_forward(arm: Arm, mimic: bool, q: Array, qd: Array, tau: Array, lock: Array, qdd: Array) -> int:
    """Fill `qdd` (n,) of an open arm with `lock` (n,) added to its rotors' inertias; −1, or what moves no inertia."""
    topology, parameters, base, loads = arm
    if mimic:
        n = qd.shape[0]
        M, bias = np.empty((n, n)), np.empty(n)
        _open_mass_and_bias(arm, NO_CODE, q, qd, M, bias)
        apart(inertia_scale_kernel, (topology, parameters, q, qdd))
        return _solve(M, tau.copy(), bias, lock, qdd)
    heavy = parameters.copy()
    for i in range(topology.shape[0]):
        heavy[i, ROTOR] += lock[topology[i, VELOCITY_INDEX]]
    return apart(nasser_kernel, (Arm(topology, heavy, base, loads), q, qd, tau, qdd))


@kernel
def accelerations(
    plant: PlantArrays, base: Array, q: Array, qd: Array, drive: Array, locked: NDArray[np.bool_], qdd: Array
) -> bool:
    """Fill `qdd`, 0 of locked joints, under `drive` less `speed_friction`, base (12,); False: not determined."""
    n = qd.shape[0]
    tau, lock = np.empty(n), np.zeros(n)
    for j in range(n):
        tau[j] = drive[j] - speed_friction(plant.joints, j, qd[j])
        if locked[j]:
            lock[j] = LOCK
    if plant.loops is None and plant.flex is None:
        put_loads(plant, q, qd)
        if plant.code.forward == 0 or call(plant.code.forward, (q, qd, tau, lock, plant.wrenches, qdd)) & REFUSED != 0:
            arm = Arm(plant.topology, plant.parameters, base, plant.wrenches)
            if apart(locked_forward, (arm, plant.mimic, q, qd, tau, lock, qdd)) >= 0:
                return False
    else:
        M, bias = np.empty((n, n)), np.empty(n)
        if not mass_and_bias(plant, base, q, qd, 0.0, M, M, bias):
            return False
        mass_scale(plant, q, qdd)
        if _solve(M, tau, bias, lock, qdd) >= 0:
            return False
    for j in range(n):
        if locked[j]:
            qdd[j] = 0.0
    return True


@helper
def position_rate(plant: PlantArrays, q: Array, qd: Array, rate: Array) -> None:
    """Fill dq/dt (nq,)."""
    if plant.loops is None and plant.flex is None:
        configuration_rate(plant.topology, q, qd, rate)
    else:
        rate[:] = qd


@kernel
def rates(plant: PlantArrays, q: Array, qd: Array, drive: Array, rate: Array, qdd: Array) -> bool:
    """Fill dq/dt (nq,) and q̈ (n,) with no joint locked and the base at the step's begin; False: not determined."""
    position_rate(plant, q, qd, rate)
    return accelerations(plant, plant.base, q, qd, drive, np.zeros(qd.shape[0], dtype=np.bool_), qdd)


#: Decay rate of viscous friction, or frequency of a mode, times step above which an implicit step takes over (the
#: limit of RK4 is 2.8).
STIFF = 2.0


@helper
def damped(joints: Array) -> bool:
    """Whether any joint has viscous friction."""
    any_damped = False
    for j in range(joints.shape[0]):
        any_damped = any_damped or joints[j, VISCOUS] > 0.0
    return any_damped


@helper
def may_be_stiff(plant: PlantArrays) -> bool:
    """Whether `too_stiff` need be asked; collocation steps any stiffness."""
    if plant.flex is not None:
        return not plant.flex.collocation
    return damped(plant.joints) or (plant.loops is not None and plant.loops.damped)


@helper
def too_stiff(plant: PlantArrays, A: Array, dt: float) -> bool:
    """Whether a mode or viscous decay is too fast for a step of `dt`; A is M⁻¹, or J⁻¹ of flexible links."""
    rate, squares, loops, flex = 0.0, 0.0, plant.loops, plant.flex
    for j in range(A.shape[0]):
        rate += plant.joints[j, VISCOUS] * A[j, j]
        if loops is not None:
            for k in range(A.shape[0]):
                rate += loops.damping[j, k] * A[k, j]
    if flex is not None:
        n = flex.packed.joints
        for k in range(flex.stiffness.shape[0]):  # traces bound the largest decay rate and frequency
            for m in range(flex.stiffness.shape[0]):
                squares += flex.stiffness[k, m] * A[n + m, n + k]
                rate += flex.damping[k, m] * A[n + m, n + k]
    return rate * dt > STIFF or squares * dt * dt > STIFF * STIFF


@kernel
def viscous_rate(arm: Arm, code: ArmCode, viscous: Array, q: Array) -> float:
    """Σ D_j (M⁻¹)_jj, which bounds the fastest decay by viscous friction, 1/s; −1 where a joint moves no inertia."""
    n, rate = viscous.shape[0], 0.0
    M, A, scale = np.empty((n, n)), np.empty((n, n)), np.empty(n)
    open_mass_matrix(arm, code, q, M)
    apart(inertia_scale_kernel, (arm.topology, arm.parameters, q, scale))
    if apart(inverse, (M, scale, A)) >= 0:
        return -1.0
    for j in range(n):
        rate += viscous[j] * A[j, j]
    return rate


#: Of each stage: its time, the way from the start to the next stage, and its weight, as parts of the step (the weights
#: as sixths).
TIMES, AHEAD, WEIGHTS = (0.0, 0.5, 0.5, 1.0), (0.5, 0.5, 1.0, 0.0), (1.0, 2.0, 2.0, 1.0)


@helper
def add_stage(stage: int, h: float, start: Array, rate: Array, there: Array, total: Array) -> None:
    """Move `there` to the next stage of a step of length `h` from `start`, from the last one to the end.

    `total` collects the weighted rates.
    """
    ahead, weight = AHEAD[stage] * h, WEIGHTS[stage]
    for k in range(start.shape[0]):
        total[k] += weight * rate[k]
        there[k] = start[k] + (ahead * rate[k] if stage < 3 else h / 6.0 * total[k])


@kernel
def runge_kutta(plant: PlantArrays, piece: Piece, elapsed: float, h: float, q_new: Array, qd_new: Array) -> bool:
    """A step of length `h` that begins `elapsed` seconds after the one `plant.base` is for; False: not determined."""
    q, q_sum, rate = piece.q.copy(), np.zeros(q_new.shape[0]), np.empty(q_new.shape[0])
    qd, qd_sum, qdd = piece.qd.copy(), np.zeros(qd_new.shape[0]), np.empty(qd_new.shape[0])
    base = np.empty(BASE)
    for stage in range(4):
        base_at(plant.base, elapsed + TIMES[stage] * h, base)
        if not accelerations(plant, base, q, qd, piece.drive, piece.locked, qdd):
            return False
        position_rate(plant, q, qd, rate)
        add_stage(stage, h, piece.q, rate, q, q_sum)
        add_stage(stage, h, piece.qd, qdd, qd, qd_sum)
    q_new[:], qd_new[:] = q, qd
    if plant.loops is None and plant.flex is None:
        normalize_quaternions(plant.topology, q_new)
    return True
