"""The checks of `StateFilter`, all joints in one compiled call.

A refusal writes nothing but the figures of its message, what was seen of other senders, how often in a row a velocity
was refused, which place a jump led to, and which reading is frozen.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.control.guards import state_memory as m
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
from rne_dynamics.control.thresholds import ABSURD
from rne_dynamics.model.inertia import Array

#: Age from which on what the law said of its reference is not used, s.
OLD = 50e-3
#: Time after an effort was limited in which joints catch up, and show little of what they need, s.
RECOVERY = 0.5


@kernel
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
        return m.WRONG_SHAPE
    code = values_usable(whole, clock, q, qd, missing, arrival)
    if code == m.GOOD:
        code = same_sender(whole, clock, sequence, stamp, arrival)
    if code != m.GOOD:
        return code
    anew = set_back(whole, clock, table, q, stamp, arrival)
    verdict = m.NEW_BASE if anew else stamp_follows(whole, clock, stamp, arrival, clock[m.LATENESS])
    if verdict > m.NEW_BASE:
        return verdict
    began = whole[m.KNOWN] == 0
    expecting = arrival - clock[m.EXPECTED_AT] < OLD and not began
    dt, jitter = arrival - clock[m.ARRIVAL], ARRIVAL_JITTER
    if verdict == m.GOOD and stamp != 0:
        dt, jitter = 1e-9 * (stamp - whole[m.STAMP]), STAMP_JITTER
    dt = 0.0 if began else max(dt, 0.0)
    if not began:
        leave_out(table, q, qd, dt)
        code = place_follows(whole, clock, table, q, dt, dt + jitter)
        if code == m.JUMP and anew:  # a simulation that was reset: time and place are new
            began, expecting, code = True, False, m.GOOD
        elif code == m.GOOD:
            code = not_frozen(whole, clock, table, q, expecting)
    if code == m.GOOD:
        apart = began or (anew and not missing)  # a reset may move a joint by less than shows
        code = velocity_usable(whole, clock, table, q, qd, dt, jitter, clock[m.RATE], missing, apart)
    if code != m.GOOD:
        return code
    remember_motion(table, q, qd, dt, missing, began, expecting, arrival - clock[m.DOUBTED_AT] > RECOVERY)
    remember_time(whole, clock, stamp, arrival, verdict)
    if began:
        clock[m.BEGAN] = arrival
    if sequence >= 0:
        whole[m.SEQUENCE], clock[m.FOLLOWED_AT] = sequence, arrival
    whole[m.KNOWN], whole[m.EXCESSES] = 1, 0
    return m.NEW_BASE if began else verdict


@helper
def values_usable(whole: NDArray[np.int64], clock: Array, q: Array, qd: Array, missing: bool, arrival: float) -> int:
    """Finite, and not beyond anything that an arm can do."""
    if not math.isfinite(arrival):
        whole[m.JOINT], clock[m.FOUND] = -1, arrival
        return m.NOT_FINITE
    for j in range(q.shape[0]):
        value = q[j]
        if abs(value) <= ABSURD and not missing:
            value = qd[j]
        if not abs(value) <= ABSURD:  # also where it is NaN
            whole[m.JOINT], clock[m.FOUND], clock[m.ALLOWED] = j, value, ABSURD
            return m.OUT_OF_RANGE if math.isfinite(value) else m.NOT_FINITE
    return m.GOOD
