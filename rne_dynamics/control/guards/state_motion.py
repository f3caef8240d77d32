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
that friction holds. It is a frozen one if the efforts must have moved the joint by more than a reading can hide:

    a = (feedback + friction compensation) / M_jj(q), in the last direction of the reference
    u' = q̈_d + a − usual − `CHANGED` |usual − f| − `UNEVEN` f − `UNSURE`,    u >= 0,    f = Coulomb friction / M_jj
    least distance = ∫ u dt > `HIDDEN` + `STEPS` · the finest step of the reading

- `usual` is what the joint needed while it moved in this direction: a + q̈_d less its own acceleration. So it contains
  the friction that the joint really has and the errors of the model. It begins with the model's Coulomb friction,
  follows with `FADING`, and is at least a. Nothing is judged before the joint has come `BEGUN` far with its reference.
- All begins anew where the reference turns, or comes to rest before there is evidence; for joints that move also 0.5 s
  after an effort, wall or overspeed limit has acted on any joint. Of a reference at rest a does not grow.
- Both integrals begin anew with each step of the reading: u with `KEPT_SPEED` of the speed of that step and of the
  reference, because a joint that moves is not at rest all at once.
- Besides, the reading stands still for 3 states, and twice as many as a reading of this joint usually stays (a sensor
  may be slower than the states).

The first such state is refused, and the Supervisor stops the arm. Until `restart` this joint and all others that stand
still like it have place and speed of dead reckoning: from the speed that they likely had, on with the acceleration that
the damping gives them. So the damping of the stop brakes them. The average of a while they moved stays.

A reading that froze before the motion cannot be distinguished from a stuck joint, nor can one in a motion so slow that
the feedback stays within the friction's changes: a path tolerance ends those.

A first-order low-pass of the difference quotient, time constant T = 1 / (2π f):

    v_k = a v_{k−1} + (1 − a) (q_k − q_{k−1}) / dt,    a = exp(−dt / T)

That is the exact answer of the filter T v̇ + v = q̇ to positions joined by straight lines, whatever the steps dt are:
lost states and uneven stamps bring no error of their own, and a step dt → 0 (states that arrive in a bunch) gives
v_{k−1} + (q_k − q_{k−1}) / T, never a division by zero.

===================  ==============================================================  =========================
of f, dt             in full                                                         50 Hz, 1 kHz
===================  ==============================================================  =========================
lag behind q̇         dt (a / (1 − a) + 1/2), close to T                              3.2 ms
noise gain           (1 − a) / dt · sqrt(2 / (1 + a)): standard deviation of v over  290 1/s: 10 µrad of encoder
                     that of white noise on q                                        noise become 2.9 mrad/s
===================  ==============================================================  =========================

The velocity gain acts through that lag, which costs 360° · f_c · 3.2 ms of phase at a crossover frequency f_c: 7° at
6 Hz. A higher f costs noise, in proportion to f^1.5. A tracking observer of second order would have no lag at constant
acceleration, but overshoots after every step of speed, which a low-pass of first order cannot.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper
from rne_dynamics.control.guards import state_limits as m
from rne_dynamics.control.motion.limits import turns_off_kernel
from rne_dynamics.model.inertia import Array


@helper
def weights(dt: float, rate: float) -> tuple[float, float]:
    """1 − a, and (1 − a) / dt, of a step dt >= 0 (s) and rate 1/T (1/s)."""
    x = rate * dt
    if x < 1e-9:
        return x, rate
    faded = -math.expm1(-x)  # 1 − a without cancellation
    return faded, faded / dt


# -- motion in joint states: jumps, velocities that contradict the positions, frozen readings --------------------------


