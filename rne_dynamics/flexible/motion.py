"""Kinematics of flexible arms (sections 2 and 5.1 of document 003): W, its rates, and its derivatives by the modes.

The arrays are those of `Work`; W and its derivatives are kept as `packed.py` says.
"""

from __future__ import annotations

import math

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.flexible.packed import COORDINATE, FIRST_MODE, FIXED, KIND, MODES, PARENT, Packed, Work
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import PRISMATIC


@helper
def _times_link(V: Array, X: Array, out: Array) -> None:
    """V X for the top row [0 0 0 0] in V and [1 0 0 0] in X: (4, 3) arrays each."""
    for x in range(3):
        out[0, x] = V[0, x] + X[0, 0] * V[1, x] + X[0, 1] * V[2, x] + X[0, 2] * V[3, x]
        for b in range(1, 4):
            out[b, x] = X[b, 0] * V[1, x] + X[b, 1] * V[2, x] + X[b, 2] * V[3, x]


@helper
def _add_times_rate(scale: float, V: Array, X: Array, out: Array) -> None:
    """Add `scale` V X where the top rows of V and X are zero."""
    for b in range(4):
        for x in range(3):
            out[b, x] += scale * (X[b, 0] * V[1, x] + X[b, 1] * V[2, x] + X[b, 2] * V[3, x])


@helper
def _deflected_placement(packed: Packed, i: int, parent: int, z: Array, zd: Array, E: Array, dE: Array) -> None:
    """E (5) of body i's joint on its parent, and its rate (16)."""
    u0, u1, u2 = packed.position[i, 0], packed.position[i, 1], packed.position[i, 2]
    a0, a1, a2 = 0.0, 0.0, 0.0
    du0, du1, du2 = 0.0, 0.0, 0.0
    da0, da1, da2 = 0.0, 0.0, 0.0
    start = packed.joints + packed.topology[parent, FIRST_MODE]
    for k in range(packed.topology[parent, MODES]):
        delta, rate = z[start + k], zd[start + k]
        u0 += delta * packed.translation[i, k, 0]
        u1 += delta * packed.translation[i, k, 1]
        u2 += delta * packed.translation[i, k, 2]
        a0 += delta * packed.turn[i, k, 0]
        a1 += delta * packed.turn[i, k, 1]
        a2 += delta * packed.turn[i, k, 2]
        du0 += rate * packed.translation[i, k, 0]
        du1 += rate * packed.translation[i, k, 1]
        du2 += rate * packed.translation[i, k, 2]
        da0 += rate * packed.turn[i, k, 0]
        da1 += rate * packed.turn[i, k, 1]
        da2 += rate * packed.turn[i, k, 2]
        if packed.stiffened:
            for m in range(packed.topology[parent, MODES]):
                half, change = 0.5 * delta * z[start + m], delta * zd[start + m]
                u0 -= half * packed.bend[i, k, m, 0]
                u1 -= half * packed.bend[i, k, m, 1]
                u2 -= half * packed.bend[i, k, m, 2]
                du0 -= change * packed.bend[i, k, m, 0]
                du1 -= change * packed.bend[i, k, m, 1]
                du2 -= change * packed.bend[i, k, m, 2]
    E[0, 0], E[0, 1], E[0, 2] = u0, u1, u2
    dE[0, 0], dE[0, 1], dE[0, 2] = du0, du1, du2
    for b in range(3):  # (7): small turns add like vectors, (1 + θ̃) R
        x, y, w = packed.rotation[i, 0, b], packed.rotation[i, 1, b], packed.rotation[i, 2, b]
        E[b + 1, 0] = x + a1 * w - a2 * y
        E[b + 1, 1] = y + a2 * x - a0 * w
        E[b + 1, 2] = w + a0 * y - a1 * x
        dE[b + 1, 0] = da1 * w - da2 * y
        dE[b + 1, 1] = da2 * x - da0 * w
        dE[b + 1, 2] = da0 * y - da1 * x
        if packed.turned[i]:  # second order, ½ θ̃ θ̃ R: a turn lengthens nothing
            along, rate = a0 * x + a1 * y + a2 * w, da0 * x + da1 * y + da2 * w
            square, change = a0 * a0 + a1 * a1 + a2 * a2, a0 * da0 + a1 * da1 + a2 * da2
            E[b + 1, 0] += 0.5 * (a0 * along - square * x)
            E[b + 1, 1] += 0.5 * (a1 * along - square * y)
            E[b + 1, 2] += 0.5 * (a2 * along - square * w)
            dE[b + 1, 0] += 0.5 * (da0 * along + a0 * rate) - change * x
            dE[b + 1, 1] += 0.5 * (da1 * along + a1 * rate) - change * y
            dE[b + 1, 2] += 0.5 * (da2 * along + a2 * rate) - change * w


@helper
def _placement(packed: Packed, i: int, E: Array) -> None:
    """E of a joint on a parent that does not bend."""
    for x in range(3):
        E[0, x] = packed.position[i, x]
        for b in range(3):
            E[b + 1, x] = packed.rotation[i, x, b]


