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
from rne_dynamics.control.guards import state_memory as m
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
    if whole[m.KNOWN] == 0 or whole[m.STAMPED] == 0 or not 0 < stamp <= whole[m.STAMP]:
        return False
    return -LOST <= int(sequence - whole[m.SEQUENCE]) <= 0
