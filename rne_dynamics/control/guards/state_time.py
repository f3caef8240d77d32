"""Time of joint states: order, time bases, lateness, and clocks that are not real time.

Lateness is arrival minus stamp, less what it was at the first state of the time base. A delay shows as lateness above
the least so far. That baseline survives the loss of the stream, so that late states do not become the new normal
because there are no others; a new time base, or a restart of the filter, ends it. It rises by `CREEP`,
since two clocks drift apart.

A simulator in real time that has stalled is late for good, and looks like a delay that has come to stay. So where no
bound of its own is given for late states, they are refused against the least lateness of the last second only; what
damps the arm takes the whole baseline for the delay all the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper
from rne_dynamics.control.guards.state_memory import (
    ALLOWED,
    ARRIVAL,
    BASED,
    CLOCKED,
    DELAYED,
    DRIFT,
    DUPLICATE,
    EARLIER,
    EARLIER_AT,
    FOUND,
    GOOD,
    KNOWN,
    LATE,
    LATER,
    LEAST,
    LEAST_AT,
    LOWEST,
    NEW_BASE,
    NO_STAMP,
    OUT_OF_ORDER,
    RUSH,
    RUSHES,
    SLOW,
    STAMP,
    STAMPED,
    STEP,
    STRICT,
)
from rne_dynamics.model.inertia import Array

#: A stamp further back than this against the arrival is another time, s.
TIME_JUMP = 0.5
#: So is one further ahead than the least late of the last states, since the reference would leap as far: s; and in the
#: first 0.1 s of a time base, whose first states may have waited.
AHEAD, AHEAD_FIRST = 0.03, 0.1
#: Over how long the least lateness is taken, s; the shorter one in the first second of a time base.
WINDOW, FIRST_WINDOW = 0.5, 0.1
#: A clock that loses more than this fraction is not real time: lateness says nothing. One that gains more is refused.
REAL_TIME = 0.05
#: How fast the baseline rises; and windows in a row with a slow clock after which there is none.
CREEP, SLOW_WINDOWS = 2e-4, 3
#: By how much the least lateness of a window may fall, besides, s; and how many windows or leaps in a row show a clock
#: that is too fast.
CATCH_UP, RUSHED = 20e-3, 3


@helper
def stamp_follows(whole: NDArray[np.int64], clock: Array, stamp: int, arrival: float, lateness: float) -> int:
    """GOOD, NEW_BASE, or what is wrong with the time of a state; 0 for a stamp that is not there."""
    if whole[CLOCKED] == 0:
        return NEW_BASE
    if stamp == 0:
        if whole[STAMPED] == 0:
            return GOOD
        return NO_STAMP if whole[KNOWN] == 1 else NEW_BASE
    if whole[STAMPED] == 0:
        return NEW_BASE
    step, passed = 1e-9 * (stamp - whole[STAMP]), arrival - clock[ARRIVAL]
    clock[STEP] = step
    if stamp == whole[STAMP]:
        return DUPLICATE
    if whole[RUSHES] >= RUSHED:
        return RUSH
    if step < 0.0:
        return NEW_BASE if passed - step > TIME_JUMP else OUT_OF_ORDER
    drift = clock[DRIFT]
    judged = drift <= REAL_TIME
    if not judged and passed - step > TIME_JUMP:
        return GOOD  # a pause: nothing to compare with
    now, least = clock[LATE] + passed - step, clock[LEAST]
    if judged:
        least = min(least + drift * (arrival - clock[LEAST_AT]),
                    clock[EARLIER] + drift * (arrival - clock[EARLIER_AT]))
    # also where stamps gain on arrivals bit by bit; no comparison holds for an EARLIER_AT that is not known (NaN)
    gained = clock[EARLIER] - now - REAL_TIME * (arrival - clock[EARLIER_AT])
    ahead = AHEAD if arrival - clock[BASED] > FIRST_WINDOW else AHEAD_FIRST
    if now - least < -ahead or gained > AHEAD_FIRST:
        return NEW_BASE
    if judged and now - least > lateness:
        clock[FOUND], clock[ALLOWED] = now - least, lateness
        return DELAYED
    if clock[STRICT] != 0.0 and clock[SLOW] < SLOW_WINDOWS and now - clock[LOWEST] > lateness:
        clock[FOUND], clock[ALLOWED] = now - clock[LOWEST], lateness
        return DELAYED
    return GOOD


@helper
def remember_time(whole: NDArray[np.int64], clock: Array, stamp: int, arrival: float, verdict: int) -> None:
    """Stamp, arrival and lateness of a good state; without a stamp its arrival is its time."""
    step, passed = 1e-9 * (stamp - whole[STAMP]), arrival - clock[ARRIVAL]
    pause = clock[DRIFT] > REAL_TIME and passed - step > TIME_JUMP  # nothing to compare with
    if verdict == NEW_BASE or stamp == 0 or pause:
        leapt = whole[CLOCKED] == 1 and whole[STAMPED] == 1 and stamp != 0 and step > 0.0 and not pause
        whole[RUSHES] = whole[RUSHES] + 1 if leapt else 0
        clock[LATE] = clock[LEAST] = clock[LOWEST] = clock[SLOW] = 0.0
        clock[LEAST_AT], clock[EARLIER_AT], clock[DRIFT] = arrival, np.nan, np.inf
        clock[BASED] = arrival
    else:
        clock[LATE] += passed - step
        clock[LOWEST] = min(clock[LOWEST] + CREEP * passed, clock[LATE])
        if arrival - clock[LEAST_AT] < (WINDOW if arrival - clock[BASED] > 2.0 * WINDOW else FIRST_WINDOW):
            clock[LEAST] = min(clock[LEAST], clock[LATE])
        else:
            if not np.isnan(clock[EARLIER_AT]):
                grown, span = clock[LEAST] - clock[EARLIER], clock[LEAST_AT] - clock[EARLIER_AT]
                clock[DRIFT] = max(grown / span, 0.0)
                clock[SLOW] = clock[SLOW] + 1.0 if clock[DRIFT] > REAL_TIME else 0.0
                if clock[SLOW] >= SLOW_WINDOWS:
                    clock[LOWEST] = clock[LATE]
                whole[RUSHES] = whole[RUSHES] + 1 if grown < -REAL_TIME * span - CATCH_UP else 0
            clock[EARLIER], clock[EARLIER_AT] = clock[LEAST], clock[LEAST_AT]
            clock[LEAST], clock[LEAST_AT] = clock[LATE], arrival
    clock[LATER] = 0.0 if clock[SLOW] >= SLOW_WINDOWS else clock[LATE] - clock[LOWEST]
    if stamp != 0:
        whole[STAMP] = stamp
    else:
        # whole[STAMP] of another clock must not hold the arrivals back
        now = np.int64(1e9 * arrival)
        whole[STAMP] = now if verdict == NEW_BASE else max(now, whole[STAMP] + 1)
    whole[STAMPED], whole[CLOCKED] = 1 if stamp != 0 else 0, 1
    clock[ARRIVAL] = arrival
