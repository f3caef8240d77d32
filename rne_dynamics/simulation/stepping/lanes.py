"""A smooth step of several samples of an open arm at once, or of one: Runge–Kutta's, or the semi-implicit one.

A row holds a number of every joint of every sample: of joint j of the sample in a lane at ``lane · n + j``.

Joints at rest are held by adding a huge inertia to each, whose acceleration gives the torque that holds it. Where
friction and stops can give all of these, that is the first stage of the step, and costs nothing; otherwise the lane is
left to code that finds out which joints start to slide.

The semi-implicit step, (M + h D) (q̇⁺ − q̇) = h (τ − bias − D q̇), is forward dynamics with inertias h D added.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import helper, kernel, routine
from rne_dynamics.compiling.plain import call, call_rows
from rne_dynamics.dynamics.declared.arguments import Arm
from rne_dynamics.model.friction import faded
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.arrays import (
    BACKWARD,
    FADING,
    FORWARD,
    LOCK,
    LOWER,
    NO_WRENCH,
    STRIBECK,
    UPPER,
    VISCOUS,
    OwnCode,
    PlantRows,
)
from rne_dynamics.simulation.stepping.motion import AHEAD, STIFF, WEIGHTS, locked_forward, viscous_rate
from rne_dynamics.straight_line.recipe import REFUSED

# rows of `Block.rows`: effort; Coulomb friction included in DRIVE, direction of sliding joints with Coulomb friction,
# inertia of implicit viscous friction or of held joints; a stage, sums of stages, the new state; where the decay rate
# was last evaluated; from FREE on for the law
(
    EFFORT, DRIVE, DIRECTION, ADDED, TAU, QDD, Q_STAGE, QD_STAGE, Q_SUM, QD_SUM, Q_NEW, QD_NEW, Q_RATED, FREE,
) = range(14)  # fmt: skip
# what a lane is: stepped with the others; left to other code in this step; over
ACTIVE, LEFT, OVER = range(3)
# part of the lane's largest torque that is round-off: a held joint moves by 1 / LOCK of what holds it
_TOLERANCE = 1e-13
# way of any joint, rad or m, after which the decay rate of viscous friction is evaluated again: the first where the
# rate is a quarter of STIFF / dt, none from half of it on, and never more than the second (RK4 is stable to 2.8 / dt)
_NEARBY, _FAR = 0.05, 0.2


class Block(NamedTuple):
    """Samples that are stepped together."""

    #: Of all samples.
    plants: PlantRows
    code: OwnCode
    #: The first sample, the number of samples, and that of joints.
    first: int
    width: int
    n: int
    #: Their states, (width n,); their columns of `Columns.joints`; their rows of `Columns.arm`.
    q: Array
    qd: Array
    joints: Array
    given: Array
    #: Memory; shape (rows, width n).
    rows: Array
    #: Set where machine code is not valid; ACTIVE, LEFT or OVER; shape (width,).
    refused: NDArray[np.uint8]
    lanes: NDArray[np.int64]
    #: Decay rate of viscous friction at Q_RATED, 1/s; infinite where there is none yet, 0 without such friction, below
    #: 0 for the semi-implicit method; shape (width,).
    rate: Array


@helper
def row_of(rows: Array, s: int) -> int:
    """Index of sample s in rows of all samples, or in one row for all."""
    return s if rows.shape[0] > 1 else 0


@helper
def lane_of(row: Array, lane: int, n: int) -> Array:
    """The numbers of one lane in a row; shape (n,)."""
    return row[lane * n : lane * n + n]


@helper
def evaluate(address: int, block: Block, arrays: tuple[Array, ...]) -> None:
    """Run machine code for all lanes; sets `Block.refused` where it is not valid, everywhere where there is none."""
    if address != 0 and block.code.rows:
        call_rows(address, block.width, (*arrays, block.refused))
        return
    block.refused[:] = 1
    if address != 0 and call(address, arrays) & REFUSED == 0:
        block.refused[0] = 0


@kernel
def step_lanes(block: Block, dt: float) -> None:
    """One step of the active lanes as by `unchecked_step`, if there is nothing but smooth motion in it.

    Lanes become LEFT, with their states unchanged, where a moving joint touches a stop, a joint reaches one, reverses
    or breaks loose, or the motion is not determined.
    """
    rows, q, qd, size = block.rows, block.q, block.qd, block.q.shape[0]
    explicit, locked, rests = False, False, False
    for lane in range(block.width):
        stiff = _choose_method(block, lane, dt)
        held = _classify(block, lane, dt if stiff else 0.0)
        explicit, rests, locked = explicit or not stiff, rests or held, locked or held or stiff
    added, qdd = rows[ADDED], rows[QDD]
    q_stage, qd_stage, q_sum, qd_sum = rows[Q_STAGE], rows[QD_STAGE], rows[Q_SUM], rows[QD_SUM]
    q_new, qd_new = rows[Q_NEW], rows[QD_NEW]
    for k in range(size):
        q_stage[k], qd_stage[k], q_sum[k], qd_sum[k] = q[k], qd[k], 0.0, 0.0
    _put_torque(block, qd)
    for stage in range(4):
        _forward(block, locked)
        if stage == 0:
            for lane in range(block.width if rests else 0):
                if block.lanes[lane] == ACTIVE and _breaks_loose(block, lane):
                    block.lanes[lane] = LEFT
            for k in range(size):
                qd_new[k] = qd[k] + (0.0 if added[k] == LOCK else dt * qdd[k])
                q_new[k] = q[k] + dt * qd_new[k]
        if stage == 3 or not explicit:
            break  # the last one is added in `_take_over`
        ahead, weight = AHEAD[stage] * dt, WEIGHTS[stage]
        for k in range(size):
            v, a = qd_stage[k], 0.0 if added[k] == LOCK else qdd[k]
            q_sum[k] += weight * v
            qd_sum[k] += weight * a
            q_stage[k] = q[k] + ahead * v
            qd_stage[k] = qd[k] + ahead * a
        _put_torque(block, qd_stage)
    for lane in range(block.width):
        _take_over(block, lane, dt)


@helper
def _put_torque(block: Block, speed: Array) -> None:
    """Fill TAU: the drive less friction that the speed adds, see `speed_friction`."""
    tau, drive, joints = block.rows[TAU], block.rows[DRIVE], block.joints
    for k in range(speed.shape[0]):
        tau[k] = drive[k] - joints[VISCOUS, k] * speed[k]
    for k in range(speed.shape[0]):  # apart, so that the other loop is done in vectors
        if joints[STRIBECK, k] > 0.0:
            less = faded(joints[STRIBECK, k], joints[FADING, k], speed[k])
            tau[k] += less if speed[k] > 0.0 else -less


@routine
def _forward(block: Block, locked: bool) -> None:
    """Accelerations of the stage, with the inertias ADDED where there are any."""
    rows, plants, n = block.rows, block.plants, block.n
    q, qd, tau, lock, qdd = rows[Q_STAGE], rows[QD_STAGE], rows[TAU], rows[ADDED], rows[QDD]
    if locked or block.code.unlocked == 0:
        evaluate(block.code.forward, block, (q, qd, tau, lock, block.given, qdd))
    else:
        evaluate(block.code.unlocked, block, (q, qd, tau, qdd))
    for lane in range(block.width):
        if block.refused[lane] != 0 and block.lanes[lane] == ACTIVE:
            state = tuple([lane_of(row, lane, n) for row in (q, qd, tau, lock, qdd)])
            if apart(locked_forward, (_arm(block, lane), plants.mimic, *state)) >= 0:
                block.lanes[lane] = LEFT


@helper
def _arm(block: Block, lane: int) -> Arm:
    plants, s = block.plants, block.first + lane
    parameters, base = plants.parameters[row_of(plants.parameters, s)], plants.base[row_of(plants.base, s)]
    return Arm(plants.topology, parameters, base, NO_WRENCH)


@helper
def _choose_method(block: Block, lane: int, dt: float) -> bool:
    """Whether the lane takes the semi-implicit step, since its viscous friction is too stiff for the other."""
    rows, rate, a, b = block.rows, block.rate, lane * block.n, lane * block.n + block.n
    if rate[lane] > 0.0 and block.lanes[lane] == ACTIVE:
        moved, nearby = False, min(_NEARBY * (0.5 * STIFF / (rate[lane] * dt) - 1.0), _FAR)
        for k in range(a, b):
            moved = moved or not abs(block.q[k] - rows[Q_RATED, k]) <= nearby
        if moved:
            state = block.joints[VISCOUS, a:b], lane_of(block.q, lane, block.n)
            rate[lane] = apart(viscous_rate, (_arm(block, lane), block.code.one, *state))
            rows[Q_RATED, a:b] = block.q[a:b]
            if rate[lane] < 0.0:
                rate[lane], block.lanes[lane] = np.nan, LEFT
    return implicit(block, lane, dt)


@helper
def implicit(block: Block, lane: int, dt: float) -> bool:
    """Whether the lane's step is the semi-implicit one."""
    return bool(block.rate[lane] < 0.0 or block.rate[lane] * dt > STIFF)


