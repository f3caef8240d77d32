"""The Coriolis matrix C(q, q̇) with C q̇ = c(q, q̇) and Ṁ − 2C skew-symmetric, O(n·depth).

Each body gives Jᵀ (I J̇ + B J), where J is its Jacobian and B a factorisation of its own velocity force,
B (v, ω) = (v, ω) ×* I (v, ω), whose symmetric part is half the inertia's rate. Then C + Cᵀ = Ṁ. Among the many such
B the one used here, B = ½ [(v×*) I − I (v×) + (I v)×̄*], makes C the matrix of the Christoffel symbols: S. Echeandia
and P. M. Wensing, Numerical methods to compute the Coriolis matrix and Christoffel symbols for rigid-body systems,
J. Comput. Nonlinear Dynam. 16 (2021). B is mostly zeros (`flow_of` in `body_motion`); B and I are summed
up from the free ends, and for every pair of a joint and one of its ancestors two wrenches are turned and moved.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import helper
from rne_dynamics.dynamics.declared.arm import Arm, body_rows, with_rest
from rne_dynamics.dynamics.declared.forms import N
from rne_dynamics.dynamics.declared.quantity import Quantity
from rne_dynamics.dynamics.derivatives.body_motion import (
    MOTION,
    OFFSET,
    ROTATION,
    WORK_COLUMNS,
    add_to_parent,
    composite_at,
    flow_back,
    flow_times,
    put_body,
    put_motions,
)
from rne_dynamics.dynamics.kinematics.joint_axes import axes_of, component, gear, place_of, unit_motion
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import KIND, PARENT, VELOCITY_INDEX
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.pairs import motion_cross, onto_parent, pair_at, plus, power
from rne_dynamics.spatial.rigid import momentum_of
from rne_dynamics.spatial.rows import matrix_at, vector_at
from rne_dynamics.spatial.vector import ZERO, rotate


@helper
def _pairs(topology: NDArray[np.int64], parameters: Array, i: int, work: Array, C: Array) -> None:
    """Entries of C between the axes of joint i, whose composite is complete, and its ancestors' and its own."""
    body, P, T = composite_at(work, i)
    V, kind_i = pair_at(work, i, MOTION), topology[i, KIND]
    ratio = gear(topology, parameters, i)
    for a in range(axes_of(kind_i)):
        S = unit_motion(place_of(kind_i, a))
        F = plus(momentum_of(body, motion_cross(V, S)), flow_times(P, T, S))  # I Ṡ + B S, for S of an ancestor
        momentum, back = momentum_of(body, S), flow_back(P, T, S)  # I S for its Ṡ, Bᵀ S for its S
        column = topology[i, VELOCITY_INDEX] + a
        j = i
        while j >= 0:
            kind, both = topology[j, KIND], ratio * gear(topology, parameters, j)
            V_j = pair_at(work, j, MOTION)
            for b in range(axes_of(kind)):
                row, place = topology[j, VELOCITY_INDEX] + b, place_of(kind, b)
                C[row, column] += both * component(F, place)
                if j != i:
                    back_there = power(momentum, motion_cross(V_j, unit_motion(place))) + component((ZERO, back), place)
                    C[column, row] += both * back_there
            R, p = matrix_at(work, j, ROTATION), vector_at(work, j, OFFSET)
            F, momentum, back = onto_parent(R, p, F), onto_parent(R, p, momentum), rotate(R, back)
            j = topology[j, PARENT]


@helper
def coriolis_kernel(arm: Arm, q: Array, qd: Array, C: Array) -> None:
    """Fill C (n, n) for one state: q (nq,), qd (n,). The base rests, whatever `arm.base` says."""
    topology, parameters, _, _, (work, no_acceleration, still) = arm
    C[:, :] = 0.0
    put_motions(topology, parameters, still, q, qd, no_acceleration, work)
    for i in range(topology.shape[0]):
        put_body(parameters, i, work)
    for i in range(topology.shape[0] - 1, -1, -1):
        _pairs(topology, parameters, i, work, C)
        if topology[i, PARENT] >= 0:
            add_to_parent(topology[i, PARENT], i, work)


CORIOLIS_MATRIX = Quantity("coriolis_matrix", coriolis_kernel, ("q", "qd"), (N, N), with_rest(body_rows(WORK_COLUMNS)))


@CORIOLIS_MATRIX.public
def coriolis_matrix(robot: RobotModel, q: ArrayLike, qd: ArrayLike) -> Array:
    """The Coriolis matrix C(q, q̇): C q̇ are the velocity efforts `bias_torque` − `gravity_torque`, and C + Cᵀ = Ṁ.

    So Ṁ − 2C is skew-symmetric, which passivity-based control rests on. For one-axis joints C is the matrix of the
    Christoffel symbols. For floating joints, whose velocities are components along moving axes, the same two
    properties hold.

    Parameters
    ----------
    robot
        The model.
    q, qd
        Positions (…, nq) and velocities (…, n).

    Returns
    -------
    ndarray
        Shape (…, n, n); N·m·s/rad or N·s/m.

    Raises
    ------
    ArgumentError
        A wrong shape, NaN or infinity.
    """
    return CORIOLIS_MATRIX.answer(robot, q, qd)
