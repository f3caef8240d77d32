"""Lagrange's equations W q̈ = P + V, built link by link (Vukobratović and Potkonjak, document 004).

Each link adds its share Z_i to W and Ż_i to Ẇ, its ∂T_i/∂q and its weight (26)–(54); then V = Y + ∂T/∂q − Ẇ q̇, less ṡ
on a base in prescribed motion. The columns come from `columns`. The document works along a chain of joints
with a rotation and a translation; here they are in any tree. O(n³), and independent of every other engine of the
package.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.compiling.tables import per_body, table
from rne_dynamics.dynamics.lagrange.columns import (
    BASE_LINK,
    carried_column,
    freedom,
    inertia_about_centre,
    next_link,
    own_column,
)
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE, FLOATING, KIND, MULTIPLIER, PARENT, ROTOR, VELOCITY_INDEX
from rne_dynamics.spatial.pairs import power
from rne_dynamics.spatial.rows import slice_vector, vector_at
from rne_dynamics.spatial.vector import ZERO, add, cross, dot, rotate, rotate_back, scale, subtract, times


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


@helper
def _paths(topology: NDArray[np.int64], room: int) -> NDArray[np.int64]:
    """Number of coordinates that move each body, then their places in `qd`: int64 (bodies, 1 + room)."""
    path = np.zeros((topology.shape[0], 1 + room), dtype=np.int64)
    for i in range(topology.shape[0]):
        parent = topology[i, PARENT]
        if parent != BASE:
            path[i] = path[parent]
        for axis in range(freedom(topology, i)):
            path[i, 0] += 1
            path[i, path[i, 0]] = topology[i, VELOCITY_INDEX] + axis
    return path


@kernel
def lagrange_kernel(
    topology: NDArray[np.int64],
    parameters: Array,
    field: Array,
    q: Array,
    qd: Array,
    wrenches: Array,
    terms: LagrangeTerms,
) -> None:
    """Fill the terms of Lagrange's equations but ṡ for one state: q (nq,), qd (n,), (n, n) and (n,).

    `field` (3,) is the acceleration that gravity gives, in base axes; the base does not turn. External loads (bodies,
    6) at the bodies' origins in their axes, or (0, 6), count in Y.
    """
    W_sum, V_sum, W_dot, dT_dq, Y, _ = terms
    W_sum[:, :], W_dot[:, :], dT_dq[:], Y[:] = 0.0, 0.0, 0.0, 0.0
    bodies, room = topology.shape[0], 0
    for i in range(bodies):
        room += freedom(topology, i)
    path, links, columns = _paths(topology, room), per_body(topology), table(bodies * room)
    factors = table(room)  # of the present link: (α, B), (α̇, Ḃ), and (m α, J B), (m α̇, J Ḃ)
    links[BASE] = BASE_LINK
    for i in range(bodies):
        parent, last = topology[i, PARENT], path[i, 0]
        first_own = last - freedom(topology, i)
        m, centre, J = inertia_about_centre(parameters, i)
        link, step = next_link(topology, parameters, i, centre, links[parent], q, qd)
        links[i] = link
        for k in range(first_own, last):
            columns[i * room + k] = own_column(topology, parameters, i, k - first_own, link, step)
        for k in range(first_own):
            columns[i * room + k] = carried_column(columns[parent * room + k], links[parent], link, step)
        if topology[i, KIND] != FLOATING:
            iv = topology[i, VELOCITY_INDEX]
            W_sum[iv, iv] += parameters[i, ROTOR] * parameters[i, MULTIPLIER] * parameters[i, MULTIPLIER]
        if wrenches.shape[0] == 0 and not (m > 0.0 or J[0] + J[3] + J[5] > 0.0):
            continue
        p, L = scale(m, link.v), rotate(link.A, times(J, rotate_back(link.A, link.w)))
        force, moment = scale(m, slice_vector(field, 0)), ZERO
        if wrenches.shape[0] > 0:
            load = rotate(link.A, vector_at(wrenches, i, 0))
            moment = subtract(rotate(link.A, vector_at(wrenches, i, 3)), cross(rotate(link.A, centre), load))
            force = add(force, load)
        for k in range(last):
            one, row = columns[i * room + k], path[i, 1 + k]
            turned = cross(link.w, one.beta)  # −∂A_i/∂q A_i⁻¹ ω_i, (45)
            # (41), (42): mᵢ v·∂v/∂q + ω̃ᵀ J ∂ω̃/∂q, the second product formed in the base's axes
            dT_dq[row] += dot(p, one.v_partial)
            dT_dq[row] += dot(L, add(one.w_partial, turned))
            Y[row] += dot(force, one.alpha) + dot(moment, one.beta)  # (52)–(54)
            B = rotate_back(link.A, one.beta)  # (23)
            B_rate = rotate_back(link.A, subtract(one.beta_rate, turned))  # (34)
            F, F_rate = (scale(m, one.alpha), times(J, B)), (scale(m, one.alpha_rate), times(J, B_rate))
            factors[k] = (one.alpha, B), (one.alpha_rate, B_rate), F, F_rate
            for j in range(k + 1):  # W += Z_i and Ẇ += Ż_i, (31)–(33)
                U_j, U_rate_j, _, _ = factors[j]
                z, z_rate = power(F, U_j), power(F_rate, U_j) + power(F, U_rate_j)
                column = path[i, 1 + j]
                W_sum[row, column] += z
                W_dot[row, column] += z_rate
                if j != k:
                    W_sum[column, row] += z
                    W_dot[column, row] += z_rate
    for j in range(qd.shape[0]):  # (29)
        V_sum[j] = Y[j] + dT_dq[j]
        for k in range(qd.shape[0]):
            V_sum[j] -= W_dot[j, k] * qd[k]


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
    W_sum, V_sum, W_dot, dT_dq, Y, s_dot = terms
    for b in range(q.shape[0]):
        lagrange_kernel(
            topology, parameters, field[b if field.shape[0] > 1 else 0], q[b], qd[b],
            wrenches[b if wrenches.shape[0] > 1 else 0],
            LagrangeTerms(W_sum[b], V_sum[b], W_dot[b], dT_dq[b], Y[b], s_dot[b]),
        )
