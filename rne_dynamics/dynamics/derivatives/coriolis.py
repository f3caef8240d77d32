"""The Coriolis matrix C(q, q̇) with C q̇ = c(q, q̇) and Ṁ − 2C skew-symmetric, O(n·depth).

Each body gives Jᵀ (I J̇ + B J), where J is its Jacobian and B a factorisation of its own velocity force,
B (v, ω) = (v, ω) ×* I (v, ω), whose symmetric part is half the inertia's rate. Then C + Cᵀ = Ṁ. Among the many such
B the one used here, B = ½ [(v×*) I − I (v×) + (I v)×̄*], makes C the matrix of the Christoffel symbols: S. Echeandia
and P. M. Wensing, Numerical methods to compute the Coriolis matrix and Christoffel symbols for rigid-body systems,
J. Comput. Nonlinear Dynam. 16 (2021). B is mostly zeros (`flow_of` in `body_motion`); B and I are summed
up from the free ends, and for every pair of a joint and one of its ancestors two wrenches are turned and moved.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.compiling.jit import helper
from rne_dynamics.compiling.tables import per_body
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.declared.forms import N
from rne_dynamics.dynamics.declared.quantity import Quantity
from rne_dynamics.dynamics.derivatives.body_motion import (
    composite_of,
    flow_back,
    flow_times,
    spatial_motions,
    with_subtree,
)
from rne_dynamics.dynamics.kinematics.joint_motion import axes_of, component, gear, inertia_of, place_of, unit_motion
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE, KIND, PARENT, VELOCITY_INDEX
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.pairs import momentum_of, motion_cross, onto_parent, plus, power
from rne_dynamics.spatial.vector import ZERO, rotate


@helper
def coriolis_kernel(arm: Arm, q: Array, qd: Array, C: Array) -> None:
    """Fill C (n, n) for one state: q (nq,), qd (n,). The base rests, whatever `arm.base` says."""
    topology, parameters, _, _ = arm
    C[:, :] = 0.0
    X, _, V, _ = spatial_motions(topology, parameters, np.zeros(12), q, qd, np.zeros(C.shape[0]))
    composite = per_body(topology)
    for i in range(topology.shape[0]):
        composite[i] = composite_of(inertia_of(parameters, i), V[i])
    for i in range(topology.shape[0] - 1, -1, -1):
        body, P, T = composite[i]
        parent, ratio = topology[i, PARENT], gear(topology, parameters, i)
        for a in range(axes_of(topology[i, KIND])):
            S = unit_motion(place_of(topology[i, KIND], a))
            F = plus(momentum_of(body, motion_cross(V[i], S)), flow_times(P, T, S))  # I Ṡ + B S, for S of an ancestor
            momentum, back = momentum_of(body, S), flow_back(P, T, S)  # I S for its Ṡ, Bᵀ S for its S
            column = topology[i, VELOCITY_INDEX] + a
            j = i
            while j != BASE:
                kind, both = topology[j, KIND], ratio * gear(topology, parameters, j)
                for b in range(axes_of(kind)):
                    row, place = topology[j, VELOCITY_INDEX] + b, place_of(kind, b)
                    C[row, column] += both * component(F, place)
                    if j != i:
                        rate = motion_cross(V[j], unit_motion(place))
                        C[column, row] += both * (power(momentum, rate) + component((ZERO, back), place))
                R, p = X[j]
                F, momentum, back = onto_parent(R, p, F), onto_parent(R, p, momentum), rotate(R, back)
                j = topology[j, PARENT]
        if parent != BASE:
            R, p = X[i]
            composite[parent] = with_subtree(composite[parent], R, p, composite[i])


CORIOLIS_MATRIX = Quantity("coriolis_matrix", coriolis_kernel, ("q", "qd"), (N, N))


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
    try:
        call: Callable[..., Array] = robot.own_code["coriolis_matrix"]
    except (AttributeError, KeyError):
        call = CORIOLIS_MATRIX.of(robot)
    return call(q, qd)
