"""Kinematics of flexible arms (sections 2 and 5.1 of document 003): W, its rates, and its derivatives by the modes.

A homogeneous transformation W (the homogeneous coordinate first) is the pair (R, p) of its rotation and translation; so
is a derivative of one, whose constant is 0 instead of 1. What the document multiplies to the transpose of a derivative
L and takes the trace of, a matrix Q of four rows, is kept likewise: (Q without its first row, transposed; its first
row), so that the trace of L Q is the sum of the products of the elements. Mass G (37) is (m, h, S): ∫ dm, ∫ r dm, ∫ r
rᵀ dm.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from rne_dynamics.compiling.jit import helper, kernel, routine
from rne_dynamics.compiling.plain import per_body, table
from rne_dynamics.flexible.packed import COORDINATE, FIRST_MODE, FIXED, KIND, MODES, PARENT, Packed
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE, PRISMATIC
from rne_dynamics.spatial.pairs import Rigid, slice_pair
from rne_dynamics.spatial.rows import matrix_at, put, put_matrix, vector_at
from rne_dynamics.spatial.vector import (
    IDENTITY,
    ZERO,
    Matrix,
    Placement,
    Symmetric,
    Vector,
    about_z,
    add,
    add_matrix,
    column,
    compose,
    compose_back,
    cross,
    dot,
    placed,
    rotate,
    rotate_symmetric,
    scale,
    subtract,
)

NOTHING: Placement = ((0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), ZERO)


@helper
def form_at(a: Array, i: int) -> Placement:
    """A pair (matrix, vector) from row i."""
    return matrix_at(a, i, 0), vector_at(a, i, 9)


@helper
def total(A: Placement, B: Placement) -> Placement:
    """A + B."""
    return add_matrix(A[0], B[0]), add(A[1], B[1])


@helper
def multiple(s: float, A: Placement) -> Placement:
    """s A."""
    M = A[0]
    return (
        s * M[0], s * M[1], s * M[2], s * M[3], s * M[4], s * M[5], s * M[6], s * M[7], s * M[8],
    ), scale(s, A[1])  # fmt: skip


@helper
def turned_form(R: Matrix, A: Placement) -> Placement:
    """W A for a derivative A, with R of W; D Wᵀ for D (36)."""
    return compose(R, A[0]), rotate(R, A[1])


@helper
def outer(a: Vector, b: Vector) -> Matrix:
    """The matrix a bᵀ."""
    return (
        a[0] * b[0], a[0] * b[1], a[0] * b[2], a[1] * b[0], a[1] * b[1], a[1] * b[2], a[2] * b[0], a[2] * b[1],
        a[2] * b[2],
    )  # fmt: skip


@helper
def elements(A: Matrix, B: Matrix) -> float:
    """The sum of the products of the elements."""
    return (
        A[0] * B[0] + A[1] * B[1] + A[2] * B[2] + A[3] * B[3] + A[4] * B[4] + A[5] * B[5] + A[6] * B[6] + A[7] * B[7]
        + A[8] * B[8]
    )  # fmt: skip


@helper
def trace(L: Placement, Q: Placement) -> float:
    """Tr{L Q}."""
    return elements(L[0], Q[0]) + dot(L[1], Q[1])


@helper
def symmetric(S: Symmetric) -> Matrix:
    """All nine numbers of a symmetric matrix."""
    return S[0], S[1], S[2], S[1], S[3], S[4], S[2], S[4], S[5]


@helper
def mass_times(G: Rigid, L: Placement) -> Placement:
    """G Lᵀ."""
    m, h, S = G
    R, p = L
    return add_matrix(outer(p, h), compose(R, symmetric(S))), add(scale(m, p), rotate(R, h))


@helper
def inwards(X: Placement, Q: Placement) -> Placement:
    """E A Q (78), (88), for X = E A."""
    R, p = X
    return add_matrix(outer(Q[1], p), compose_back(Q[0], R)), Q[1]


@helper
def mass_inwards(X: Placement, G: Rigid) -> Rigid:
    """(E A) G (E A)ᵀ of (79)."""
    (R, p), (m, h, S) = X, G
    k, T = rotate(R, h), rotate_symmetric(R, S)
    moved = add(k, scale(m, p))
    return m, moved, (
        T[0] + p[0] * moved[0] + k[0] * p[0], T[1] + p[0] * moved[1] + k[0] * p[1],
        T[2] + p[0] * moved[2] + k[0] * p[2], T[3] + p[1] * moved[1] + k[1] * p[1],
        T[4] + p[1] * moved[2] + k[1] * p[2], T[5] + p[2] * moved[2] + k[2] * p[2],
    )  # fmt: skip


@helper
def small_turn(a: Vector, R: Matrix) -> Matrix:
    """ã R."""
    x, y, z = cross(a, column(R, 0)), cross(a, column(R, 1)), cross(a, column(R, 2))
    return x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]


@helper
def plus_turned(slides: bool, A: Placement, a: float, R: Matrix) -> Placement:
    """A + a W U (9), where W turns by R: what a joint about or along R's third axis adds at the rate a."""
    M, p = A
    if slides:
        return M, add(p, scale(a, column(R, 2)))
    return (
        M[0] + a * R[1], M[1] - a * R[0], M[2], M[3] + a * R[4], M[4] - a * R[3], M[5], M[6] + a * R[7],
        M[7] - a * R[6], M[8],
    ), p  # fmt: skip


