"""A step of a block of samples by the arm's own machine code, in memory that is given: Runge–Kutta's or semi-implicit.

Joints at rest stick, lean on a stop or start to slide as in `states_of_joints`, whose complementarity problem is solved
without the mass matrix: forward dynamics with joints locked gives the torques that hold these and the accelerations of
the others. Where all joints at rest stay, that is the first stage of the step, and costs nothing.

The semi-implicit step, (M + h D) (q̇⁺ − q̇) = h (τ − bias − D q̇), is forward dynamics with inertias h D added.
"""

from __future__ import annotations

import numpy as np

from rne_dynamics.compiling.addresses import call, call_rows
from rne_dynamics.compiling.jit import helper, routine
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant import arrays
from rne_dynamics.simulation.plant.arrays import BACKWARD, FORWARD, LOWER, UPPER, VISCOUS, OwnCode
from rne_dynamics.simulation.rollouts import block as at
from rne_dynamics.simulation.rollouts.block import ACTIVE, Block, leave
from rne_dynamics.simulation.stepping.runge_kutta import AHEAD, WEIGHTS
from rne_dynamics.simulation.stepping.stiffness import STIFF
from rne_dynamics.straight_line.status import REFUSED

# how a joint goes on: it moves, or rests and is held, or starts to slide forwards or backwards
_MOVES, _HELD, _STARTS_FORWARD, _STARTS_BACKWARD = 0.0, 1.0, 2.0, 3.0
# rounds of pivoting after which a lane is left to `box_lcp`, which always finds the end
_ROUNDS = 8
# part of the lane's largest torque or acceleration that is round-off: a locked joint moves by 1 / LOCK of what holds it
_TOLERANCE = 1e-13
# way of each joint after which the decay rate of viscous friction is evaluated again, rad or m
_NEARBY = 0.02


@routine
def smooth_rows_step(
    code: OwnCode, block: Block, width: int, n: int, damped: bool, semi_implicit: bool, dt: float
) -> None:
    """One step of the active lanes as by `unchecked_step`, if there is nothing but smooth motion in it.

    Lanes become LEFT, with their states unchanged, where a moving joint touches a stop, a joint reaches one or
    reverses, or machine code refuses the state.
    """
    rows, size = block.rows, width * n
    explicit = _choose_method(code, block, width, n, damped, semi_implicit, dt)
    rests = _classify(block, width, n)
    q, qd, drive, choice = rows[at.Q], rows[at.QD], rows[at.DRIVE], rows[at.CHOICE]
    q_stage, qd_stage, q_sum, qd_sum = rows[at.Q_STAGE], rows[at.QD_STAGE], rows[at.Q_SUM], rows[at.QD_SUM]
    tau, qdd, viscous = rows[at.TAU], rows[at.QDD], block.joints[VISCOUS]
    q_new, qd_new = rows[at.Q_NEW], rows[at.QD_NEW]
    for k in range(size):
        q_stage[k], qd_stage[k], q_sum[k], qd_sum[k] = q[k], qd[k], 0.0, 0.0
        tau[k] = drive[k] - viscous[k] * qd[k]
    locked = rests or code.forward_unlocked == 0
    for lane in range(width):
        locked = locked or block.implicit[lane]
    for stage in range(4):
        _forward(code, block, width, locked)
        if stage == 0:
            if rests:
                _settle(code, block, width, n)
            for k in range(size):
                qd_new[k] = qd[k] + (0.0 if choice[k] == _HELD else dt * qdd[k])
                q_new[k] = q[k] + dt * qd_new[k]
        if not explicit:
            break
        ahead, weight = AHEAD[stage] * dt, WEIGHTS[stage]
        for k in range(size):
            v, a = qd_stage[k], 0.0 if choice[k] == _HELD else qdd[k]
            q_sum[k] += weight * v
            qd_sum[k] += weight * a
            q_stage[k] = q[k] + ahead * v
            qd_stage[k] = qd[k] + ahead * a
            tau[k] = drive[k] - viscous[k] * qd_stage[k]
    for lane in range(width):
        if not block.implicit[lane]:
            for k in range(lane * n, lane * n + n):
                q_new[k] = q[k] + dt / 6.0 * q_sum[k]
                qd_new[k] = qd[k] + dt / 6.0 * qd_sum[k]
    _take_over(block, width, n)