@helper
def _turn_columns(V: Array, c: float, s: float) -> None:
    """V A for a turn about z, in place."""
    for x in range(3):
        first, second = V[1, x], V[2, x]
        V[1, x] = c * first + s * second
        V[2, x] = c * second - s * first


@helper
def _levers(packed: Packed, i: int, parent: int, z: Array, c: float, s: float, slide: float, work: Work) -> None:
    """∂W_i/∂δ = W_λ M_λk A_i (60), (63) for the parent's modes."""
    start = packed.joints + packed.topology[parent, FIRST_MODE]
    M, W = work.T, work.W[parent]
    t0, t1, t2 = 0.0, 0.0, 0.0
    if packed.turned[i]:
        for m in range(packed.topology[parent, MODES]):
            t0 += z[start + m] * packed.turn[i, m, 0]
            t1 += z[start + m] * packed.turn[i, m, 1]
            t2 += z[start + m] * packed.turn[i, m, 2]
    for k in range(packed.topology[parent, MODES]):
        for x in range(3):
            M[0, x] = packed.translation[i, k, x]
        if packed.stiffened:
            for m in range(packed.topology[parent, MODES]):
                for x in range(3):
                    M[0, x] -= z[start + m] * packed.bend[i, k, m, x]
        a0, a1, a2 = packed.turn[i, k, 0], packed.turn[i, k, 1], packed.turn[i, k, 2]
        for b in range(3):
            x0, y0, w0 = packed.rotation[i, 0, b], packed.rotation[i, 1, b], packed.rotation[i, 2, b]
            M[b + 1, 0] = a1 * w0 - a2 * y0
            M[b + 1, 1] = a2 * x0 - a0 * w0
            M[b + 1, 2] = a0 * y0 - a1 * x0
            if packed.turned[i]:
                along, rate = t0 * x0 + t1 * y0 + t2 * w0, a0 * x0 + a1 * y0 + a2 * w0
                change = t0 * a0 + t1 * a1 + t2 * a2
                M[b + 1, 0] += 0.5 * (a0 * along + t0 * rate) - change * x0
                M[b + 1, 1] += 0.5 * (a1 * along + t1 * rate) - change * y0
                M[b + 1, 2] += 0.5 * (a2 * along + t2 * rate) - change * w0
        lever = work.lever[i, k]
        for b in range(4):
            for x in range(3):
                lever[b, x] = M[b, 0] * W[1, x] + M[b, 1] * W[2, x] + M[b, 2] * W[3, x]
        if packed.topology[i, KIND] == PRISMATIC:
            for x in range(3):
                lever[0, x] += slide * lever[3, x]
        elif packed.topology[i, KIND] != FIXED:
            _turn_columns(lever, c, s)


@kernel
def motion_kernel(packed: Packed, work: Work, base: Array, z: Array, zd: Array, zdd: Array | None) -> None:
    """Fill `link`, `W`, `dW`, `ddW` and `lever` of `work` for one state.

    Parameters
    ----------
    base
        Base motion, shape (12,): v, ω, v̇ − g, ω̇ in base axes. So gravity enters as the base's acceleration, and
        (89), (90) need no sums of their own.
    z, zd
        Coordinates and rates; shape (n + modes,).
    zdd
        Their accelerations, which `ddW` then includes: (10), (15) as written. None leaves them out: (64), (65).
    """
    root, droot, ddroot = work.Y, work.T, work.Q[0]  # until the bodies below the base are done they are free
    for i in range(packed.topology.shape[0]):
        parent = packed.topology[i, PARENT]
        E, dE = work.link[i], work.G[i]  # dE is needed in this pass only, and G after it
        bent = parent >= 0 and packed.topology[parent, MODES] > 0
        if bent:
            _deflected_placement(packed, i, parent, z, zd, E, dE)
        else:
            _placement(packed, i, E)
        W, dW, ddW = work.W[i], work.dW[i], work.ddW[i]
        if parent < 0:
            _base_motion(base, root, droot, ddroot)
            _times_link(root, E, W)
            _times_link(droot, E, dW)
            _times_link(ddroot, E, ddW)
        else:
            _times_link(work.W[parent], E, W)  # (13)
            _times_link(work.dW[parent], E, dW)  # (14)
            _times_link(work.ddW[parent], E, ddW)  # (65)
            if bent:
                _add_times_rate(1.0, work.W[parent], dE, dW)
                _add_times_rate(2.0, work.dW[parent], dE, ddW)
                if packed.stiffened:
                    _add_shortening(packed, i, parent, zd, work.W[parent], ddW)
        kind = packed.topology[i, KIND]
        c, s, slide = 1.0, 0.0, 0.0
        if kind == PRISMATIC:
            at = packed.topology[i, COORDINATE]
            slide, rate = z[at], zd[at]
            for x in range(3):  # W = Ŵ A, with U = ∂A/∂q in the translation alone
                W[0, x] += slide * W[3, x]
                ddW[0, x] += slide * ddW[3, x] + 2.0 * rate * dW[3, x]
                dW[0, x] += slide * dW[3, x] + rate * W[3, x]
                E[0, x] += slide * E[3, x]
        elif kind != FIXED:
            at = packed.topology[i, COORDINATE]
            c, s, rate = math.cos(z[at]), math.sin(z[at]), zd[at]
            _turn_columns(W, c, s)
            _turn_columns(dW, c, s)
            _turn_columns(ddW, c, s)
            _turn_columns(E, c, s)
            for x in range(3):  # (9), (64): U turns the columns by a right angle, U₂ by two
                ddW[1, x] += rate * (2.0 * dW[2, x] - rate * W[1, x])
                ddW[2, x] -= rate * (2.0 * dW[1, x] + rate * W[2, x])
                dW[1, x] += rate * W[2, x]
                dW[2, x] -= rate * W[1, x]
        if bent:
            _levers(packed, i, parent, z, c, s, slide, work)
        if zdd is not None:
            _add_accelerations(packed, i, parent, zdd, work)


