"""Time and senders of joint states: order, time bases, lateness, clocks that are not real time, publication numbers.

Lateness is arrival minus stamp, less what it was at the first state of the time base. A delay shows as lateness above
the least so far. That baseline survives the loss of the stream, so that late states do not become the new normal
because there are no others; a new time base, or a restart of the filter, ends it. It rises by `CREEP`,
since two clocks drift apart.

A simulator in real time that has stalled is late for good, and looks like a delay that has come to stay. So where no
bound of its own is given for late states, they are refused against the least lateness of the last second only; what
damps the arm takes the whole baseline for the delay all the same.

A clock that is set back shows in a stamp that is too early for its arrival, and in those after it: they follow each
other, as fast as they arrive, at places that the arm can have. A single message that is late does not, as the next one
is in time; nor does a delay, which leaves the steps of the stamps as they are.

Each publisher counts its messages. One step out of that sequence shows nothing: a sample is delivered twice or late, in
particular while a publisher and a subscription discover each other, or a publisher begins anew. Two publishers show in
an alternation: the sequence followed, another number, the sequence followed, a number that is again not in it.

How many messages may be lost goes by time: that of the stamps too, because a process that was stalled may take an old
message first and the newest one right after it (seen in 3 of 60 starts on a busy machine).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper
from rne_dynamics.control.guards import state_limits as m
from rne_dynamics.control.guards.state_motion import ARRIVAL_JITTER, MOVE_FACTOR, POSITION_SLACK
from rne_dynamics.control.motion.limits import turns_off_kernel
from rne_dynamics.control.thresholds import STREAM_WINDOW
from rne_dynamics.model.inertia import Array

#: States in a row that show that the clock was set back: the first many, or the second many within that time, s. Some
#: network may deliver a few messages late together, and a slow stream has less than `state_timeout` for it.
SET_BACK, SET_BACK_LEAST, SET_BACK_TIME = 5, 3, 20e-3
#: Part of the usual step of the stamps by which one must be too early to be the first of them.
EARLY = 0.5
#: A pause of a clock that is not real time, s: there is nothing to compare with.
PAUSE = 0.5
#: A stamp further ahead than the least late of the last states is another time, since the reference would leap as far:
#: s; and in the first 0.1 s of a stream, whose first states may have waited.
AHEAD, AHEAD_FIRST = 0.03, 0.1
#: Shorter window of the least lateness in the first second of a time base, s.
FIRST_WINDOW = 0.1
#: A clock that loses more than this fraction is not real time: lateness says nothing. One that gains more is refused.
REAL_TIME = 0.05
#: How fast the baseline rises: besides, by what the clock has lost in each of the last two windows, where it is slewed
#: (NTP: 5e-4 at most); and windows in a row with a slow clock after which there is none.
CREEP, SLEW, SLOW_WINDOWS = 2e-4, 1e-3, 3
#: By how much the least lateness of a window may fall, besides, s; and how many windows or leaps in a row show a clock
#: that is too fast.
CATCH_UP, RUSHED = 20e-3, 3


@helper
def set_back(whole: NDArray[np.int64], clock: Array, table: Array, q: Array, stamp: int, arrival: float) -> bool:
    """Whether a state, at q, completes a run that shows that the sender's clock was set back: a new time base."""
    # where the stamps have passed the last good one meanwhile, time goes on; only lateness is counted from there on
    if stamp == 0 or whole[m.STAMPED] == 0 or whole[m.CLOCKED] == 0:
        return False
    step, passed, early = 1e-9 * (stamp - whole[m.STAMP]), arrival - clock[m.ARRIVAL], EARLY * clock[m.PACE]
    late = clock[m.LATE] + passed - step
    if whole[m.BACK] > 0:
        span, lasted = 1e-9 * (stamp - whole[m.BACK_STAMP]), arrival - clock[m.BACK_AT]
        follows = late > clock[m.BACK_LATE] - 0.5 * clock[m.BACK_BY] and span > early * whole[m.BACK]
        for j in range(q.shape[0]):
            turns = table[m.CONTINUOUS, j] * turns_off_kernel(q[j], table[m.BACK_PLACE, j])
            allowed = MOVE_FACTOR * table[m.LIMIT, j] * (lasted + ARRIVAL_JITTER) + POSITION_SLACK
            follows &= abs(q[j] - table[m.BACK_PLACE, j] - 2.0 * math.pi * turns) <= allowed
        if follows:
            whole[m.BACK] += 1
            enough = whole[m.BACK] >= (SET_BACK_LEAST if lasted >= SET_BACK_TIME else SET_BACK)
            if enough and step > 0.0:
                whole[m.BACK] = 0
                for figure in (m.LOWEST, m.LEAST, m.EARLIER):
                    clock[figure] += clock[m.BACK_BY]
            return bool(enough and step <= 0.0 and 0.5 * span <= lasted <= 2.0 * span)
    whole[m.BACK] = 0
    if step < early and passed - step > early:
        whole[m.BACK], whole[m.BACK_STAMP], clock[m.BACK_AT] = 1, stamp, arrival
        clock[m.BACK_LATE], clock[m.BACK_BY] = late, passed - step
        table[m.BACK_PLACE] = q
    return False