@helper
def _forward(code: OwnCode, block: Block, width: int, locked: bool) -> None:
    """Accelerations of the stage; `locked` where there is anything in LOCK."""
    rows = block.rows
    q, qd, tau, lock, qdd = rows[at.Q_STAGE], rows[at.QD_STAGE], rows[at.TAU], rows[at.LOCK], rows[at.QDD]
    if code.forward_rows != 0:
        call_rows(code.forward_rows, width, (q, qd, tau, lock, qdd, block.refused))
        for lane in range(width):
            if block.refused[lane] != 0:
                leave(block, lane)
    else:
        if locked:
            status = call(code.forward, (q, qd, tau, lock, qdd))
        else:
            status = call(code.forward_unlocked, (q, qd, tau, qdd))
        if status & REFUSED != 0:
            leave(block, 0)


@helper
def _classify(block: Block, width: int, n: int) -> bool:
    """Fill CHOICE, DIRECTION, LOCK and DRIVE from the velocities: all joints at rest are held. Whether one rests."""
    rows, joints = block.rows, block.joints
    any_rests = False
    for lane in range(width):
        for k in range(lane * n, lane * n + n):
            q, qd = rows[at.Q, k], rows[at.QD, k]
            touches = q >= joints[UPPER, k] or q <= joints[LOWER, k]
            rubs = joints[FORWARD, k] > 0.0 or joints[BACKWARD, k] > 0.0
            if qd == 0.0 and (rubs or touches):
                any_rests = True
                rows[at.CHOICE, k], rows[at.DIRECTION, k] = _HELD, 0.0
                rows[at.LOCK, k], rows[at.DRIVE, k] = arrays.LOCK, rows[at.EFFORT, k]
                continue
            if touches:
                leave(block, lane)
            _slide(rows, joints, k, 1.0 if qd > 0.0 else (-1.0 if qd < 0.0 else 0.0))
            rows[at.CHOICE, k] = _MOVES
    return any_rests


@helper
def _slide(rows: Array, joints: Array, k: int, direction: float) -> None:
    friction = joints[FORWARD, k] if direction > 0.0 else (-joints[BACKWARD, k] if direction < 0.0 else 0.0)
    rows[at.LOCK, k], rows[at.DRIVE, k] = rows[at.IMPLICIT, k], rows[at.EFFORT, k] - friction
    rows[at.DIRECTION, k] = direction if joints[FORWARD, k] > 0.0 or joints[BACKWARD, k] > 0.0 else 0.0


@helper
def _choose_method(
    code: OwnCode, block: Block, width: int, n: int, damped: bool, semi_implicit: bool, dt: float
) -> bool:
    """Fill `Block.implicit`, true for lanes whose friction is too stiff, and IMPLICIT. Whether a lane is explicit."""
    if damped and not semi_implicit and _rate_needed(block, width, n, dt):
        q, diagonal = block.rows[at.Q], block.rows[at.DIAGONAL]
        if code.inverse_diagonal_rows != 0:
            call_rows(code.inverse_diagonal_rows, width, (q, diagonal, block.refused))
        else:
            refused = code.inverse_diagonal == 0 or call(code.inverse_diagonal, (q, diagonal)) & REFUSED != 0
            block.refused[0] = 1 if refused else 0
        for lane in range(width):
            if _moved(block, lane, n, dt):
                _put_rate(block, lane, n)
    explicit = False
    for lane in range(width):
        stiff = semi_implicit or (damped and block.rate[lane] * dt > STIFF)
        explicit = explicit or not stiff
        block.implicit[lane] = stiff
        for k in range(lane * n, lane * n + n):
            block.rows[at.IMPLICIT, k] = dt * block.joints[VISCOUS, k] if stiff else 0.0
    return explicit


@helper
def _moved(block: Block, lane: int, n: int, dt: float) -> bool:
    """Whether the decay rate last evaluated does not decide the step: near the limit, or of a posture some way off.

    RK4 is stable to a decay rate of 2.8 / dt, 5.6 times what is taken as known for the postures nearby.
    """
    moved = block.rate[lane] * dt > 0.25 * STIFF
    for k in range(lane * n, lane * n + n):
        moved = moved or not abs(block.rows[at.Q, k] - block.rows[at.Q_RATED, k]) <= _NEARBY
    return bool(moved)


