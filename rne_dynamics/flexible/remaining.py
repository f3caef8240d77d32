"""R of J z̈ = R (section 5.3 of document 003): everything but the second derivatives, after `motion_kernel`.

Gravity is in Ẅ_v already (see `motion_kernel`), so there is no P (89), (90).
"""

from __future__ import annotations

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.flexible.packed import COORDINATE, FIRST_MODE, KIND, MODES, PARENT, Packed, Work
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import PRISMATIC


@kernel
def bias_kernel(
    packed: Packed, work: Work, z: Array, zd: Array, zdd: Array | None, wrenches: Array, bias: Array
) -> None:
    """−R without the joints' own efforts, or with accelerations J z̈ − R; shape (n + modes,).

    Parameters
    ----------
    zdd
        Accelerations, if `motion_kernel` had them too. Then this is Lagrange's equations in their inverse dynamics form
        (56), (57), without J.
    wrenches
        External (force, moment) at the bodies' origins in their axes, shape (bodies, 6), or (0, 6) for none.
    bias
        Filled.

    Notes
    -----
    `work.D` and `work.G` must be those of `modal_terms_kernel`, not summed yet.
    """
    bodies = packed.topology.shape[0]
    for i in range(bodies):
        _own_terms(packed, work, i, zd, zdd)
        if wrenches.shape[0] > 0:
            _add_wrench(work.W[i], wrenches[i], work.Q[i])
    for i in range(bodies - 1, -1, -1):
        parent = packed.topology[i, PARENT]
        W, Q = work.W[i], work.Q[i]
        at = packed.topology[i, COORDINATE]
        if at >= 0:  # (84): the trace of Ŵ U Q
            if packed.topology[i, KIND] == PRISMATIC:
                bias[at] = W[3, 0] * Q[0, 0] + W[3, 1] * Q[0, 1] + W[3, 2] * Q[0, 2]
            else:
                bias[at] = (
                    W[2, 0] * Q[1, 0] + W[2, 1] * Q[1, 1] + W[2, 2] * Q[1, 2]
                    - W[1, 0] * Q[2, 0] - W[1, 1] * Q[2, 1] - W[1, 2] * Q[2, 2]
                )  # fmt: skip
            if zdd is not None:
                bias[at] += packed.rotor[i] * zdd[at]
        if packed.topology[i, MODES] > 0:
            _modal_equations(packed, work, i, z, zd, zdd, bias)
        if parent >= 0:  # (88)
            X, inner = work.link[i], work.Q[parent]
            for x in range(3):
                inner[0, x] += Q[0, x]
                for r in range(3):
                    inner[r + 1, x] += X[0, r] * Q[0, x] + X[1, r] * Q[1, x] + X[2, r] * Q[2, x] + X[3, r] * Q[3, x]


@helper
def _changed_by(work: Work, first: int, m: int, rates: Array, start: int) -> None:
    """`work.T` = Σ rates_k D_k over the m modes of a body, the first of them at `first` in D and `start` in `rates`."""
    S = work.T
    for r in range(4):
        for s in range(3):
            S[r, s] = 0.0
    for k in range(m):
        for r in range(4):
            for s in range(3):
                S[r, s] += rates[start + k] * work.D[first + k, r, s]


@helper
def _own_terms(packed: Packed, work: Work, i: int, zd: Array, zdd: Array | None) -> None:
    """Q of body i alone (87): G Ẅᵀ + 2 (Σ δ̇ D) Ẇᵀ, and −(Σ Σ δ̇ δ̇ shortening) Wᵀ; with accelerations (Σ δ̈ D) Wᵀ."""
    G, W, dW, ddW, Q = work.G[i], work.W[i], work.dW[i], work.ddW[i], work.Q[i]
    for r in range(4):
        for x in range(3):
            Q[r, x] = G[r, 0] * ddW[0, x] + G[r, 1] * ddW[1, x] + G[r, 2] * ddW[2, x] + G[r, 3] * ddW[3, x]
    first, m = packed.topology[i, FIRST_MODE], packed.topology[i, MODES]
    start = packed.joints + first
    if m == 0:
        return
    S = work.T
    _changed_by(work, first, m, zd, start)
    for r in range(4):
        for x in range(3):
            Q[r, x] += 2.0 * (S[r, 0] * dW[1, x] + S[r, 1] * dW[2, x] + S[r, 2] * dW[3, x])
    if zdd is not None:
        _changed_by(work, first, m, zdd, start)
        for r in range(4):
            for x in range(3):
                Q[r, x] += S[r, 0] * W[1, x] + S[r, 1] * W[2, x] + S[r, 2] * W[3, x]
    if packed.stiffened:
        for k in range(m):
            for j in range(m):
                square, s = zd[start + k] * zd[start + j], packed.shortening[first + k, j]
                for r in range(4):
                    for x in range(3):
                        Q[r, x] -= square * (s[r, 0] * W[1, x] + s[r, 1] * W[2, x] + s[r, 2] * W[3, x])


