"""Contact of joints with friction and stops: which stick, lean on a stop or slide; impacts; the semi-implicit step.

The linear complementarity problem with a box (`box_lcp`): find r with lo ≤ r ≤ hi and w = A r + b such that for every
row either w = 0, or r = lo and w ≥ 0, or r = hi and w ≤ 0. With A = M⁻¹ this is Coulomb friction (hold within the box,
or slide at its edge) and unilateral stops (an infinite edge). A is symmetric positive definite, so the solution exists
and is unique.

Source: J. J. Júdice and F. M. Pires, "A block principal pivoting algorithm for large-scale strictly monotone linear
complementarity problems", Computers & Operations Research 21 (1994).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import helper, rare_kernel, routine
from rne_dynamics.dynamics.declared.arguments import Arm
from rne_dynamics.dynamics.kinematics.jacobian import integrate_configuration_kernel
from rne_dynamics.model.friction import faded
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.arrays import (
    BACKWARD,
    BASE,
    FADING,
    FORWARD,
    LOWER,
    STRIBECK,
    UPPER,
    VISCOUS,
    PlantArrays,
    base_at,
)
from rne_dynamics.simulation.stepping.motion import Piece, mass_and_bias, mass_scale, speed_friction
from rne_dynamics.spatial.cholesky import cholesky_solve, inverse
from rne_dynamics.spatial.rows import add_scaled, matrix_times, product

#: Status of a row: w = 0, r at its lower edge, r at its upper edge.
HELD, AT_LOW, AT_HIGH = 0, 1, 2

# relative size below which a violation is round-off
_TOLERANCE = 1e-12
# turns of pivoting, besides one for each row, in which all rows that are wrong change
_MANY_AT_ONCE = 10


@rare_kernel
def box_lcp(A: Array, b: Array, lo: Array, hi: Array, r: Array, w: Array, status: NDArray[np.int64]) -> bool:
    """Solve one problem into r, w, status, (n,); False where pivoting has no end by round-off: r by relaxation."""
    n = b.shape[0]
    status[:] = HELD
    for turn in range(60 * (n + 1)):
        _solve_held(A, b, lo, hi, r, w, status)
        last = -1
        for j in range(n):
            if _better(lo, hi, r, w, b, status, j) != status[j]:
                last = j
        if last < 0:
            return True
        # many at once, which nearly always ends within a few turns; then one by one, which always ends (Murty 1974)
        for j in range(n):
            if j == last or turn < n + _MANY_AT_ONCE:
                status[j] = _better(lo, hi, r, w, b, status, j)
    _relax(A, b, lo, hi, r, w, status)
    return False


@helper
def _better(lo: Array, hi: Array, r: Array, w: Array, b: Array, status: NDArray[np.int64], j: int) -> int:
    """The status row j should have, given r and w."""
    if status[j] == HELD:
        slack = _TOLERANCE * abs(r[j])
        if r[j] < lo[j] - slack:
            return AT_LOW
        if r[j] > hi[j] + slack:
            return AT_HIGH
        return HELD
    slack = _TOLERANCE * abs(b[j])
    if (status[j] == AT_LOW and w[j] < -slack) or (status[j] == AT_HIGH and w[j] > slack):
        return HELD
    return int(status[j])


@helper
def _solve_held(A: Array, b: Array, lo: Array, hi: Array, r: Array, w: Array, status: NDArray[np.int64]) -> None:
    """r at its edges or such that w = 0, and then w, for a given status."""
    n, m = b.shape[0], 0
    held, x = np.empty(n, dtype=np.int64), np.empty(n)
    for j in range(n):
        if status[j] == HELD:
            r[j], held[m] = 0.0, j
            m += 1
        else:
            r[j] = lo[j] if status[j] == AT_LOW else hi[j]
    for a in range(m):
        x[a] = -b[held[a]] - product(A[held[a]], r)
    cholesky_solve(reduced(A, held[:m]), x[:m], x[:m])
    for a in range(m):
        r[held[a]] = x[a]
    _put_motion(A, b, r, w, status)


@helper
def _put_motion(A: Array, b: Array, r: Array, w: Array, status: NDArray[np.int64]) -> None:
    """w = A r + b, zero of held rows."""
    for j in range(b.shape[0]):
        w[j] = 0.0 if status[j] == HELD else b[j] + product(A[j], r)


@rare_kernel
def _relax(A: Array, b: Array, lo: Array, hi: Array, r: Array, w: Array, status: NDArray[np.int64]) -> None:
    """Projected Gauss–Seidel, which always converges for a positive definite A."""
    n = b.shape[0]
    for _ in range(1000):
        for j in range(n):
            r[j] = min(max(r[j] - (b[j] + product(A[j], r)) / A[j, j], lo[j]), hi[j])
    for j in range(n):
        status[j] = AT_LOW if r[j] <= lo[j] else (AT_HIGH if r[j] >= hi[j] else HELD)
    _put_motion(A, b, r, w, status)


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
    return apart(inverse, (factor, scale, A)) < 0


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
    for j in range(qd.shape[0]):  # noqa: SIM110 kernels have no `any`
        if stop_side(plant, q, j) != 0 or (qd[j] == 0.0 and rubs(plant, j)):
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
    """Fill `piece.locked`, `piece.direction`, and `piece.drive`: the efforts less Coulomb friction of what slides.

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
    if m > 0:
        _settle(plant, bias, A, effort, resting[:m], piece)
    for j in range(n):
        piece.drive[j] = effort[j] - (0.0 if piece.locked[j] else coulomb(joints, j, piece.direction[j]))


