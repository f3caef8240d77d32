"""The columns of Vukobratović and Potkonjak's Lagrangian form, link by link (document 004, equations 4–51).

The velocity of a link is linear in the speeds of the joints below it: ω_i = Σ β_j q̇_j and v_i = Σ α_j^i q̇_j at the mass
centre (12), (14). Adding a link to the chain takes its parent's columns, their time derivatives and their partial
derivatives, and supplements each by what lies between the two mass centres. The partial derivatives are carried
contracted with the speeds, ∂ω_i/∂q_s and ∂v_i/∂q_s, which is all that (41) asks for and keeps n³ numbers from being
stored.

Vectors are in the axes of the base. A turning joint has a column β and gives α = β × r; a sliding one has β = 0 and
α = γ, so that one rule serves both and the cases (50), (51) need no branch. Columns of a joint that mimics another
carry its multiplier.

The document's joints move along one axis. For a floating joint the columns follow the body's own axes, and a partial
derivative displaces the body while the joint's own twist stays fixed in the parent: the transpositional relation
δu = d(δπ)/dt + u × δπ turns Lagrange's equations for coordinates into those for components of velocity by just this
change. For a joint of one axis both are the same.

Nothing here comes from the Newton–Euler side of the package (test/unit/dynamics/test_lagrange.py looks).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper
from rne_dynamics.model.layout import (
    FLOATING,
    INERTIA,
    KIND,
    MASS,
    MOMENT,
    MULTIPLIER,
    OFFSET,
    PARENT,
    PLACEMENT,
    POSITION_INDEX,
    PRISMATIC,
    ROTATION,
    VELOCITY_INDEX,
)
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.rows import Array, matrix_at, put, put_matrix, slice_vector, symmetric_at, vector_at
from rne_dynamics.spatial.vector import (
    Matrix,
    Symmetric,
    Vector,
    about_z,
    add,
    compose,
    cos_sin,
    cross,
    dot,
    from_quaternion,
    rotate,
    scale,
    subtract,
)

#: Columns of `links`, one row a body: A_i, the mass centre in the body's own frame, ω_i, v_i of the mass centre.
A, CENTRE, W, V, LINK_COLUMNS = columns(9, 3, 3, 3)
#: Columns of `table`, one row for every body and every coordinate on its path: β, β̇, α, α̇, ∂ω/∂q, ∂v/∂q.
BETA, BETA_RATE, ALPHA, ALPHA_RATE, W_PARTIAL, V_PARTIAL, TABLE_COLUMNS = columns(3, 3, 3, 3, 3, 3)

_UNTURNED: Matrix = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
_ZERO: Vector = (0.0, 0.0, 0.0)


@helper
def freedom(topology: NDArray[np.int64], i: int) -> int:
    """Degrees of freedom of joint i."""
    return 6 if topology[i, KIND] == FLOATING else 1


@helper
def inertia_about_centre(parameters: Array, i: int) -> tuple[float, Vector, Symmetric]:
    """(m, mass centre, J about the mass centre) of body i along its own axes; the centre of no mass is the origin."""
    m = parameters[i, MASS]
    h = vector_at(parameters, i, MOMENT)
    S = symmetric_at(parameters, i, INERTIA)
    c = scale(1.0 / m, h) if m > 0.0 else _ZERO
    hc = dot(h, c)
    return m, c, (
        S[0] - hc + h[0] * c[0], S[1] + h[0] * c[1], S[2] + h[0] * c[2],
        S[3] - hc + h[1] * c[1], S[4] + h[1] * c[2], S[5] - hc + h[2] * c[2],
    )  # fmt: skip


@helper
def _transition(
    topology: NDArray[np.int64], parameters: Array, i: int, q: Array, parent: Matrix
) -> tuple[Matrix, Vector]:
    """A_i, and the origin of body i seen from its parent's in the parent's axes."""
    kind = topology[i, KIND]
    iq = topology[i, POSITION_INDEX]
    R0 = matrix_at(parameters, i, ROTATION)
    p0 = vector_at(parameters, i, PLACEMENT)
    A0 = compose(parent, R0)  # (7): the transition matrix for q = 0
    if kind == FLOATING:
        turned = compose(A0, from_quaternion(q[iq + 3], q[iq + 4], q[iq + 5], q[iq + 6]))
        return turned, add(p0, rotate(R0, slice_vector(q, iq)))
    x = parameters[i, MULTIPLIER] * q[iq] + parameters[i, OFFSET]
    if kind == PRISMATIC:
        return A0, add(p0, scale(x, (R0[2], R0[5], R0[8])))
    # Rodrigues' formula (8) about A0's third column e: the first two, q_1 and q_2, are perpendicular to it and
    # e × q_1 = q_2, e × q_2 = −q_1, which leaves Q_1 = q_1 cos + q_2 sin, Q_2 = q_2 cos − q_1 sin, Q_3 = e
    c, s = cos_sin(x)
    return about_z(A0, c, s), p0


@helper
def _own_motion(
    topology: NDArray[np.int64], parameters: Array, i: int, qd: Array, A_i: Matrix
) -> tuple[Vector, Vector]:
    """What joint i adds to the angular and the linear velocity."""
    kind = topology[i, KIND]
    iv = topology[i, VELOCITY_INDEX]
    if kind == FLOATING:
        return rotate(A_i, slice_vector(qd, iv + 3)), rotate(A_i, slice_vector(qd, iv))
    along = scale(parameters[i, MULTIPLIER] * qd[iv], (A_i[2], A_i[5], A_i[8]))
    return (_ZERO, along) if kind == PRISMATIC else (along, _ZERO)


@helper
def _add_own_columns(
    topology: NDArray[np.int64],
    parameters: Array,
    i: int,
    r: Vector,
    r_rate: Vector,
    path: NDArray[np.int64],
    links: Array,
    table: Array,
) -> None:
    """Columns that joint i itself brings; r is its mass centre seen from its origin, r_rate its derivative."""
    kind = topology[i, KIND]
    A_i = matrix_at(links, i, A)
    w = vector_at(links, i, W)
    for axis in range(freedom(topology, i)):
        column = axis % 3 if kind == FLOATING else 2
        e = (A_i[column], A_i[column + 3], A_i[column + 6])
        if kind != FLOATING:
            e = scale(parameters[i, MULTIPLIER], e)
        e_rate = cross(w, e)
        row = i * (path.shape[1] - 1) + path[i, 0]
        path[i, 0] += 1
        path[i, path[i, 0]] = topology[i, VELOCITY_INDEX] + axis
        if kind == PRISMATIC or (kind == FLOATING and axis < 3):
            alpha, alpha_rate = e, e_rate  # (15), (35)
            e, e_rate = _ZERO, _ZERO
        else:
            alpha = cross(e, r)  # (16), (17): S_ii
            alpha_rate = add(cross(e_rate, r), cross(e, r_rate))  # (37), (38)
        put(table, row, BETA, e)  # (13)
        put(table, row, BETA_RATE, e_rate)  # (34)
        put(table, row, ALPHA, alpha)
        put(table, row, ALPHA_RATE, alpha_rate)
        put(table, row, W_PARTIAL, _ZERO)  # (45): a joint's axis does not turn with the joint
        put(table, row, V_PARTIAL, cross(w, alpha))  # (48), (51): only the mass centre moves


@helper
def add_link(
    topology: NDArray[np.int64],
    parameters: Array,
    i: int,
    centre: Vector,
    q: Array,
    qd: Array,
    path: NDArray[np.int64],
    links: Array,
    table: Array,
) -> None:
    """Add body i to the chain: its transition matrix, its velocities and the columns of all coordinates below it.

    Parameters
    ----------
    topology, parameters
        The model (`rne_dynamics.model.layout`).
    i
        The body; its parent has been added before.
    centre
        Its mass centre in its own frame.
    q, qd
        Shapes (nq,), (n,).
    path
        Row i is filled: how many coordinates move body i, then their places in `qd`; shape (bodies, 1 + d) with room
        for d coordinates.
    links, table
        Filled for body i; shapes (bodies, LINK_COLUMNS) and (bodies · d, TABLE_COLUMNS).
    """
    parent = topology[i, PARENT]
    room = path.shape[1] - 1
    if parent < 0:
        carried = 0
        A_parent, centre_parent, w_parent, v_parent = _UNTURNED, _ZERO, _ZERO, _ZERO
    else:
        carried = path[parent, 0]
        A_parent, centre_parent = matrix_at(links, parent, A), vector_at(links, parent, CENTRE)
        w_parent, v_parent = vector_at(links, parent, W), vector_at(links, parent, V)
    A_i, p = _transition(topology, parameters, i, q, A_parent)
    turning, sliding = _own_motion(topology, parameters, i, qd, A_i)
    # from mass centre to mass centre: r_1 = −r_{i−1,i} to the joint, fixed in the parent but for the sliding,
    # and r_2 = r_ii from there
    r1, r2 = rotate(A_parent, subtract(p, centre_parent)), rotate(A_i, centre)
    w = add(w_parent, turning)  # (11)
    r1_rate, r2_rate = add(cross(w_parent, r1), sliding), cross(w, r2)
    r, r_rate = add(r1, r2), add(r1_rate, r2_rate)
    put_matrix(links, i, A, A_i)
    put(links, i, CENTRE, centre)
    put(links, i, W, w)
    put(links, i, V, add(v_parent, r_rate))  # (11)

    for k in range(carried):
        old, new = parent * room + k, i * room + k
        beta, beta_rate = vector_at(table, old, BETA), vector_at(table, old, BETA_RATE)
        alpha = add(vector_at(table, old, ALPHA), cross(beta, r))  # (16), (17): − R_ij + S_ij
        alpha_rate = vector_at(table, old, ALPHA_RATE)
        alpha_rate = add(alpha_rate, add(cross(beta_rate, r), cross(beta, r_rate)))  # (37), (38)
        # q_s turns all that lies between the mass centres, (45)–(47): ∂β_i/∂q_s = β_s × β_i and so for r_1, r_2
        w_old = vector_at(table, old, W_PARTIAL)
        w_partial = add(w_old, cross(beta, turning))
        v_partial = vector_at(table, old, V_PARTIAL)  # (48), (49): both sides of each ω × r differentiated
        v_partial = add(v_partial, add(cross(w_old, r1), cross(w_parent, cross(beta, r1))))
        v_partial = add(v_partial, add(cross(w_partial, r2), cross(w, cross(beta, r2))))
        v_partial = add(v_partial, cross(beta, sliding))
        put(table, new, BETA, beta)
        put(table, new, BETA_RATE, beta_rate)
        put(table, new, ALPHA, alpha)
        put(table, new, ALPHA_RATE, alpha_rate)
        put(table, new, W_PARTIAL, w_partial)
        put(table, new, V_PARTIAL, v_partial)
        path[i, 1 + k] = path[parent, 1 + k]
    path[i, 0] = carried
    _add_own_columns(topology, parameters, i, r2, r2_rate, path, links, table)
