"""Whether joint states come from one sender, by the middleware's publication sequence numbers.

Each publisher counts its messages. One step out of that sequence shows nothing: a sample is delivered twice or late, in
particular while a publisher and a subscription discover each other, or a publisher begins anew. Two publishers show in
an alternation: the sequence followed, another number, the sequence followed, a number that is again not in it.

How many messages may be lost goes by time: that of the stamps too, because a process that was stalled may take an old
message first and the newest one right after it (seen in 3 of 60 starts on a busy machine).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper
from rne_dynamics.control.guards.state_memory import (
    BEGAN,
    CHANGES,
    DUPLICATE,
    FOLLOWED_AT,
    GOOD,
    KNOWN,
    OTHER,
    OTHER_AT,
    OUT_OF_ORDER,
    RUN,
    SENDERS,
    SEQUENCE,
    STAMP,
    STAMPED,
    STEP,
    STRAY,
    STRAY_AT,
    TURN,
)
from rne_dynamics.model.inertia import Array

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
        return GOOD
    followed, quiet = whole[SEQUENCE], arrival - clock[FOLLOWED_AT]
    span = quiet
    if whole[KNOWN] == 1 and whole[STAMPED] == 1 and stamp != 0:
        span = max(span, min(1e-9 * (stamp - whole[STAMP]), STALL))
    if followed >= 0 and not continues(sequence - followed, span):
        if redelivered(whole, sequence, stamp):
            clock[STEP] = 1e-9 * (stamp - whole[STAMP])
            return DUPLICATE if stamp == whole[STAMP] else OUT_OF_ORDER
        again = whole[OTHER] >= 0 and continues(sequence - whole[OTHER], arrival - clock[STRAY_AT])
        whole[RUN] = whole[RUN] + 1 if again and whole[TURN] == 1 else 1
        whole[CHANGES] += 1 - whole[TURN]
        whole[TURN], whole[OTHER], clock[STRAY_AT] = 1, sequence, arrival
        proved = whole[CHANGES] >= ALTERNATION
        if proved:
            clock[OTHER_AT] = arrival
        if whole[KNOWN] == 1 and arrival - clock[BEGAN] >= ALONE and quiet < ALONE:
            return SENDERS if proved else STRAY  # the sender that was here alone is followed on
        if not proved and whole[RUN] < NEW_STREAM and quiet < ALONE:
            return STRAY
        if proved or quiet >= ALONE:
            whole[KNOWN] = 0  # which of the two is the arm is unknown, or there is a new one
        whole[OTHER], clock[STRAY_AT] = followed, clock[FOLLOWED_AT]
        whole[SEQUENCE], clock[FOLLOWED_AT], whole[TURN], whole[RUN] = sequence, arrival, 0, 0
    elif whole[TURN] == 1:
        whole[CHANGES] += 1
        whole[TURN] = 0
    elif arrival - clock[STRAY_AT] > ALONE:
        whole[CHANGES] = 0
    if whole[KNOWN] == 0 and arrival - clock[OTHER_AT] < SETTLED:
        whole[SEQUENCE], clock[FOLLOWED_AT] = sequence, arrival
        return SENDERS
    return GOOD


@helper
def continues(step: int, quiet: float) -> bool:
    """Whether a number `step` after the last of its sender, `quiet` s ago, can be its next."""
    return 0 < step <= LOST + LOST_RATE * max(quiet, 0.0)


@helper
def redelivered(whole: NDArray[np.int64], sequence: int, stamp: int) -> bool:
    """Whether the message is one of the last of the sender followed, by number and stamp."""
    if whole[KNOWN] == 0 or whole[STAMPED] == 0 or not 0 < stamp <= whole[STAMP]:
        return False
    return -LOST <= int(sequence - whole[SEQUENCE]) <= 0