@helper
def _modal_equations(
    packed: Packed, work: Work, i: int, z: Array, zd: Array, zdd: Array | None, bias: Array
) -> None:
    """(85), (86): the equations of the modes of body i. `work.Q` of its children must be complete."""
    W, dW, ddW = work.W[i], work.dW[i], work.ddW[i]
    first, m = packed.topology[i, FIRST_MODE], packed.topology[i, MODES]
    start = packed.joints + first
    P, N = work.Y, work.T  # Ẅ and Ẇ in the axes of the link: [r, s] is the product of column r with column s of W
    for r in range(4):
        for s in range(3):
            P[r, s] = ddW[r, 0] * W[s + 1, 0] + ddW[r, 1] * W[s + 1, 1] + ddW[r, 2] * W[s + 1, 2]
            if r > 0:
                N[r, s] = dW[r, 0] * W[s + 1, 0] + dW[r, 1] * W[s + 1, 1] + dW[r, 2] * W[s + 1, 2]
    for f in range(m):
        total = 0.0
        for r in range(4):
            for s in range(3):
                total += work.D[first + f, r, s] * P[r, s]
        for k in range(m):
            rate, C = zd[start + k], packed.second[first + k, f]
            total += packed.damping[first + f, k] * rate + packed.stiffness[first + f, k] * z[start + k]
            if packed.coupled[first + k, f] == 0:
                continue
            moved = 0.0
            for r in range(3):
                for s in range(3):
                    moved += C[r, s] * N[r + 1, s]
            total += 2.0 * rate * moved
            if zdd is not None:
                moved = 0.0
                for r in range(3):
                    for s in range(3):
                        dot = W[r + 1, 0] * W[s + 1, 0] + W[r + 1, 1] * W[s + 1, 1] + W[r + 1, 2] * W[s + 1, 2]
                        moved += C[r, s] * dot
                total += zdd[start + k] * moved
        bias[start + f] = total
    if packed.nonlinear.shape[1] > 0:
        column = 0
        for j in range(m):
            for k in range(j, m):
                pair = z[start + j] * z[start + k]
                for f in range(m):
                    bias[start + f] += packed.nonlinear[first + f, column] * pair
                for n in range(k, m):
                    column += 1
                    product = pair * z[start + n]
                    for f in range(m):
                        bias[start + f] += packed.nonlinear[first + f, column] * product
                column += 1
    for child in range(i + 1, packed.topology.shape[0]):
        if packed.topology[child, PARENT] == i:
            Q = work.Q[child]
            for f in range(m):
                lever = work.lever[child, f]
                for r in range(4):
                    bias[start + f] += lever[r, 0] * Q[r, 0] + lever[r, 1] * Q[r, 1] + lever[r, 2] * Q[r, 2]


@helper
def _add_wrench(W: Array, wrench: Array, Q: Array) -> None:
    """Take from Q an array whose trace with ∂W/∂z is the work that a force and a moment do.

    A force works on the origin, a moment on the turn: n·ω = ½ Tr{ω̃ ñᵀ}, with ω̃ = (∂R/∂z) Rᵀ.
    """
    for x in range(3):
        Q[0, x] -= wrench[0] * W[1, x] + wrench[1] * W[2, x] + wrench[2] * W[3, x]
        # row by row of Rᵀ ñᵀ, which in the body's axes is ñᵀ Rᵀ
        Q[1, x] -= 0.5 * (wrench[5] * W[2, x] - wrench[4] * W[3, x])
        Q[2, x] -= 0.5 * (wrench[3] * W[3, x] - wrench[5] * W[1, x])
        Q[3, x] -= 0.5 * (wrench[4] * W[1, x] - wrench[3] * W[2, x])
