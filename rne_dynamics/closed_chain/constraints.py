"""Loop closure constraints: residuals, Jacobian, drift, and the wrenches that enforce them.

A loop holds frame B on one body against frame A on another. Each blocked direction k is one equation r_k(q) = 0 with

    ṙ_k = w_k · (V_b − V_a),      r̈ = K q̈ + drift,

V the motions of the two bodies (velocity of the point at B's origin, angular velocity) and w_k six numbers made of
A's axes. So w_k is also the wrench, at B's origin, that one unit of the constraint's force exerts on B, and −w_k on A:
the loop's joint does no work.
"""

from __future__ import annotations

import math

import numpy as np

from rne_dynamics.closed_chain.packed import Packed, Work
from rne_dynamics.compiling.jit import helper, kernel, routine
from rne_dynamics.dynamics.kinematics.jacobian import motions_in_world
from rne_dynamics.dynamics.kinematics.kinematics import world_poses
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE, MULTIPLIER, PARENT, PRISMATIC, VELOCITY_INDEX, columns
from rne_dynamics.model.layout import KIND as JOINT_KIND
from rne_dynamics.model.mechanism import BLOCKED, POSITION_A, POSITION_B, ROTATION_A, ROTATION_B
from rne_dynamics.spatial.householder import apply, solve_transposed
from rne_dynamics.spatial.pairs import (
    NONE,
    acceleration_at,
    add_pair,
    minus,
    motion_at,
    pair_at,
    plus,
    power,
    put_pair,
    scaled,
    turned_back,
    wrench_at,
)
from rne_dynamics.spatial.rows import matrix_at, put, put_matrix, vector_at
from rne_dynamics.spatial.vector import (
    ZERO,
    Matrix,
    Vector,
    add,
    column,
    compose,
    cross,
    dot,
    placed,
    rotate,
    rotate_back,
    scale,
    subtract,
    transpose,
)

#: Columns of force and moment on B in `Work.rows`.
FORCE, MOMENT = 0, 3
#: Sine below which a turn counts as half a turn, and is taken to have this sine.
_HALF_TURN = 1e-3
#: Angle up to which functions of it are polynomials, rad.
_SMALL = 0.2
#: Coefficients of θ / sin θ in powers of 1 − cos θ, and of asin(s) / s in powers of s², the highest power first.
_SERIES = tuple(math.factorial(n) / math.prod(range(3, 2 * n + 2, 2)) for n in range(15, -1, -1))
#: Enough up to `_SMALL`.
_SHORT_SERIES = _SERIES[5:]
_ARCSINE = tuple(math.comb(2 * n, n) / (4.0**n * (2 * n + 1)) for n in range(9, -1, -1))


@helper
def _unit(axis: int) -> Vector:
    return 1.0 if axis == 0 else 0.0, 1.0 if axis == 1 else 0.0, 1.0 if axis == 2 else 0.0


@helper
def _sum_of_series(coefficients: tuple[float, ...], x: float) -> tuple[float, float, float]:
    """A power series of x = 1 − c, the highest power first, and its first two derivatives by c."""
    h, dh, ddh = 0.0, 0.0, 0.0
    for a in coefficients:
        ddh = ddh * x + 2.0 * dh
        dh = dh * x + h
        h = h * x + a
    return h, -dh, ddh


@helper
def _angle_over_sine(square: float, c: float) -> tuple[float, float, float]:
    """h = θ / sin θ as a function of c = cos θ, with dh/dc and d²h/dc²; `square` is sin² θ.

    From (1 − c²) h′ = c h − 1; near c = 1, where that cancels, by the series in x = 1 − c: up to 0.2 rad without
    decisions, since straight-line code computes loops that are nearly closed.
    """
    if c > 1.0 - _SMALL * _SMALL / 2.0:
        return _sum_of_series(_SHORT_SERIES, square / (1.0 + c))
    if c > 0.9:
        return _sum_of_series(_SERIES, square / (1.0 + c))
    s = math.sqrt(square)
    h = math.atan2(s, c) / s
    dh = (c * h - 1.0) / square
    return h, dh, (h + 3.0 * c * dh) / square


@helper
def _half_turn_axis(E: Matrix) -> Vector:
    """Axis of a turn by nearly 180°, where E + 1 = 2 n nᵀ: its longest column."""
    k = 0
    for other in range(1, 3):
        if E[4 * other] > E[4 * k]:
            k = other
    n = add(column(E, k), _unit(k))
    return scale(1.0 / math.sqrt(dot(n, n)), n)


