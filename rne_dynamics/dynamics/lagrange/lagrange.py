"""Lagrange's equations W q̈ = P + V, built link by link (Vukobratović and Potkonjak, document 004).

Each link adds its share Z_i to W and Ż_i to Ẇ, its ∂T_i/∂q and its weight (26)–(54); then V = Y + ∂T/∂q − Ẇ q̇, less ṡ
on a base in prescribed motion. The columns come from `lagrange_columns`. The document works along a chain of joints
with a rotation and a translation; here they are in any tree. O(n³), and independent of every other engine of the
package.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.dynamics.lagrange.columns import (
    ALPHA,
    ALPHA_RATE,
    BETA,
    BETA_RATE,
    CENTRE,
    LINK_COLUMNS,
    TABLE_COLUMNS,
    V_PARTIAL,
    W_PARTIAL,
    A,
    V,
    W,
    add_link,
    freedom,
    inertia_about_centre,
)
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, MULTIPLIER, ROTOR, VELOCITY_INDEX
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.rows import matrix_at, put, slice_vector, vector_at
from rne_dynamics.spatial.vector import Symmetric, Vector, add, cross, dot, rotate, rotate_back, scale, subtract, times

# columns of `pairs`, one row a coordinate on the present link's path: (α, B), (α̇, Ḃ), and (m α, J B), (m α̇, J Ḃ)
_U, _U_RATE, _F, _F_RATE, PAIR_COLUMNS = columns(6, 6, 6, 6)


class LagrangeTerms(NamedTuple):
    """The terms of W q̈ = P + V, P being the joint efforts, and what V is made of: V = Y + ∂T/∂q − Ẇ q̇ − ṡ (29).

    Parameters
    ----------
    W
        Inertia matrix, rotor inertia on its diagonal; (…, n, n).
    V
        Velocity-dependent and gravity efforts with the sign of driving ones, N·m or N; (…, n).
    W_dot
        Time derivative of W along the motion; (…, n, n).
    dT_dq
        Partial derivatives of the kinetic energy, with q̇ held; for a floating joint, displacements along its
        velocity components with its twist relative to the parent held fixed in the parent; (…, n).
    Y
        Generalised forces of the weights; (…, n).
    s_dot
        Time derivative of s = ∂T/∂q̇ − W q̇, the generalised momenta that the prescribed motion of the base alone gives
        the joints; zero for a base at rest; (…, n).
    """

    W: Array
    V: Array
    W_dot: Array
    dT_dq: Array
    Y: Array
    s_dot: Array


class _Workspace(NamedTuple):
    """Scratch for d coordinates on the longest path (or more).

    Shapes: int64 (bodies, 1 + d), (bodies, LINK_COLUMNS), (bodies · d, TABLE_COLUMNS), (d, PAIR_COLUMNS).
    """

    path: NDArray[np.int64]
    links: Array
    table: Array
    pairs: Array


@helper
def _derivatives_and_forces(
    m: float, J: Symmetric, i: int, field: Array, wrenches: Array, work: _Workspace, dT_dq: Array, Y: Array
) -> None:
    """∂T_i/∂q, the weight and load of link i, and the factors of Z_i and Ż_i."""
    path, links, table, pairs = work
    room = path.shape[1] - 1
    A_i, w, v = matrix_at(links, i, A), vector_at(links, i, W), vector_at(links, i, V)
    p = scale(m, v)
    L = rotate(A_i, times(J, rotate_back(A_i, w)))
    force = scale(m, slice_vector(field, 0))
    moment: Vector = (0.0, 0.0, 0.0)
    if wrenches.shape[0] > 0:
        load = rotate(A_i, vector_at(wrenches, i, 0))
        r = rotate(A_i, vector_at(links, i, CENTRE))
        moment = subtract(rotate(A_i, vector_at(wrenches, i, 3)), cross(r, load))
        force = add(force, load)
    for k in range(path[i, 0]):
        coordinate = path[i, 1 + k]
        row = i * room + k
        beta, alpha = vector_at(table, row, BETA), vector_at(table, row, ALPHA)
        turned = cross(w, beta)  # −∂A_i/∂q A_i⁻¹ ω_i, (45)
        # (41), (42): mᵢ v·∂v/∂q + ω̃ᵀ J ∂ω̃/∂q, the second product formed in the base's axes
        dT_dq[coordinate] += dot(p, vector_at(table, row, V_PARTIAL))
        dT_dq[coordinate] += dot(L, add(vector_at(table, row, W_PARTIAL), turned))
        Y[coordinate] += dot(force, alpha) + dot(moment, beta)  # (52)–(54)
        alpha_rate = vector_at(table, row, ALPHA_RATE)
        B = rotate_back(A_i, beta)  # (23)
        B_rate = rotate_back(A_i, subtract(vector_at(table, row, BETA_RATE), turned))  # (34)
        put(pairs, k, _U, alpha)
        put(pairs, k, _U + 3, B)
        put(pairs, k, _U_RATE, alpha_rate)
        put(pairs, k, _U_RATE + 3, B_rate)
        put(pairs, k, _F, scale(m, alpha))
        put(pairs, k, _F + 3, times(J, B))
        put(pairs, k, _F_RATE, scale(m, alpha_rate))
        put(pairs, k, _F_RATE + 3, times(J, B_rate))


@helper
def _add_inertia(i: int, path: NDArray[np.int64], pairs: Array, W_sum: Array, W_dot: Array) -> None:
    """W += Z_i and Ẇ += Ż_i, (31)–(33)."""
    for k in range(path[i, 0]):
        row = path[i, 1 + k]
        for j in range(k + 1):
            z = pairs[k, _F] * pairs[j, _U]
            z_rate = pairs[k, _F_RATE] * pairs[j, _U] + pairs[k, _F] * pairs[j, _U_RATE]
            for c in range(1, 6):
                z += pairs[k, _F + c] * pairs[j, _U + c]
                z_rate += pairs[k, _F_RATE + c] * pairs[j, _U + c] + pairs[k, _F + c] * pairs[j, _U_RATE + c]
            column = path[i, 1 + j]
            W_sum[row, column] += z
            W_dot[row, column] += z_rate
            if j != k:
                W_sum[column, row] += z
                W_dot[column, row] += z_rate


@kernel
def lagrange_kernel(
    topology: NDArray[np.int64],
    parameters: Array,
    field: Array,
    q: Array,
    qd: Array,
    wrenches: Array,
    work: _Workspace,
    terms: LagrangeTerms,
) -> None:
    """The terms of Lagrange's equations for one state.

    Parameters
    ----------
    topology, parameters
        The model (`rne_dynamics.model.layout`).
    field
        Acceleration that gravity gives, in base axes, shape (3,); the base does not turn.
    q, qd
        Shapes (nq,), (n,).
    wrenches
        External (force, moment) at every body frame's origin in body axes, shape (bodies, 6), or (0, 6) for none.
    work
        Scratch memory.
    terms
        Filled, except for ṡ; shapes (n, n) and (n,). External loads count in Y.
    """
    n = qd.shape[0]
    for j in range(n):
        terms.dT_dq[j] = 0.0
        terms.Y[j] = 0.0
        for k in range(n):
            terms.W[j, k] = 0.0
            terms.W_dot[j, k] = 0.0
    for i in range(topology.shape[0]):
        m, centre, J = inertia_about_centre(parameters, i)
        add_link(topology, parameters, i, centre, q, qd, work.path, work.links, work.table)
        if wrenches.shape[0] > 0 or m > 0.0 or J[0] + J[3] + J[5] > 0.0:
            _derivatives_and_forces(m, J, i, field, wrenches, work, terms.dT_dq, terms.Y)
            _add_inertia(i, work.path, work.pairs, terms.W, terms.W_dot)
        if topology[i, KIND] != FLOATING:
            iv = topology[i, VELOCITY_INDEX]
            terms.W[iv, iv] += parameters[i, ROTOR] * parameters[i, MULTIPLIER] * parameters[i, MULTIPLIER]
    for j in range(n):  # (29)
        terms.V[j] = terms.Y[j] + terms.dT_dq[j]
        for k in range(n):
            terms.V[j] -= terms.W_dot[j, k] * qd[k]


@kernel
def lagrange_batch(
    topology: NDArray[np.int64],
    parameters: Array,
    field: Array,
    q: Array,
    qd: Array,
    wrenches: Array,
    terms: LagrangeTerms,
) -> None:
    """`lagrange_kernel` over rows: field (1 or B, 3), q (B, nq), qd (B, n), wrenches (1 or B, bodies or 0, 6)."""
    bodies = topology.shape[0]
    room = 0
    for i in range(bodies):
        room += freedom(topology, i)
    work = _Workspace(
        np.empty((bodies, 1 + room), dtype=np.int64),
        np.empty((bodies, LINK_COLUMNS)),
        np.empty((bodies * room, TABLE_COLUMNS)),
        np.empty((room, PAIR_COLUMNS)),
    )
    W_sum, V_sum, W_dot, dT_dq, Y, s_dot = terms
    for b in range(q.shape[0]):
        lagrange_kernel(
            topology,
            parameters,
            field[b if field.shape[0] > 1 else 0],
            q[b],
            qd[b],
            wrenches[b if wrenches.shape[0] > 1 else 0],
            work,
            LagrangeTerms(W_sum[b], V_sum[b], W_dot[b], dT_dq[b], Y[b], s_dot[b]),
        )