@routine
def _settle(
    plant: PlantArrays, bias: Array, A: Array, effort: Array, resting: NDArray[np.int64], piece: Piece
) -> None:
    """Lock the joints at rest that friction and stops hold; give the others the direction in which they start."""
    joints, q, qd, m, push = plant.joints, piece.q, piece.qd, resting.shape[0], np.empty(piece.qd.shape[0])
    for j in range(push.shape[0]):
        push[j] = effort[j] - bias[j] - sliding_torque(joints, qd, j)
    b, lo, hi = np.empty(m), np.empty(m), np.empty(m)
    for a in range(m):
        j = resting[a]
        b[a] = product(A[j], push)
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
def coulomb(joints: Array, j: int, direction: float) -> float:
    """Friction at rest of joint j against a motion in that direction, 0 for none."""
    return float(joints[j, FORWARD]) if direction > 0.0 else (-float(joints[j, BACKWARD]) if direction < 0.0 else 0.0)


@helper
def sliding_torque(joints: Array, qd: Array, j: int) -> float:
    """Friction against the motion of joint j."""
    return speed_friction(joints, j, qd[j]) + coulomb(joints, j, qd[j])


@helper
def impulses(A: Array, chosen: NDArray[np.int64], target: Array, lo: Array, hi: Array, qd: Array) -> None:
    """Add to qd the effect of impulses within [lo, hi], (m,), that drive m `chosen` joints to `target`; A = M⁻¹."""
    m = chosen.shape[0]
    b = np.empty(m)
    for a in range(m):
        b[a] = qd[chosen[a]] - target[a]
    r, w, status = np.empty(m), np.empty(m), np.empty(m, dtype=np.int64)
    apart(box_lcp, (reduced(A, chosen), b, lo, hi, r, w, status))
    for a in range(m):
        add_scaled(qd, r[a], A[chosen[a]])
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


@rare_kernel
def semi_implicit_step(
    plant: PlantArrays, q: Array, qd: Array, effort: Array, dt: float, q_new: Array, qd_new: Array
) -> bool:
    """One step of first order from (q, qd) into (q_new, qd_new), other arrays; False: the motion is not determined."""
    n, base = qd.shape[0], np.empty(BASE)
    M, bias, A = np.empty((n, n)), np.empty(n), np.empty((n, n))
    base_at(plant.base, 0.0, base)
    if not apart(response, (plant, base, q, qd, dt, M, bias, A)):
        return False
    apart(implicit_velocities, (plant, M, bias, A, q, qd, effort, dt, qd_new))
    if plant.loops is None and plant.flex is None:
        step = np.zeros(n)
        add_scaled(step, dt, qd_new)
        integrate_configuration_kernel(Arm(plant.topology, plant.parameters, None, None), q, step, q_new)
    else:
        q_new[:] = q
        add_scaled(q_new, dt, qd_new)
    kept_within_stops(plant, q, q_new)
    return True


@rare_kernel
def implicit_velocities(
    plant: PlantArrays, M: Array, bias: Array, A: Array, q: Array, qd: Array, effort: Array, dt: float, qd_new: Array
) -> None:
    """The velocities after one step; the positions then move with them for `dt`.

    Viscous friction is implicit, (M + dt D) q̇⁺ = M q̇ + dt (τ − bias), which is stable however stiff it is. So are
    stiffness and damping of flexible links, (M + dt D + dt² K). Coulomb friction, with Stribeck's at the speed before,
    and stops are impulses found together (Moreau's time stepping): at a stop no velocity leads out, and a joint that
    would pass a stop within the step is slowed so that it arrives there at the step's end.

    `M`, `bias`, `A`: as `response` gives them for `implicit` = dt.
    """
    n, joints, positions = qd.shape[0], plant.joints, plant.positions
    momentum = np.empty(n)
    matrix_times(M, qd, momentum)
    for j in range(n):
        momentum[j] += dt * (effort[j] - bias[j])
    matrix_times(A, momentum, qd_new)

    chosen = np.empty(n, dtype=np.int64)
    lo, hi, target = np.empty(n), np.empty(n), np.zeros(n)
    m = 0
    for j in range(n):
        side = stop_side(plant, q, j)
        if side != 0 or rubs(plant, j):
            chosen[m] = j
            less = faded(joints[j, STRIBECK], joints[j, FADING], qd[j])
            lo[m] = -np.inf if side > 0 else -dt * (joints[j, FORWARD] - less)
            hi[m] = np.inf if side == -1 or side == 2 else dt * (joints[j, BACKWARD] - less)
            m += 1
    if m > 0:
        impulses(A, chosen[:m], target[:m], lo[:m], hi[:m], qd_new)
    before, inside, m = qd_new.copy(), np.zeros(n, dtype=np.bool_), 0
    # stops ahead; slowing one joint may push another into its stop, so the set grows until nothing leads out
    for _ in range(n):
        grown = False
        for j in range(n):
            iq = positions[j]
            if iq < 0 or inside[j]:
                continue
            above, below = max((joints[j, UPPER] - q[iq]) / dt, 0.0), min((joints[j, LOWER] - q[iq]) / dt, 0.0)
            if qd_new[j] > above:
                chosen[m], target[m], lo[m], hi[m] = j, above, -np.inf, 0.0
            elif qd_new[j] < below:
                chosen[m], target[m], lo[m], hi[m] = j, below, 0.0, np.inf
            else:
                continue
            m, inside[j], grown = m + 1, True, True
        if not grown:
            break
        qd_new[:] = before
        impulses(A, chosen[:m], target[:m], lo[:m], hi[:m], qd_new)
