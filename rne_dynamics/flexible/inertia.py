"""The inertia matrix J of a flexible arm (section 5.2 of document 003), after `motion_kernel`.

(67), (71) and (76) define ʲF̃_h, ʲF_h and ʲΦ_h, which differ in what is multiplied to their ends. Here only ʰF̃_h is
summed, inwards (79), and instead of each ʲF̃_h by (78) its product with the lever ∂W_h/∂z on its right is carried to the
joints and modes nearer to the base: twelve numbers instead of sixteen, and the product is needed anyhow.
"""

from __future__ import annotations

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.flexible.packed import COORDINATE, FIRST_MODE, FIXED, KIND, MODES, PARENT, Packed, Work
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import PRISMATIC


@kernel
def modal_terms_kernel(packed: Packed, work: Work, z: Array) -> None:
    """Fill `work.D` (36) and `work.G` (37).

    The terms in δ² that (37) drops stay in G: with them J and R follow from one and the same kinetic energy, and energy
    is kept.
    """
    for i in range(packed.topology.shape[0]):
        G = work.G[i]
        for r in range(4):
            for s in range(4):
                G[r, s] = packed.moments[i, r, s]
        first, m = packed.topology[i, FIRST_MODE], packed.topology[i, MODES]
        start = packed.joints + first
        for k in range(m):
            D, delta = work.D[first + k], z[start + k]
            for r in range(4):
                for s in range(3):
                    D[r, s] = packed.first[first + k, r, s]
            for j in range(m):
                other = z[start + j]
                if packed.coupled[first + j, k] > 0:
                    for r in range(3):
                        for s in range(3):
                            D[r + 1, s] += other * packed.second[first + j, k, r, s]
                if packed.stiffened:
                    for r in range(4):
                        for s in range(3):
                            D[r, s] -= other * packed.shortening[first + j, k, r, s]
            # C_k + ½ Σ δ_j (…) = ½ (C_k + D_k): so that G = C + Σ δ_k (… + its transpose)
            for r in range(4):
                for s in range(3):
                    half = 0.5 * delta * (packed.first[first + k, r, s] + D[r, s])
                    G[r, s + 1] += half
                    G[s + 1, r] += half


@helper
def first_moment(packed: Packed, work: Work, out: Array) -> None:
    """Σ W_i r_i (50), the sum of mass times mass centre of all bodies, shape (3,)."""
    for x in range(3):
        out[x] = 0.0
        for i in range(packed.topology.shape[0]):
            for r in range(4):  # the top row of G is r of (51)
                out[x] += work.G[i, 0, r] * work.W[i, r, x]


@kernel
def inertia_kernel(packed: Packed, work: Work, J: Array) -> None:
    """Fill J (n + modes, n + modes), both halves, and sum `work.G` inwards."""
    for a in range(J.shape[0]):
        for b in range(J.shape[0]):
            J[a, b] = 0.0
    Y, T = work.Y, work.T
    for i in range(packed.topology.shape[0] - 1, -1, -1):
        parent = packed.topology[i, PARENT]
        at = packed.topology[i, COORDINATE]
        if at >= 0:  # (66), (70)
            _joint_column(packed.topology[i, KIND] == PRISMATIC, work.G[i], work.W[i], Y)
            J[at, at] = packed.rotor[i] + _along_joint(packed, work, i, Y)
            _parent_modes(packed, work, i, at, Y, J)
            _carry(packed, work, i, at, Y, J)
        first = packed.topology[i, FIRST_MODE]
        for k in range(packed.topology[i, MODES]):
            a = packed.joints + first + k
            for r in range(4):  # what the children that bend with the link have left
                for x in range(3):
                    Y[r, x] = 0.0
            for child in range(i + 1, packed.topology.shape[0]):
                if packed.topology[child, PARENT] == i:
                    _times(work.G[child], work.lever[child, k], T)
                    for m in range(k + 1):  # (73): M Φ Mᵀ
                        J[packed.joints + first + m, a] += _product(work.lever[child, m], T)
                    _add_inwards(work.link[child], T, Y)
            W = work.W[i]
            for m in range(k + 1):  # (72), (73): C_ikl, turned by W, which is a rotation but for terms in δ²
                if packed.coupled[first + m, k] == 0:
                    continue
                c = 0.0
                for r in range(3):
                    for s in range(3):
                        dot = W[r + 1, 0] * W[s + 1, 0] + W[r + 1, 1] * W[s + 1, 1] + W[r + 1, 2] * W[s + 1, 2]
                        c += packed.second[first + m, k, r, s] * dot
                J[packed.joints + first + m, a] += c
            D = work.D[first + k]
            for r in range(4):  # D Wᵀ of (68), (69), (74), (75)
                for x in range(3):
                    Y[r, x] += D[r, 0] * W[1, x] + D[r, 1] * W[2, x] + D[r, 2] * W[3, x]
            if at >= 0:
                J[at, a] = _along_joint(packed, work, i, Y)
            _parent_modes(packed, work, i, a, Y, J)
            _carry(packed, work, i, a, Y, J)
        if parent >= 0:
            _add_mass(work.link[i], work.G[i], work.G[parent])
    for a in range(J.shape[0]):
        for b in range(a):
            known = J[a, b] + J[b, a]  # each was found once, in one half or the other
            J[a, b] = known
            J[b, a] = known


