"""Derivatives of inverse dynamics with respect to q, q̇ and q̈ in closed form, and the Coriolis matrix, O(n·depth).

A small turn of joint j turns its whole subtree, and what is left of the change is the same for every body of the
subtree. In the notation of S. Singh, R. P. Russell and P. M. Wensing, Efficient analytical derivatives of rigid-body
dynamics using spatial vector algebra, IEEE Robotics and Automation Letters 7 (2022), with S_j the joint's axis,

    ψ̇_j = v_λ × S_j,   ψ̈_j = a_λ × S_j + v_λ × ψ̇_j,   Ṡ_j = v_j × S_j

(λ the parent of j), and sums I, B, f over the subtree of the outer joint i of the two,

    ∂τ_i/∂q_j = S_iᵀ (2 B ψ̇_j + I ψ̈_j)             ∂τ_j/∂q_i = S_jᵀ (2 B ψ̇_i + I ψ̈_i + S_i ×* f)
    ∂τ_i/∂q̇_j = S_iᵀ (2 B S_j + I (ψ̇_j + Ṡ_j))     ∂τ_j/∂q̇_i = S_jᵀ (2 B S_i + I (ψ̇_i + Ṡ_i))

(the left ones for i = j too). An external load is constant in its link's axes, turns with its body, and so enters
only through f. Below are the axes, the reference points, and why B is 12 numbers.

Motion of all bodies, and the composite body behind each joint, are about each body's origin and along its axes. The
algorithms that fill a matrix for pairs of a joint and one of its ancestors turn
and move a few wrenches at every joint between the two; the component along an axis there is one of their six numbers.
In straight-line code, where the axes of most joints are square to each other and most offsets have a zero, derivatives
take 63 % (UR5) to 88 % (Baxter) of the operations that common axes take, in the general kernels up to 25 % more time.
About one common point, the small inertia of an outer link would drown in the m r² of its distance (tried: it cost
iCub's forward derivatives nearly four digits).

Velocities and accelerations are spatial ones here (Featherstone, Rigid Body Dynamics Algorithms, chapter 2): (v, ω) of
the body at its origin, and the rate (v̇, ω̇) of (v, ω) of the body's material passing there: the origin's acceleration as
a point less ω × v. A uniform velocity changes no effort (Galileo), so the base's own linear velocity is left out.

The Coriolis matrix C(q, q̇) with C q̇ = c(q, q̇) and Ṁ − 2C skew-symmetric, O(n·depth).

Each body gives Jᵀ (I J̇ + B J), where J is its Jacobian and B a factorisation of its own velocity force,
B (v, ω) = (v, ω) ×* I (v, ω), whose symmetric part is half the inertia's rate. Then C + Cᵀ = Ṁ. Among the many such
B the one used here, B = ½ [(v×*) I − I (v×) + (I v)×̄*], makes C the matrix of the Christoffel symbols: S. Echeandia
and P. M. Wensing, Numerical methods to compute the Coriolis matrix and Christoffel symbols for rigid-body systems,
J. Comput. Nonlinear Dynam. 16 (2021). B is mostly zeros (`flow_of`); B and I are summed
up from the free ends, and for every pair of a joint and one of its ancestors two wrenches are turned and moved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import helper
from rne_dynamics.compiling.plain import per_body, table
from rne_dynamics.dynamics.declared.arguments import Arm, BaseMotion, Wrenches
from rne_dynamics.dynamics.declared.quantity import N, Quantity
from rne_dynamics.dynamics.declared.quantity import N as COUNT
from rne_dynamics.dynamics.kinematics.joint_motion import (
    axes_of,
    component,
    first_axes,
    inertia_of,
    joint_turns,
    joint_velocity,
    place_of,
    placement_at_turn,
    unit_motion,
)
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE, KIND, MULTIPLIER, PARENT, ROTOR, VELOCITY_INDEX
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.pairs import (
    Pair,
    Rigid,
    into_child,
    minus_load,
    momentum_of,
    motion_cross,
    onto_parent,
    plus,
    plus_rigid,
    power,
    rigid_seen_from_parent,
    scaled,
    slice_pair,
    wrench_cross,
)
from rne_dynamics.spatial.rows import slice_vector
from rne_dynamics.spatial.vector import (
    ZERO,
    Matrix,
    Vector,
    add,
    add_matrix,
    compose,
    compose_back,
    cross,
    dot,
    rotate,
    rotate_back,
    scale,
)


class Composite(NamedTuple):
    """Moving material, about a point: (m, h, J), its momentum P = ∫ u dm, and T of `flow_of`."""

    inertia: Rigid
    P: Vector
    T: Matrix


@helper
def spatial_motions(
    topology: NDArray[Any], parameters: Array, base: Array, q: Array, qd: Array, qdd: Array
) -> tuple[Any, Any, Any, Any]:
    """By body: its placement X, the parent's V and V̇ there, its own V = (v, ω) and V̇; in its axes."""
    X, before, V, dV = per_body(topology), per_body(topology), per_body(topology), per_body(topology)
    V[BASE] = ZERO, slice_vector(base, 3)
    dV[BASE] = slice_pair(base, 6)  # with v = 0 the origin's acceleration is the spatial one
    turns = joint_turns(topology, parameters, q)
    for i in range(topology.shape[0]):
        parent = topology[i, PARENT]
        R, p = X[i] = placement_at_turn(topology, parameters, i, q, turns[i])
        motion, rate = before[i] = into_child(R, p, V[parent]), into_child(R, p, dV[parent])
        joint = joint_velocity(topology, parameters, i, qd)
        V[i] = plus(motion, joint)
        dV[i] = plus(rate, plus(motion_cross(motion, joint), joint_velocity(topology, parameters, i, qdd)))
    return X, before, V, dV