@helper
def _add_accelerations(packed: Packed, i: int, parent: int, zdd: Array, work: Work) -> None:
    """Add to Ẅ of body i what its own joint and its parent's modes accelerate: of (60), (63) the last terms."""
    W, ddW = work.W[i], work.ddW[i]
    at = packed.topology[i, COORDINATE]
    if packed.topology[i, KIND] == PRISMATIC:
        for x in range(3):
            ddW[0, x] += zdd[at] * W[3, x]
    elif at >= 0:
        for x in range(3):
            ddW[1, x] += zdd[at] * W[2, x]
            ddW[2, x] -= zdd[at] * W[1, x]
    if parent >= 0:
        start = packed.joints + packed.topology[parent, FIRST_MODE]
        for k in range(packed.topology[parent, MODES]):
            acceleration = zdd[start + k]
            for b in range(4):
                for x in range(3):
                    ddW[b, x] += acceleration * work.lever[i, k, b, x]


@helper
def _add_shortening(packed: Packed, i: int, parent: int, zd: Array, W: Array, ddW: Array) -> None:
    """Add W Ë where Ë has no second derivatives in it: the shortening grows with the square of the rates."""
    start = packed.joints + packed.topology[parent, FIRST_MODE]
    for k in range(packed.topology[parent, MODES]):
        for m in range(packed.topology[parent, MODES]):
            square = zd[start + k] * zd[start + m]
            bend = packed.bend[i, k, m]
            for x in range(3):
                ddW[0, x] -= square * (bend[0] * W[1, x] + bend[1] * W[2, x] + bend[2] * W[3, x])
    if packed.turned[i]:  # θ̇̃ θ̇̃ R
        r0, r1, r2 = 0.0, 0.0, 0.0
        for k in range(packed.topology[parent, MODES]):
            r0 += zd[start + k] * packed.turn[i, k, 0]
            r1 += zd[start + k] * packed.turn[i, k, 1]
            r2 += zd[start + k] * packed.turn[i, k, 2]
        size = r0 * r0 + r1 * r1 + r2 * r2
        for b in range(3):
            c0, c1, c2 = packed.rotation[i, 0, b], packed.rotation[i, 1, b], packed.rotation[i, 2, b]
            along = r0 * c0 + r1 * c1 + r2 * c2
            for x in range(3):
                ddW[b + 1, x] += (
                    (r0 * along - size * c0) * W[1, x] + (r1 * along - size * c1) * W[2, x]
                    + (r2 * along - size * c2) * W[3, x]
                )  # fmt: skip


@helper
def _base_motion(base: Array, W: Array, dW: Array, ddW: Array) -> None:
    """W, Ẇ and Ẅ of the base's own frame, in its axes: 1, ω̃ and ω̇̃ + ω̃ ω̃, with its velocity and acceleration."""
    w0, w1, w2 = base[3], base[4], base[5]
    for x in range(3):
        W[0, x] = 0.0
        dW[0, x] = base[x]
        ddW[0, x] = base[6 + x]
        for b in range(3):
            W[b + 1, x] = 1.0 if b == x else 0.0
    dW[1, 0], dW[1, 1], dW[1, 2] = 0.0, w2, -w1
    dW[2, 0], dW[2, 1], dW[2, 2] = -w2, 0.0, w0
    dW[3, 0], dW[3, 1], dW[3, 2] = w1, -w0, 0.0
    square = w0 * w0 + w1 * w1 + w2 * w2
    for b in range(3):
        for x in range(3):
            ddW[b + 1, x] = base[3 + b] * base[3 + x] - (square if b == x else 0.0)
    ddW[1, 1] += base[11]
    ddW[1, 2] -= base[10]
    ddW[2, 0] -= base[11]
    ddW[2, 2] += base[9]
    ddW[3, 0] += base[10]
    ddW[3, 1] -= base[9]