@helper
def stamp_follows(whole: NDArray[np.int64], clock: Array, stamp: int, arrival: float, lateness: float) -> int:
    """GOOD, NEW_BASE, or what is wrong with the time of a state; 0 for a stamp that is not there."""
    if whole[m.CLOCKED] == 0 or (stamp != 0 and whole[m.STAMPED] == 0):
        return m.NEW_BASE
    if stamp == 0:
        if whole[m.STAMPED] == 0:
            return m.GOOD
        return m.NO_STAMP if whole[m.KNOWN] == 1 else m.NEW_BASE
    step, passed = 1e-9 * (stamp - whole[m.STAMP]), arrival - clock[m.ARRIVAL]
    clock[m.STEP] = step
    if stamp == whole[m.STAMP]:
        return m.DUPLICATE
    if whole[m.RUSHES] >= RUSHED:
        return m.RUSH
    if step < 0.0:
        return m.OUT_OF_ORDER
    drift = clock[m.DRIFT]
    judged = drift <= REAL_TIME
    if not judged and passed - step > PAUSE:
        return m.GOOD  # a pause: nothing to compare with
    now, least = clock[m.LATE] + passed - step, clock[m.LEAST]
    if judged:
        least = min(least + drift * (arrival - clock[m.LEAST_AT]),
                    clock[m.EARLIER] + drift * (arrival - clock[m.EARLIER_AT]))
    # also where stamps gain on arrivals bit by bit; no comparison holds for an EARLIER_AT that is not known (NaN)
    gained = clock[m.EARLIER] - now - REAL_TIME * (arrival - clock[m.EARLIER_AT])
    ahead = AHEAD if arrival - clock[m.BEGAN] > FIRST_WINDOW else AHEAD_FIRST
    if now - least < -ahead or gained > AHEAD_FIRST:
        return m.NEW_BASE
    if judged and now - least > lateness:
        clock[m.FOUND], clock[m.ALLOWED] = now - least, lateness
        return m.DELAYED
    if clock[m.STRICT] != 0.0 and clock[m.SLOW] < SLOW_WINDOWS and now - clock[m.LOWEST] > lateness:
        clock[m.FOUND], clock[m.ALLOWED] = now - clock[m.LOWEST], lateness
        return m.DELAYED
    return m.GOOD


@helper
def remember_time(whole: NDArray[np.int64], clock: Array, stamp: int, arrival: float, verdict: int) -> None:
    """Stamp, arrival and lateness of a good state; without a stamp its arrival is its time."""
    step, passed = 1e-9 * (stamp - whole[m.STAMP]), arrival - clock[m.ARRIVAL]
    pause = clock[m.DRIFT] > REAL_TIME and passed - step > PAUSE  # nothing to compare with
    if verdict == m.NEW_BASE or stamp == 0 or pause:
        leapt = whole[m.CLOCKED] == 1 and whole[m.STAMPED] == 1 and stamp != 0 and step > 0.0 and not pause
        lasted = clock[m.ARRIVAL] - clock[m.BASED]
        steady = lasted > CATCH_UP and clock[m.LATE] > -REAL_TIME * lasted - 0.5 * CATCH_UP  # set ahead, not fast
        whole[m.RUSHES] = whole[m.RUSHES] + 1 if leapt and not steady else 0
        clock[m.LATE] = clock[m.LEAST] = clock[m.LOWEST] = clock[m.SLOW] = clock[m.SLEWED] = 0.0
        clock[m.LEAST_AT], clock[m.EARLIER_AT], clock[m.DRIFT] = arrival, np.nan, np.inf
        clock[m.BASED] = arrival
    else:
        clock[m.LATE] += passed - step
        clock[m.LOWEST] = min(clock[m.LOWEST] + (CREEP + clock[m.SLEWED]) * passed, clock[m.LATE])
        if whole[m.BACK] == 0:
            clock[m.PACE] = min(step, 1.02 * clock[m.PACE]) if clock[m.PACE] > 0.0 else step
        window = STREAM_WINDOW if arrival - clock[m.BASED] > 2.0 * STREAM_WINDOW else FIRST_WINDOW
        if arrival - clock[m.LEAST_AT] < window:
            clock[m.LEAST] = min(clock[m.LEAST], clock[m.LATE])
        else:
            if not np.isnan(clock[m.EARLIER_AT]):
                grown, span = clock[m.LEAST] - clock[m.EARLIER], clock[m.LEAST_AT] - clock[m.EARLIER_AT]
                drift = max(grown / span, 0.0)
                clock[m.SLEWED], clock[m.DRIFT] = min(clock[m.DRIFT], drift, SLEW), drift
                clock[m.SLOW] = clock[m.SLOW] + 1.0 if clock[m.DRIFT] > REAL_TIME else 0.0
                if clock[m.SLOW] >= SLOW_WINDOWS:
                    clock[m.LOWEST] = clock[m.LATE]
                whole[m.RUSHES] = whole[m.RUSHES] + 1 if grown < -REAL_TIME * span - CATCH_UP else 0
            clock[m.EARLIER], clock[m.EARLIER_AT] = clock[m.LEAST], clock[m.LEAST_AT]
            clock[m.LEAST], clock[m.LEAST_AT] = clock[m.LATE], arrival
    clock[m.LATER] = 0.0 if clock[m.SLOW] >= SLOW_WINDOWS else clock[m.LATE] - clock[m.LOWEST]
    if stamp != 0:
        whole[m.STAMP] = stamp
    else:
        # whole[STAMP] of another clock must not hold the arrivals back
        now = np.int64(1e9 * arrival)
        whole[m.STAMP] = now if verdict == m.NEW_BASE else max(now, whole[m.STAMP] + 1)
    whole[m.STAMPED], whole[m.CLOCKED] = 1 if stamp != 0 else 0, 1
    whole[m.BACK] = 0 if verdict == m.NEW_BASE else whole[m.BACK]
    clock[m.ARRIVAL] = arrival


