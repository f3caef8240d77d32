"""Inverse dynamics by the recursive Newton–Euler method, O(n).

The outward pass computes the motion of every body, the inward pass the wrenches. Each body works in its own
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
from rne_dynamics.dynamics.kinematics.joint_motion import (
    along,
    inertia_of,
    joint_acceleration,
    joint_speed,
    placement_at_turn,
    put_joint_turns,
)
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import (
    FLOATING,
    KIND,
    MULTIPLIER,
    PARENT,
    ROTOR,
    VELOCITY_INDEX,
)
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.pairs import (
    acceleration_at,
    add_pair,
    minus,
    onto_parent,
    pair_at,
    put_pair,
    slice_pair,
    turned_back,
)
from rne_dynamics.spatial.rigid import inertial_wrench
from rne_dynamics.spatial.rows import matrix_at, put, put_matrix, slice_vector, vector_at
from rne_dynamics.spatial.vector import rotate_back

# columns of the work array, one row a body: R, p, ω, a = (v̇, ω̇), F = (f, n)
_R, _P, _W, _A, _F, WORK_COLUMNS = columns(9, 3, 3, 6, 6)
#: Where the kernel leaves the placement (R, p) in the parent, the motion (ω, v̇ − g, ω̇) and the reaction (f, n).
PLACEMENT, MOTION, REACTION = slice(_R, _W), slice(_W, _F), slice(_F, WORK_COLUMNS)


@in_place_kernel
def inverse_dynamics_kernel(arm: Arm, q: Array, qd: Array, qdd: Array, tau: Array) -> None:
    """Joint efforts for one state: q (nq,), qd, qdd (n,); fills tau (n,). `arm.work` is (bodies, WORK_COLUMNS)."""
    topology, parameters, base, wrenches, work = arm
    bodies = topology.shape[0]
    for i in range(tau.shape[0]):
        tau[i] = 0.0
    put_joint_turns(topology, parameters, q, work, _F)  # columns free until the wrench is stored
    for i in range(bodies):
        parent = topology[i, PARENT]
        R, p = placement_at_turn(topology, parameters, i, q, (work[i, _F], work[i, _F + 1]))
        if parent < 0:
            w, a = slice_vector(base, 3), slice_pair(base, 6)
        else:
            w, a = vector_at(work, parent, _W), pair_at(work, parent, _A)
        a = turned_back(R, acceleration_at(a, w, p))  # (2.1.13): the parent's at the joint, in this body's axes
        w, sigma = joint_speed(topology, parameters, i, qd, rotate_back(R, w))
        a = joint_acceleration(topology, parameters, i, qdd, a, sigma)
        F = inertial_wrench(inertia_of(parameters, i), w, a)  # (2.1.1), (2.1.5)
        if wrenches.shape[0] > 0:
            F = minus(F, pair_at(wrenches, i, 0))
        put_matrix(work, i, _R, R)
        put(work, i, _P, p)
        put(work, i, _W, w)
        put_pair(work, i, _A, a)
        put_pair(work, i, _F, F)

    for i in range(bodies - 1, -1, -1):
        parent = topology[i, PARENT]
        kind = topology[i, KIND]
        iv = topology[i, VELOCITY_INDEX]
        F = pair_at(work, i, _F)
        if kind == FLOATING:
            for k in range(6):
                tau[iv + k] = work[i, _F + k]
        else:
            multiplier = parameters[i, MULTIPLIER]
            tau[iv] += multiplier * (along(kind, F) + parameters[i, ROTOR] * multiplier * qdd[iv])
        if parent >= 0:  # (2.1.2), (2.1.5.2): the reaction on the parent
            add_pair(work, parent, _F, onto_parent(matrix_at(work, i, _R), vector_at(work, i, _P), F))


@in_place_kernel
def bias_torque_kernel(arm: Arm, q: Array, qd: Array, tau: Array) -> None:
    """`inverse_dynamics_kernel` at zero acceleration; `arm.work` is of `with_rest`."""
    work, rest, _ = arm.work
    inverse_dynamics_kernel(Arm(arm.topology, arm.parameters, arm.base, arm.wrenches, work), q, qd, rest, tau)


_WORK = body_rows(WORK_COLUMNS)
INVERSE_DYNAMICS = Quantity(
    "inverse_dynamics", inverse_dynamics_kernel, ("q", "qd", "qdd"), (N,), _WORK, base_motion=True
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
