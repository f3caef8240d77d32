"""The 6×6 coefficient A* of Nasser's formulation as its three 3×3 blocks (M, C, J).

A* turns the acceleration (v̇, ω̇) of a frame into the wrench needed there:
f = M v̇ + C ω̇, n = Cᵀ v̇ + J ω̇, with M and J symmetric: 21 numbers instead of 36.
"""

from __future__ import annotations

from rne_dynamics.compiling.jit import helper
from rne_dynamics.model.layout import PRISMATIC
from rne_dynamics.spatial.pairs import Pair, Rigid
from rne_dynamics.spatial.vector import (
    Matrix,
    Symmetric,
    Vector,
    add_matrix,
    add_symmetric,
    compose,
    compose_back,
    dot,
    rotate,
    rotate_back,
    rotate_symmetric,
    scale,
    subtract,
    times,
)

Articulated = tuple[Symmetric, Matrix, Symmetric]

#: An inertia along a motion below this part of A*'s own size is round-off.
SINGULAR = 1e-13


@helper
def plus_articulated(A: Articulated, branch: Articulated) -> Articulated:
    """(2.1.19.3), (2.3.3): A* and that of a branch."""
    return add_symmetric(A[0], branch[0]), add_matrix(A[1], branch[1]), add_symmetric(A[2], branch[2])


@helper
def of_rigid_body(body: Rigid) -> Articulated:
    """(2.1.7.4): A of one rigid body."""
    m, h, J = body
    M = (m, 0.0, 0.0, m, 0.0, m)
    C = (0.0, h[2], -h[1], -h[2], 0.0, h[0], h[1], -h[0], 0.0)  # −h̃
    return M, C, J


@helper
def on_linear(A: Articulated, dv: Vector) -> Pair:
    """A* (v̇, 0)."""
    M, C, _ = A
    return times(M, dv), rotate_back(C, dv)


@helper
def on_joint(A: Articulated, kind: int, sigma: Pair) -> Pair:
    """A* σ* for a one-axis joint, whose σ* has a linear half (prismatic) or an angular one (revolute) only."""
    if kind == PRISMATIC:
        return on_linear(A, sigma[0])
    _, C, J = A
    return rotate(C, sigma[1]), times(J, sigma[1])


@helper
def on_axis(A: Articulated, kind: int) -> Pair:
    """A* Z, with Z of (2.1.7.2) for a revolute joint and of (2.2.7) for a prismatic one."""
    M, C, J = A
    if kind == PRISMATIC:
        return (M[2], M[4], M[5]), (C[6], C[7], C[8])
    return (C[2], C[5], C[8]), (J[2], J[4], J[5])


@helper
def size_along(A: Articulated, kind: int) -> float:
    """The trace of the block of A* that a one-axis joint moves: what round-off along Z is relative to."""
    S = A[0] if kind == PRISMATIC else A[2]
    return S[0] + S[3] + S[5]


@helper
def minus_outer(A: Articulated, F: Pair, s: float) -> Articulated:
    """A* − s F Fᵀ."""
    M, C, J = A
    f, n = F
    a, b = scale(s, f), scale(s, n)
    M2 = (
        M[0] - a[0] * f[0],
        M[1] - a[0] * f[1],
        M[2] - a[0] * f[2],
        M[3] - a[1] * f[1],
        M[4] - a[1] * f[2],
        M[5] - a[2] * f[2],
    )
    C2 = (
        C[0] - a[0] * n[0],
        C[1] - a[0] * n[1],
        C[2] - a[0] * n[2],
        C[3] - a[1] * n[0],
        C[4] - a[1] * n[1],
        C[5] - a[1] * n[2],
        C[6] - a[2] * n[0],
        C[7] - a[2] * n[1],
        C[8] - a[2] * n[2],
    )
    J2 = (
        J[0] - b[0] * n[0],
        J[1] - b[0] * n[1],
        J[2] - b[0] * n[2],
        J[3] - b[1] * n[1],
        J[4] - b[1] * n[2],
        J[5] - b[2] * n[2],
    )
    return M2, C2, J2