@helper
def _classify(block: Block, lane: int, h: float) -> bool:
    """Fill DIRECTION, ADDED and DRIVE from the velocities: joints at rest are held. Whether one rests.

    `h`: the time over which viscous friction is implicit.
    """
    rows, joints, rests = block.rows, block.joints, False
    for k in range(lane * block.n, lane * block.n + block.n):
        q, qd = block.q[k], block.qd[k]
        touches = q >= joints[UPPER, k] or q <= joints[LOWER, k]
        rubs = joints[FORWARD, k] > 0.0 or joints[BACKWARD, k] > 0.0
        if qd == 0.0 and (rubs or touches):
            rests = True
            rows[DIRECTION, k], rows[ADDED, k], rows[DRIVE, k] = 0.0, LOCK, rows[EFFORT, k]
            continue
        if touches and block.lanes[lane] == ACTIVE:
            block.lanes[lane] = LEFT
        direction = 1.0 if qd > 0.0 else (-1.0 if qd < 0.0 else 0.0)
        friction = joints[FORWARD, k] if qd > 0.0 else (-joints[BACKWARD, k] if qd < 0.0 else 0.0)
        rows[DIRECTION, k], rows[ADDED, k] = direction if rubs else 0.0, h * joints[VISCOUS, k]
        rows[DRIVE, k] = rows[EFFORT, k] - friction
    return rests