#: How many times the velocity limit positions may move, and velocities may read.
MOVE_FACTOR, SPEED_FACTOR = 2.0, 5.0
#: Positions may jump by this besides, rad or m.
POSITION_SLACK = 2e-3
#: States in a row with a velocity beyond `SPEED_FACTOR` after which it is not used any more, instead of refusing them.
SPIKES = 2
#: Of the comparison of velocity and positions: s; rad or m; a fraction; and steps beyond which nothing is compared, s.
MEMORY, MISFIT, FRACTION, LONGEST = 20e-3, 2e-3, 0.4, 30e-3
#: Of a reading that stands still: states; rad or m that play and elastic gears hide, and steps of the reading.
STILL_STATES, HIDDEN, STEPS = 3, 3e-3, 5.0
#: Distance, rad or m, and time, s, from which on a reading stays suspected when the reference comes to rest.
EVIDENCE, SUSPECT = 1e-3, 0.1
#: Acceleration that may be missing before a joint moves: a part of what it needs beyond the model's friction, because
#: friction and gravity differ from place to place; a part of the model's friction; rad/s² (m/s²), for noise.
CHANGED, UNEVEN, UNSURE = 0.1, 0.1, 1.0
#: Part of its speed that a joint keeps at least within a state; steps of time too short for a speed, s.
KEPT_SPEED, SHORTEST = 0.5, 1e-4
#: When a joint moves with its reference: rad or m and steps of the reading that it has come along, and the part of the
#: reference's speed that it has. Then what it needs is known, and forgotten with a time constant, s.
BEGUN, BEGUN_STEPS, SLIDING, FADING = 1e-3, 4.0, 0.2, 0.3
#: How exact stamps are, and arrivals where there are none, s.
STAMP_JITTER, ARRIVAL_JITTER = 2e-3, 10e-3


@helper
def leave_out(table: Array, q: Array, qd: Array, dt: float) -> None:
    """Dead reckoning of joints whose reading is frozen, from the acceleration that their effort gives them."""
    for j in range(q.shape[0]):
        if table[m.DEAD, j] != 0.0:
            fastest = table[m.LIMIT, j]
            speed = min(max(table[m.SPEED, j] + table[m.PUSH, j] * dt, -fastest), fastest)
            qd[j] = speed if speed * table[m.SPEED, j] > 0.0 else 0.0  # damping brakes, and turns no joint
            q[j] = table[m.PLACE, j] + qd[j] * dt


@helper
def place_follows(whole: NDArray[np.int64], clock: Array, table: Array, q: Array, dt: float, reach: float) -> int:
    """Unwrap q, and see whether every joint can have come from its last place; `reach` is dt and the jitter, s."""
    code = m.GOOD
    for j in range(q.shape[0]):
        before = table[m.PLACE, j]
        if table[m.CONTINUOUS, j] != 0.0 and table[m.DEAD, j] == 0.0:
            table[m.NEXT_UNWRAPPED, j] = -2.0 * math.pi * turns_off_kernel(q[j], before)
            q[j] += table[m.NEXT_UNWRAPPED, j]
        moved = abs(q[j] - before)
        # a hand may push a joint beyond its limit, and further with what it was measured to have
        allowed = MOVE_FACTOR * max(table[m.LIMIT, j], abs(table[m.SPEED, j])) * reach + POSITION_SLACK
        # after a jump `allowed` grows with dt, but a place nearer to where that led is still the jump
        if moved > allowed or moved > abs(q[j] - table[m.JUMPED, j]):
            table[m.JUMPED, j] = q[j]
            if code == m.GOOD:
                whole[m.JOINT], clock[m.FOUND], clock[m.ALLOWED], clock[m.STEP] = j, q[j] - before, allowed, dt
                code = m.JUMP
    return code


