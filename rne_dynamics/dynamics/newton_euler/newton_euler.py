"""Inverse dynamics by the recursive Newton–Euler method, O(n).

One outward pass carries the motion of every body, one inward pass the forces. Each body works in its own
frame at its own joint, whose z is the joint axis. Accelerations are those of the frame's origin as a point
(not Featherstone's spatial ones), as in documents 000 and 001 (seeds); the equations are (A.2.5), (2.1.13),
(2.1.1) and (2.1.5) of document 000 written for known joint accelerations, with (2.2.x) for prismatic joints.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from rne_dynamics.compiling.jit import in_place_kernel
from rne_dynamics.dynamics.declared.arguments import Wrenches
from rne_dynamics.dynamics.declared.arm import Arm, body_rows, with_rest
from rne_dynamics.dynamics.declared.base_motion import BaseMotion
from rne_dynamics.dynamics.declared.forms import N
from rne_dynamics.dynamics.declared.quantity import Quantity
from rne_dynamics.dynamics.kinematics.joint_motion import inertia_of, placement_at_turn, put_joint_turns
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import (
    FLOATING,
    KIND,
    MULTIPLIER,
    PARENT,
    PRISMATIC,
    ROTOR,
    VELOCITY_INDEX,
)
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.rows import matrix_at, put, put_matrix, slice_vector, vector_at
from rne_dynamics.spatial.vector import add, cross, rotate, rotate_back, scale, subtract, times

# columns of the work array, one row a body: R, p, ω, ω̇, v̇, f, n
_R, _P, _W, _DW, _DV, _F, _N, WORK_COLUMNS = columns(9, 3, 3, 3, 3, 3, 3)
#: Where the kernel leaves the placement (R, p) in the parent, the motion (ω, ω̇, v̇ − g) and the reaction (f, n).
PLACEMENT, MOTION, REACTION = slice(_R, _W), slice(_W, _F), slice(_F, WORK_COLUMNS)


@in_place_kernel
def inverse_dynamics_kernel(arm: Arm, q: Array, qd: Array, qdd: Array, tau: Array) -> None:
    """Joint efforts for one state: q (nq,), qd, qdd (n,); fills tau (n,). `arm.work` is (bodies, WORK_COLUMNS)."""
    topology, parameters, base, wrenches, work = arm
    bodies = topology.shape[0]
    loaded = wrenches.shape[0] > 0
    for i in range(tau.shape[0]):
        tau[i] = 0.0
    put_joint_turns(topology, parameters, q, work, _F)  # where the forces will be
    for i in range(bodies):
        parent = topology[i, PARENT]
        kind = topology[i, KIND]
        iv = topology[i, VELOCITY_INDEX]
        R, p = placement_at_turn(topology, parameters, i, q, (work[i, _F], work[i, _F + 1]))
        if parent < 0:
            w_parent = slice_vector(base, 3)
            dv_parent = slice_vector(base, 6)
            dw_parent = slice_vector(base, 9)
        else:
            w_parent = vector_at(work, parent, _W)
            dw_parent = vector_at(work, parent, _DW)
            dv_parent = vector_at(work, parent, _DV)
        # the parent's motion at the joint, (2.1.13), in this body's axes
        w = rotate_back(R, w_parent)
        dw = rotate_back(R, dw_parent)
        dv = rotate_back(R, add(dv_parent, add(cross(dw_parent, p), cross(w_parent, cross(w_parent, p)))))
        if kind == FLOATING:
            v_joint, w_joint = slice_vector(qd, iv), slice_vector(qd, iv + 3)
            dv = add(dv, add(slice_vector(qdd, iv), cross(add(scale(2.0, w), w_joint), v_joint)))
            dw = add(dw, add(slice_vector(qdd, iv + 3), cross(w, w_joint)))
            w = add(w, w_joint)
        else:
            rate = parameters[i, MULTIPLIER] * qd[iv]
            acceleration = parameters[i, MULTIPLIER] * qdd[iv]
            if kind == PRISMATIC:  # (2.2.6): 2 ω × z q̇ + z q̈
                dv = (dv[0] + 2.0 * w[1] * rate, dv[1] - 2.0 * w[0] * rate, dv[2] + acceleration)
            else:  # (2.1.13.1), (2.1.13.2): ω × z q̇ + z q̈
                dw = (dw[0] + w[1] * rate, dw[1] - w[0] * rate, dw[2] + acceleration)
                w = (w[0], w[1], w[2] + rate)
        # (2.1.1), (2.1.5) about the frame's origin
        m, h, J = inertia_of(parameters, i)
        f = add(scale(m, dv), add(cross(dw, h), cross(w, cross(w, h))))
        n = add(times(J, dw), add(cross(w, times(J, w)), cross(h, dv)))
        if loaded:
            f = subtract(f, vector_at(wrenches, i, 0))
            n = subtract(n, vector_at(wrenches, i, 3))
        put_matrix(work, i, _R, R)
        put(work, i, _P, p)
        put(work, i, _W, w)
        put(work, i, _DW, dw)
        put(work, i, _DV, dv)
        put(work, i, _F, f)
        put(work, i, _N, n)

    for i in range(bodies - 1, -1, -1):
        parent = topology[i, PARENT]
        kind = topology[i, KIND]
        iv = topology[i, VELOCITY_INDEX]
        f = vector_at(work, i, _F)
        n = vector_at(work, i, _N)
        if kind == FLOATING:
            for k in range(6):
                tau[iv + k] = work[i, _F + k]
        else:
            multiplier = parameters[i, MULTIPLIER]
            along = f[2] if kind == PRISMATIC else n[2]
            tau[iv] += multiplier * (along + parameters[i, ROTOR] * multiplier * qdd[iv])
        if parent >= 0:
            # (2.1.2), (2.1.5.2): the reaction, seen from the parent's origin
            R = matrix_at(work, i, _R)
            f_there = rotate(R, f)
            n_there = add(rotate(R, n), cross(vector_at(work, i, _P), f_there))
            put(work, parent, _F, add(vector_at(work, parent, _F), f_there))
            put(work, parent, _N, add(vector_at(work, parent, _N), n_there))


@in_place_kernel
def bias_torque_kernel(arm: Arm, q: Array, qd: Array, tau: Array) -> None:
    """`inverse_dynamics_kernel` at zero acceleration; `arm.work` has its work memory and zeros (n,)."""
    work, rest = arm.work
    inverse_dynamics_kernel(Arm(arm.topology, arm.parameters, arm.base, arm.wrenches, work), q, qd, rest, tau)


_WORK = body_rows(WORK_COLUMNS)
INVERSE_DYNAMICS = Quantity(
    "inverse_dynamics", inverse_dynamics_kernel, ("q", "qd", "qdd"), (N,), _WORK, wrenches=True, base_motion=True
)
BIAS_TORQUE = Quantity("bias_torque", bias_torque_kernel, ("q", "qd"), (N,), with_rest(_WORK))


@INVERSE_DYNAMICS.public
def inverse_dynamics(
    robot: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
) -> Array:
    """Joint efforts that give the accelerations `qdd`: τ = M(q) q̈ + c(q, q̇) + g(q) − Jᵀ f.

    Parameters
    ----------
    robot
        The model.
    q, qd, qdd
        Positions (…, nq), velocities and accelerations (…, n); rad or m and their rates. Leading dimensions
        broadcast. For a floating joint the velocities are (linear, angular) in the moving frame's axes and
        `qdd` their time derivatives.
    wrenches
        External loads: link name to (force, moment), shape (…, 6), at the link frame's origin in link axes; N, N·m.
    base_motion
        Prescribed motion of the base; at rest by default. Not for floating bases.

    Returns
    -------
    ndarray
        Efforts, N·m or N, shape (…, n). Rotor inertia is included, joint friction is not.

    Raises
    ------
    ArgumentError
        Wrong shapes, NaN or infinity, or a base motion for a floating base.
    ModelError
        An unknown link in `wrenches`.
    """
    return INVERSE_DYNAMICS.answer(robot, q, qd, qdd, wrenches=wrenches, base_motion=base_motion)


@BIAS_TORQUE.public
def bias_torque(robot: RobotModel, q: ArrayLike, qd: ArrayLike) -> Array:
    """Coriolis, centrifugal and gravity efforts c(q, q̇) + g(q), N·m or N; shape (…, n).

    Parameters and errors as for `inverse_dynamics`.
    """
    return BIAS_TORQUE.answer(robot, q, qd)
