"""R of J z̈ = R (section 5.3 of document 003): everything but the second derivatives, after `motions`.

Gravity is in Ẅ_v already (see `motions`), so there is no P (89), (90).
"""

from __future__ import annotations

from typing import Any

from rne_dynamics.compiling.jit import helper, kernel, routine
from rne_dynamics.compiling.tables import per_body
from rne_dynamics.flexible.homogeneous import (
    NOTHING,
    along_joint,
    elements,
    form_at,
    inwards,
    mass_times,
    multiple,
    small_turn,
    total,
    trace,
    turned_form,
)
from rne_dynamics.flexible.inertia import masses, put_inertia
from rne_dynamics.flexible.motion import Motions, motions
from rne_dynamics.flexible.packed import COORDINATE, FIRST_MODE, KIND, MODES, PARENT, Packed
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE, PRISMATIC
from rne_dynamics.spatial.pairs import pair_at
from rne_dynamics.spatial.rows import matrix_at
from rne_dynamics.spatial.vector import IDENTITY, Matrix, Placement, compose, scale, transpose


@routine
def put_bias(
    arm: Packed, X: Motions, G: Any, D: Any, z: Array, zd: Array, zdd: Array | None, wrenches: Array, bias: Array
) -> None:
    """Fill bias (n + modes,) with −R without the joints' own efforts, or with J z̈ − R where z̈ is given.

    With z̈, which `motions` must have had too, this is Lagrange's equations in their inverse dynamics form (56), (57),
    without J. Wrenches are as for `flexible_terms_kernel`.
    """
    topology = arm.topology
    Q = per_body(topology)
    for i in range(topology.shape[0]):
        Q[i] = _own_terms(arm, X, i, G[i], D, zd, zdd)
        if wrenches.shape[0] > 0:
            Q[i] = total(Q[i], _load(X.W[i][0], wrenches, i))
    for i in range(topology.shape[0] - 1, -1, -1):
        parent, at = topology[i, PARENT], topology[i, COORDINATE]
        if at >= 0:  # (84): the trace of Ŵ U Q
            bias[at] = along_joint(topology[i, KIND] == PRISMATIC, X.W[i][0], Q[i])
            if zdd is not None:
                bias[at] += arm.rotor[i] * zdd[at]
        if topology[i, MODES] > 0:
            _put_modal(arm, X, i, D, Q, z, zd, zdd, bias)
        if parent != BASE:
            Q[parent] = total(Q[parent], inwards(X.link[i], Q[i]))  # (88)


@helper
def _own_terms(arm: Packed, X: Motions, i: int, G: Any, D: Any, zd: Array, zdd: Array | None) -> Placement:
    """Q of body i alone (87): G Ẅᵀ + 2 (Σ δ̇ D) Ẇᵀ, and −(Σ Σ δ̇ δ̇ shortening) Wᵀ; with accelerations (Σ δ̈ D) Wᵀ."""
    first, m, start = arm.topology[i, FIRST_MODE], arm.topology[i, MODES], arm.joints + arm.topology[i, FIRST_MODE]
    Q = mass_times(G, X.ddW[i])
    if m > 0:
        changing, changed = NOTHING, NOTHING
        for k in range(m):
            changing = total(changing, multiple(zd[start + k], D[first + k]))
            if zdd is not None:
                changed = total(changed, multiple(zdd[start + k], D[first + k]))
            if arm.stiffened:
                for j in range(m):
                    square = zd[start + k] * zd[start + j]
                    changed = total(changed, multiple(-square, form_at(arm.shortening[first + k], j)))
        Q = total(Q, multiple(2.0, turned_form(X.dW[i][0], changing)))
        if zdd is not None or arm.stiffened:
            Q = total(Q, turned_form(X.W[i][0], changed))
    return Q


@helper
def _put_modal(
    arm: Packed, X: Motions, i: int, D: Any, Q: Any, z: Array, zd: Array, zdd: Array | None, bias: Array
) -> None:
    """(85), (86): the equations of the modes of body i. Q of its children must be complete."""
    topology, width, first, m = arm.topology, arm.turn.shape[1], arm.topology[i, FIRST_MODE], arm.topology[i, MODES]
    start, back = arm.joints + first, transpose(X.W[i][0])
    acceleration, rates = turned_form(back, X.ddW[i]), compose(back, X.dW[i][0])  # Ẅ and Ẇ in the axes of the link
    for f in range(m):
        effort = trace(D[first + f], acceleration)
        for k in range(m):
            rate = zd[start + k]
            effort += arm.damping[first + f, k] * rate + arm.stiffness[first + f, k] * z[start + k]
            if arm.coupled[first + k, f] > 0:
                C = matrix_at(arm.second[first + f], k, 0)
                effort += 2.0 * rate * elements(C, rates)
                if zdd is not None:
                    effort += zdd[start + k] * elements(C, compose(back, X.W[i][0]))
        for child in range(i + 1, topology.shape[0]):
            if topology[child, PARENT] == i:
                effort += trace(X.lever[width * child + f], Q[child])
        bias[start + f] = effort + _nonlinear(arm, first, m, f, z)


@helper
def _nonlinear(arm: Packed, first: int, m: int, f: int, z: Array) -> float:
    """Elastic force of second and third order on mode f of a body."""
    force, column, start = 0.0, 0, arm.joints + first
    if arm.nonlinear.shape[1] > 0:
        for j in range(m):
            for k in range(j, m):
                pair = z[start + j] * z[start + k]
                force += arm.nonlinear[first + f, column] * pair
                for n in range(k, m):
                    column += 1
                    force += arm.nonlinear[first + f, column] * (pair * z[start + n])
                column += 1
    return force


@helper
def _load(R: Matrix, wrenches: Array, i: int) -> Placement:
    """Contribution of a load on body i to Q: with ∂W/∂z its trace is, less its sign, the load's work.

    A force works on the origin, a moment on the turn: n·ω = ½ Tr{ω̃ ñᵀ}, with ω̃ = (∂R/∂z) Rᵀ.
    """
    force, moment = pair_at(wrenches, i, 0)
    return turned_form(R, (small_turn(scale(-0.5, moment), IDENTITY), scale(-1.0, force)))


@kernel
def flexible_terms_kernel(
    packed: Packed, base: Array, z: Array, zd: Array, wrenches: Array, J: Array, bias: Array
) -> None:
    """J (n + modes, n + modes) and bias (n + modes,) for one state z, ż.

    `base` (12,) is the base's motion v, ω, v̇ − g, ω̇ in its axes, `wrenches` (bodies, 6) external loads at the bodies'
    origins in their axes, or (0, 6).
    """
    X, (G, D) = motions(packed, base, z, zd, None), masses(packed, z)
    put_bias(packed, X, G, D, z, zd, None, wrenches, bias)
    put_inertia(packed, X, G, D, J)


@kernel
def flexible_forces_kernel(
    packed: Packed, base: Array, z: Array, zd: Array, zdd: Array, wrenches: Array, forces: Array
) -> None:
    """J z̈ + bias (n + modes,) for one state and its accelerations, without forming J; arguments as above."""
    X, (G, D) = motions(packed, base, z, zd, zdd), masses(packed, z)
    put_bias(packed, X, G, D, z, zd, zdd, wrenches, forces)