@helper
def not_frozen(whole: NDArray[np.int64], clock: Array, table: Array, q: Array, expecting: bool) -> int:
    """Whether every reading that stands still may do so."""
    if not expecting:
        return m.GOOD
    found = False
    for j in range(q.shape[0]):
        if stands_still(table, j, q[j]) and table[m.DISTANCE, j] > HIDDEN + STEPS * table[m.FINEST, j] and not found:
            whole[m.JOINT], clock[m.FOUND], clock[m.STEP], found = j, table[m.DISTANCE, j], table[m.STILL_TIME, j], True
    for j in range(q.shape[0]):
        if found and stands_still(table, j, q[j]):  # where one reading is frozen, the others that stand still are too
            table[m.DEAD, j], table[m.SPEED, j] = 1.0, table[m.SIDE, j] * table[m.LIKELY, j]
    return m.FROZEN if found else m.GOOD


@helper
def stands_still(table: Array, j: int, q: float) -> bool:
    """Whether the reading of a joint that has moved with its reference stands still for longer than usual."""
    enough, begun = STILL_STATES + 2.0 * table[m.HABIT, j], BEGUN + BEGUN_STEPS * table[m.FINEST, j]
    still = q == table[m.PLACE, j] and table[m.STILL, j] + 1.0 >= enough and table[m.ALONG, j] > begun
    return bool(still and table[m.DEAD, j] == 0.0)


@helper
def integrate_efforts(table: Array, j: int, moved: float, dt: float, expecting: bool, learning: bool) -> None:
    """Distance by which the efforts must have moved a joint since the last step of its reading (`moved`)."""
    side = np.sign(table[m.EXPECTED, j]) if expecting else 0.0
    suspect = table[m.DISTANCE, j] > EVIDENCE or table[m.STILL_TIME, j] > SUSPECT
    resting = expecting and side == 0.0 and moved == 0.0 and suspect
    if resting:
        side = table[m.SIDE, j]
    push, asked = side * table[m.PUSH, j], side * table[m.ASKED, j]
    if side != table[m.SIDE, j]:
        table[m.SIDE, j], table[m.USUAL, j], table[m.MOST, j] = side, table[m.WITHSTOOD, j], push
        table[m.ALONG, j] = table[m.GAINED, j] = table[m.DISTANCE, j] = 0.0
    if resting:  # the error of this joint stays the same: what is added comes from others, which a hand may push
        push = min(push, table[m.MOST, j])
    usual, most = table[m.USUAL, j], max(table[m.MOST, j], push)
    begun = table[m.ALONG, j] > BEGUN + BEGUN_STEPS * table[m.FINEST, j]
    if moved == 0.0:
        table[m.STILL, j] += 1.0
        table[m.STILL_TIME, j] += dt
        table[m.MOST, j] = most
        if begun:  # the acceleration of the reference is commanded besides
            excess = push + asked - usual
            doubt = CHANGED * abs(usual - table[m.WITHSTOOD, j]) + UNEVEN * table[m.WITHSTOOD, j] + UNSURE
            table[m.LIKELY, j] = max(table[m.LIKELY, j] + excess * dt, 0.0)  # as friction brakes
            table[m.GAINED, j] = max(table[m.GAINED, j] + (excess - doubt) * dt, 0.0)
            table[m.DISTANCE, j] += table[m.GAINED, j] * dt
        return
    passed, expected = table[m.STILL_TIME, j] + dt, abs(table[m.EXPECTED, j])
    speed, weight = side * moved / max(passed, SHORTEST), min(passed / FADING, 1.0)
    table[m.HABIT, j] = max(0.5 * table[m.HABIT, j], table[m.STILL, j])
    table[m.FINEST, j] = min(table[m.FINEST, j], abs(moved))
    table[m.BORNE, j] += (table[m.PUSH, j] - table[m.BORNE, j]) * weight
    # a reading that goes to and fro between two steps has come nowhere
    table[m.ALONG, j] = max(table[m.ALONG, j] + side * moved, 0.0) if learning else 0.0
    if speed > SLIDING * expected:  # on average, without the joint's acceleration
        usual += (push + asked - usual) * weight - (speed - table[m.BEFORE, j]) / FADING
    table[m.USUAL, j], table[m.MOST, j], table[m.BEFORE, j] = max(usual, most), push, speed
    table[m.STILL, j] = table[m.STILL_TIME, j] = table[m.DISTANCE, j] = 0.0
    # not more than the reference: of stamps close to each other a step of the reading is no speed
    table[m.LIKELY, j] = min(max(speed, 0.0), expected)
    table[m.GAINED, j] = KEPT_SPEED * table[m.LIKELY, j] if begun else 0.0