@helper
def _turn_back(E: Matrix, axis: int, free: int, w: Vector) -> tuple[float, Vector, float]:
    """One component of the turn θ n that B has to make to close; two blocked turns (one `free`), or three (−1).

    The turn is h u with u = n sin θ: of three blocked turns the vector of E's skew part, u̇ = ½ (tr E − E) w; of two
    the product a × b of the axes that shall be one, u̇ = (a · b) w − b (a · w). For both the cosine's rate is −u · w.
    sin θ alone would vanish after half a turn, too.
    """
    if free >= 0:
        a, b = _unit(free), column(E, free)
        u, c = cross(a, b), b[free]
        u_rate = subtract(scale(c, w), scale(w[free], b))
        c_rate = -dot(u, w)
        gradient = subtract(scale(c, _unit(axis)), scale(b[axis], a))
        bent = c_rate * w[axis] - cross(w, b)[axis] * w[free]
    else:
        u, c = scale(0.5, (E[7] - E[5], E[2] - E[6], E[3] - E[1])), 0.5 * (E[0] + E[4] + E[8] - 1.0)
        row = (E[3 * axis], E[3 * axis + 1], E[3 * axis + 2])
        trace = 2.0 * c + 1.0
        u_rate = scale(0.5, subtract(scale(trace, w), rotate(E, w)))
        c_rate = -dot(u, w)
        gradient = scale(0.5, subtract(scale(trace, _unit(axis)), row))
        bent = c_rate * w[axis] - 0.5 * cross(w, rotate(E, w))[axis]
    square, exact = dot(u, u), 1.0
    if c < 0.0 and square < _HALF_TURN * _HALF_TURN:  # the direction of θ n changes with every trifle: any will do
        exact = (math.pi - math.sqrt(square)) / (math.pi - _HALF_TURN)
        if square > 1e-24:
            u = scale(_HALF_TURN / math.sqrt(square), u)
        else:
            u = scale(_HALF_TURN, _unit((free + 1) % 3) if free >= 0 else _half_turn_axis(E))
        square = _HALF_TURN * _HALF_TURN
    h, dh, ddh = _angle_over_sine(square, c)
    drift = h * bent + 2.0 * dh * c_rate * u_rate[axis] + u[axis] * (ddh * c_rate * c_rate - dh * dot(u_rate, w))
    return exact * h * u[axis], subtract(scale(h, gradient), scale(dh * u[axis], u)), drift


@helper
def _square_axes(E: Matrix, of_a: int, of_b: int, w: Vector) -> tuple[float, Vector, float]:
    """The angle by which B's axis j misses being square to A's axis i, for one blocked turn.

    A half turn about the blocked axis leaves them square, too: it is known by i and j having turned to the other side
    of B's j and A's i, and counts as π.
    """
    other = column(E, of_b)
    value, gradient = other[of_a], cross(other, _unit(of_a))
    value_rate, bent = dot(gradient, w), cross(cross(w, other), _unit(of_a))
    square = max(1.0 - value * value, _HALF_TURN * _HALF_TURN)
    k = math.sqrt(square)
    drift = (dot(bent, w) + value * value_rate * value_rate / square) / k
    angle = 0.0
    if abs(value) < _SMALL:
        for a in _ARCSINE:
            angle = angle * value * value + a
        angle *= value
    else:
        angle = math.atan2(value, k)
    if E[4 * of_a] < 0.0 and E[4 * of_b] < 0.0:
        return math.copysign(math.pi, angle) - angle, scale(-1.0 / k, gradient), -drift
    return angle, scale(1.0 / k, gradient), drift


@routine
def _turning(E: Matrix, blocked: tuple[bool, bool, bool], axis: int, w: Vector) -> tuple[float, Vector, float]:
    """Residual, its gradient by the relative turn, and its drift for one blocked turn; all in A's axes.

    E is R_AB with Ė = w̃ E, w the relative angular velocity. Every residual is an angle that vanishes where the loop is
    closed and nowhere else.
    """
    after, last = (axis + 1) % 3, (axis + 2) % 3
    if not (blocked[after] or blocked[last]):
        return _square_axes(E, last, after, w)
    free = last if blocked[after] else after
    return _turn_back(E, axis, -1 if blocked[after] and blocked[last] else free, w)


