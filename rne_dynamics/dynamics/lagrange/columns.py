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

from typing import NamedTuple

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
    PLACEMENT,
    POSITION_INDEX,
    PRISMATIC,
    ROTATION,
    VELOCITY_INDEX,
)
from rne_dynamics.spatial.rows import Array, matrix_at, slice_vector, symmetric_at, vector_at
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
    scale,
    subtract,
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
