"""Joint accelerations from efforts: O(n) in Nasser's formulation (document 000), and a choice of other methods.

The inbound pass reduces the subtree behind each joint to A* and B*, with the joint's own acceleration eliminated (G =
L⁻¹ in closed form, since L differs from the identity in one column only); the outbound pass starts from the prescribed
base motion and finds the accelerations. Revolute and prismatic joints, trees, actuator inertia J^a, external loads.
Equation numbers are the document's. One difference: each link works in a frame that moves with it instead of the frame
i − 1, so that its inertia stays constant.

The 6×6 coefficient A* turns the acceleration (v̇, ω̇) of a frame into the wrench needed there: f = M v̇ + C ω̇, n = Cᵀ
v̇ + J ω̇. It is kept as its three 3×3 blocks (M, C, J), with M and J symmetric: 21 numbers instead of 36.

The document lets a control force f_i^c and torque n_i^c of any direction act at joint i: on link i at its proximal
joint, and reversed on link i − 1 at its distal one (2.1.2), (2.1.5.3). Five of the six components only change the
reaction and not the motion, because the unknowns of (2.1.7.1) and (2.2.3) are the five reaction components and q̈, and
Zᵀ G F keeps of (f, n) the component along the axis only. That component is `tau`, and so `tau` is all the control there
is.

A floating joint, which the document does not have, transmits its actuators' effort and nothing else: its own six
accelerations follow from A* alone. Mimic joints it does not have either (`FORWARD_DYNAMICS`).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal, get_args

from numpy.typing import ArrayLike

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.compiling.plain import per_body
from rne_dynamics.dynamics.composite.mass_matrix import WALKER_ORIN, WALKER_ORIN_COLUMNS
from rne_dynamics.dynamics.declared.arguments import Arm, BaseMotion, Wrenches
from rne_dynamics.dynamics.declared.quantity import Engine, N, Quantity
from rne_dynamics.dynamics.kinematics.joint_motion import (
    along,
    inertia_of,
    joint_speed,
    joint_turns,
    placement_at_turn,
    plus_along,
)
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE, FLOATING, KIND, PARENT, PRISMATIC, ROTOR, VELOCITY_INDEX
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.pairs import (
    Pair,
    Rigid,
    gyroscopic,
    into_child,
    minus,
    minus_load,
    onto_parent,
    plus,
    power,
    put_slice_pair,
    scaled,
    slice_pair,
)
from rne_dynamics.spatial.rows import slice_vector
from rne_dynamics.spatial.vector import (
    Matrix,
    Symmetric,
    Vector,
    add,
    add_matrix,
    add_symmetric,
    compose,
    compose_back,
    cross,
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


@kernel
def nasser_kernel(arm: Arm, q: Array, qd: Array, tau: Array, qdd: Array) -> int:
    """Fill `qdd` (n,) for one state, without mimic joints; −1, or the number of a body whose joint moves no inertia."""
    topology, parameters, base, loads = arm
    bodies = topology.shape[0]
    X, w, sigma, kappa = per_body(topology), per_body(topology), per_body(topology), per_body(topology)
    A, B, AZ = per_body(topology), per_body(topology), per_body(topology)
    u, d, a = per_body(topology), per_body(topology), per_body(topology)
    w[BASE], a[BASE] = slice_vector(base, 3), slice_pair(base, 6)
    turns = joint_turns(topology, parameters, q)
    for i in range(bodies):
        turning, body = w[topology[i, PARENT]], inertia_of(parameters, i)
        R, p = X[i] = placement_at_turn(topology, parameters, i, q, turns[i])
        w[i], sigma[i] = joint_speed(topology, parameters, i, qd, rotate_back(R, turning))
        kappa[i] = rotate_back(R, cross(turning, cross(turning, p)))  # the centripetal part of σ*
        A[i] = of_rigid_body(body)
        B[i] = minus_load(gyroscopic(body, w[i]), loads, i)  # β, β* of (2.1.3.2), (2.1.6.2) without accelerations
    for i in range(bodies - 1, -1, -1):
        parent, kind, iv, (R, p) = topology[i, PARENT], topology[i, KIND], topology[i, VELOCITY_INDEX], X[i]
        if kind == FLOATING:
            if is_singular(A[i]):
                return i
            if parent != BASE:  # the reaction is the actuators' effort, whatever the motion
                B[parent] = plus(B[parent], onto_parent(R, p, slice_pair(tau, iv)))
            continue
        AZ[i] = on_axis(A[i], kind)
        with_joint = plus(B[i], on_joint(A[i], kind, sigma[i]))  # B* + A* σ*
        d[i] = along(kind, AZ[i]) + parameters[i, ROTOR]  # −L's joint column of (2.1.19.1), with the actuator's J^a
        if not d[i] > SINGULAR * size_along(A[i], kind):
            return i
        u[i] = tau[iv] - along(kind, with_joint)
        if parent != BASE:
            GA = minus_outer(A[i], AZ[i], 1.0 / d[i])  # γ G A*
            GB = plus(plus(with_joint, on_linear(GA, kappa[i])), scaled(u[i] / d[i], AZ[i]))  # γ G B* + γ G A* κ
            A[parent] = plus_articulated(A[parent], seen_from_parent(R, p, GA))  # (2.1.19.3), (2.1.19.4), (2.3.3)
            B[parent] = plus(B[parent], onto_parent(R, p, GB))  # (2.1.19.5)–(2.1.19.7), (2.3.4)
    for i in range(bodies):
        kind, iv, (R, p) = topology[i, KIND], topology[i, VELOCITY_INDEX], X[i]
        dv, dw = into_child(R, p, a[topology[i, PARENT]])
        before = add(dv, kappa[i]), dw
        if kind == FLOATING:
            a[i] = solve(A[i], minus(slice_pair(tau, iv), B[i]))
            put_slice_pair(qdd, iv, minus(minus(a[i], before), sigma[i]))
        else:
            qdd[iv] = (u[i] - power(AZ[i], before)) / d[i]  # (2.1.20): q̈ = Zᵀ G F
            a[i] = plus(before, plus_along(kind, sigma[i], qdd[iv]))  # (2.1.13)
    return -1


Method = Literal[
    "nasser", "walker_orin", "walker_orin_columns", "newton_euler_dae", "newton_euler_operator", "lagrange"
]


def _when_called(module: str, name: str) -> Engine:
    """An engine of another formulation, whose module nodes need not import at their start."""

    def engine(*arguments: Any) -> Array:
        answer: Array = getattr(import_module(f"rne_dynamics.dynamics.{module}"), name)(*arguments)
        return answer

    return engine


FORWARD_DYNAMICS = Quantity(
    "forward_dynamics", nasser_kernel, ("q", "qd", "tau"), (N,),
    base_motion=True, fault="body_names", mimic=WALKER_ORIN,
)  # fmt: skip
FORWARD_ENGINES: Mapping[Method, Engine] = MappingProxyType(
    {
        "nasser": FORWARD_DYNAMICS.compute,
        "walker_orin": WALKER_ORIN.compute,
        "walker_orin_columns": WALKER_ORIN_COLUMNS.compute,
        "newton_euler_dae": _when_called("free_bodies.reduced_equations", "newton_euler_dae_forward"),
        "newton_euler_operator": _when_called("block_operators", "operator_forward"),
        "lagrange": _when_called("lagrange_terms", "lagrange_forward"),
    }
)


@FORWARD_DYNAMICS.public
def forward_dynamics(
    robot: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
    method: Method = "nasser",
) -> Array:
    """Accelerations of an open arm that the efforts `tau` give; as `rne_dynamics.forward_dynamics`."""
    if method not in FORWARD_ENGINES:
        raise ArgumentError(f"method is {method!r}; it must be one of {', '.join(map(repr, get_args(Method)))}")
    if wrenches is None and base_motion is None and method == "nasser":
        return FORWARD_DYNAMICS.of(robot)(q, qd, tau)
    engine = FORWARD_ENGINES[method]
    return FORWARD_DYNAMICS.answer(robot, q, qd, tau, wrenches=wrenches, base_motion=base_motion, engine=engine)
