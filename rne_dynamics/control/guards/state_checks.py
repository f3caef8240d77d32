"""The checks of `StateFilter`, all joints in one compiled call.

A refusal writes nothing but the figures of its message, what was seen of other senders, how often in a row a velocity
was refused, which place a jump led to, and which reading is frozen.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, in_place_kernel
from rne_dynamics.control.guards.state_memory import (
    ALLOWED,
    ARRIVAL,
    BEGAN,
    DOUBTED_AT,
    EXCESSES,
    EXPECTED_AT,
    FOLLOWED_AT,
    FOUND,
    GOOD,
    JOINT,
    JUMP,
    KNOWN,
    LATENESS,
    NEW_BASE,
    NOT_FINITE,
    OUT_OF_RANGE,
    RATE,
    SEQUENCE,
    STAMP,
    WRONG_SHAPE,
)
from rne_dynamics.control.guards.state_motion import (
    ARRIVAL_JITTER,
    STAMP_JITTER,
    leave_out,
    not_frozen,
    place_follows,
    remember_motion,
    velocity_usable,
)
from rne_dynamics.control.guards.state_senders import same_sender
from rne_dynamics.control.guards.state_time import remember_time, set_back, stamp_follows
from rne_dynamics.model.inertia import Array

#: Positions and velocities beyond this are no arm's, rad or m, rad/s or m/s.
FARTHEST = 1e6
#: Age from which on what the law said of its reference is not used, s.
OLD = 50e-3
#: Time after an effort was limited in which joints catch up, and show little of what they need, s.
RECOVERY = 0.5


@in_place_kernel
def check_state(
    whole: NDArray[np.int64],
    clock: Array,
    table: Array,
    q: Array,
    qd: Array,
    stamp: int,
    arrival: float,
    sequence: int,
    missing: bool,
) -> int:
    """One state: GOOD or NEW_BASE, remembered, with q unwrapped and qd filled in; or why it is refused.

    The first three are the filter's memory, see `state_memory`; `sequence` is -1 where it is not known, the others as
    for `StateFilter.accept`.
    """
    if q.shape[0] != table.shape[1] or qd.shape[0] != table.shape[1]:
        return WRONG_SHAPE
    code = values_usable(whole, clock, q, qd, missing, arrival)
    if code == GOOD:
        code = same_sender(whole, clock, sequence, stamp, arrival)
    if code != GOOD:
        return code
    anew = set_back(whole, clock, table, q, stamp, arrival)
    verdict = NEW_BASE if anew else stamp_follows(whole, clock, stamp, arrival, clock[LATENESS])
    if verdict > NEW_BASE:
        return verdict
    began = whole[KNOWN] == 0
    expecting = arrival - clock[EXPECTED_AT] < OLD and not began
    dt, jitter = arrival - clock[ARRIVAL], ARRIVAL_JITTER
    if verdict == GOOD and stamp != 0:
        dt, jitter = 1e-9 * (stamp - whole[STAMP]), STAMP_JITTER
    dt = 0.0 if began else max(dt, 0.0)
    if not began:
        leave_out(table, q, qd, dt)
        code = place_follows(whole, clock, table, q, dt, dt + jitter)
        if code == JUMP and anew:  # a simulation that was reset: time and place are new
            began, expecting, code = True, False, GOOD
        elif code == GOOD:
            code = not_frozen(whole, clock, table, q, expecting)
    if code == GOOD:
        apart = began or (anew and not missing)  # a reset may move a joint by less than shows
        code = velocity_usable(whole, clock, table, q, qd, dt, jitter, clock[RATE], missing, apart)
    if code != GOOD:
        return code
    remember_motion(table, q, qd, dt, missing, began, expecting, arrival - clock[DOUBTED_AT] > RECOVERY)
    remember_time(whole, clock, stamp, arrival, verdict)
    if began:
        clock[BEGAN] = arrival
    if sequence >= 0:
        whole[SEQUENCE], clock[FOLLOWED_AT] = sequence, arrival
    whole[KNOWN], whole[EXCESSES] = 1, 0
    return NEW_BASE if began else verdict


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
