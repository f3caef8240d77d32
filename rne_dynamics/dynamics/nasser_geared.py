"""Nasser's O(n) recursion for robots with mimic joints, which gear joints of different branches together.

The document has a coordinate to every link. Where k joints follow others, q_i = μ_i q_j + const, the coordinates j
that move several links at once (geared coordinates, g ≤ k of them) are left out of the elimination: their joints are
driven with a given acceleration x_j, so that A* passes through them whole, and everything else is as in `nasser`. One
inbound and one outbound pass carry 1 + g sets of forces and motions side by side: the true ones with x = 0, and what
x_j = 1 alone gives. The effort that coordinate j then takes is linear in x,

    Σ_i μ_i E_i = E⁰_j + Σ_h S_jh x_h = τ_j,        i over the joints that coordinate j moves,

and S, the Schur complement of the mass matrix on the geared coordinates, is symmetric and positive definite whenever
the mass matrix is, whatever single links weigh: a massless finger that follows another needs no special care.
Cholesky gives x, and the accelerations are the true set plus x times the others. O(n (1 + g) + g³).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.dynamics.articulated import apply, apply_linear, minus_outer, seen_from_parent, solve
from rne_dynamics.dynamics.nasser_links import (
    BIAS_FORCE,
    CENTRIPETAL,
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
from rne_dynamics.spatial.cholesky import cholesky_solve
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.jit import helper, in_place_kernel, threaded_kernel
from rne_dynamics.spatial.rows import matrix_at, put, slice_vector, vector_at
from rne_dynamics.spatial.vector import ZERO, add, cross, dot, rotate, rotate_back, scale, subtract

# columns of the sets, row s·bodies + i for body i in set s: B* (force, moment), effort left for the joint,
# v̇, ω̇; of the joints: A* Z (force, moment) and effective inertia
_BF, _BN, _U, _DV, _DW, SET_COLUMNS = columns(3, 3, 1, 3, 3)
_AF, _AN, _D, JOINT_COLUMNS = columns(3, 3, 1)


@helper
def _along(kind: int, f: tuple[float, float, float], n: tuple[float, float, float]) -> float:
    return f[2] if kind == PRISMATIC else n[2]


@helper
def _inbound(
    topology: NDArray[np.int64],
    parameters: Array,
    groups: NDArray[np.int64],
    tau: Array,
    work: Array,
    joints: Array,
    sets: Array,
    size: Array,
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
            put(joints, i, _AF, af)
            put(joints, i, _AN, an)
            d = _along(kind, af, an) + parameters[i, ROTOR]
            joints[i, _D] = d
            extent = M[0] + M[3] + M[5] if kind == PRISMATIC else J[0] + J[3] + J[5]
            if group < 0:
                if not d > SINGULAR * extent:
                    return i
                M, C, J = minus_outer(M, C, J, af, an, 1.0 / d)
            else:
                size[group] += parameters[i, MULTIPLIER] * parameters[i, MULTIPLIER] * extent
        for s in range(sets_of_body):
            row = s * bodies + i
            f, n = vector_at(sets, row, _BF), vector_at(sets, row, _BN)
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
                    drive = u / joints[i, _D]
                elif s == group + 1:
                    drive = parameters[i, MULTIPLIER]
                f = add(f, scale(drive, vector_at(joints, i, _AF)))
                n = add(n, scale(drive, vector_at(joints, i, _AN)))
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


@helper
def _outbound(
    topology: NDArray[np.int64],
    parameters: Array,
    groups: NDArray[np.int64],
    base: Array,
    tau: Array,
    work: Array,
    joints: Array,
    sets: Array,
    found: Array,
    S: Array,
) -> None:
    """Accelerations of every set into `found` (1 + g, n), efforts of the geared coordinates into S (g, 1 + g)."""
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
        push = dot(vector_at(joints, i, _AF), dv) + dot(vector_at(joints, i, _AN), dw)
        if group < 0:  # (2.1.20)
            acceleration = (sets[row, _U] - push) / joints[i, _D]
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
    joints: Array,
    sets: Array,
    found: Array,
    S: Array,
    size: Array,
    schur: Array,
    left: Array,
    x: Array,
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
    work, joints, sets, found, S, size, schur, left, x
        Scratch, shapes (bodies, WORK_COLUMNS), (bodies, JOINT_COLUMNS), ((1 + g)·bodies, SET_COLUMNS), (1 + g, n),
        (g, 1 + g), (g,), (g, g), (g,), (g,).
    """
    bodies, geared = topology.shape[0], leaders.shape[0]
    velocities(topology, parameters, base, q, qd, wrenches, work)
    for row in range(sets.shape[0]):
        for k in range(6):
            sets[row, _BF + k] = work[row, BIAS_FORCE + k] if row < bodies else 0.0
    for j in range(geared):
        size[j] = 0.0
        for s in range(1 + geared):
            S[j, s] = 0.0
            found[s, leaders[j]] = 0.0
    singular = _inbound(topology, parameters, groups, tau, work, joints, sets, size)
    if singular >= 0:
        return int(topology[singular, VELOCITY_INDEX])
    _outbound(topology, parameters, groups, base, tau, work, joints, sets, found, S)
    for j in range(geared):
        if not S[j, 1 + j] > SINGULAR * size[j]:
            return int(leaders[j])
        left[j] = tau[leaders[j]] - S[j, 0]
        for h in range(geared):
            schur[j, h] = S[j, 1 + h]
    singular = cholesky_solve(schur, left, x)
    if singular >= 0:
        return int(leaders[singular])
    for j in range(qdd.shape[0]):
        qdd[j] = found[0, j]
        for h in range(geared):
            qdd[j] += found[1 + h, j] * x[h]
    for h in range(geared):
        qdd[leaders[h]] = x[h]
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
    moved = np.zeros(n, dtype=np.int64)
    for i in range(bodies):
        moved[topology[i, VELOCITY_INDEX]] += 1
    leaders = np.nonzero(moved > 1)[0]
    geared = leaders.shape[0]
    groups = np.full(bodies, -1)
    for i in range(bodies):
        for j in range(geared):
            if leaders[j] == topology[i, VELOCITY_INDEX]:
                groups[i] = j
    work = np.empty((bodies, WORK_COLUMNS))
    joints = np.empty((bodies, JOINT_COLUMNS))
    sets = np.empty(((1 + geared) * bodies, SET_COLUMNS))
    found = np.empty((1 + geared, n))
    S, schur = np.empty((geared, 1 + geared)), np.empty((geared, geared))
    size, left, x = np.empty(geared), np.empty(geared), np.empty(geared)
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
            joints,
            sets,
            found,
            S,
            size,
            schur,
            left,
            x,
            qdd[b],
        )
        if singular >= 0:
            return singular
    return -1
