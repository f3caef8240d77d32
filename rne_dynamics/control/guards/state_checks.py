"""The checks of `StateFilter`, all joints in one compiled call.

A refusal writes nothing but the figures of its message, what was seen of other senders, how often in a row a velocity
was refused, which place a jump led to, and which reading is frozen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.control.guards import state_limits as m
from rne_dynamics.control.guards import state_limits as memory
from rne_dynamics.control.guards.state_motion import (
    ARRIVAL_JITTER,
    STAMP_JITTER,
    leave_out,
    not_frozen,
    place_follows,
    remember_motion,
    velocity_usable,
)
from rne_dynamics.control.guards.state_time import remember_time, same_sender, set_back, stamp_follows
from rne_dynamics.control.thresholds import ABSURD
from rne_dynamics.errors import StateError, StateProblem
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

    The first three are the filter's memory, see `state_limits`; `sequence` is -1 where it is not known, the others as
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


# -- why `StateFilter` has refused a joint state: kind and text --------------------------------------------------------


#: By answer of `check_state`: the problem, and its text, which takes `name` of the joint, its velocity `limit`, and the
#: figures `found`, `allowed` and `step` that the check has left.
_REFUSALS = {
    memory.NOT_FINITE: (StateProblem.NOT_FINITE, "a value of {name} is {found}; it must be finite"),
    memory.OUT_OF_RANGE: (
        StateProblem.OUT_OF_RANGE, "a value of {name} is {found:g}, beyond +-{allowed:g}; is its unit rad or m?",
    ),
    memory.NO_STAMP: (
        StateProblem.NO_STAMP, "its stamp is zero, those before were not; stamp every state or none",
    ),
    memory.DUPLICATE: (
        StateProblem.DUPLICATE_STAMP,
        "it has the stamp of the one before; every state needs a time of its own",
    ),
    memory.OUT_OF_ORDER: (
        StateProblem.OUT_OF_ORDER, "its stamp is {before:.6f} s before that of the one before",
    ),
    memory.DELAYED: (
        StateProblem.DELAYED,
        "it is {found:.3f} s later than others before it; {allowed:.3g} allowed (the smaller one of state_timeout and "
        "the delay that the gains tolerate). For a slowing simulation set use_sim_time",
    ),
    memory.JUMP: (
        StateProblem.POSITION_JUMP,
        "{name} {way} at its velocity limit {limit:g}. Is there a second sender, has an encoder slipped, is the limit "
        "too low, was the arm hit?",
    ),
    memory.FAST: (StateProblem.TOO_FAST, "velocity of {name} is {found:.4g}, far beyond its limit {limit:g}"),
    memory.SENDERS: (StateProblem.TWO_SENDERS, "two publishers send these joints; stop one of them"),
    memory.STRAY: (
        StateProblem.OUT_OF_ORDER,
        "its publication number does not follow that of the one before: delivered late, or a new publisher",
    ),
    memory.RUSH: (
        StateProblem.CLOCK_TOO_FAST,
        "stamps run ahead of real time by more than 5 %, so motions would be faster than was checked; for a fast "
        "simulation set use_sim_time",
    ),
    memory.FROZEN: (
        StateProblem.FROZEN,
        "position of {name} has stood still for {step:.3f} s, in which its effort must have moved it by {found:.2g} or "
        "more. Is the encoder's reading frozen, the brake closed, or the joint held by something?",
    ),
}

#: A stream that was lost for these is used again on request only: after a jump the position may be wrong, and the age
#: of late states shows only against earlier ones. An arm held by such states moves off or swings.
DOUBTED = frozenset({StateProblem.POSITION_JUMP, StateProblem.DELAYED, StateProblem.CLOCK_TOO_FAST})


def refusal(code: int, clock: Array, joint: int, joints: Sequence[str], velocity: Array) -> StateError:
    """The error for an answer of `check_state`.

    `code`: the answer. `clock`: the filter's memory of numbers, in which the check has left what it found and what is
    allowed. `joint`: the joint it is about; below 0 for none. `joints`, `velocity`: names of all joints and their
    velocity limits, rad/s or m/s; shape (n,).
    """
    found, allowed, step = (float(clock[k]) for k in (memory.FOUND, memory.ALLOWED, memory.STEP))
    way = (
        f"is {found:.6g} from its last good place after {step:.6f} s; at most {allowed:.4g} is possible"
        if abs(found) > allowed else
        f"has jumped, and stays {found:.6g} from its last good place: the first state there came too soon"
    )
    problem, text = _REFUSALS[code]
    reason = text.format(
        name=f"joint {joints[joint]!r}" if joint >= 0 else "its arrival", limit=velocity[joint], found=found,
        allowed=allowed, step=step, before=-step, way=way,
    )
    return StateError(f"joint state: {reason}", problem)