@helper
def seen_from_parent(R: Matrix, p: Vector, A: Articulated) -> Articulated:
    """(2.1.19.4): P R* A* R*ᵀ Pᵀ, the same coefficient for the parent's frame."""
    M, C, J = A
    M1 = rotate_symmetric(R, M)
    C1 = compose_back(compose(R, C), R)
    J1 = rotate_symmetric(R, J)
    # C − M p̃; row k of M p̃ is (row k) × p
    C2 = (
        C1[0] - (M1[1] * p[2] - M1[2] * p[1]),
        C1[1] - (M1[2] * p[0] - M1[0] * p[2]),
        C1[2] - (M1[0] * p[1] - M1[1] * p[0]),
        C1[3] - (M1[3] * p[2] - M1[4] * p[1]),
        C1[4] - (M1[4] * p[0] - M1[1] * p[2]),
        C1[5] - (M1[1] * p[1] - M1[3] * p[0]),
        C1[6] - (M1[4] * p[2] - M1[5] * p[1]),
        C1[7] - (M1[5] * p[0] - M1[2] * p[2]),
        C1[8] - (M1[2] * p[1] - M1[4] * p[0]),
    )
    # J − Cᵀ p̃ + p̃ C2; only the upper half, the sum is symmetric
    J2 = (
        J1[0] - (C1[3] * p[2] - C1[6] * p[1]) + p[1] * C2[6] - p[2] * C2[3],
        J1[1] - (C1[6] * p[0] - C1[0] * p[2]) + p[1] * C2[7] - p[2] * C2[4],
        J1[2] - (C1[0] * p[1] - C1[3] * p[0]) + p[1] * C2[8] - p[2] * C2[5],
        J1[3] - (C1[7] * p[0] - C1[1] * p[2]) + p[2] * C2[1] - p[0] * C2[7],
        J1[4] - (C1[1] * p[1] - C1[4] * p[0]) + p[2] * C2[2] - p[0] * C2[8],
        J1[5] - (C1[2] * p[1] - C1[5] * p[0]) + p[0] * C2[5] - p[1] * C2[2],
    )
    return M1, C2, J2


@helper
def solve_symmetric(S: Symmetric, v: Vector) -> Vector:
    """S⁻¹ v by LDLᵀ for a symmetric positive definite S; infinite where S is singular."""
    d0 = S[0]
    l1, l2 = S[1] / d0, S[2] / d0
    d1 = S[3] - l1 * S[1]
    l3 = (S[4] - l1 * S[2]) / d1
    d2 = S[5] - l2 * S[2] - l3 * l3 * d1
    y1 = v[1] - l1 * v[0]
    y2 = v[2] - l2 * v[0] - l3 * y1
    x2 = y2 / d2
    x1 = y1 / d1 - l3 * x2
    return v[0] / d0 - l1 * x1 - l2 * x2, x1, x2


@helper
def exceeds(S: Symmetric, least: float) -> bool:
    """Whether all pivots of LDLᵀ are above `least`, not negative: none that may be 0 is divided by."""
    if not S[0] > least:
        return False
    d1 = S[3] - S[1] * S[1] / S[0]
    if not d1 > least:
        return False
    cross_term = S[4] - S[1] * S[2] / S[0]
    return S[5] - S[2] * S[2] / S[0] - cross_term * cross_term / d1 > least


@helper
def eliminate_linear(A: Articulated) -> Symmetric:
    """J − Cᵀ M⁻¹ C: the inertia against turning where the linear motion is free."""
    M, C, J = A
    e0, e1, e2 = (C[0], C[3], C[6]), (C[1], C[4], C[7]), (C[2], C[5], C[8])
    c0, c1, c2 = solve_symmetric(M, e0), solve_symmetric(M, e1), solve_symmetric(M, e2)
    return (
        J[0] - dot(e0, c0),
        J[1] - dot(e0, c1),
        J[2] - dot(e0, c2),
        J[3] - dot(e1, c1),
        J[4] - dot(e1, c2),
        J[5] - dot(e2, c2),
    )


@helper
def is_singular(A: Articulated) -> bool:
    """Whether some free motion of a floating link has no inertia."""
    M, _, J = A
    return not (
        exceeds(M, SINGULAR * (M[0] + M[3] + M[5]))
        and exceeds(eliminate_linear(A), SINGULAR * (J[0] + J[3] + J[5]))
    )


@helper
def solve(A: Articulated, F: Pair) -> Pair:
    """The acceleration a with A* a = F, by blocks."""
    M, C, _ = A
    f, n = F
    free = solve_symmetric(M, f)
    dw = solve_symmetric(eliminate_linear(A), subtract(n, rotate_back(C, free)))
    return solve_symmetric(M, subtract(f, rotate(C, dw))), dw