@helper
def by_joint(slides: bool, G: Rigid, R: Matrix) -> Placement:
    """G times the transpose of ∂W/∂q: of Ŵ U (66), where W turns by R."""
    m, h, S = G
    if slides:
        z = column(R, 2)
        return outer(z, h), scale(m, z)
    x, y, a, b = column(R, 0), column(R, 1), (S[0], S[1], S[2]), (S[1], S[3], S[4])
    return (
        y[0] * a[0] - x[0] * b[0], y[0] * a[1] - x[0] * b[1], y[0] * a[2] - x[0] * b[2],
        y[1] * a[0] - x[1] * b[0], y[1] * a[1] - x[1] * b[1], y[1] * a[2] - x[1] * b[2],
        y[2] * a[0] - x[2] * b[0], y[2] * a[1] - x[2] * b[1], y[2] * a[2] - x[2] * b[2],
    ), (h[0] * y[0] - h[1] * x[0], h[0] * y[1] - h[1] * x[1], h[0] * y[2] - h[1] * x[2])  # fmt: skip


@helper
def along_joint(slides: bool, R: Matrix, Q: Placement) -> float:
    """The trace of ∂W/∂q Q, where W turns by R."""
    if slides:
        return dot(column(R, 2), Q[1])
    return dot(column(R, 1), column(Q[0], 0)) - dot(column(R, 0), column(Q[0], 1))


class Motions(NamedTuple):
    """Tables of one state, by body, in the axes of the base."""

    #: E A, from the parent's frame to the body's own, in the parent's axes.
    link: Any
    #: W and its first and second derivative.
    W: Any
    dW: Any
    ddW: Any
    #: ∂W/∂δ for the modes of the body's parent: that of mode k of body i's at ``width i + k``.
    lever: Any


@helper
def _of_base(base: Array) -> tuple[Placement, Placement, Placement]:
    """W, Ẇ and Ẅ of the base's own frame, in its axes: 1, ω̃ and ω̇̃ + ω̃ ω̃, with its velocity and acceleration."""
    (v, w), (a, dw) = slice_pair(base, 0), slice_pair(base, 6)
    spin = small_turn(w, IDENTITY)
    return (IDENTITY, ZERO), (spin, v), (add_matrix(small_turn(dw, IDENTITY), small_turn(w, spin)), a)


@helper
def _sums(arm: Packed, i: int, parent: int, rates: Array) -> tuple[Vector, Vector]:
    """Σ rates_k times translation and turn of body i by its parent's modes."""
    moved, turned, start = ZERO, ZERO, arm.joints + arm.topology[parent, FIRST_MODE]
    for k in range(arm.topology[parent, MODES]):
        moved = add(moved, scale(rates[start + k], vector_at(arm.translation[i], k, 0)))
        turned = add(turned, scale(rates[start + k], vector_at(arm.turn[i], k, 0)))
    return moved, turned


@helper
def _shortened(arm: Packed, i: int, parent: int, a: Array, b: Array) -> Vector:
    """Σ Σ a_k b_m times the shortening (k, m) of body i's place by its parent's modes."""
    drawn, start = ZERO, arm.joints + arm.topology[parent, FIRST_MODE]
    for k in range(arm.topology[parent, MODES]):
        drawn = add(drawn, scale(a[start + k], _shortened_by(arm, i, parent, k, b)))
    return drawn


@helper
def _shortened_by(arm: Packed, i: int, parent: int, k: int, b: Array) -> Vector:
    """Σ b_m times the shortening (k, m)."""
    drawn, start = ZERO, arm.joints + arm.topology[parent, FIRST_MODE]
    for m in range(arm.topology[parent, MODES]):
        drawn = add(drawn, scale(b[start + m], vector_at(arm.bend[i, k], m, 0)))
    return drawn


@helper
def _turn_rate(second_order: bool, a: Vector, R: Matrix, turn: Vector, turned: Matrix) -> Matrix:
    """The rate of E's rotation where θ = `turn` grows by a, and `turned` is θ̃ R: ã R, or its second order too.

    (7): small turns add like vectors, (1 + θ̃) R; to second order (1 + θ̃ + ½ θ̃ θ̃) R, for a turn lengthens nothing.
    """
    rate = small_turn(a, R)
    if not second_order:
        return rate
    return add_matrix(rate, multiple(0.5, (add_matrix(small_turn(a, turned), small_turn(turn, rate)), ZERO))[0])


@helper
def _behind_joint(kind: int, A: Placement, c: float, s: float) -> Placement:
    """A, a transformation or a derivative, times the joint's, for cos and sin of its angle or its position and 0."""
    if kind == FIXED:
        return A
    R, p = A
    return (R, add(p, scale(c, column(R, 2)))) if kind == PRISMATIC else (about_z(R, c, s), p)