@helper
def _joint_column(slides: bool, G: Array, W: Array, Y: Array) -> None:
    """ᶦF̃_i times the transpose of ∂W_i/∂q: of Ŵ U (66)."""
    for r in range(4):
        for x in range(3):
            Y[r, x] = G[r, 0] * W[3, x] if slides else G[r, 1] * W[2, x] - G[r, 2] * W[1, x]


@helper
def _along_joint(packed: Packed, work: Work, i: int, Y: Array) -> float:
    """The trace of ∂W_i/∂q Y."""
    W = work.W[i]
    if packed.topology[i, KIND] == PRISMATIC:
        return float(W[3, 0] * Y[0, 0] + W[3, 1] * Y[0, 1] + W[3, 2] * Y[0, 2])
    return float(
        W[2, 0] * Y[1, 0] + W[2, 1] * Y[1, 1] + W[2, 2] * Y[1, 2]
        - W[1, 0] * Y[2, 0] - W[1, 1] * Y[2, 1] - W[1, 2] * Y[2, 2]
    )  # fmt: skip


@helper
def _parent_modes(packed: Packed, work: Work, i: int, a: int, Y: Array, J: Array) -> None:
    """Coefficients of coordinate a in the equations of the modes of body i's parent."""
    parent = packed.topology[i, PARENT]
    if parent >= 0:
        start = packed.joints + packed.topology[parent, FIRST_MODE]
        for k in range(packed.topology[parent, MODES]):
            J[start + k, a] = _product(work.lever[i, k], Y)


@helper
def _carry(packed: Packed, work: Work, i: int, a: int, Y: Array, J: Array) -> None:
    """Take the column of coordinate a from body i to all joints and modes nearer to the base (78)."""
    while True:
        child = i
        i = packed.topology[child, PARENT]
        if i < 0:
            return
        _inwards(work.link[child], Y)
        if packed.topology[i, KIND] != FIXED:
            J[packed.topology[i, COORDINATE], a] = _along_joint(packed, work, i, Y)
        _parent_modes(packed, work, i, a, Y, J)


@helper
def _times(G: Array, L: Array, out: Array) -> None:
    """G Lᵀ for a symmetric G (4, 4)."""
    for r in range(4):
        for x in range(3):
            out[r, x] = G[r, 0] * L[0, x] + G[r, 1] * L[1, x] + G[r, 2] * L[2, x] + G[r, 3] * L[3, x]


@helper
def _product(L: Array, Y: Array) -> float:
    """Tr{L Y}: the sum of the products of their elements."""
    total = 0.0
    for r in range(4):
        total += L[r, 0] * Y[r, 0] + L[r, 1] * Y[r, 1] + L[r, 2] * Y[r, 2]
    return total


@helper
def _inwards(X: Array, Y: Array) -> None:
    """E A Y in place, for X = E_i A_i."""
    for x in range(3):
        y0, y1, y2, y3 = Y[0, x], Y[1, x], Y[2, x], Y[3, x]
        for r in range(3):
            Y[r + 1, x] = X[0, r] * y0 + X[1, r] * y1 + X[2, r] * y2 + X[3, r] * y3


@helper
def _add_inwards(X: Array, Y: Array, out: Array) -> None:
    """Add E A Y to `out`."""
    for x in range(3):
        out[0, x] += Y[0, x]
        for r in range(3):
            out[r + 1, x] += X[0, r] * Y[0, x] + X[1, r] * Y[1, x] + X[2, r] * Y[2, x] + X[3, r] * Y[3, x]


@helper
def _add_mass(X: Array, G: Array, out: Array) -> None:
    """Add (E A) G (E A)ᵀ to `out` (79)."""
    out[0, 0] += G[0, 0]
    for r in range(3):
        # row r + 1 of X G
        h0 = X[0, r] * G[0, 0] + X[1, r] * G[1, 0] + X[2, r] * G[2, 0] + X[3, r] * G[3, 0]
        h1 = X[0, r] * G[0, 1] + X[1, r] * G[1, 1] + X[2, r] * G[2, 1] + X[3, r] * G[3, 1]
        h2 = X[0, r] * G[0, 2] + X[1, r] * G[1, 2] + X[2, r] * G[2, 2] + X[3, r] * G[3, 2]
        h3 = X[0, r] * G[0, 3] + X[1, r] * G[1, 3] + X[2, r] * G[2, 3] + X[3, r] * G[3, 3]
        out[0, r + 1] += h0
        out[r + 1, 0] += h0
        for s in range(r + 1):
            value = h0 * X[0, s] + h1 * X[1, s] + h2 * X[2, s] + h3 * X[3, s]
            out[r + 1, s + 1] += value
            if s < r:
                out[s + 1, r + 1] += value