@helper
def flow_of(body: Rigid, V: Pair) -> Matrix:
    """T = ∫ [(r·u) 1 − u rᵀ] dm, for material at r that moves with u = v + ω × r.

    Turned with Ω, this material needs the Coriolis force 2 ∫ Ω × u dm = 2 Ω × P and the moment
    2 ∫ r × (Ω × u) dm = 2 T Ω. Where the literature has the 6×6 matrix B (Echeandia and Wensing 2021; Singh, Russell
    and Wensing 2022), only these 3 + 9 numbers are not zero, and they add up over bodies.
    """
    (_, h, inertia), (v, w) = body, V
    half = 0.5 * (inertia[0] + inertia[3] + inertia[5])
    # columns of Σ = ∫ r rᵀ dm = ½ tr(J) 1 − J, each turned by ω: ∫ u rᵀ dm = v hᵀ + ω̃ Σ
    a = cross(w, (half - inertia[0], -inertia[1], -inertia[2]))
    b = cross(w, (-inertia[1], half - inertia[3], -inertia[4]))
    c = cross(w, (-inertia[2], -inertia[4], half - inertia[5]))
    a, b, c = add(a, scale(h[0], v)), add(b, scale(h[1], v)), add(c, scale(h[2], v))
    trace = a[0] + b[1] + c[2]
    return trace - a[0], -b[0], -c[0], -a[1], trace - b[1], -c[1], -a[2], -b[2], trace - c[2]


@helper
def flow_times(P: Vector, T: Matrix, S: Pair) -> Pair:
    """B S, half of the Coriolis wrench on material of momentum P and flow T that is turned with S."""
    return cross(S[1], P), rotate(T, S[1])


@helper
def flow_back(P: Vector, T: Matrix, S: Pair) -> Vector:
    """Bᵀ S, which has an angular part only."""
    return add(cross(P, S[0]), rotate_back(T, S[1]))


@helper
def composite_of(body: Rigid, V: Pair) -> Composite:
    """A body alone that moves with V."""
    return Composite(body, momentum_of(body, V)[0], flow_of(body, V))


@helper
def with_subtree(one: Composite, R: Matrix, d: Vector, other: Composite) -> Composite:
    """`one` and the composite of a child, which is placed at (R, d), as one."""
    P, T = rotate(R, other.P), compose_back(compose(R, other.T), R)
    s = dot(d, P)  # T + (d·P) 1 − P dᵀ
    moved = (
        T[0] - P[0] * d[0] + s, T[1] - P[0] * d[1], T[2] - P[0] * d[2],
        T[3] - P[1] * d[0], T[4] - P[1] * d[1] + s, T[5] - P[1] * d[2],
        T[6] - P[2] * d[0], T[7] - P[2] * d[1], T[8] - P[2] * d[2] + s,
    )  # fmt: skip
    inertia = plus_rigid(one.inertia, rigid_seen_from_parent(R, d, other.inertia))
    return Composite(inertia, add(one.P, P), add_matrix(one.T, moved))


class InverseDynamicsDerivatives(NamedTuple):
    """Derivatives of the efforts, each of shape (…, n, n): row = effort, column = coordinate.

    Parameters
    ----------
    q
        ∂τ/∂q, along displacements in velocity coordinates (`integrate_configuration`).
    qd
        ∂τ/∂q̇.
    qdd
        ∂τ/∂q̈, which is the mass matrix.
    """

    q: Array
    qd: Array
    qdd: Array