# -- whether joint states come from one sender, by the middleware's publication sequence numbers -----------------------


#: How long a sender must have been alone to be followed on when a second one comes, and how long a sender must be alone
#: to be taken after there were two, s. That is longer than a stop takes: where the arm's own sender falls silent, the
#: other is not taken for the arm in the middle of it.
ALONE, SETTLED = 1.0, 5.0
#: How many messages in a row may be lost, and how many a second of silence.
LOST, LOST_RATE = 100, 20000.0
#: Longest time between the stamps of two messages for which messages may be lost though they arrive together, s.
STALL = 0.5
#: Changes from one sequence to another and back that prove two senders.
ALTERNATION = 3
#: Messages in a row of a new sequence after which it replaces one that began less than `ALONE` ago.
NEW_STREAM = 5


@helper
def same_sender(whole: NDArray[np.int64], clock: Array, sequence: int, stamp: int, arrival: float) -> int:
    """Whether a message continues the sequence of the sender followed, as far as its number says."""
    if sequence < 0:
        return m.GOOD
    followed, quiet = whole[m.SEQUENCE], arrival - clock[m.FOLLOWED_AT]
    span = quiet
    if whole[m.KNOWN] == 1 and whole[m.STAMPED] == 1 and stamp != 0:
        span = max(span, min(1e-9 * (stamp - whole[m.STAMP]), STALL))
    if followed >= 0 and not continues(sequence - followed, span):
        if redelivered(whole, sequence, stamp):
            clock[m.STEP] = 1e-9 * (stamp - whole[m.STAMP])
            return m.DUPLICATE if stamp == whole[m.STAMP] else m.OUT_OF_ORDER
        again = whole[m.OTHER] >= 0 and continues(sequence - whole[m.OTHER], arrival - clock[m.STRAY_AT])
        whole[m.RUN] = whole[m.RUN] + 1 if again and whole[m.TURN] == 1 else 1
        whole[m.CHANGES] += 1 - whole[m.TURN]
        whole[m.TURN], whole[m.OTHER], clock[m.STRAY_AT] = 1, sequence, arrival
        proved = whole[m.CHANGES] >= ALTERNATION
        if proved:
            clock[m.OTHER_AT] = arrival
        if whole[m.KNOWN] == 1 and arrival - clock[m.BEGAN] >= ALONE and quiet < ALONE:
            return m.SENDERS if proved else m.STRAY  # the sender that was here alone is followed on
        if not proved and whole[m.RUN] < NEW_STREAM and quiet < ALONE:
            return m.STRAY
        if proved or quiet >= ALONE:
            whole[m.KNOWN] = 0  # which of the two is the arm is unknown, or there is a new one
        whole[m.OTHER], clock[m.STRAY_AT] = followed, clock[m.FOLLOWED_AT]
        whole[m.SEQUENCE], clock[m.FOLLOWED_AT], whole[m.TURN], whole[m.RUN] = sequence, arrival, 0, 0
    elif whole[m.TURN] == 1:
        whole[m.CHANGES] += 1
        whole[m.TURN] = 0
    elif arrival - clock[m.STRAY_AT] > ALONE:
        whole[m.CHANGES] = 0
    if whole[m.KNOWN] == 0 and arrival - clock[m.OTHER_AT] < SETTLED:
        whole[m.SEQUENCE], clock[m.FOLLOWED_AT] = sequence, arrival
        return m.SENDERS
    return m.GOOD


@helper
def continues(step: int, quiet: float) -> bool:
    """Whether a number `step` after the last of its sender, `quiet` s ago, can be its next."""
    return 0 < step <= LOST + LOST_RATE * max(quiet, 0.0)


@helper
def redelivered(whole: NDArray[np.int64], sequence: int, stamp: int) -> bool:
    """Whether the message is one of the last of the sender followed, by number and stamp."""
    known = whole[m.KNOWN] == 1 and whole[m.STAMPED] == 1 and 0 < stamp <= whole[m.STAMP]
    return bool(known and -LOST <= int(sequence - whole[m.SEQUENCE]) <= 0)
