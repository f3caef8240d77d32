"""Homogeneous transformations of document 003, their derivatives, and what multiplies them.

A transformation W (the homogeneous coordinate first) is the pair (R, p) of its rotation and translation; so is a
derivative of one, whose constant is 0 instead of 1. What the document multiplies to the transpose of a derivative L and
takes the trace of, a matrix Q of four rows, is kept likewise: (Q without its first row, transposed; its first row), so
that the trace of L Q is the sum of the products of the elements. Mass G (37) is (m, h, S): ∫ dm, ∫ r dm, ∫ r rᵀ dm.
"""

from __future__ import annotations

from rne_dynamics.compiling.jit import helper
from rne_dynamics.model.inertia import Array
from rne_dynamics.spatial.pairs import Rigid
from rne_dynamics.spatial.rows import matrix_at, vector_at
from rne_dynamics.spatial.vector import (
    ZERO,
    Matrix,
    Placement,
    Symmetric,
    Vector,
    add,
    add_matrix,
    column,
    compose,
    compose_back,
    cross,
    dot,
    rotate,
    rotate_symmetric,
    scale,
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
def plus_spin(A: Matrix, a: float, R: Matrix) -> Matrix:
    """A + a R ẑ̃: what a turn about R's third axis at the rate a adds (9)."""
    return (
        A[0] + a * R[1], A[1] - a * R[0], A[2], A[3] + a * R[4], A[4] - a * R[3], A[5], A[6] + a * R[7],
        A[7] - a * R[6], A[8],
    )  # fmt: skip


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