@helper
def derivatives_and_wrenches(arm: Arm, q: Array, qd: Array, qdd: Array, out: tuple[Array, Array, Array]) -> Any:
    """`inverse_derivatives_kernel`; returns by body the wrench f that its joint transmits."""
    topology, parameters, base, loads = arm
    dq, dqd, M = out
    dq[:, :], dqd[:, :], M[:, :] = 0.0, 0.0, 0.0
    bodies, first = topology.shape[0], first_axes(topology)
    X, before, V, dV = spatial_motions(topology, parameters, base, q, qd, qdd)
    composite, f = per_body(topology), per_body(topology)
    rates = table(int(first[bodies]))  # ψ̇, ψ̈ and ψ̇ + Ṡ by axis
    for i in range(bodies):
        body, P, T = composite[i] = composite_of(inertia_of(parameters, i), V[i])
        f[i] = minus_load(plus(momentum_of(body, dV[i]), flow_times(P, T, V[i])), loads, i)  # I a + B V
        V_parent, dV_parent = before[i]
        for a in range(first[i], first[i + 1]):
            S = unit_motion(place_of(topology[i, KIND], a - first[i]))
            d_psi = motion_cross(V_parent, S)
            dd_psi = plus(motion_cross(dV_parent, S), motion_cross(V_parent, d_psi))
            rates[a] = d_psi, dd_psi, plus(d_psi, motion_cross(V[i], S))
        iv = topology[i, VELOCITY_INDEX]
        M[iv, iv] += parameters[i, MULTIPLIER] ** 2 * parameters[i, ROTOR]
    for i in range(bodies - 1, -1, -1):
        parent, ratio = topology[i, PARENT], parameters[i, MULTIPLIER]
        body, P, T = composite[i]
        for a in range(first[i], first[i + 1]):
            S, (d_psi, dd_psi, rate) = unit_motion(place_of(topology[i, KIND], a - first[i])), rates[a]
            # I S and 2 Bᵀ S, for ∂τ_i
            F, back = momentum_of(body, S), scale(2.0, flow_back(P, T, S))
            # 2 B ψ̇ + I ψ̈ + S ×* f, for ∂τ_j/∂q_i
            Fq = plus(plus(momentum_of(body, dd_psi), scaled(2.0, flow_times(P, T, d_psi))), wrench_cross(S, f[i]))
            # 2 B S + I (ψ̇ + Ṡ), for ∂τ_j/∂q̇_i
            Fv = plus(momentum_of(body, rate), scaled(2.0, flow_times(P, T, S)))
            row = topology[i, VELOCITY_INDEX] + a - first[i]
            j = i
            while j != BASE:
                both = ratio * parameters[j, MULTIPLIER]
                for b in range(first[j], first[j + 1]):
                    axis = b - first[j]
                    place, column = place_of(topology[j, KIND], axis), topology[j, VELOCITY_INDEX] + axis
                    d_psi_j, dd_psi_j, rate_j = rates[b]
                    dq[row, column] += both * (power(F, dd_psi_j) + dot(back, d_psi_j[1]))
                    dqd[row, column] += both * (power(F, rate_j) + component((ZERO, back), place))
                    inertial = both * component(F, place)
                    M[row, column] += inertial
                    if j != i:
                        dq[column, row] += both * component(Fq, place)
                        dqd[column, row] += both * component(Fv, place)
                        M[column, row] += inertial
                R, p = X[j]
                F, Fq, Fv, back = onto_parent(R, p, F), onto_parent(R, p, Fq), onto_parent(R, p, Fv), rotate(R, back)
                j = topology[j, PARENT]
        if parent != BASE:
            R, p = X[i]
            composite[parent] = with_subtree(composite[parent], R, p, composite[i])
            f[parent] = plus(f[parent], onto_parent(R, p, f[i]))
    return f


@helper
def inverse_derivatives_kernel(arm: Arm, q: Array, qd: Array, qdd: Array, out: tuple[Array, Array, Array]) -> None:
    """Fill `out` with ∂τ/∂q, ∂τ/∂q̇ and M, each (n, n), for one state: q (nq,), qd and qdd (n,)."""
    derivatives_and_wrenches(arm, q, qd, qdd, out)


INVERSE_DYNAMICS_DERIVATIVES = Quantity(
    "inverse_dynamics_derivatives", inverse_derivatives_kernel, ("q", "qd", "qdd"), (3, COUNT, COUNT),
    base_motion=True, parts=InverseDynamicsDerivatives,
)  # fmt: skip


