"""The inertia matrix J of a flexible arm (section 5.2 of document 003), after `motions`.

(67), (71) and (76) define ʲF̃_h, ʲF_h and ʲΦ_h, which differ in what is multiplied to their ends. Here only ʰF̃_h is
summed, inwards (79), and instead of each ʲF̃_h by (78) its product with the lever ∂W_h/∂z on its right is carried to the
joints and modes nearer to the base: twelve numbers instead of sixteen, and the product is needed anyhow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rne_dynamics.compiling.jit import helper, kernel, routine
from rne_dynamics.compiling.tables import per_body, table
from rne_dynamics.flexible.homogeneous import (
    along_joint,
    by_joint,
    elements,
    form_at,
    inwards,
    mass_inwards,
    mass_times,
    multiple,
    total,
    trace,
    turned_form,
)
from rne_dynamics.flexible.motion import Motions, motions
from rne_dynamics.flexible.packed import COORDINATE, FIRST_MODE, KIND, MODES, PARENT, Packed
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE, PRISMATIC
from rne_dynamics.spatial.pairs import plus_rigid, rigid_at
from rne_dynamics.spatial.rows import matrix_at
from rne_dynamics.spatial.vector import ZERO, Placement, Vector, add, add_matrix, compose, rotate, scale, transpose


@routine
def masses(arm: Packed, z: Array) -> tuple[Any, Any]:
    """G (37) by body and D (36) by mode.

    The terms in δ² that (37) drops stay in G: with them J and R follow from one and the same kinetic energy, and energy
    is kept.
    """
    topology = arm.topology
    G, D = per_body(topology), table(arm.first.shape[0])
    for i in range(topology.shape[0]):
        mass = rigid_at(arm.moments, i, 0)
        first, m = topology[i, FIRST_MODE], topology[i, MODES]
        for k in range(m):
            C = form_at(arm.first, first + k)
            D_k = C
            for j in range(m):
                other = z[arm.joints + first + j]
                if arm.coupled[first + j, k] > 0:
                    D_k = add_matrix(D_k[0], multiple(other, (matrix_at(arm.second[first + k], j, 0), ZERO))[0]), D_k[1]
                if arm.stiffened:
                    D_k = total(D_k, multiple(-other, form_at(arm.shortening[first + j], k)))
            D[first + k] = D_k
            # C_k + ½ Σ δ_j (…) = ½ (C_k + D_k): so that G = C + Σ δ_k (… + its transpose)
            half, moment = multiple(0.5 * z[arm.joints + first + k], total(C, D_k))
            both = add_matrix(half, transpose(half))
            mass = plus_rigid(mass, (0.0, moment, (both[0], both[1], both[2], both[4], both[5], both[8])))
        G[i] = mass
    return G, D


@helper
def first_moment(arm: Packed, X: Motions, G: Any) -> Vector:
    """Σ W_i r_i (50), the sum of mass times mass centre of all bodies."""
    moment = ZERO
    for i in range(arm.topology.shape[0]):
        (R, p), (m, h, _) = X.W[i], G[i]  # the top row of G is r of (51)
        moment = add(moment, add(scale(m, p), rotate(R, h)))
    return moment


@kernel
def put_first_moment(arm: Packed, z: Array, out: Array) -> None:
    """`first_moment` of one state; out (3,)."""
    G, _ = masses(arm, z)
    out[0], out[1], out[2] = first_moment(arm, motions(arm, np.zeros(12), z, np.zeros(z.shape[0]), None), G)


@helper
def _put_column(arm: Packed, X: Motions, i: int, a: int, Y: Placement, J: Array) -> None:
    """The products of coordinate a with all that move body i or carry it (78), for what it leaves there."""
    width = arm.turn.shape[1]
    while i != BASE:
        parent = arm.topology[i, PARENT]
        if arm.topology[i, COORDINATE] >= 0:
            slides = arm.topology[i, KIND] == PRISMATIC
            J[arm.topology[i, COORDINATE], a] = along_joint(slides, X.W[i][0], Y)
        if parent != BASE:
            for k in range(arm.topology[parent, MODES]):
                J[arm.joints + arm.topology[parent, FIRST_MODE] + k, a] = trace(X.lever[width * i + k], Y)
            Y = inwards(X.link[i], Y)
        i = parent


@routine
def put_inertia(arm: Packed, X: Motions, G: Any, D: Any, J: Array) -> None:
    """Fill J (n + modes, n + modes), both halves, and sum G inwards."""
    topology, width, bodies = arm.topology, arm.turn.shape[1], arm.topology.shape[0]
    J[:, :] = 0.0
    for i in range(bodies - 1, -1, -1):
        parent, at, first = topology[i, PARENT], topology[i, COORDINATE], topology[i, FIRST_MODE]
        R = X.W[i][0]
        if at >= 0:  # (66), (70)
            _put_column(arm, X, i, at, by_joint(topology[i, KIND] == PRISMATIC, G[i], R), J)
            J[at, at] += arm.rotor[i]
        turned = compose(transpose(R), R) if topology[i, MODES] > 0 else R  # 1 but for terms in δ²
        for k in range(topology[i, MODES]):
            a = arm.joints + first + k
            Y = turned_form(R, D[first + k])  # D Wᵀ of (68), (69), (74), (75)
            for m in range(k + 1):  # (72), (73): C_ikl, turned by W
                if arm.coupled[first + m, k] > 0:
                    J[arm.joints + first + m, a] += elements(matrix_at(arm.second[first + m], k, 0), turned)
            for child in range(i + 1, bodies):
                if topology[child, PARENT] == i:
                    T = mass_times(G[child], X.lever[width * child + k])
                    for m in range(k + 1):  # (73): M Φ Mᵀ
                        J[arm.joints + first + m, a] += trace(X.lever[width * child + m], T)
                    Y = total(Y, inwards(X.link[child], T))
            _put_column(arm, X, i, a, Y, J)
        if parent != BASE:
            G[parent] = plus_rigid(G[parent], mass_inwards(X.link[i], G[i]))
    for a in range(J.shape[0]):
        for b in range(a):
            known = J[a, b] + J[b, a]  # each was found once, in one half or the other
            J[a, b] = known
            J[b, a] = known