@helper
def _rate_needed(block: Block, width: int, n: int, dt: float) -> bool:
    needed = False
    for lane in range(width):
        needed = needed or (block.lanes[lane] == ACTIVE and _moved(block, lane, n, dt))
    return needed


@helper
def _put_rate(block: Block, lane: int, n: int) -> None:
    if block.refused[lane] != 0:
        block.rate[lane] = np.inf
        leave(block, lane)
        return
    block.rate[lane] = 0.0
    for k in range(lane * n, lane * n + n):
        block.rate[lane] += block.joints[VISCOUS, k] * block.rows[at.DIAGONAL, k]
        block.rows[at.Q_RATED, k] = block.rows[at.Q, k]


@helper
def _settle(code: OwnCode, block: Block, width: int, n: int) -> None:
    """Decide how joints at rest go on, by pivoting from all held, and leave the accelerations of that in QDD."""
    rows, size = block.rows, width * n
    for attempt in range(_ROUNDS):
        changed = False
        for lane in range(width):
            if block.lanes[lane] == ACTIVE and _pivot(block, lane, n):
                changed = True
                if attempt == _ROUNDS - 1:
                    leave(block, lane)
        if not changed or attempt == _ROUNDS - 1:
            break
        for k in range(size):
            rows[at.TAU, k] = rows[at.DRIVE, k] - block.joints[VISCOUS, k] * rows[at.QD, k]
        _forward(code, block, width, True)


@helper
def _pivot(block: Block, lane: int, n: int) -> bool:
    """Free the joints whose friction or stop cannot hold them, hold those that start the wrong way; False: none."""
    rows, joints, changed, fastest, strongest = block.rows, block.joints, False, 0.0, 0.0
    for k in range(lane * n, lane * n + n):
        strongest = max(strongest, abs(rows[at.EFFORT, k]))
        if rows[at.CHOICE, k] == _HELD:
            strongest = max(strongest, abs(arrays.LOCK * rows[at.QDD, k]))
        else:
            fastest = max(fastest, abs(rows[at.QDD, k]))
    slack = _TOLERANCE * strongest
    for k in range(lane * n, lane * n + n):
        choice = rows[at.CHOICE, k]
        if choice == _HELD:
            holding = -arrays.LOCK * rows[at.QDD, k]
            up, down = rows[at.Q, k] >= joints[UPPER, k], rows[at.Q, k] <= joints[LOWER, k]
            if not up and holding < -joints[FORWARD, k] - slack:
                rows[at.CHOICE, k], changed = _STARTS_FORWARD, True
                _slide(rows, joints, k, 1.0)
            elif not down and holding > joints[BACKWARD, k] + slack:
                rows[at.CHOICE, k], changed = _STARTS_BACKWARD, True
                _slide(rows, joints, k, -1.0)
        elif choice != _MOVES:
            ahead = rows[at.QDD, k] if choice == _STARTS_FORWARD else -rows[at.QDD, k]
            if ahead < -_TOLERANCE * fastest:
                rows[at.CHOICE, k], changed = _HELD, True
                rows[at.LOCK, k], rows[at.DIRECTION, k], rows[at.DRIVE, k] = arrays.LOCK, 0.0, rows[at.EFFORT, k]
    return changed


@helper
def _take_over(block: Block, width: int, n: int) -> None:
    """Make the end of the step the state of the active lanes, or leave them where an event comes before it."""
    rows, joints = block.rows, block.joints
    for lane in range(width):
        event = False
        for k in range(lane * n, lane * n + n):
            q, q_new, qd_new = rows[at.Q, k], rows[at.Q_NEW, k], rows[at.QD_NEW, k]
            # a joint that starts beyond a stop is let back in
            event |= q <= joints[UPPER, k] < q_new or q >= joints[LOWER, k] > q_new
            event |= rows[at.DIRECTION, k] * qd_new < 0.0
            event |= not (abs(q_new) < np.inf and abs(qd_new) < np.inf)
        if event:
            leave(block, lane)
        if block.lanes[lane] == ACTIVE:
            for k in range(lane * n, lane * n + n):
                rows[at.Q, k], rows[at.QD, k] = rows[at.Q_NEW, k], rows[at.QD_NEW, k]