@routine
def motions(arm: Packed, base: Array, z: Array, zd: Array, zdd: Array | None) -> Motions:
    """The motion of all bodies for z, ż (n + modes,), and with z̈ in Ẅ where it is given: (10), (15) as written.

    `base` (12,) is v, ω, v̇ − g, ω̇ in the base's axes. So gravity enters as the base's acceleration, and (89), (90)
    need no sums of their own. Without z̈, Ẅ is that of (64), (65).
    """
    topology, width = arm.topology, arm.turn.shape[1]
    link, W, dW, ddW = per_body(topology), per_body(topology), per_body(topology), per_body(topology)
    lever = table(topology.shape[0] * width)
    W[BASE], dW[BASE], ddW[BASE] = _of_base(base)
    for i in range(topology.shape[0]):
        parent, kind, at = topology[i, PARENT], topology[i, KIND], topology[i, COORDINATE]
        modes = topology[parent, MODES] if parent != BASE else 0
        R, p = matrix_at(arm.rotation, i, 0), vector_at(arm.position, i, 0)
        E, turn, turned, twice = (R, p), ZERO, R, arm.turned[i] != 0
        if modes > 0:  # (5)
            moved, turn = _sums(arm, i, parent, z)
            turned = small_turn(turn, R)
            E = add_matrix(R, turned), add(p, moved)
            if arm.stiffened:
                E = E[0], subtract(E[1], scale(0.5, _shortened(arm, i, parent, z, z)))
                if twice:
                    E = add_matrix(E[0], multiple(0.5, (small_turn(turn, turned), ZERO))[0]), E[1]
        W_i, dW_i, ddW_i = placed(W[parent], E), placed(dW[parent], E), placed(ddW[parent], E)  # (13), (14), (65)
        c, s = 1.0, 0.0
        if kind == PRISMATIC:
            c = z[at]
        elif kind != FIXED:
            c, s = math.cos(z[at]), math.sin(z[at])
        if modes > 0:
            moving, turning = _sums(arm, i, parent, zd)
            dE = _turn_rate(twice, turning, R, turn, turned), moving  # (16)
            if arm.stiffened:
                dE = dE[0], subtract(dE[1], _shortened(arm, i, parent, z, zd))
                # Ë without second derivatives: the shortening grows with the square of the rates
                ddW_i = ddW_i[0], subtract(ddW_i[1], rotate(W[parent][0], _shortened(arm, i, parent, zd, zd)))
                if twice:  # θ̇̃ θ̇̃ R
                    ddE = small_turn(turning, small_turn(turning, R))
                    ddW_i = total(ddW_i, turned_form(W[parent][0], (ddE, ZERO)))
            dW_i = total(dW_i, turned_form(W[parent][0], dE))
            ddW_i = total(ddW_i, multiple(2.0, turned_form(dW[parent][0], dE)))
            for k in range(modes):  # ∂W/∂δ = W_λ M_λk A (60), (63)
                M = vector_at(arm.translation[i], k, 0)
                if arm.stiffened:
                    M = subtract(M, _shortened_by(arm, i, parent, k, z))
                by_mode = _turn_rate(twice, vector_at(arm.turn[i], k, 0), R, turn, turned), M
                lever[width * i + k] = _behind_joint(kind, turned_form(W[parent][0], by_mode), c, s)
        W_i, dW_i, ddW_i = (
            _behind_joint(kind, W_i, c, s), _behind_joint(kind, dW_i, c, s), _behind_joint(kind, ddW_i, c, s)
        )  # fmt: skip
        if kind != FIXED:  # (9), (64): U turns the columns by a right angle, U₂ by two
            slides = kind == PRISMATIC
            rate = plus_turned(slides, dW_i, zd[at], W_i[0])
            ddW_i = plus_turned(slides, plus_turned(slides, ddW_i, zd[at], dW_i[0]), zd[at], rate[0])
            dW_i = rate
            if zdd is not None:  # of (60), (63) the last terms
                ddW_i = plus_turned(slides, ddW_i, zdd[at], W_i[0])
        if zdd is not None:
            for k in range(modes):
                acceleration = zdd[arm.joints + topology[parent, FIRST_MODE] + k]
                ddW_i = total(ddW_i, multiple(acceleration, lever[width * i + k]))
        link[i] = _behind_joint(kind, E, c, s)
        W[i], dW[i], ddW[i] = W_i, dW_i, ddW_i
    return Motions(link, W, dW, ddW, lever)


@kernel
def put_bodies(packed: Packed, z: Array, out: Array) -> None:
    """W_i of every body: out (bodies, 12), rotation before translation."""
    X = motions(packed, np.zeros(12), z, np.zeros(z.shape[0]), None)
    for i in range(out.shape[0]):
        put_matrix(out, i, 0, X.W[i][0])
        put(out, i, 9, X.W[i][1])
