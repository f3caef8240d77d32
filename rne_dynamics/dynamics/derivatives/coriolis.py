"""The Coriolis matrix C(q, q̇) with C q̇ = c(q, q̇) and Ṁ − 2C skew-symmetric, O(n·depth).

Each body gives Jᵀ (I J̇ + B J), where J is its Jacobian and B a factorisation of its own velocity force,
B (v, ω) = (v, ω) ×* I (v, ω), whose symmetric part is half the inertia's rate. Then C + Cᵀ = Ṁ. Among the many such
B the one used here, B = ½ [(v×*) I − I (v×) + (I v)×̄*], makes C the matrix of the Christoffel symbols: S. Echeandia
and P. M. Wensing, Numerical methods to compute the Coriolis matrix and Christoffel symbols for rigid-body systems,
J. Comput. Nonlinear Dynam. 16 (2021). B is mostly zeros (`flow_of` in `ground_motion`); B and I are summed
up from the free ends, and every pair of a joint and one of its ancestors costs a few dot products.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import in_place_helper, in_place_kernel, kernel
from rne_dynamics.compiling.views import shaped
from rne_dynamics.dynamics.declared.arguments import quick, state_arrays
from rne_dynamics.dynamics.declared.forms import N
from rne_dynamics.dynamics.declared.quantity import Declared
from rne_dynamics.dynamics.derivatives.ground_motion import (
    AXIS,
    AXIS_COLUMNS,
    MOTION,
    OFFSET,
    WORK_COLUMNS,
    add_to_parent,
    composite_at,
    first_axes,
    flow_back,
    flow_times,
    gear,
    ground_motion,
    put_body,
)
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import PARENT, VELOCITY_INDEX
from rne_dynamics.model.packed_arm import (
    COORDINATES,
    OK,
    OVERLAPPING,
    WRONG_SHAPE,
    axes_part,
    first_of,
    head_of,
    no_motion_of,
    parameters_of,
    refusal,
    rest_of,
    shared,
    topology_of,
    work_part,
)
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.pairs import motion_cross, pair_at, plus, power, wrench_at
from rne_dynamics.spatial.rigid import momentum_of
from rne_dynamics.spatial.rows import vector_at
from rne_dynamics.spatial.vector import dot


@in_place_helper
def _pairs(
    topology: NDArray[np.int64],
    parameters: Array,
    i: int,
    first: NDArray[np.int64],
    work: Array,
    axes: Array,
    C: Array,
) -> None:
    """Entries of C between the axes of joint i, whose composite is complete, and its ancestors' and its own."""
    body, P, T = composite_at(work, i)
    V = pair_at(work, i, MOTION)
    for a in range(first[i], first[i + 1]):
        S = pair_at(axes, a, AXIS)
        F = plus(momentum_of(body, motion_cross(V, S)), flow_times(P, T, S))  # I Ṡ + B S, for S of an ancestor
        momentum, back = momentum_of(body, S), flow_back(P, T, S)  # I S for its Ṡ, Bᵀ S for its S
        column = topology[i, VELOCITY_INDEX] + a - first[i]
        ratio = gear(topology, parameters, i)
        j = i
        while j >= 0:
            both = ratio * gear(topology, parameters, j)
            V_j = pair_at(work, j, MOTION)
            for b in range(first[j], first[j + 1]):
                row = topology[j, VELOCITY_INDEX] + b - first[j]
                S_j = pair_at(axes, b, AXIS)
                C[row, column] += both * power(F, S_j)
                if j != i:
                    C[column, row] += both * (power(momentum, motion_cross(V_j, S_j)) + dot(back, S_j[1]))
            d = vector_at(work, j, OFFSET)
            F, momentum = wrench_at(F, d), wrench_at(momentum, d)
            j = topology[j, PARENT]


@in_place_helper
def _rows(
    topology: NDArray[np.int64],
    parameters: Array,
    q: Array,
    qd: Array,
    C: Array,
    base: Array,
    no_acceleration: Array,
    first: NDArray[np.int64],
    work: Array,
    axes: Array,
) -> None:
    for b in range(q.shape[0]):
        C[b] = 0.0
        ground_motion(topology, parameters, base, q[b], qd[b], no_acceleration, first, work, axes)
        for i in range(topology.shape[0]):
            put_body(parameters, i, work)
        for i in range(topology.shape[0] - 1, -1, -1):
            _pairs(topology, parameters, i, first, work, axes, C[b])
            add_to_parent(topology, i, work)


@kernel
def coriolis_batch(topology: NDArray[np.int64], parameters: Array, q: Array, qd: Array, C: Array) -> None:
    """Fill C (B, n, n) for the rows of q (B, nq) and qd (B, n)."""
    bodies = topology.shape[0]
    base, no_acceleration = np.zeros(12), np.zeros(qd.shape[1])
    first = first_axes(topology)
    work = np.empty((bodies + 1, WORK_COLUMNS))
    axes = np.empty((first[bodies], AXIS_COLUMNS))
    _rows(topology, parameters, q, qd, C, base, no_acceleration, first, work, axes)


_work_of, _axes_of = work_part(WORK_COLUMNS), axes_part(AXIS_COLUMNS)


@in_place_kernel
def coriolis_matrix_packed(arm: Array, q: Array, qd: Array, C: Array) -> int:
    """Fill C (n, n) for one state of a packed arm (`compiled`); `OK`, or why not."""
    code = refusal(arm, q, qd, qd)
    if code != OK:
        return code
    n = head_of(arm, COORDINATES)
    if C.shape[0] != n or C.shape[1] != n:
        return WRONG_SHAPE
    if shared(C, arm, q, qd, qd):
        return OVERLAPPING
    rows, rates, out = shaped(q, (1, q.shape[0])), shaped(qd, (1, n)), shaped(C, (1, n, n))
    topology, parameters, first = topology_of(arm), parameters_of(arm), first_of(arm)
    base, rest, work, axes = no_motion_of(arm), rest_of(arm), _work_of(arm), _axes_of(arm)
    _rows(topology, parameters, rows, rates, out, base, rest, first, work, axes)
    return OK


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
    C = np.empty((robot.n, robot.n))
    if quick(CORIOLIS_MATRIX.sealed, robot.packed, q, qd, C):
        return C
    lead, (positions, velocities) = state_arrays(robot, q=q, qd=qd)
    C = np.empty((positions.shape[0], robot.n, robot.n))
    coriolis_batch(robot.topology, robot.parameters, positions, velocities, C)
    return C.reshape((*lead, robot.n, robot.n))


CORIOLIS_MATRIX = Declared("coriolis_matrix", ("q", "qd"), (N, N), coriolis_matrix_packed, coriolis_matrix)
