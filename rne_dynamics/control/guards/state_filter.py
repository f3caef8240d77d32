"""Checks of each joint state before the law uses it.

==================================  ==================================================================================
of a state                          reaction
==================================  ==================================================================================
the first, and after `reset`        taken as it is; a missing velocity is 0. A `restart` forgets the time base too
a value that is NaN or infinite     refused, "not finite"
a value beyond 1e6 rad, m (a s)     refused, "out of range"
the stamp of the last one           refused, "duplicate stamp": a frozen stream becomes stale at any rate
stamp before the last one           refused, "out of order"; `state_time` says when the clock was set back
stamp 30 ms ahead of the least late the clock was set: a new time base. The place must follow all the same, so that a
of the last states, at first 0.1 s  broken message is not taken for a new time
stamp zero in a stream with stamps  refused, "no stamp"; so is a negative one
stamp zero always                   the arrival is the stamp; order and lateness are then not judged
later than the least late of the    refused, "delayed", also across a `reset`: a stream that comes back late stays
last second by > `timeout` or       refused until `restart` or a new time base. Judged from 0.2 s on, and only where the
> `lateness`                        stamps keep up with real time within 5 %: a simulator that is slower passes; one
                                    that slows down all at once is refused
stamps that gain on arrivals by     refused until `restart`, "clock too fast": a motion would be faster than was
more than 5 % and 20 ms a window    checked. Found after three windows: 0.3 s in the first second, 1.5 s later;
                                    a gain of more than 0.1 s is a new time base each time
further than 2 · velocity limit     refused, "position jump". A stream that stays where it jumped to is refused until
· (dt + 2 ms) + 2 mrad (mm)         `reset`, which staleness leads to; one that comes back goes on
position off by turns               of a continuous joint: unwrapped
position frozen in motion           refused once, "frozen"; dead reckoning until `restart`; see `state_motion`
velocity beyond 5 · its limit       refused, "too fast"; three in a row: estimated from then on until `restart`
velocity against the positions      estimated from then on until `restart`; see `state_motion`
velocity missing                    estimated, see `state_motion`
publication number that does not    refused, "out of order"; the fifth of a sequence of its own is a new sender, if the
follow                              one before began less than 1 s ago, and the first after 1 s without that one
two senders of these joints         refused, "two senders": only the other's where one was alone for a second, both
                                    otherwise. Then one must be alone for 5 s, also across a `reset`
==================================  ==================================================================================

Two senders are distinguished by the middleware's publication sequence number, see `state_time`. Where the middleware
has none, two senders who agree pass, and one that says another place than the other is refused for its jumps.

dt is the step of the stamps; where there are none, or they are a new time, that of the arrivals, with 10 ms for their
jitter.

A refusal writes nothing but the figures of its message, what was seen of other senders, how often in a row a velocity
was refused, which place a jump led to, and which reading is frozen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.control.control_law import FEEDBACK, FRICTION, Reference, TorqueTerms
from rne_dynamics.control.guards import state_limits as m
from rne_dynamics.control.guards.state_limits import StateLimits
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
from rne_dynamics.errors import ControlError, StateError, StateProblem
from rne_dynamics.model.inertia import Array

#: Age from which on what the law said of its reference is not used, s.
OLD = 50e-3
#: Time after an effort was limited in which joints catch up, and show little of what they need, s.
RECOVERY = 0.5


@kernel
def check_state(
    whole: NDArray[np.int64], clock: Array, table: Array, q: Array, qd: Array, stamp: int, arrival: float,
    sequence: int, missing: bool,
) -> int:
    """One state: GOOD or NEW_BASE, remembered, with q unwrapped and qd filled in; or why it is refused."""
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
    m.NOT_FINITE: (StateProblem.NOT_FINITE, "a value of {name} is {found}; it must be finite"),
    m.OUT_OF_RANGE: (
        StateProblem.OUT_OF_RANGE, "a value of {name} is {found:g}, beyond +-{allowed:g}; is its unit rad or m?",
    ),
    m.NO_STAMP: (
        StateProblem.NO_STAMP, "its stamp is zero, those before were not; stamp every state or none",
    ),
    m.DUPLICATE: (
        StateProblem.DUPLICATE_STAMP,
        "it has the stamp of the one before; every state needs a time of its own",
    ),
    m.OUT_OF_ORDER: (
        StateProblem.OUT_OF_ORDER, "its stamp is {before:.6f} s before that of the one before",
    ),
    m.DELAYED: (
        StateProblem.DELAYED,
        "it is {found:.3f} s later than others before it; {allowed:.3g} allowed (the smaller one of state_timeout and "
        "the delay that the gains tolerate). For a slowing simulation set use_sim_time",
    ),
    m.JUMP: (
        StateProblem.POSITION_JUMP,
        "{name} {way} at its velocity limit {limit:g}. Is there a second sender, has an encoder slipped, is the limit "
        "too low, was the arm hit?",
    ),
    m.FAST: (StateProblem.TOO_FAST, "velocity of {name} is {found:.4g}, far beyond its limit {limit:g}"),
    m.SENDERS: (StateProblem.TWO_SENDERS, "two publishers send these joints; stop one of them"),
    m.STRAY: (
        StateProblem.OUT_OF_ORDER,
        "its publication number does not follow that of the one before: delivered late, or a new publisher",
    ),
    m.RUSH: (
        StateProblem.CLOCK_TOO_FAST,
        "stamps run ahead of real time by more than 5 %, so motions would be faster than was checked; for a fast "
        "simulation set use_sim_time",
    ),
    m.FROZEN: (
        StateProblem.FROZEN,
        "position of {name} has stood still for {step:.3f} s, in which its effort must have moved it by {found:.2g} or "
        "more. Is the encoder's reading frozen, the brake closed, or the joint held by something?",
    ),
}

#: A stream that was lost for these is used again on request only: after a jump the position may be wrong, and the age
#: of late states shows only against earlier ones. An arm held by such states moves off or swings.
DOUBTED = frozenset({StateProblem.POSITION_JUMP, StateProblem.DELAYED, StateProblem.CLOCK_TOO_FAST})


def refusal(code: int, clock: Array, joint: int, joints: Sequence[str], velocity: Array) -> StateError:
    """The error for an answer of `check_state` about a `joint`, below 0 for none, from the figures left in `clock`."""
    found, allowed, step = (float(clock[k]) for k in (m.FOUND, m.ALLOWED, m.STEP))
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


# -- checks of each joint state before the law uses it -----------------------------------------------------------------


#: Stamps from here on are none, ns: int64 must hold their differences.
_LAST = 2**62


class StateFilter:
    """Joint states checked one by one against those before them; the module's table says how."""

    def __init__(self, limits: StateLimits) -> None:
        self._whole, self._clock = np.zeros(m.WHOLE, dtype=np.int64), np.zeros(m.SIZE)
        self._wholes, self._times = self._whole.data, self._clock.data  # items as numbers of Python
        self._table = np.zeros((m.TABLE, len(limits.joints)))
        self._expected, self._asked, self._push = (
            self._table[row] for row in (m.EXPECTED, m.ASKED, m.PUSH)
        )
        #: Positions and velocities of the last good state, unwrapped; what unwrapping has added to the positions; the
        #: smallest change of each position so far. rad or m, and per s; shape (n,) each, the filter's own memory.
        self.place, self.speed, self.unwrapped, self.finest = (
            np.asarray(self._table[row]) for row in (m.PLACE, m.SPEED, m.UNWRAPPED, m.FINEST)
        )
        #: Time of the last good state, ns: its stamp, or its arrival where the stream has no stamps. How much later it
        #: came than the least late one of its time base, s; 0 where unknown.
        self.stamp, self.late = 0, 0.0
        self._inertia: Array = np.ones(len(limits.joints))
        self.limits = limits
        self._noted: tuple[float, Reference | None, TorqueTerms | Array, Array] | None = None
        self.change(limits)
        self.accept(1, 0.0, np.zeros(len(limits.joints)), np.zeros(len(limits.joints)))  # compiles before it matters
        self._clock[m.OTHER_AT] = self._clock[m.STRAY_AT] = -np.inf
        self._table[m.FINEST] = np.inf
        self.restart()

    @property
    def borne(self) -> Array:
        """What joints whose reading is frozen needed on average in motion besides gravity, N·m or N; shape (n,)."""
        return np.asarray(self._table[m.DEAD] * self._table[m.BORNE] * self._inertia)

    @property
    def estimated(self) -> tuple[str, ...]:
        """Joints whose reported velocity contradicts their positions, so that it is estimated until `restart`."""
        return tuple(compress(self.limits.joints, self._table[m.DISTRUSTED]))

    def place_is_new(self, arrival: float) -> bool:
        """Whether the good state of that `arrival`, s, was taken wherever it was: the first, or that of a reset."""
        return bool(self._clock[m.BEGAN] == arrival)

    def reset(self) -> None:
        """Accept the next state at any position, after a gap; senders, time base and wrong velocities stay known."""
        self._noted = None
        self._whole[m.KNOWN], self._whole[m.EXCESSES] = 0, 0
        self._whole[m.SEQUENCE] = self._whole[m.OTHER] = -1
        self._whole[m.TURN] = self._whole[m.RUN] = 0
        self._table[list(m.MOTION)] = 0.0
        self._table[m.JUMPED] = self._table[m.REPORTED] = np.nan
        self._clock[m.EXPECTED_AT] = self._clock[m.DOUBTED_AT] = -np.inf

    def restart(self) -> None:
        """Take the next state as the first of all, whatever its time; what is known of a second sender stays."""
        self.reset()
        self._whole[m.CLOCKED] = self._whole[m.RUSHES] = 0
        self._table[m.DISTRUSTED] = self._table[m.DEAD] = 0.0

    def expect(self, now: float, reference: Reference | None, terms: TorqueTerms | Array, inertia: Array) -> None:
        """Note what the law expects at `now`, s, for readings that stand still; counts for 50 ms; `inertia`: (n,)."""
        self._noted = now, reference, terms, inertia

    def doubt(self, now: float) -> None:
        """The joints do not get what `expect` has noted, at `now`, s: what they need is not learnt from that."""
        self._clock[m.DOUBTED_AT] = now

    def settle(self) -> None:
        """Take over what `expect` has noted: a microsecond that need not pass before the effort is sent."""
        if self._noted is None:
            return
        now, reference, terms, inertia = self._noted
        self._noted = None
        np.add(terms[FRICTION], terms[FEEDBACK], out=self._push)
        self._push /= inertia
        if inertia is not self._inertia:
            self._inertia = inertia
            self._table[m.WITHSTOOD] = np.asarray(self.limits.coulomb) / inertia
        self._clock[m.EXPECTED_AT] = -np.inf if reference is None else now
        if reference is not None:
            self._expected[:], self._asked[:] = reference.qd, reference.qdd

    def change(self, limits: StateLimits) -> None:
        """Expect something else from the next state on; `ControlError` for other joints."""
        if limits.joints != self.limits.joints:
            raise ControlError(f"limits are for {limits.joints}; the filter has {self.limits.joints}")
        self.limits = limits
        timeout = limits.timeout or math.inf
        self._clock[m.LATENESS] = min(timeout, limits.lateness)
        self._clock[m.STRICT] = 1.0 if limits.lateness < timeout else 0.0
        self._clock[m.RATE] = 2.0 * math.pi * limits.filter_frequency
        self._table[m.LIMIT], self._table[m.CONTINUOUS] = limits.velocity, limits.continuous
        self._inertia = self._inertia.copy()  # another array, so that `settle` uses the new friction

    def accept(
        self, stamp: int, arrival: float, q: Array, qd: Array, *, velocity_missing: bool = False,
        sequence: int | None = None,
    ) -> bool:
        """Check a state of the stamp, ns, 0 for none, that came at `arrival`, s; whether the time base is new.

        `q`, `qd`, (n,), contiguous, are unwrapped and filled in place, also where StateError refuses the state. With a
        new time base motion must be called off.
        """
        if not 0 <= stamp < _LAST:
            raise StateError(f"joint state: its stamp is {stamp} ns; it must not be negative or beyond 2^62",
                             StateProblem.NO_STAMP)  # fmt: skip
        if self._noted is not None:
            self.settle()
        number = sequence if sequence is not None and sequence < _LAST else -1
        code = check_state(self._whole, self._clock, self._table, q, qd, stamp, arrival, number, velocity_missing)
        self.stamp, self.late = self._wholes[m.STAMP], self._times[m.LATER]
        if code == m.WRONG_SHAPE:
            raise ControlError(f"q has shape {q.shape}, qd {qd.shape}; there are {len(self.limits.joints)} joints")
        if code > m.NEW_BASE:
            joint = int(self._whole[m.JOINT])
            raise refusal(code, self._clock, joint, self.limits.joints, self.limits.velocity)
        return code == m.NEW_BASE
