"""Motion in joint states: jumps, velocities that contradict the positions, frozen readings.

**Velocity against positions**, joint by joint. Both sums forget with the time constant `MEMORY` (20 ms):

    mismatch m = Σ (v_k + v_{k−1})/2 dt − (q_k − q_{k−1}),    travel s = Σ |q_k − q_{k−1}|

From |m| > `MISFIT` + `FRACTION` s + v · jitter / 2 on the reported velocity is not used any more: the joint has the
estimate from positions. Nothing is compared over steps of more than 30 ms.

================================  ===============  ====================================================================
of a reported velocity            |m|              found
================================  ===============  ====================================================================
wrong sign                        2 s              where motion begins after 1.3 mrad
zero, or far too small            s                where motion begins after 3 mrad; at a constant speed of less than
                                                   0.2 rad/s never
degrees for radians               56 s             at once
low-pass of the true one, 5 ms    at most 0.3 s    never up to 300 rad/s² where motion begins (10 ms: 70 rad/s²)
offset, dead band                 20 ms times it   from 0.1 rad/s on
================================  ===============  ====================================================================

**A reading that stands still**, to the last bit, is what encoders at rest show, coarse ones at slow speed, and joints
that friction holds. It is a frozen one if all of these hold:

- It stands still for 3 states, and twice as many as a reading of this joint usually stays (a sensor may be slower than
  the states), while the reference moved on by more than 5 mrad (mm) and 10 of the reading's steps.
- The joint was in motion, and either
  - stopped within one state from a speed that takes more than 100 rad/s² to lose, or
  - it moved with its reference, and the feedback effort has since changed by more than what friction can withstand;
    so has, but for a factor of 5, the part of it that moves the joint itself and not its neighbours.

The first such state is refused, and the Supervisor stops the arm. Until `restart` the joint then counts as at rest
where it was last seen, so that the others keep their damping.

A reading that froze before the motion cannot be distinguished from a stuck joint: a path tolerance ends that.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper
from rne_dynamics.control.guards.state_memory import (
    ALLOWED,
    ASKED,
    CONTINUOUS,
    DEAD,
    DISTRUSTED,
    ESTIMATE,
    EXCESSES,
    EXPECTED,
    FAST,
    FEEDBACK,
    FEEDBACK_THEN,
    FINEST,
    FOUND,
    FROZEN,
    GOOD,
    HABIT,
    JOINT,
    JUMP,
    JUMPED,
    LIMIT,
    MISMATCH,
    MOVED,
    NEXT_ESTIMATE,
    NEXT_MISMATCH,
    NEXT_TRAVEL,
    NEXT_UNWRAPPED,
    OWN,
    OWN_THEN,
    PLACE,
    RAW,
    REPORTED,
    SPEED,
    STEP,
    STICTION,
    STILL,
    STILL_TIME,
    SUDDEN,
    TRAVEL,
    UNWRAPPED,
    USED,
)
from rne_dynamics.control.guards.velocity_estimate import low_passed, weights
from rne_dynamics.control.turns import turns_off_kernel
from rne_dynamics.model.inertia import Array

#: How many times the velocity limit positions may move, and velocities may read.
MOVE_FACTOR, SPEED_FACTOR = 2.0, 5.0
#: Positions may jump by this besides, rad or m.
POSITION_SLACK = 2e-3
#: States in a row with a velocity beyond `SPEED_FACTOR` after which it is not used any more, instead of refusing them.
SPIKES = 2
#: Of the comparison of velocity and positions: s; rad or m; a fraction; and steps beyond which nothing is compared, s.
MEMORY, MISFIT, FRACTION, LONGEST = 20e-3, 2e-3, 0.4, 30e-3
#: Of a reading that stands still: states; rad or m; steps of the reading; rad/s² (m/s²); rad/s (m/s).
STILL_STATES, STILL_TRAVEL, STEPS, SUDDEN_BRAKE, SLOW = 3, 5e-3, 10.0, 100.0, 0.05
#: How many times what the feedback asks of the joint itself counts. Friction that holds one joint withstands no more
#: than that, even if its neighbours need more of it, which may be 30 times as much.
COUPLED = 5.0
#: Steps of time too short for a speed, s.
SHORTEST = 1e-4
#: How exact stamps are, and arrivals where there are none, s.
STAMP_JITTER, ARRIVAL_JITTER = 2e-3, 10e-3


@helper
def leave_out(table: Array, q: Array, qd: Array) -> None:
    """Put joints whose reading is frozen to rest."""
    for j in range(q.shape[0]):
        if table[DEAD, j] != 0.0:
            q[j], qd[j] = table[PLACE, j], 0.0


@helper
def place_follows(whole: NDArray[np.int64], clock: Array, table: Array, q: Array, dt: float, reach: float) -> int:
    """Unwrap q, and see whether every joint can have come from its last place; `reach` is dt and the jitter, s."""
    code = GOOD
    for j in range(q.shape[0]):
        before = table[PLACE, j]
        if table[CONTINUOUS, j] != 0.0 and table[DEAD, j] == 0.0:
            table[NEXT_UNWRAPPED, j] = -2.0 * math.pi * turns_off_kernel(q[j], before)
            q[j] += table[NEXT_UNWRAPPED, j]
        moved = abs(q[j] - before)
        # a hand may push a joint beyond its limit, and further with what it was measured to have
        allowed = MOVE_FACTOR * max(table[LIMIT, j], abs(table[SPEED, j])) * reach + POSITION_SLACK
        # after a jump `allowed` grows with dt, but a place nearer to where that led is still the jump
        if moved > allowed or moved > abs(q[j] - table[JUMPED, j]):
            table[JUMPED, j] = q[j]
            if code == GOOD:
                whole[JOINT], clock[FOUND], clock[ALLOWED], clock[STEP] = j, q[j] - before, allowed, dt
                code = JUMP
    return code


@helper
def not_frozen(whole: NDArray[np.int64], clock: Array, table: Array, q: Array, dt: float, expecting: bool) -> int:
    """Whether every reading that stands still may do so."""
    if not expecting:
        return GOOD
    for j in range(q.shape[0]):
        enough = STILL_STATES + 2.0 * table[HABIT, j]
        if q[j] != table[PLACE, j] or table[STILL, j] + 1.0 < enough or table[DEAD, j] != 0.0:
            continue
        asked = table[ASKED, j] + abs(table[EXPECTED, j]) * dt
        if asked <= STILL_TRAVEL + STEPS * table[FINEST, j]:
            continue
        change, own = table[FEEDBACK, j] - table[FEEDBACK_THEN, j], table[OWN, j] - table[OWN_THEN, j]
        pulled = min(abs(change), COUPLED * abs(own)) > table[STICTION, j]
        if table[SUDDEN, j] != 0.0 or (table[MOVED, j] != 0.0 and pulled):
            whole[JOINT], clock[FOUND], clock[ALLOWED] = j, asked, table[RAW, j]
            clock[STEP], table[DEAD, j] = table[STILL_TIME, j] + dt, 1.0
            return FROZEN
    return GOOD


@helper
def velocity_usable(
    whole: NDArray[np.int64], clock: Array, table: Array, q: Array, qd: Array, dt: float, jitter: float, rate: float,
    missing: bool, began: bool,
) -> int:  # fmt: skip
    """Velocity of each joint, as reported or estimated, in USED; FAST where one is far beyond its limit.

    `jitter` is how exact the times are, s.
    """
    n = q.shape[0]
    if not missing:
        for j in range(n):
            fast = abs(qd[j]) > SPEED_FACTOR * table[LIMIT, j] and table[DISTRUSTED, j] == 0.0
            if fast and whole[EXCESSES] >= SPIKES:
                table[DISTRUSTED, j] = 1.0
            elif fast:
                whole[EXCESSES] += 1
                whole[JOINT], clock[FOUND], clock[ALLOWED] = j, qd[j], SPEED_FACTOR * table[LIMIT, j]
                return FAST
    fade, gain = weights(dt, rate)
    kept = 1.0 / (1.0 + dt / MEMORY)
    for j in range(n):
        moved = q[j] - table[PLACE, j]
        if began:
            estimate = 0.0 if missing or table[DISTRUSTED, j] != 0.0 else qd[j]
            mismatch = travel = 0.0
        else:
            estimate = low_passed(table[ESTIMATE, j], moved, fade, gain)
            mismatch, travel = kept * table[MISMATCH, j], kept * table[TRAVEL, j]
            integral = 0.5 * (qd[j] + table[REPORTED, j]) * dt - moved
            if dt <= LONGEST and not missing and table[DEAD, j] == 0.0 and not math.isnan(integral):
                mismatch, travel = mismatch + integral, travel + abs(moved)
        table[NEXT_MISMATCH, j], table[NEXT_TRAVEL, j], table[NEXT_ESTIMATE, j] = mismatch, travel, estimate
        doubted = abs(mismatch) > MISFIT + FRACTION * travel + 0.5 * jitter * abs(estimate)
        if doubted:
            table[DISTRUSTED, j] = 1.0  # nothing refuses this state any more
        table[USED, j] = estimate if (missing or table[DISTRUSTED, j] != 0.0) and table[DEAD, j] == 0.0 else qd[j]
    return GOOD


@helper
def remember_motion(table: Array, q: Array, qd: Array, dt: float, missing: bool, began: bool, expecting: bool) -> None:
    """Positions and velocities of a good state; fills in qd where it is not the reported one."""
    for j in range(q.shape[0]):
        moved = 0.0 if began else q[j] - table[PLACE, j]
        if moved == 0.0:
            if table[STILL, j] == 0.0:
                speed = abs(table[RAW, j])
                sudden = speed > SUDDEN_BRAKE * dt + SLOW and speed * dt > 4.0 * table[FINEST, j]
                table[SUDDEN, j] = 1.0 if sudden else 0.0
                table[FEEDBACK_THEN, j] = table[FEEDBACK, j] if expecting else np.nan
                table[OWN_THEN, j] = table[OWN, j]
            table[STILL, j] += 1.0
            table[STILL_TIME, j] += dt
            table[ASKED, j] += abs(table[EXPECTED, j]) * dt if expecting else 0.0
        else:
            if dt > SHORTEST:
                table[RAW, j] = moved / dt
            table[HABIT, j] = max(0.5 * table[HABIT, j], table[STILL, j])
            table[FINEST, j] = min(table[FINEST, j], abs(moved))
            table[STILL, j] = table[STILL_TIME, j] = table[ASKED, j] = 0.0
            if expecting and moved * table[EXPECTED, j] > 0.0:
                table[MOVED, j] = 1.0
        if expecting and table[EXPECTED, j] == 0.0:
            table[MOVED, j] = 0.0
        table[MISMATCH, j], table[TRAVEL, j] = table[NEXT_MISMATCH, j], table[NEXT_TRAVEL, j]
        table[ESTIMATE, j] = table[NEXT_ESTIMATE, j]
        table[REPORTED, j] = np.nan if missing else qd[j]
        table[UNWRAPPED, j] = table[NEXT_UNWRAPPED, j]
        qd[j] = table[USED, j]
        table[PLACE, j], table[SPEED, j], table[JUMPED, j] = q[j], qd[j], np.nan
