"""Forward dynamics by constraint forces: one O(n) recursion on the open tree for the efforts and for each constraint.

The loops' forces λ must keep K q̈ + drift = 0, so with q̈₀ the open tree's accelerations

    (K M⁻¹ Kᵀ) λ = −(K q̈₀ + drift),      q̈ = q̈₀ + M⁻¹ Kᵀ λ,

where q̈₀ and every column of M⁻¹ Kᵀ are one run of document 000's recursion (where joints mimic others, of composite
bodies and Cholesky). Only independent combinations of the
constraints enter, so that the small matrix is positive definite.
"""

from __future__ import annotations

import numpy as np

from rne_dynamics.closed_chain.independence import combinations, evaluated
from rne_dynamics.closed_chain.packed import pack, workspace
from rne_dynamics.closed_chain.rows import MOVE, run
from rne_dynamics.dynamics.forward_dynamics import FORWARD_DYNAMICS
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism


def constraint_forces_forward(
    mechanism: Mechanism, base: Array, postures: Array, qd: Array, tau: Array, wrenches: Array
) -> Array:
    """Accelerations of the actuated joints (B, n) over checked rows, at postures (B, tree n) that close.

    Raises
    ------
    SingularPostureError
        At a singular posture.
    SingularInertiaError
        A joint that moves no inertia in the open tree.
    """
    robot = mechanism.robot
    velocity = run(mechanism, MOVE, postures[:, mechanism.actuated], qd, postures=postures).velocity
    efforts = np.zeros_like(postures)
    efforts[:, mechanism.actuated] = tau
    free = FORWARD_DYNAMICS.compute(robot, base, postures, velocity, efforts, wrenches)
    still, unloaded = np.zeros((1, 12)), np.empty((1, 0, 6))
    packed = pack(mechanism)
    work = workspace(packed)
    qdd = np.empty_like(qd)
    for b in range(len(postures)):
        evaluated(packed, work, postures[b], velocity[b])
        independent = np.vstack(combinations(packed, work))
        K, drift = independent @ work.K, independent @ work.drift
        rows = np.repeat(postures[b : b + 1], len(K), axis=0)
        answers = FORWARD_DYNAMICS.compute(robot, still, rows, np.zeros_like(rows), K, unloaded)
        force = -np.linalg.solve(K @ answers.T, K @ free[b] + drift)
        qdd[b] = (free[b] + force @ answers)[mechanism.actuated]
    return qdd
