"""Nasser's O(n) recursion for robots with mimic joints, which gear joints of different branches together.

The document has a coordinate to every link. Where k joints follow others, q_i = μ_i q_j + const, the coordinates j
that move several links at once (geared coordinates, g ≤ k of them) are left out of the elimination: their joints are
driven with a given acceleration x_j, so that A* passes through them whole, and everything else is as in `nasser`. One
inbound and one outbound pass carry 1 + g sets of forces and motions side by side: the true ones with x = 0, and what
x_j = 1 alone gives. The effort that coordinate j then takes is linear in x,

    Σ_i μ_i E_i = E⁰_j + Σ_h S_jh x_h = τ_j,        i over the joints that coordinate j moves,

and S, the Schur complement of the mass matrix on the geared coordinates, is symmetric and positive definite whenever
the mass matrix is, whatever single links weigh: a massless finger that follows another needs no special care.
Elimination gives x, and the accelerations are the true set plus x times the others. A branch that x_j neither loads nor
moves is left out of its set. O(n (1 + g) + g³).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, in_place_helper, in_place_kernel, threaded_kernel
from rne_dynamics.dynamics.articulated.articulated import apply, apply_linear, minus_outer, seen_from_parent, solve
from rne_dynamics.dynamics.articulated.nasser_links import (
    BIAS_FORCE,
    CENTRIPETAL,
    COLUMN_FORCE,
    COLUMN_MOMENT,
    EFFECTIVE,
    POSITION,
    SINGULAR,
    SPEED_ANGULAR,
    SPEED_LINEAR,
    TURN,
    WORK_COLUMNS,
    accumulate,
    articulated_at,
    floating_is_singular,
    joint_column,
    velocities,
)
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, MULTIPLIER, PARENT, PRISMATIC, ROTOR, VELOCITY_INDEX
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.rows import matrix_at, put, slice_vector, vector_at
from rne_dynamics.spatial.vector import ZERO, Vector, add, cross, dot, rotate, rotate_back, scale, subtract

# columns of the sets, row s·bodies + i for body i in set s: B* (force, moment), effort left for the joint,
# v̇, ω̇; what is the same in all sets is in the columns of `nasser_links`
_BF, _BN, _U, _DV, _DW, SET_COLUMNS = columns(3, 3, 1, 3, 3)


@helper
def _along(kind: int, f: tuple[float, float, float], n: tuple[float, float, float]) -> float:
    return f[2] if kind == PRISMATIC else n[2]


@helper
def _nothing(a: Vector, b: Vector) -> bool:
    return a[0] == 0.0 and a[1] == 0.0 and a[2] == 0.0 and b[0] == 0.0 and b[1] == 0.0 and b[2] == 0.0


@in_place_helper
def _inbound(
    topology: NDArray[np.int64],
    parameters: Array,
    groups: NDArray[np.int64],
    tau: Array,
    work: Array,
    sets: Array,
    S: Array,
) -> int:
    """A* and all sets of B* from the free ends to the base; −1, or the body whose motion has no inertia."""
    bodies = topology.shape[0]
    count = sets.shape[0] // bodies
    for i in range(bodies - 1, -1, -1):
        parent = topology[i, PARENT]
        kind = topology[i, KIND]
        iv = topology[i, VELOCITY_INDEX]
        group = groups[i]
        R, p = matrix_at(work, i, TURN), vector_at(work, i, POSITION)
        M, C, J = articulated_at(work, i)
        sets_of_body = 1 if kind == FLOATING else count
        if kind == FLOATING:
            if floating_is_singular(M, C, J):
                return i
        else:
            af, an = joint_column(M, C, J, kind)
            put(work, i, COLUMN_FORCE, af)
            put(work, i, COLUMN_MOMENT, an)
            d = _along(kind, af, an) + parameters[i, ROTOR]
            work[i, EFFECTIVE] = d
            extent = M[0] + M[3] + M[5] if kind == PRISMATIC else J[0] + J[3] + J[5]
            if group < 0:
                if not d > SINGULAR * extent:
                    return i
                M, C, J = minus_outer(M, C, J, af, an, 1.0 / d)
            else:
                S[group, count] += parameters[i, MULTIPLIER] * parameters[i, MULTIPLIER] * extent
        for s in range(sets_of_body):
            row = s * bodies + i
            f, n = vector_at(sets, row, _BF), vector_at(sets, row, _BN)
            if s > 0 and s != group + 1 and _nothing(f, n):  # a branch that set s does not load
                sets[row, _U] = 0.0
                continue
            if kind == FLOATING:  # the reaction is the actuators' effort, whatever the motion
                f, n = slice_vector(tau, iv), slice_vector(tau, iv + 3)
            else:
                if s == 0:
                    whole = articulated_at(work, i)
                    sf, sn = apply(
                        whole[0],
                        whole[1],
                        whole[2],
                        vector_at(work, i, SPEED_LINEAR),
                        vector_at(work, i, SPEED_ANGULAR),
                    )
                    f, n = add(f, sf), add(n, sn)
                drive = 0.0
                if group < 0:
                    u = (tau[iv] if s == 0 else 0.0) - _along(kind, f, n)
                    sets[row, _U] = u
                    drive = u / work[i, EFFECTIVE]
                elif s == group + 1:
                    drive = parameters[i, MULTIPLIER]
                f = add(f, scale(drive, vector_at(work, i, COLUMN_FORCE)))
                n = add(n, scale(drive, vector_at(work, i, COLUMN_MOMENT)))
                if group >= 0:  # what the drive must hold, the parent's motion and its rotor apart
                    sets[row, _U] = _along(kind, f, n) + parameters[i, ROTOR] * drive
                if s == 0:
                    kf, kn = apply_linear(M, C, vector_at(work, i, CENTRIPETAL))
                    f, n = add(f, kf), add(n, kn)
            if parent >= 0:
                above = s * bodies + parent
                f = rotate(R, f)
                n = add(rotate(R, n), cross(p, f))
                put(sets, above, _BF, add(vector_at(sets, above, _BF), f))
                put(sets, above, _BN, add(vector_at(sets, above, _BN), n))
        if parent >= 0 and kind != FLOATING:
            accumulate(work, parent, seen_from_parent(M, C, J, R, p))
    return -1


@in_place_helper
def _outbound(
    topology: NDArray[np.int64],
    parameters: Array,
    groups: NDArray[np.int64],
    base: Array,
    tau: Array,
    work: Array,
    sets: Array,
    found: Array,
    S: Array,
) -> None:
    """Accelerations of every set into `found` (1 + g, n), efforts of the geared coordinates into S (g, 1 + g …)."""
    bodies = topology.shape[0]
    for row in range(sets.shape[0]):
        s, i = row // bodies, row % bodies
        parent = topology[i, PARENT]
        kind = topology[i, KIND]
        iv = topology[i, VELOCITY_INDEX]
        group = groups[i]
        R, p = matrix_at(work, i, TURN), vector_at(work, i, POSITION)
        dv, dw = ZERO, ZERO
        if parent >= 0:
            dv, dw = vector_at(sets, s * bodies + parent, _DV), vector_at(sets, s * bodies + parent, _DW)
        elif s == 0:
            dv, dw = slice_vector(base, 6), slice_vector(base, 9)
        if s > 0 and s != group + 1 and sets[row, _U] == 0.0 and kind != FLOATING and _nothing(dv, dw):
            put(sets, row, _DV, ZERO)
            put(sets, row, _DW, ZERO)
            if group < 0:
                found[s, iv] = 0.0
            continue
        dv, dw = rotate_back(R, add(dv, cross(dw, p))), rotate_back(R, dw)
        sv, sw = ZERO, ZERO
        if s == 0:
            dv = add(dv, vector_at(work, i, CENTRIPETAL))
            sv, sw = vector_at(work, i, SPEED_LINEAR), vector_at(work, i, SPEED_ANGULAR)
        if kind == FLOATING:
            f, n = scale(-1.0, vector_at(sets, row, _BF)), scale(-1.0, vector_at(sets, row, _BN))
            if s == 0:
                f, n = add(f, slice_vector(tau, iv)), add(n, slice_vector(tau, iv + 3))
            M, C, J = articulated_at(work, i)
            v_new, w_new = solve(M, C, J, f, n)
            put(sets, row, _DV, v_new)
            put(sets, row, _DW, w_new)
            v_new, w_new = subtract(v_new, add(dv, sv)), subtract(w_new, add(dw, sw))
            for k in range(3):
                found[s, iv + k] = v_new[k]
                found[s, iv + 3 + k] = w_new[k]
            continue
        push = dot(vector_at(work, i, COLUMN_FORCE), dv) + dot(vector_at(work, i, COLUMN_MOMENT), dw)
        if group < 0:  # (2.1.20)
            acceleration = (sets[row, _U] - push) / work[i, EFFECTIVE]
            found[s, iv] = acceleration
        else:
            acceleration = parameters[i, MULTIPLIER] if s == group + 1 else 0.0
            S[group, s] += parameters[i, MULTIPLIER] * (sets[row, _U] + push)
        if kind == PRISMATIC:
            sv = (sv[0], sv[1], sv[2] + acceleration)
        else:
            sw = (sw[0], sw[1], sw[2] + acceleration)
        put(sets, row, _DV, add(dv, sv))
        put(sets, row, _DW, add(dw, sw))


@in_place_kernel
def geared_kernel(
    topology: NDArray[np.int64],
    parameters: Array,
    groups: NDArray[np.int64],
    leaders: NDArray[np.int64],
    base: Array,
    q: Array,
    qd: Array,
    tau: Array,
    wrenches: Array,
    work: Array,
    sets: Array,
    found: Array,
    S: Array,
    qdd: Array,
) -> int:
    """Joint accelerations for one state; −1, or a coordinate without inertia (then `qdd` is not filled).

    Parameters
    ----------
    topology, parameters, base, q, qd, tau, wrenches, qdd
        As for `nasser_kernel`.
    groups
        For every body the number of the geared coordinate that moves it, or −1; shape (bodies,).
    leaders
        The place of every geared coordinate in `tau`; shape (g,).
    work, sets, found, S
        Scratch, shapes (bodies, WORK_COLUMNS), ((1 + g)·bodies, SET_COLUMNS), (1 + g, n), (g, 2 + g).
    """
    bodies, geared = topology.shape[0], leaders.shape[0]
    velocities(topology, parameters, base, q, qd, wrenches, work)
    for row in range(sets.shape[0]):
        for k in range(6):
            sets[row, _BF + k] = work[row, BIAS_FORCE + k] if row < bodies else 0.0
    for j in range(geared):
        for s in range(2 + geared):
            S[j, s] = 0.0
        for s in range(1 + geared):
            found[s, leaders[j]] = 0.0
    singular = _inbound(topology, parameters, groups, tau, work, sets, S)
    if singular >= 0:
        return int(topology[singular, VELOCITY_INDEX])
    _outbound(topology, parameters, groups, base, tau, work, sets, found, S)
    for j in range(geared):
        S[j, 0] = tau[leaders[j]] - S[j, 0]
    singular = _solve_geared(S)
    if singular >= 0:
        return int(leaders[singular])
    for j in range(qdd.shape[0]):
        qdd[j] = found[0, j]
        for h in range(geared):
            qdd[j] += found[1 + h, j] * S[h, 0]
    for h in range(geared):
        qdd[leaders[h]] = S[h, 0]
    return -1


@helper
def _solve_geared(S: Array) -> int:
    """x into column 0 of S = [right side, the symmetric matrix, sizes]; −1, or a row without inertia."""
    g = S.shape[0]
    for j in range(g):
        if not S[j, 1 + j] > SINGULAR * S[j, 1 + g]:
            return j
        S[j, 1 + g] = S[j, 1 + j]
    for j in range(g):  # elimination; positive definite, so that no row need change places
        if not S[j, 1 + j] > SINGULAR * S[j, 1 + g]:
            return j
        for i in range(j + 1, g):
            factor = S[i, 1 + j] / S[j, 1 + j]
            S[i, 0] -= factor * S[j, 0]
            for k in range(j + 1, g):
                S[i, 1 + k] -= factor * S[j, 1 + k]
    for j in range(g - 1, -1, -1):
        for k in range(j + 1, g):
            S[j, 0] -= S[j, 1 + k] * S[k, 0]
        S[j, 0] /= S[j, 1 + j]
    return -1


@in_place_helper
def _rows(
    topology: NDArray[np.int64],
    parameters: Array,
    groups: NDArray[np.int64],
    leaders: NDArray[np.int64],
    base: Array,
    q: Array,
    qd: Array,
    tau: Array,
    wrenches: Array,
    work: Array,
    sets: Array,
    found: Array,
    S: Array,
    qdd: Array,
) -> int:
    for b in range(q.shape[0]):
        singular = geared_kernel(
            topology,
            parameters,
            groups,
            leaders,
            base[b if base.shape[0] > 1 else 0],
            q[b],
            qd[b],
            tau[b],
            wrenches[b if wrenches.shape[0] > 1 else 0],
            work,
            sets,
            found,
            S,
            qdd[b],
        )
        if singular >= 0:
            return singular
    return -1


@threaded_kernel
def geared_batch(
    topology: NDArray[np.int64],
    parameters: Array,
    base: Array,
    q: Array,
    qd: Array,
    tau: Array,
    wrenches: Array,
    qdd: Array,
) -> int:
    """`geared_kernel` over rows, shapes as for `inverse_dynamics_batch`; −1, or a coordinate without inertia."""
    bodies, n = topology.shape[0], tau.shape[1]
    movers = np.zeros(n, dtype=np.int64)  # joints that a coordinate moves
    geared = 0
    for i in range(bodies):
        iv = topology[i, VELOCITY_INDEX]
        movers[iv] += 1
        geared += movers[iv] == 2
    leaders, groups = np.empty(geared, dtype=np.int64), np.full(bodies, -1)
    geared = 0
    for j in range(n):
        if movers[j] > 1:
            for i in range(bodies):
                if topology[i, VELOCITY_INDEX] == j:
                    groups[i] = geared
            leaders[geared] = j
            geared += 1
    work = np.empty((bodies, WORK_COLUMNS))
    sets = np.empty(((1 + geared) * bodies, SET_COLUMNS))
    found, S = np.empty((1 + geared, n)), np.empty((geared, 2 + geared))
    return _rows(topology, parameters, groups, leaders, base, q, qd, tau, wrenches, work, sets, found, S, qdd)
