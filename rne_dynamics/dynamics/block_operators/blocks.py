"""The blocks of the operator form: what fills Γ, H and 𝓜, and substitution along the tree (see `operator_form`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.dynamics.kinematics.joint_motion import inertia_of, joint_placement
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import (
    FLOATING,
    KIND,
    MULTIPLIER,
    PARENT,
    PRISMATIC,
    VELOCITY_INDEX,
)
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.pairs import gyroscopic
from rne_dynamics.spatial.rows import slice_vector
from rne_dynamics.spatial.vector import ZERO, add, cross, rotate_back, scale


@kernel
def transfer_kernel(topology: NDArray[np.int64], parameters: Array, q: Array, transfer: Array, arm: Array) -> None:
    """Fill the blocks X_i of one state, (bodies, 6, 6), and p of every body in its parent's axes, (bodies, 3)."""
    for i in range(topology.shape[0]):
        R, p = joint_placement(topology, parameters, i, q)
        for row in range(3):
            axis = (R[row], R[row + 3], R[row + 6])  # a row of Rᵀ
            swing = cross(p, axis)  # the same row of −Rᵀ p̃
            arm[i, row] = p[row]
            for k in range(3):
                transfer[i, row, k] = axis[k]
                transfer[i, row, k + 3] = swing[k]
                transfer[i, row + 3, k] = 0.0
                transfer[i, row + 3, k + 3] = axis[k]


@kernel
def velocity_terms_kernel(
    topology: NDArray[np.int64],
    parameters: Array,
    base: Array,
    qd: Array,
    transfer: Array,
    arm: Array,
    velocity: Array,
    acceleration: Array,
    force: Array,
) -> None:
    """Velocity terms: α of the accelerations, β of the forces, (bodies, 6) each; both are filled.

    From the base's motion (12,), q̇ (n,), X (bodies, 6, 6), p (bodies, 3) and the bodies' velocities V (bodies, 6).
    """
    for i in range(topology.shape[0]):
        parent = topology[i, PARENT]
        kind = topology[i, KIND]
        iv = topology[i, VELOCITY_INDEX]
        X = transfer[i]
        Rt = (X[0, 0], X[1, 0], X[2, 0], X[0, 1], X[1, 1], X[2, 1], X[0, 2], X[1, 2], X[2, 2])
        w_parent = slice_vector(base, 3) if parent < 0 else slice_vector(velocity[parent], 3)
        w = slice_vector(velocity[i], 3)
        a = rotate_back(Rt, cross(w_parent, cross(w_parent, slice_vector(arm[i], 0))))
        dw = ZERO
        if kind == FLOATING:
            v_joint, w_joint = slice_vector(qd, iv), slice_vector(qd, iv + 3)
            w_before = rotate_back(Rt, w_parent)
            a = add(a, cross(add(scale(2.0, w_before), w_joint), v_joint))
            dw = cross(w_before, w_joint)
        else:
            rate = parameters[i, MULTIPLIER] * qd[iv]
            if kind == PRISMATIC:
                a = (a[0] + 2.0 * w[1] * rate, a[1] - 2.0 * w[0] * rate, a[2])
            else:
                dw = (w[1] * rate, -w[0] * rate, 0.0)
        f, n = gyroscopic(inertia_of(parameters, i), w)
        for k in range(3):
            acceleration[i, k] = a[k]
            acceleration[i, k + 3] = dw[k]
            force[i, k] = f[k]
            force[i, k + 3] = n[k]


def outward(parents: NDArray[np.int64], transfer: Array, right: Array) -> Array:
    """Solve Γ Z = Y from the base to the tips, for X (B, bodies, 6, 6) and Y (B, bodies, 6, columns)."""
    solution = np.empty_like(right)
    for i, parent in enumerate(parents.tolist()):
        solution[:, i] = right[:, i] if parent < 0 else right[:, i] + transfer[:, i] @ solution[:, parent]
    return solution


def inward(parents: NDArray[np.int64], transfer: Array, right: Array) -> Array:
    """Solve Γᵀ Z = Y from the tips to the base, by the same blocks transposed; shapes as for `outward`."""
    solution: Array = right.copy()
    for i, parent in reversed(list(enumerate(parents.tolist()))):
        if parent >= 0:
            solution[:, parent] += transfer[:, i].transpose(0, 2, 1) @ solution[:, i]
    return solution


def joint_map(robot: RobotModel) -> Array:
    """H, (6·bodies, n), a constant of the robot, because each body's axes hold its joint's axis still.

    1 for each of a floating joint's six, the multiplier for the one axis of others; joints that mimic share a column.
    """
    H = np.zeros((6 * robot.bodies, robot.n))
    for i, (_, kind, _, iv) in enumerate(robot.topology.tolist()):
        if kind == FLOATING:
            H[6 * i : 6 * i + 6, iv : iv + 6] = np.eye(6)
        else:
            H[6 * i + (2 if kind == PRISMATIC else 5), iv] = robot.parameters[i, MULTIPLIER]
    return H