@helper
def velocity_usable(
    whole: NDArray[np.int64], clock: Array, table: Array, q: Array, qd: Array, dt: float, jitter: float, rate: float,
    missing: bool, began: bool,
) -> int:  # fmt: skip
    """Velocity of each joint, reported or estimated, in USED; FAST where one is far beyond its limit."""
    n = q.shape[0]
    if not missing:
        for j in range(n):
            fast = abs(qd[j]) > SPEED_FACTOR * table[m.LIMIT, j] and table[m.DISTRUSTED, j] == 0.0
            if fast and whole[m.EXCESSES] >= SPIKES:
                table[m.DISTRUSTED, j] = 1.0
            elif fast:
                whole[m.EXCESSES] += 1
                whole[m.JOINT], clock[m.FOUND], clock[m.ALLOWED] = j, qd[j], SPEED_FACTOR * table[m.LIMIT, j]
                return m.FAST
    fade, gain = weights(dt, rate)
    kept = 1.0 / (1.0 + dt / MEMORY)
    for j in range(n):
        moved = q[j] - table[m.PLACE, j]
        if began:
            estimate = 0.0 if missing or table[m.DISTRUSTED, j] != 0.0 else qd[j]
            mismatch = travel = 0.0
        else:
            estimate = table[m.ESTIMATE, j] + (gain * moved - fade * table[m.ESTIMATE, j])
            mismatch, travel = kept * table[m.MISMATCH, j], kept * table[m.TRAVEL, j]
            integral = 0.5 * (qd[j] + table[m.REPORTED, j]) * dt - moved
            if dt <= LONGEST and not missing and table[m.DEAD, j] == 0.0 and not math.isnan(integral):
                mismatch, travel = mismatch + integral, travel + abs(moved)
        table[m.NEXT_MISMATCH, j], table[m.NEXT_TRAVEL, j], table[m.NEXT_ESTIMATE, j] = mismatch, travel, estimate
        doubted = abs(mismatch) > MISFIT + FRACTION * travel + 0.5 * jitter * abs(estimate)
        if doubted:
            table[m.DISTRUSTED, j] = 1.0  # nothing refuses this state any more
        table[m.USED, j] = estimate if (missing or table[m.DISTRUSTED, j] != 0.0) and table[m.DEAD, j] == 0.0 else qd[j]
    return m.GOOD


@helper
def remember_motion(
    table: Array, q: Array, qd: Array, dt: float, missing: bool, began: bool, expecting: bool, learning: bool
) -> None:
    """Positions and velocities of a good state; fills in qd where it is not the reported one."""
    for j in range(q.shape[0]):
        moved = 0.0 if began else q[j] - table[m.PLACE, j]
        if table[m.DEAD, j] == 0.0:
            integrate_efforts(table, j, moved, dt, expecting, learning)
        table[m.MISMATCH, j], table[m.TRAVEL, j] = table[m.NEXT_MISMATCH, j], table[m.NEXT_TRAVEL, j]
        table[m.ESTIMATE, j] = table[m.NEXT_ESTIMATE, j]
        table[m.REPORTED, j] = np.nan if missing else qd[j]
        table[m.UNWRAPPED, j] = table[m.NEXT_UNWRAPPED, j]
        qd[j] = table[m.USED, j]
        table[m.PLACE, j], table[m.SPEED, j], table[m.JUMPED, j] = q[j], qd[j], np.nan
