"""The semi-implicit Euler step: first order, robust; velocities first, then positions with the new velocities."""

from __future__ import annotations

import numpy as np

from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import rare_kernel
from rne_dynamics.dynamics.kinematics.jacobian import integrate_configuration_kernel
from rne_dynamics.model.friction import faded
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.arrays import BACKWARD, FADING, FORWARD, LOWER, STRIBECK, UPPER, PlantArrays
from rne_dynamics.simulation.plant.base_course import BASE, base_at
from rne_dynamics.simulation.stepping.contact import impulses, kept_within_stops, response, rubs, stop_side
from rne_dynamics.spatial.rows import copy_into


@rare_kernel
def semi_implicit_step(
    plant: PlantArrays, q: Array, qd: Array, effort: Array, dt: float, q_new: Array, qd_new: Array
) -> bool:
    """One step from (q, qd) into (q_new, qd_new), which must be other arrays; False: the motion is not determined."""
    n, base = qd.shape[0], np.empty(BASE)
    M, bias, A = np.empty((n, n)), np.empty(n), np.empty((n, n))
    base_at(plant.base, 0.0, base)
    if not apart(response, (plant, base, q, qd, dt, M, bias, A)):
        return False
    apart(implicit_velocities, (plant, M, bias, A, q, qd, effort, dt, qd_new))
    if plant.loops is None and plant.flex is None:
        step = np.empty(n)
        for j in range(n):
            step[j] = dt * qd_new[j]
        integrate_configuration_kernel(plant.topology, q, step, q_new)
    else:
        for j in range(n):
            q_new[j] = q[j] + dt * qd_new[j]
    kept_within_stops(plant, q, q_new)
    return True


@rare_kernel
def implicit_velocities(
    plant: PlantArrays, M: Array, bias: Array, A: Array, q: Array, qd: Array, effort: Array, dt: float, qd_new: Array
) -> None:
    """The velocities after one step; the positions then move with them for `dt`.

    Viscous friction is implicit, (M + dt D) q̇⁺ = M q̇ + dt (τ − bias), which is stable however stiff it is. So are
    stiffness and damping of flexible links, (M + dt D + dt² K). Coulomb friction, with Stribeck's at the speed before,
    and stops are impulses found together (Moreau's time stepping): at a stop no velocity leads out, and a joint that
    would pass a stop within the step is slowed so that it arrives there at the step's end.

    `M`, `bias`, `A`: as `response` gives them for `implicit` = dt.
    """
    n, joints, positions = qd.shape[0], plant.joints, plant.positions
    momentum = np.empty(n)
    for j in range(n):
        momentum[j] = dt * (effort[j] - bias[j])
        for k in range(n):
            momentum[j] += M[j, k] * qd[k]
    for j in range(n):
        qd_new[j] = 0.0
        for k in range(n):
            qd_new[j] += A[j, k] * momentum[k]

    chosen = np.empty(n, dtype=np.int64)
    lo, hi, target = np.empty(n), np.empty(n), np.zeros(n)
    m = 0
    for j in range(n):
        side = stop_side(plant, q, j)
        if side != 0 or rubs(plant, j):
            chosen[m] = j
            less = faded(joints[j, STRIBECK], joints[j, FADING], qd[j])
            lo[m] = -np.inf if side > 0 else -dt * (joints[j, FORWARD] - less)
            hi[m] = np.inf if side == -1 or side == 2 else dt * (joints[j, BACKWARD] - less)
            m += 1
    before = qd_new.copy()
    inside = np.zeros(n, dtype=np.bool_)
    for attempt in range(n + 1):
        if m > 0:
            copy_into(qd_new, before)
            impulses(A, chosen[:m], target[:m], lo[:m], hi[:m], qd_new)
        if attempt == 0:
            copy_into(before, qd_new)
            m = 0
        # stops ahead; slowing one joint may push another into its stop, so the set grows until nothing leads out
        grown = False
        for j in range(n):
            iq = positions[j]
            if iq < 0 or inside[j]:
                continue
            above, below = max((joints[j, UPPER] - q[iq]) / dt, 0.0), min((joints[j, LOWER] - q[iq]) / dt, 0.0)
            if qd_new[j] > above:
                chosen[m], target[m], lo[m], hi[m] = j, above, -np.inf, 0.0
            elif qd_new[j] < below:
                chosen[m], target[m], lo[m], hi[m] = j, below, 0.0, np.inf
            else:
                continue
            m, inside[j], grown = m + 1, True, True
        if not grown:
            break