@INVERSE_DYNAMICS_DERIVATIVES.public
def inverse_dynamics_derivatives(
    robot: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
) -> InverseDynamicsDerivatives:
    """Derivatives of `inverse_dynamics` with respect to q, q̇ and q̈, analytic.

    Parameters
    ----------
    robot
        The model.
    q, qd, qdd
        Positions (…, nq), velocities and accelerations (…, n). Leading dimensions broadcast.
    wrenches, base_motion
        As for `inverse_dynamics`; the loads are held constant in their links' axes.

    Returns
    -------
    InverseDynamicsDerivatives
        ``q``, ``qd``, ``qdd``, each of shape (…, n, n). A displacement of q has n components: for a floating joint
        (linear, angular) in the moving frame's axes, as in `integrate_configuration`.

    Raises
    ------
    ArgumentError
        Wrong shapes, NaN or infinity, or a base motion for a floating base.
    ModelError
        An unknown link in `wrenches`.
    """
    if wrenches is None and base_motion is None:
        try:
            call: Callable[..., InverseDynamicsDerivatives] = robot.own_code["inverse_dynamics_derivatives"]
        except (AttributeError, KeyError):
            call = INVERSE_DYNAMICS_DERIVATIVES.first_call(robot)
        return call(q, qd, qdd)
    return InverseDynamicsDerivatives(
        *INVERSE_DYNAMICS_DERIVATIVES.answer(robot, q, qd, qdd, wrenches=wrenches, base_motion=base_motion)
    )


@helper
def coriolis_kernel(arm: Arm, q: Array, qd: Array, C: Array) -> None:
    """Fill C (n, n) for one state: q (nq,), qd (n,). The base rests, whatever `arm.base` says."""
    topology, parameters, _, _ = arm
    C[:, :] = 0.0
    X, _, V, _ = spatial_motions(topology, parameters, np.zeros(12), q, qd, np.zeros(C.shape[0]))
    composite = per_body(topology)
    for i in range(topology.shape[0]):
        composite[i] = composite_of(inertia_of(parameters, i), V[i])
    for i in range(topology.shape[0] - 1, -1, -1):
        body, P, T = composite[i]
        parent, ratio = topology[i, PARENT], parameters[i, MULTIPLIER]
        for a in range(axes_of(topology[i, KIND])):
            S = unit_motion(place_of(topology[i, KIND], a))
            F = plus(momentum_of(body, motion_cross(V[i], S)), flow_times(P, T, S))  # I Ṡ + B S, for S of an ancestor
            momentum, back = momentum_of(body, S), flow_back(P, T, S)  # I S for its Ṡ, Bᵀ S for its S
            column = topology[i, VELOCITY_INDEX] + a
            j = i
            while j != BASE:
                kind, both = topology[j, KIND], ratio * parameters[j, MULTIPLIER]
                for b in range(axes_of(kind)):
                    row, place = topology[j, VELOCITY_INDEX] + b, place_of(kind, b)
                    C[row, column] += both * component(F, place)
                    if j != i:
                        rate = motion_cross(V[j], unit_motion(place))
                        C[column, row] += both * (power(momentum, rate) + component((ZERO, back), place))
                R, p = X[j]
                F, momentum, back = onto_parent(R, p, F), onto_parent(R, p, momentum), rotate(R, back)
                j = topology[j, PARENT]
        if parent != BASE:
            R, p = X[i]
            composite[parent] = with_subtree(composite[parent], R, p, composite[i])


CORIOLIS_MATRIX = Quantity("coriolis_matrix", coriolis_kernel, ("q", "qd"), (N, N))


@CORIOLIS_MATRIX.public
def coriolis_matrix(robot: RobotModel, q: ArrayLike, qd: ArrayLike) -> Array:
    """The Coriolis matrix C(q, q̇): C q̇ are the velocity efforts `bias_torque` − `gravity_torque`, and C + Cᵀ = Ṁ.

    So Ṁ − 2C is skew-symmetric, which passivity-based control rests on. For one-axis joints C is the matrix of the
    Christoffel symbols. For floating joints, whose velocities are components along moving axes, the same two
    properties hold.

    Parameters
    ----------
    robot
        The model.
    q, qd
        Positions (…, nq) and velocities (…, n).

    Returns
    -------
    ndarray
        Shape (…, n, n); N·m·s/rad or N·s/m.

    Raises
    ------
    ArgumentError
        A wrong shape, NaN or infinity.
    """
    try:
        call: Callable[..., Array] = robot.own_code["coriolis_matrix"]
    except (AttributeError, KeyError):
        call = CORIOLIS_MATRIX.of(robot)
    return call(q, qd)
