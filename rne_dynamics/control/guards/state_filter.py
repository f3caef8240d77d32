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
"""

from __future__ import annotations

import math
from itertools import compress

import numpy as np

from rne_dynamics.control.guards import state_limits as memory
from rne_dynamics.control.guards.state_checks import check_state, refusal
from rne_dynamics.control.guards.state_limits import StateLimits
from rne_dynamics.control.reference import Reference
from rne_dynamics.errors import ControlError, StateError, StateProblem
from rne_dynamics.model.inertia import Array

#: Stamps from here on are none, ns: int64 must hold their differences.
_LAST = 2**62


class StateFilter:
    """Joint states checked one by one against those before them; the module's table says how.

    `limits`: what to expect.
    """

    def __init__(self, limits: StateLimits) -> None:
        self._whole, self._clock = np.zeros(memory.WHOLE, dtype=np.int64), np.zeros(memory.SIZE)
        self._table = np.zeros((memory.TABLE, len(limits.joints)))
        self._expected, self._asked, self._push = (
            self._table[row] for row in (memory.EXPECTED, memory.ASKED, memory.PUSH)
        )
        #: Positions and velocities of the last good state, unwrapped; what unwrapping has added to the positions; the
        #: smallest change of each position so far. rad or m, and per s; shape (n,) each, the filter's own memory.
        self.place, self.speed, self.unwrapped, self.finest = (
            np.asarray(self._table[row]) for row in (memory.PLACE, memory.SPEED, memory.UNWRAPPED, memory.FINEST)
        )
        #: Time of the last good state, ns: its stamp, or its arrival where the stream has no stamps. How much later it
        #: came than the least late one of its time base, s; 0 where unknown.
        self.stamp, self.late = 0, 0.0
        self._inertia: Array = np.ones(len(limits.joints))
        self.limits = limits
        self._noted: tuple[float, Reference | None, Array, Array, Array] | None = None
        self.change(limits)
        self.accept(1, 0.0, np.zeros(len(limits.joints)), np.zeros(len(limits.joints)))  # compiles before it matters
        self._clock[memory.OTHER_AT] = self._clock[memory.STRAY_AT] = -np.inf
        self._table[memory.FINEST] = np.inf
        self.restart()

    @property
    def borne(self) -> Array:
        """What joints whose reading is frozen needed on average in motion besides gravity, N·m or N; shape (n,)."""
        return np.asarray(self._table[memory.DEAD] * self._table[memory.BORNE] * self._inertia)

    @property
    def estimated(self) -> tuple[str, ...]:
        """Joints whose reported velocity contradicts their positions, so that it is estimated until `restart`."""
        return tuple(compress(self.limits.joints, self._table[memory.DISTRUSTED]))

    def place_is_new(self, arrival: float) -> bool:
        """Whether the good state of that `arrival`, s, was taken wherever it was: the first, or that of a reset."""
        return bool(self._clock[memory.BEGAN] == arrival)

    def reset(self) -> None:
        """Accept the next state at any position: after a gap in the stream.

        What is known of a second sender, of the time base and of wrong velocities stays: the next state may still be
        refused for these.
        """
        self._noted = None
        self._whole[memory.KNOWN], self._whole[memory.EXCESSES] = 0, 0
        self._whole[memory.SEQUENCE] = self._whole[memory.OTHER] = -1
        self._whole[memory.TURN] = self._whole[memory.RUN] = 0
        self._table[list(memory.MOTION)] = 0.0
        self._table[memory.JUMPED] = self._table[memory.REPORTED] = np.nan
        self._clock[memory.EXPECTED_AT] = self._clock[memory.DOUBTED_AT] = -np.inf

    def restart(self) -> None:
        """Take the next state as the first of all, whatever its time: for a restart by the operator.

        What is known of a second sender stays.
        """
        self.reset()
        self._whole[memory.CLOCKED] = self._whole[memory.RUSHES] = 0
        self._table[memory.DISTRUSTED] = self._table[memory.DEAD] = 0.0

    def expect(self, now: float, reference: Reference | None, friction: Array, feedback: Array, inertia: Array) -> None:
        """Note what the law expects, for readings that stand still; it counts for 50 ms.

        The arrays are kept until `settle`, or until the next state if nobody calls that.

        `now`: time on the clock of arrivals, s. `reference`: desired motion; None where there is none: a reading that
        stands still is not judged then. `friction`, `feedback`: efforts of the friction compensation and of the
        feedback, N·m or N; shape (n,). `inertia`: `JointInertia.held`, kg·m² or kg; shape (n,). Another inertia is
        another array.
        """
        self._noted = now, reference, friction, feedback, inertia

    def doubt(self, now: float) -> None:
        """The joints do not get what `expect` has noted, at `now`, s: what they need is not learnt from that."""
        self._clock[memory.DOUBTED_AT] = now

    def settle(self) -> None:
        """Take over what `expect` has noted: a microsecond that need not pass before the effort is sent."""
        if self._noted is None:
            return
        now, reference, friction, feedback, inertia = self._noted
        self._noted = None
        np.add(friction, feedback, out=self._push)
        self._push /= inertia
        if inertia is not self._inertia:
            self._inertia = inertia
            self._table[memory.WITHSTOOD] = np.asarray(self.limits.coulomb) / inertia
        self._clock[memory.EXPECTED_AT] = -np.inf if reference is None else now
        if reference is not None:
            self._expected[:], self._asked[:] = reference.qd, reference.qdd

    def change(self, limits: StateLimits) -> None:
        """Expect something else from the next state on; what is known of the stream stays.

        Raises ControlError: limits for other joints.
        """
        if limits.joints != self.limits.joints:
            raise ControlError(f"limits are for {limits.joints}; the filter has {self.limits.joints}")
        self.limits = limits
        timeout = limits.timeout or math.inf
        self._clock[memory.LATENESS] = min(timeout, limits.lateness)
        self._clock[memory.STRICT] = 1.0 if limits.lateness < timeout else 0.0
        self._clock[memory.RATE] = 2.0 * math.pi * limits.filter_frequency
        self._table[memory.LIMIT], self._table[memory.CONTINUOUS] = limits.velocity, limits.continuous
        self._inertia = self._inertia.copy()  # another array, so that `settle` uses the new friction

    def accept(
        self,
        stamp: int,
        arrival: float,
        q: Array,
        qd: Array,
        *,
        velocity_missing: bool = False,
        sequence: int | None = None,
    ) -> bool:
        """Check one state; unwrap `q` and fill a missing `qd`, both in place.

        `stamp`: time of the state, ns; 0 for none. `arrival`: when it came, on a clock that is never set, s. `q`, `qd`:
        contiguous arrays (n,) of float64, rad or m and rad/s or m/s. Written to, also where the state is refused: keep
        what you need of an earlier state elsewhere. `velocity_missing`: whether `qd` is to be estimated; what it holds
        is ignored then. `sequence`: the middleware's number of this message, counted by its publisher; None where
        unknown. Returns whether the time base is new: motion must be called off and the arm held where it is. Raises
        StateError: the state must not be used; `problem` says why. Nothing has changed that a later good state needs.
        ControlError: arrays of a wrong shape.
        """
        if not 0 <= stamp < _LAST:
            raise StateError(f"joint state: its stamp is {stamp} ns; it must not be negative or beyond 2^62",
                             StateProblem.NO_STAMP)  # fmt: skip
        if self._noted is not None:
            self.settle()
        number = sequence if sequence is not None and sequence < _LAST else -1
        code = check_state(self._whole, self._clock, self._table, q, qd, stamp, arrival, number, velocity_missing)
        self.stamp, self.late = int(self._whole[memory.STAMP]), float(self._clock[memory.LATER])
        if code == memory.WRONG_SHAPE:
            raise ControlError(f"q has shape {q.shape}, qd {qd.shape}; there are {len(self.limits.joints)} joints")
        if code > memory.NEW_BASE:
            joint = int(self._whole[memory.JOINT])
            raise refusal(code, self._clock, joint, self.limits.joints, self.limits.velocity)
        return code == memory.NEW_BASE
