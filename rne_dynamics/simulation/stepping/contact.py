"""Contact: which joints at rest stick, lean on a stop or start to slide; impacts at stops."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import helper, rare_kernel
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.arrays import BACKWARD, FORWARD, LOWER, UPPER, VISCOUS, PlantArrays
from rne_dynamics.simulation.stepping.box_lcp import AT_LOW, HELD, box_lcp
from rne_dynamics.simulation.stepping.motion import Piece, mass_and_bias, mass_scale, speed_friction
from rne_dynamics.spatial.cholesky import inverse


@rare_kernel
def response(
    plant: PlantArrays, base: Array, q: Array, qd: Array, implicit: float, M: Array, bias: Array, A: Array
) -> bool:
    """Fill M, the bias torque (n,) and A = (M + `implicit`·D)⁻¹ with viscous friction D; False: not determined.

    The base moves as in `base`, (12,). With flexible links A = (J + h D + h² K)⁻¹ for `implicit` = h.
    """
    n = qd.shape[0]
    factor, scale = np.zeros((n, n)), np.zeros(n)
    if not mass_and_bias(plant, base, q, qd, implicit, M, factor, bias):
        return False
    mass_scale(plant, q, scale)
    for j in range(n):
        factor[j, j] += implicit * plant.joints[j, VISCOUS]
        for k in range(j + 1):
            factor[j, k] += M[j, k]
    return apart(inverse, (factor, scale, A))


@helper
def stop_side(plant: PlantArrays, q: Array, j: int) -> int:
    """1 where joint j is at its upper stop, −1 at its lower one, 2 at both (no play), 0 in between."""
    iq = plant.positions[j]
    if iq < 0:
        return 0
    up, down = q[iq] >= plant.joints[j, UPPER], q[iq] <= plant.joints[j, LOWER]
    if up and down:
        return 2
    return 1 if up else (-1 if down else 0)


@helper
def rubs(plant: PlantArrays, j: int) -> bool:
    """Whether joint j has Coulomb friction."""
    return bool(plant.joints[j, FORWARD] > 0.0 or plant.joints[j, BACKWARD] > 0.0)


@helper
def held(plant: PlantArrays, q: Array, qd: Array) -> bool:
    """Whether any joint rests where friction may hold it, or touches a stop."""
    for j in range(qd.shape[0]):
        if stop_side(plant, q, j) != 0:
            return True
        if qd[j] == 0.0 and rubs(plant, j):
            return True
    return False


@helper
def kept_within_stops(plant: PlantArrays, q: Array, q_new: Array) -> None:
    """Clip, in place, joints that round-off moved past a stop; a joint that started beyond one is left alone."""
    joints = plant.joints
    for j in range(plant.positions.shape[0]):
        iq = plant.positions[j]
        if iq >= 0 and q[iq] <= joints[j, UPPER]:
            q_new[iq] = min(q_new[iq], joints[j, UPPER])
        if iq >= 0 and q[iq] >= joints[j, LOWER]:
            q_new[iq] = max(q_new[iq], joints[j, LOWER])


@helper
def reduced(A: Array, chosen: NDArray[np.int64]) -> Array:
    """Rows and columns `chosen` of A; shape (m, m)."""
    m = chosen.shape[0]
    S = np.empty((m, m))
    for a in range(m):
        for b in range(m):
            S[a, b] = A[chosen[a], chosen[b]]
    return S


@rare_kernel
def states_of_joints(plant: PlantArrays, bias: Array, A: Array, effort: Array, piece: Piece) -> None:
    """Fill `piece.locked` and `piece.direction`.

    A joint at rest whose friction (with its stop) can hold it is locked. The bounds of all joints at rest form one
    problem through the mass matrix: a joint may be dragged loose by another one. `A` (M⁻¹) and `bias`, at the
    piece's start, are read only where a joint rests.
    """
    n, joints, q, qd = piece.qd.shape[0], plant.joints, piece.q, piece.qd
    resting = np.empty(n, dtype=np.int64)
    m = 0
    for j in range(n):
        piece.locked[j] = False
        piece.direction[j] = 1.0 if qd[j] > 0.0 else (-1.0 if qd[j] < 0.0 else 0.0)
        if qd[j] == 0.0 and (rubs(plant, j) or stop_side(plant, q, j) != 0):
            resting[m] = j
            m += 1
    if m == 0:
        return
    resting = resting[:m]
    push = np.empty(n)
    for j in range(n):
        push[j] = effort[j] - bias[j] - sliding_torque(joints, qd, j)
    b, lo, hi = np.empty(m), np.empty(m), np.empty(m)
    for a in range(m):
        j = resting[a]
        b[a] = 0.0
        for k in range(n):
            b[a] += A[j, k] * push[k]
        side = stop_side(plant, q, j)
        lo[a] = -np.inf if side > 0 else -joints[j, FORWARD]
        hi[a] = np.inf if side == -1 or side == 2 else joints[j, BACKWARD]
    r, w, status = np.empty(m), np.empty(m), np.empty(m, dtype=np.int64)
    apart(box_lcp, (reduced(A, resting), b, lo, hi, r, w, status))
    for a in range(m):
        if status[a] == HELD:
            piece.locked[resting[a]] = True
        else:
            piece.direction[resting[a]] = 1.0 if status[a] == AT_LOW else -1.0


@helper
def sliding_torque(joints: Array, qd: Array, j: int) -> float:
    """Friction against the motion of joint j."""
    torque = speed_friction(joints, j, qd[j])
    if qd[j] > 0.0:
        torque += joints[j, FORWARD]
    elif qd[j] < 0.0:
        torque -= joints[j, BACKWARD]
    return float(torque)


@helper
def impulses(A: Array, chosen: NDArray[np.int64], target: Array, lo: Array, hi: Array, qd: Array) -> None:
    """Add to qd the effect of impulses within [lo, hi], (m,), that drive m `chosen` joints to `target`; A = M⁻¹."""
    m, n = chosen.shape[0], qd.shape[0]
    b = np.empty(m)
    for a in range(m):
        b[a] = qd[chosen[a]] - target[a]
    r, w, status = np.empty(m), np.empty(m), np.empty(m, dtype=np.int64)
    apart(box_lcp, (reduced(A, chosen), b, lo, hi, r, w, status))
    for k in range(n):
        for a in range(m):
            qd[k] += A[k, chosen[a]] * r[a]
    for a in range(m):
        qd[chosen[a]] = target[a] + w[a]


@rare_kernel
def impact(plant: PlantArrays, bias: Array, A: Array, q: Array, qd: Array, effort: Array, graze: float) -> bool:
    """Remove, in place, the velocities that lead into stops: fully inelastic. True where there were any.

    The impulses of all touched stops are found together: they project the velocity onto what the stops allow, in the
    metric of the mass matrix. `bias`, `A` (M⁻¹) are read only where a stop is touched. A joint that would be back at
    its stop within the time `graze`, s, is kept there: two joints that lean on stops would exchange ever smaller
    impacts without end.
    """
    n = qd.shape[0]
    touching = np.empty(n, dtype=np.int64)
    lo, hi = np.zeros(n), np.zeros(n)
    m, hit = 0, False
    for j in range(n):
        side = stop_side(plant, q, j)
        if side == 0:
            continue
        outward = 0.0
        if side != 2 and qd[j] * side < 0.0:  # on its way back in: its acceleration towards the stop
            for k in range(n):
                outward += side * A[j, k] * (effort[k] - bias[k] - sliding_torque(plant.joints, qd, k))
        grazing = outward * graze > 2.0 * abs(qd[j]) > 0.0
        touching[m] = j
        lo[m] = -np.inf if side > 0 or grazing else 0.0
        hi[m] = np.inf if side == -1 or side == 2 or grazing else 0.0
        m += 1
        hit = hit or grazing or (side != -1 and qd[j] > 0.0) or (side != 1 and qd[j] < 0.0)
    if hit:
        impulses(A, touching[:m], np.zeros(m), lo[:m], hi[:m], qd)
    return hit
