"""The checks of `StateFilter`, all joints in one compiled call.

The filter's memory is three arrays, so that the call stays cheap: `whole` (integers), `clock` (times in s, and the
figures of a refusal for its message) and `table` (one column a joint). A refusal writes nothing but those figures, what
was seen of other senders and which place a jump led to.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.control.guards.velocity_estimate import low_passed
from rne_dynamics.model.inertia import Array
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.jit import helper, kernel

# whole: stamp of the last good state (ns), whether it came with one, whether there is such a state, the sequence number
# followed, the joint that a refusal is about (-1: none)
STAMP, STAMPED, KNOWN, SEQUENCE, JOINT, WHOLE = columns(1, 1, 1, 1, 1)
# clock: arrival of the last good state and of the first; of the last message of the sender followed, and of the last by
# another one; how late the last good state was; the least lateness since LEAST_AT and since EARLIER_AT half a second
# before, and how fast it grows (inf: not known yet); found, allowed and dt of a refusal
ARRIVAL, BEGAN, FOLLOWED_AT, OTHER_AT, LATE, LEAST, LEAST_AT, EARLIER, EARLIER_AT, DRIFT, FOUND, ALLOWED, STEP, SIZE = (
    columns(*[1] * 13)
)
# table: velocity limit, whether continuous; position and velocity of the last good state, where a refused jump led to
# (NaN: nowhere)
LIMIT, CONTINUOUS, PLACE, SPEED, JUMPED, TABLE = columns(1, 1, 1, 1, 1)

#: Answers of `check_state`; from NOT_FINITE on the state is refused.
GOOD, NEW_BASE, WRONG_SHAPE = 0, 1, 2
NOT_FINITE, OUT_OF_RANGE, NO_STAMP, DUPLICATE, OUT_OF_ORDER, DELAYED, JUMP, FAST, SENDERS = range(3, 12)

#: Positions and velocities beyond this are no arm's, rad or m, rad/s or m/s.
FARTHEST = 1e6
#: A stamp further back than this against the arrival is another time, and so is one further ahead than the least late
#: of the last states, s.
TIME_JUMP, AHEAD = 0.5, 0.1
#: Over how long the least lateness is taken, s.
WINDOW = 0.5
#: A clock that loses more than this fraction is not real time: lateness says nothing.
REAL_TIME = 0.05
#: How many times the velocity limit positions may move, and velocities may read.
MOVE_FACTOR, SPEED_FACTOR = 2.0, 5.0
#: How exact stamps are, and arrivals where there are none, s; and positions, rad or m.
STAMP_JITTER, ARRIVAL_JITTER, POSITION_SLACK = 2e-3, 10e-3, 2e-3
#: How long a sender must have been alone to be followed on when a second one comes, and how long a sender must be alone
#: to be taken after there were two, s. That is longer than a stop takes: where the arm's own sender falls silent, the
#: other is not taken for the arm in the middle of it.
ALONE, SETTLED = 1.0, 5.0
#: How many messages in a row may be lost, and how many a second of silence.
LOST, LOST_RATE = 100, 20000.0


@kernel
def check_state(
    whole: NDArray[np.int64],
    clock: Array,
    table: Array,
    timeout: float,
    rate: float,
    q: Array,
    qd: Array,
    stamp: int,
    arrival: float,
    sequence: int,
    missing: bool,
) -> int:
    """One state: GOOD or NEW_BASE, remembered, with q unwrapped and a missing qd filled in; or why it is refused.

    `timeout` in s, inf for none, `rate` 1/T of the velocity estimate in 1/s, `sequence` -1 where it is not known, the
    others as for `StateFilter.accept`.
    """
    if q.shape[0] != table.shape[1] or qd.shape[0] != table.shape[1]:
        return WRONG_SHAPE
    code = values_usable(whole, clock, q, qd, missing, arrival)
    if code == GOOD:
        code = same_sender(whole, clock, sequence, arrival)
    if code != GOOD:
        return code
    verdict = stamp_follows(whole, clock, stamp, arrival, timeout)
    if verdict > NEW_BASE:
        return verdict
    began = whole[KNOWN] == 0
    dt, jitter = arrival - clock[ARRIVAL], ARRIVAL_JITTER
    if verdict == GOOD and stamp != 0:
        dt, jitter = 1e-9 * (stamp - whole[STAMP]), STAMP_JITTER
    dt = 0.0 if began else max(dt, 0.0)
    if not began:
        code = place_follows(whole, clock, table, q, dt, dt + jitter)
    if code == GOOD and not missing:
        code = speed_possible(whole, clock, table, qd)
    if code != GOOD:
        return code
    for j in range(q.shape[0]):
        if missing:
            qd[j] = 0.0 if began else low_passed(table[SPEED, j], q[j] - table[PLACE, j], dt, rate)
        table[PLACE, j], table[SPEED, j], table[JUMPED, j] = q[j], qd[j], np.nan
    remember_time(whole, clock, stamp, arrival, verdict)
    if began:
        clock[BEGAN] = arrival
    if sequence >= 0:
        whole[SEQUENCE], clock[FOLLOWED_AT] = sequence, arrival
    whole[KNOWN] = 1
    return verdict


@helper
def values_usable(whole: NDArray[np.int64], clock: Array, q: Array, qd: Array, missing: bool, arrival: float) -> int:
    """Finite, and not beyond anything that an arm can do."""
    if not math.isfinite(arrival):
        whole[JOINT], clock[FOUND] = -1, arrival
        return NOT_FINITE
    for j in range(q.shape[0]):
        value = q[j]
        if abs(value) <= FARTHEST and not missing:
            value = qd[j]
        if not abs(value) <= FARTHEST:  # also where it is NaN
            whole[JOINT], clock[FOUND], clock[ALLOWED] = j, value, FARTHEST
            return OUT_OF_RANGE if math.isfinite(value) else NOT_FINITE
    return GOOD


@helper
def same_sender(whole: NDArray[np.int64], clock: Array, sequence: int, arrival: float) -> int:
    """Whether a message continues the sequence of the sender followed, as far as its number tells."""
    if sequence < 0:
        return GOOD
    followed = whole[SEQUENCE]
    step = sequence - followed
    continues = followed < 0 or 0 < step <= LOST + LOST_RATE * max(arrival - clock[FOLLOWED_AT], 0.0)
    if not continues:
        clock[OTHER_AT] = arrival
        if whole[KNOWN] == 1 and arrival - clock[BEGAN] >= ALONE and arrival - clock[FOLLOWED_AT] < ALONE:
            return SENDERS  # the other one; the sender that was here alone is followed on
        whole[KNOWN] = 0  # nobody can tell which of the two is the arm, or there is a new one
    if whole[KNOWN] == 0 and arrival - clock[OTHER_AT] < SETTLED:
        whole[SEQUENCE], clock[FOLLOWED_AT] = sequence, arrival
        return SENDERS
    return GOOD


@helper
def stamp_follows(whole: NDArray[np.int64], clock: Array, stamp: int, arrival: float, timeout: float) -> int:
    """GOOD, NEW_BASE, or what is wrong with the time of a state; 0 for a stamp that is not there."""
    if whole[KNOWN] == 0:
        return NEW_BASE
    if stamp == 0:
        return NO_STAMP if whole[STAMPED] == 1 else GOOD
    if whole[STAMPED] == 0:
        return NEW_BASE
    step, passed = 1e-9 * (stamp - whole[STAMP]), arrival - clock[ARRIVAL]
    clock[STEP] = step
    if stamp == whole[STAMP]:
        return DUPLICATE
    if step < 0.0:
        return NEW_BASE if passed - step > TIME_JUMP else OUT_OF_ORDER
    if passed - step > TIME_JUMP:
        return GOOD  # a pause: nothing to compare with
    drift = clock[DRIFT]
    judged = drift <= REAL_TIME
    least = clock[LEAST]
    if judged:
        least = min(least + drift * (arrival - clock[LEAST_AT]),
                    clock[EARLIER] + drift * (arrival - clock[EARLIER_AT]))
    late = clock[LATE] + passed - step - least
    if late < -AHEAD:
        return NEW_BASE
    if judged and late > timeout:
        clock[FOUND], clock[ALLOWED] = late, timeout
        return DELAYED
    return GOOD


@helper
def place_follows(whole: NDArray[np.int64], clock: Array, table: Array, q: Array, dt: float, reach: float) -> int:
    """Unwrap q, and see whether every joint can have come from its last place; `reach` is dt and the jitter, s."""
    code = GOOD
    for j in range(q.shape[0]):
        before = table[PLACE, j]
        if table[CONTINUOUS, j] != 0.0:
            q[j] -= 2.0 * math.pi * math.floor((q[j] - before) / (2.0 * math.pi) + 0.5)
        moved = abs(q[j] - before)
        allowed = MOVE_FACTOR * table[LIMIT, j] * reach + POSITION_SLACK
        # after a jump `allowed` grows with dt, but a place nearer to where that led is still the jump
        if moved > allowed or moved > abs(q[j] - table[JUMPED, j]):
            table[JUMPED, j] = q[j]
            if code == GOOD:
                whole[JOINT], clock[FOUND], clock[ALLOWED], clock[STEP] = j, q[j] - before, allowed, dt
                code = JUMP
    return code


@helper
def speed_possible(whole: NDArray[np.int64], clock: Array, table: Array, qd: Array) -> int:
    """Whether no velocity is far beyond its limit."""
    for j in range(qd.shape[0]):
        if abs(qd[j]) > SPEED_FACTOR * table[LIMIT, j]:
            whole[JOINT], clock[FOUND], clock[ALLOWED] = j, qd[j], SPEED_FACTOR * table[LIMIT, j]
            return FAST
    return GOOD


@helper
def remember_time(whole: NDArray[np.int64], clock: Array, stamp: int, arrival: float, verdict: int) -> None:
    """Stamp, arrival and lateness of a good state; without a stamp its arrival is its time."""
    step, passed = 1e-9 * (stamp - whole[STAMP]), arrival - clock[ARRIVAL]
    if verdict == NEW_BASE or stamp == 0 or passed - step > TIME_JUMP:  # or a pause: nothing to compare with
        clock[LATE] = clock[LEAST] = 0.0
        clock[LEAST_AT], clock[EARLIER_AT], clock[DRIFT] = arrival, np.nan, np.inf
    else:
        clock[LATE] += passed - step
        if arrival - clock[LEAST_AT] < WINDOW:
            clock[LEAST] = min(clock[LEAST], clock[LATE])
        else:
            if not math.isnan(clock[EARLIER_AT]):
                grown = clock[LEAST] - clock[EARLIER]
                clock[DRIFT] = max(grown / (clock[LEAST_AT] - clock[EARLIER_AT]), 0.0)
            clock[EARLIER], clock[EARLIER_AT] = clock[LEAST], clock[LEAST_AT]
            clock[LEAST], clock[LEAST_AT] = clock[LATE], arrival
    if stamp != 0:
        whole[STAMP] = stamp
    else:
        # whole[STAMP] of another clock must not hold the arrivals back
        now = np.int64(1e9 * arrival)
        whole[STAMP] = now if verdict == NEW_BASE else max(now, whole[STAMP] + 1)
    whole[STAMPED] = 1 if stamp != 0 else 0
    clock[ARRIVAL] = arrival
