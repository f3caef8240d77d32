"""Efforts that hold the arm still against gravity, O(n).

At rest the recursion of `newton_euler` needs only mass and first moment of what each joint carries: the
force on body i is −(composite mass) g, its moment about the joint −(composite m·c) × g.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from rne_dynamics.compiling.jit import in_place_kernel
from rne_dynamics.dynamics.declared.arm import Arm, body_rows
from rne_dynamics.dynamics.declared.forms import N
from rne_dynamics.dynamics.declared.quantity import Quantity
from rne_dynamics.dynamics.kinematics.joint_motion import placement_at_turn, put_joint_turns
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import (
    FLOATING,
    KIND,
    MASS,
    MOMENT,
    MULTIPLIER,
    PARENT,
    PRISMATIC,
    VELOCITY_INDEX,
)
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.rows import matrix_at, put, put_matrix, slice_vector, vector_at
from rne_dynamics.spatial.vector import add, cross, rotate, rotate_back, scale

# columns of the work array, one row a body: R, p, v̇ − g, composite mass, composite first moment
_R, _P, _G, _M, _H, WORK_COLUMNS = columns(9, 3, 3, 1, 3)


@in_place_kernel
def gravity_torque_kernel(arm: Arm, q: Array, tau: Array) -> None:
    """Gravity efforts for one state: q (nq,); fills tau (n,). `arm.work` is (bodies, WORK_COLUMNS)."""
    topology, parameters, base, _, work = arm
    bodies = topology.shape[0]
    for i in range(tau.shape[0]):
        tau[i] = 0.0
    put_joint_turns(topology, parameters, q, work, _H)  # where the first moments will be
    for i in range(bodies):
        parent = topology[i, PARENT]
        R, p = placement_at_turn(topology, parameters, i, q, (work[i, _H], work[i, _H + 1]))
        up = slice_vector(base, 6) if parent < 0 else vector_at(work, parent, _G)
        put_matrix(work, i, _R, R)
        put(work, i, _P, p)
        put(work, i, _G, rotate_back(R, up))
        work[i, _M] = parameters[i, MASS]
        put(work, i, _H, vector_at(parameters, i, MOMENT))
    for i in range(bodies - 1, -1, -1):
        parent = topology[i, PARENT]
        kind = topology[i, KIND]
        iv = topology[i, VELOCITY_INDEX]
        up = vector_at(work, i, _G)
        m = work[i, _M]
        h = vector_at(work, i, _H)
        if kind == FLOATING:
            f, n = scale(m, up), cross(h, up)
            for k in range(3):
                tau[iv + k] = f[k]
                tau[iv + 3 + k] = n[k]
        elif kind == PRISMATIC:
            tau[iv] += parameters[i, MULTIPLIER] * m * up[2]
        else:
            tau[iv] += parameters[i, MULTIPLIER] * (h[0] * up[1] - h[1] * up[0])
        # a floating body hands its weight to its actuators, which stand on the parent, like any joint
        if parent >= 0:
            work[parent, _M] += m
            there = add(rotate(matrix_at(work, i, _R), h), scale(m, vector_at(work, i, _P)))
            put(work, parent, _H, add(vector_at(work, parent, _H), there))


GRAVITY_TORQUE = Quantity("gravity_torque", gravity_torque_kernel, ("q",), (N,), body_rows(WORK_COLUMNS))


@GRAVITY_TORQUE.public
def gravity_torque(robot: RobotModel, q: ArrayLike) -> Array:
    """Efforts g(q) that hold the arm at rest, N·m or N; shape (…, n).

    Parameters
    ----------
    robot
        The model.
    q
        Positions, shape (…, nq).

    Raises
    ------
    ArgumentError
        A wrong shape, NaN or infinity.
    """
    return GRAVITY_TORQUE.answer(robot, q)