@helper
def _breaks_loose(block: Block, lane: int) -> bool:
    """Whether friction or a stop cannot hold a joint at rest, by the accelerations with all of them held."""
    rows, joints, loose, strongest = block.rows, block.joints, False, 0.0
    for k in range(lane * block.n, lane * block.n + block.n):
        strongest = max(strongest, abs(rows[EFFORT, k]))
        if rows[ADDED, k] == LOCK:
            strongest = max(strongest, abs(LOCK * rows[QDD, k]))
    slack = _TOLERANCE * strongest
    for k in range(lane * block.n, lane * block.n + block.n):
        if rows[ADDED, k] == LOCK:
            holding = -LOCK * rows[QDD, k]
            loose |= block.q[k] < joints[UPPER, k] and holding < -joints[FORWARD, k] - slack
            loose |= block.q[k] > joints[LOWER, k] and holding > joints[BACKWARD, k] + slack
    return loose


@helper
def _take_over(block: Block, lane: int, dt: float) -> None:
    """Make the end of the step the state of an active lane, or leave the lane where an event comes before it."""
    rows, joints, q, qd, first, end = block.rows, block.joints, block.q, block.qd, lane * block.n, (lane + 1) * block.n
    event, explicit = False, not implicit(block, lane, dt)
    for k in range(first, end):
        if explicit:
            qdd = 0.0 if rows[ADDED, k] == LOCK else rows[QDD, k]
            rows[Q_NEW, k] = q[k] + dt / 6.0 * (rows[Q_SUM, k] + rows[QD_STAGE, k])
            rows[QD_NEW, k] = qd[k] + dt / 6.0 * (rows[QD_SUM, k] + qdd)
        q_new, qd_new = rows[Q_NEW, k], rows[QD_NEW, k]
        # a joint that starts beyond a stop is let back in
        event |= q[k] <= joints[UPPER, k] < q_new or q[k] >= joints[LOWER, k] > q_new
        event |= rows[DIRECTION, k] * qd_new < 0.0
        event |= not (abs(q_new) < np.inf and abs(qd_new) < np.inf)
    if block.lanes[lane] == ACTIVE:
        if event:
            block.lanes[lane] = LEFT
            return
        for k in range(first, end):
            q[k], qd[k] = rows[Q_NEW, k], rows[QD_NEW, k]
