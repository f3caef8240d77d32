"""Lagrange's equations W q̈ = P + V, built link by link (Vukobratović and Potkonjak, document 004, equations 4–54).

Each link adds its share Z_i to W and Ż_i to Ẇ, its ∂T_i/∂q and its weight (26)–(54); then V = Y + ∂T/∂q − Ẇ q̇, less ṡ
on a base in prescribed motion. The document works along a chain of joints with a rotation and a translation; here they
are in any tree. O(n³), and independent of every other engine of the package.

Columns: the velocity of a link is linear in the speeds of the joints below it: ω_i = Σ β_j q̇_j and v_i = Σ α_j^i q̇_j
at the mass centre (12), (14). Adding a link to the chain takes its parent's columns, their time derivatives and their
partial derivatives, and supplements each by what lies between the two mass centres. The partial derivatives are carried
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

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.compiling.plain import per_body, table
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import (
    BASE,
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
    ROTOR,
    VELOCITY_INDEX,
)
from rne_dynamics.spatial.pairs import power
from rne_dynamics.spatial.rows import matrix_at, slice_vector, symmetric_at, vector_at
from rne_dynamics.spatial.vector import (
    IDENTITY,
    ZERO,
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
    rotate_back,
    scale,
    subtract,
    times,
)


class Link(NamedTuple):
    """A_i, the mass centre in the body's own frame, ω_i, and v_i of the mass centre."""

    A: Matrix
    centre: Vector
    w: Vector
    v: Vector


class Column(NamedTuple):
    """Of a body and a coordinate on its path: β, β̇, α, α̇, ∂ω/∂q, ∂v/∂q."""

    beta: Vector
    beta_rate: Vector
    alpha: Vector
    alpha_rate: Vector
    w_partial: Vector
    v_partial: Vector


class Step(NamedTuple):
    """From a body's mass centre to the next one's: r and ṙ, and of both the part from the joint on, r_ii.

    Also the part before the joint, −r_{i−1,i}, and what the joint adds to the angular and the linear velocity.
    """

    r: Vector
    r_rate: Vector
    behind: Vector
    behind_rate: Vector
    before: Vector
    turning: Vector
    sliding: Vector


#: The base, which does not turn.
BASE_LINK = Link(IDENTITY, ZERO, ZERO, ZERO)


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
    c = scale(1.0 / m, h) if m > 0.0 else ZERO
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
    """Contribution of joint i to the angular and the linear velocity."""
    kind = topology[i, KIND]
    iv = topology[i, VELOCITY_INDEX]
    if kind == FLOATING:
        return rotate(A_i, slice_vector(qd, iv + 3)), rotate(A_i, slice_vector(qd, iv))
    along = scale(parameters[i, MULTIPLIER] * qd[iv], (A_i[2], A_i[5], A_i[8]))
    return (ZERO, along) if kind == PRISMATIC else (along, ZERO)


@helper
def next_link(
    topology: NDArray[np.int64], parameters: Array, i: int, centre: Vector, parent: Link, q: Array, qd: Array
) -> tuple[Link, Step]:
    """Body i with its mass centre in its own frame, and the step to it from its parent."""
    A_i, p = _transition(topology, parameters, i, q, parent.A)
    turning, sliding = _own_motion(topology, parameters, i, qd, A_i)
    # from mass centre to mass centre: r_1 = −r_{i−1,i} to the joint, fixed in the parent but for the sliding,
    # and r_2 = r_ii from there
    r1, r2 = rotate(parent.A, subtract(p, parent.centre)), rotate(A_i, centre)
    w = add(parent.w, turning)  # (11)
    r1_rate, r2_rate = add(cross(parent.w, r1), sliding), cross(w, r2)
    r, r_rate = add(r1, r2), add(r1_rate, r2_rate)
    return Link(A_i, centre, w, add(parent.v, r_rate)), Step(r, r_rate, r2, r2_rate, r1, turning, sliding)  # (11)


@helper
def own_column(topology: NDArray[np.int64], parameters: Array, i: int, axis: int, link: Link, step: Step) -> Column:
    """The column that an axis of joint i itself brings."""
    kind = topology[i, KIND]
    place = axis % 3 if kind == FLOATING else 2
    e = (link.A[place], link.A[place + 3], link.A[place + 6])
    if kind != FLOATING:
        e = scale(parameters[i, MULTIPLIER], e)
    e_rate = cross(link.w, e)
    if kind == PRISMATIC or (kind == FLOATING and axis < 3):
        alpha, alpha_rate = e, e_rate  # (15), (35)
        e, e_rate = ZERO, ZERO
    else:
        alpha = cross(e, step.behind)  # (16), (17): S_ii
        alpha_rate = add(cross(e_rate, step.behind), cross(e, step.behind_rate))  # (37), (38)
    # (13), (34); (45): a joint's axis does not turn with the joint; (48), (51): only the mass centre moves
    return Column(e, e_rate, alpha, alpha_rate, ZERO, cross(link.w, alpha))


@helper
def carried_column(old: Column, parent: Link, link: Link, step: Step) -> Column:
    """The column of a coordinate on the parent's path for the next body."""
    beta, r = old.beta, step.r
    alpha = add(old.alpha, cross(beta, r))  # (16), (17): − R_ij + S_ij
    alpha_rate = add(old.alpha_rate, add(cross(old.beta_rate, r), cross(beta, step.r_rate)))  # (37), (38)
    # q_s turns all that lies between the mass centres, (45)–(47): ∂β_i/∂q_s = β_s × β_i and so for r_1, r_2
    w_partial = add(old.w_partial, cross(beta, step.turning))
    # (48), (49): both sides of each ω × r differentiated
    v_partial = add(old.v_partial, add(cross(old.w_partial, step.before), cross(parent.w, cross(beta, step.before))))
    v_partial = add(v_partial, add(cross(w_partial, step.behind), cross(link.w, cross(beta, step.behind))))
    v_partial = add(v_partial, cross(beta, step.sliding))
    return Column(beta, old.beta_rate, alpha, alpha_rate, w_partial, v_partial)


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