@kernel
def constraints_kernel(packed: Packed, work: Work, q: Array, qd: Array) -> None:
    """Fill `residual`, `K`, `drift` and `rows` of `work` for one state of the tree, q and qd (tree n,)."""
    topology, parameters, frames = packed.topology, packed.parameters, packed.loop_frames
    residual, K, drift, rows = work.residual, work.K, work.drift, work.rows
    X, V, c = motions_in_world(topology, parameters, q, qd, True)
    K[:, :] = 0.0
    k = 0
    for loop in range(frames.shape[0]):
        a, b = packed.loop_bodies[loop, 0], packed.loop_bodies[loop, 1]
        R_a, p_a = placed(X[a], (matrix_at(frames, loop, ROTATION_A), vector_at(frames, loop, POSITION_A)))
        R_b, p_b = placed(X[b], (matrix_at(frames, loop, ROTATION_B), vector_at(frames, loop, POSITION_B)))
        # motion of B's origin on body b against the point of body a that it passes
        d_a, d_b, w_a = subtract(p_b, X[a][1]), subtract(p_b, X[b][1]), V[a][1]
        u, turning = minus(motion_at(V[b], d_b), motion_at(V[a], d_a))
        du, dw = minus(acceleration_at(c[b], V[b][1], d_b), acceleration_at(c[a], w_a, d_a))
        gap = rotate_back(R_a, subtract(p_b, p_a))
        gap_drift = rotate_back(R_a, subtract(du, scale(2.0, cross(w_a, u))))
        E, w = compose(transpose(R_a), R_b), rotate_back(R_a, turning)
        dw = rotate_back(R_a, subtract(dw, cross(w_a, turning)))  # rate of w, in A's axes and seen from A, at q̈ = 0
        flags = (
            frames[loop, BLOCKED + 3] != 0.0,
            frames[loop, BLOCKED + 4] != 0.0,
            frames[loop, BLOCKED + 5] != 0.0,
        )
        first = k
        for axis in range(3):
            if frames[loop, BLOCKED + axis] != 0.0:
                residual[k] = gap[axis]
                drift[k] = gap_drift[axis]
                put_pair(rows, k, FORCE, (column(R_a, axis), ZERO))
                k += 1
        for axis in range(3):
            if flags[axis]:
                value, gradient, bent = _turning(E, flags, axis, w)
                residual[k] = value
                drift[k] = bent + dot(gradient, dw)
                put_pair(rows, k, FORCE, (ZERO, rotate(R_a, gradient)))
                k += 1
        # both ways down to where they meet (a parent's number is below its child's); joints below move A and B alike
        while a != b:
            i = max(a, b)
            e = scale(parameters[i, MULTIPLIER] if i == b else -parameters[i, MULTIPLIER], column(X[i][0], 2))
            slides = topology[i, JOINT_KIND] == PRISMATIC
            S = (e if slides else cross(e, subtract(p_b, X[i][1]))), (ZERO if slides else e)
            for row in range(first, k):
                K[row, topology[i, VELOCITY_INDEX]] += power(pair_at(rows, row, FORCE), S)
            if i == b:
                b = topology[i, PARENT]
            else:
                a = topology[i, PARENT]


# columns of `cuts`, one row a loop: force and moment on B at B's origin, then B's rotation and position; in A's axes
FORCE_ON_B, MOMENT_ON_B, TURN_OF_B, PLACE_OF_B, CUT_COLUMNS = columns(3, 3, 9, 3)


@helper
def cut_forces(packed: Packed, work: Work, tau: Array, force: Array) -> None:
    """The loops' forces, (constraints,), that leave the passive joints without effort: K_pᵀ force = tau_p.

    Of the many that do where constraints are redundant, the least in norm, moments counted in forces times `length`.
    """
    side = np.zeros(force.shape[0])
    for c in range(packed.clusters.shape[0] - 1):
        (p0, _, r0), (p1, _, r1) = packed.clusters[c], packed.clusters[c + 1]
        for k in range(p1 - p0):
            j = packed.passive[p0 + work.pivots[p0 + k]]
            side[r0 + k] = packed.column_scale[j] * tau[j]
        solve_transposed(work.block, r0, p1 - p0, side, r0)
        apply(work.block, r0, r1 - r0, p1 - p0, work.factors, p0, side)
        for r in range(r0, r1):
            row = packed.constraints[r]
            force[row] = packed.row_scale[row] * side[r]


@helper
def cut_loads(
    packed: Packed, work: Work, q: Array, force: Array, wrenches: Array, cuts: Array, loads: Array
) -> None:
    """Fill `loads` (bodies, 6), the external ones and the loops', and `cuts`, (loops, CUT_COLUMNS).

    From the constraints' forces (constraints,), with the constraints of the posture q in `work`.
    """
    X, frames = world_poses(packed.topology, packed.parameters, q), packed.loop_frames
    loads[:, :] = 0.0
    loads[: wrenches.shape[0]] = wrenches
    k = 0
    for loop in range(packed.loop_bodies.shape[0]):
        a, b = packed.loop_bodies[loop, 0], packed.loop_bodies[loop, 1]
        R_a, p_a = placed(X[a], (matrix_at(frames, loop, ROTATION_A), vector_at(frames, loop, POSITION_A)))
        R_b, p_b = placed(X[b], (matrix_at(frames, loop, ROTATION_B), vector_at(frames, loop, POSITION_B)))
        F = NONE
        for direction in range(6):
            if frames[loop, BLOCKED + direction] != 0.0:
                F = plus(F, scaled(force[k], pair_at(work.rows, k, FORCE)))
                k += 1
        for sign, body in ((1.0, b), (-1.0, a)):
            if body != BASE:
                add_pair(loads, body, 0, scaled(sign, turned_back(X[body][0], wrench_at(F, subtract(p_b, X[body][1])))))
        put_pair(cuts, loop, FORCE_ON_B, turned_back(R_a, F))
        put_matrix(cuts, loop, TURN_OF_B, compose(transpose(R_a), R_b))
        put(cuts, loop, PLACE_OF_B, rotate_back(R_a, subtract(p_b, p_a)))
