"""Detection of a loop that oscillates: position errors that swing to and fro fast, and do not decay.

After `LEAST_SWINGS` such swings in a row the loop itself feeds them: delay, elastic gears or wrong inertia are more
than its gains tolerate. Swings that elastic gears make by themselves decay.
"""

from __future__ import annotations

from rne_dynamics.compiling.jit import in_place_kernel
from rne_dynamics.model.inertia import Array

#: Longest swing, in 1/ω with ω = √p or d / 2: a late loop swings no slower. Shortest one, s: noise is faster.
SLOWEST, SHORTEST_SWING = 3.0, 0.0025
#: Smallest swing, in the way at the velocity limit in this time, s, in steps of the encoder, and in the way at the
#: velocity limit in the time that it takes: neither encoders nor friction and play of gears make larger ones.
LEAST_TIME, ENCODER_STEPS, LEAST_SPEED = 1.5e-4, 3.0, 0.02
#: Part of the last swing the same way that is left of one that does not decay; and growth that counts twice.
KEPT, GROWN = 0.8, 1.8
#: Swings in a row that show an oscillation, and that must pass after the feedback was lowered.
LEAST_SWINGS, SWING_PAUSE = 4.0, 2.0

# rows of the memory: direction, where it turned last and when, the extreme since and when, the last swing and the one
# before, how many in a row; longest swing, s, and velocity limit
_WAY, _FROM, _FROM_AT, _EXTREME, _EXTREME_AT, _LAST, _BEFORE, COUNT, LONGEST, LIMIT, SWING_ROWS = range(11)


@in_place_kernel
def swing_kernel(memory: Array, aim: Array, q: Array, finest: Array, t: float) -> int:
    """Take the state of the time `t`, s; the joint that oscillates, or −1.

    `memory` (`SWING_ROWS`, n), zero at first but for its last rows; `finest`, (n,), are steps of the encoders.
    """
    found = -1
    for j in range(q.shape[0]):
        e, way, limit = aim[j] - q[j], memory[_WAY, j], memory[LIMIT, j]
        if way == 0.0:
            memory[_WAY, j], memory[_FROM, j], memory[_EXTREME, j] = 1.0, e, e
            memory[_FROM_AT, j] = memory[_EXTREME_AT, j] = t
        elif way * (e - memory[_EXTREME, j]) >= 0.0:
            memory[_EXTREME, j], memory[_EXTREME_AT, j] = e, t
        elif abs(e - memory[_EXTREME, j]) > max(LEAST_TIME * limit, ENCODER_STEPS * finest[j]):
            swing, lasted = abs(memory[_EXTREME, j] - memory[_FROM, j]), memory[_EXTREME_AT, j] - memory[_FROM_AT, j]
            before = memory[_BEFORE, j]
            least = max(LEAST_SPEED * limit * lasted, KEPT * before)
            fed = SHORTEST_SWING <= lasted <= memory[LONGEST, j] and swing >= least
            more = 2.0 if swing > GROWN * before > 0.0 else 1.0
            memory[COUNT, j] = memory[COUNT, j] + more if fed else min(memory[COUNT, j], 0.0)
            memory[_BEFORE, j], memory[_LAST, j], memory[_WAY, j] = memory[_LAST, j], swing, -way
            memory[_FROM, j], memory[_FROM_AT, j] = memory[_EXTREME, j], memory[_EXTREME_AT, j]
            memory[_EXTREME, j], memory[_EXTREME_AT, j] = e, t
            if memory[COUNT, j] >= LEAST_SWINGS:
                found = j
    return found
