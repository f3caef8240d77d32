"""What becomes of each joint state before it may become effort.

==================================  ==================================================================================
of a state                          reaction
==================================  ==================================================================================
the first, and after `reset`        taken as it is: a new time base; a missing velocity is 0
a value that is NaN or infinite     refused, "not finite"
a value beyond 1e6 rad, m (a s)     refused, "out of range"
the stamp of the last one           refused, "duplicate stamp": a frozen stream so goes stale however fast it is
stamp up to 0.5 s back              refused, "out of order"
stamp further back, or 0.1 s ahead  the clock was set: a new time base. The place must follow all the same, so that a
of the least late states            broken message is not taken for a new time
stamp zero in a stream with stamps  refused, "no stamp"; so is a negative one
stamp zero always                   the arrival is the stamp; order and lateness are then not judged
later than the least late of the    refused, "delayed". Judged from the second second on, and only where the stamps keep
last half second by > `timeout`     up with real time within 5 %: a simulator slower than real time passes; where it
                                    slows down all at once it is refused until `reset`
further than 2 · velocity limit     refused, "position jump". A stream that stays where it jumped to is refused until
· (dt + 2 ms) + 2 mrad (mm)         `reset`, which staleness leads to; one that comes back goes on
position off by turns               of a continuous joint: unwrapped
velocity beyond 5 · its limit       refused, "too fast"
velocity missing                    estimated, see `velocity_estimate`
two senders of these joints         refused, "two senders": only the other's where one was alone for a second, both
                                    otherwise. Then one must be alone for 5 s, also across a `reset`
==================================  ==================================================================================

Two senders are told apart by the middleware's publication sequence number, which counts up for each publisher: with
two of them it goes back and forth. Where the middleware has none, two senders who agree pass, and one that says another
place than the other is refused for its jumps.

dt is the step of the stamps; where there are none, or they are a new time, that of the arrivals, with 10 ms for their
jitter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.control.checks import frozen_vector
from rne_dynamics.control.guards import state_checks as checks
from rne_dynamics.errors import ControlError, StateError, StateProblem
from rne_dynamics.model.inertia import Array

#: Stamps from here on are none, ns: int64 must hold their differences.
_LAST = 2**62

_PROBLEMS = {
    checks.NOT_FINITE: StateProblem.NOT_FINITE,
    checks.OUT_OF_RANGE: StateProblem.OUT_OF_RANGE,
    checks.NO_STAMP: StateProblem.NO_STAMP,
    checks.DUPLICATE: StateProblem.DUPLICATE_STAMP,
    checks.OUT_OF_ORDER: StateProblem.OUT_OF_ORDER,
    checks.DELAYED: StateProblem.DELAYED,
    checks.JUMP: StateProblem.POSITION_JUMP,
    checks.FAST: StateProblem.TOO_FAST,
    checks.SENDERS: StateProblem.TWO_SENDERS,
}


@dataclass(frozen=True, eq=False)
class StateLimits:
    """What joint states can be, for `StateFilter`.

    Parameters
    ----------
    velocity
        Velocity limit of each joint, rad/s or m/s, greater than 0; inf where it is not known, which leaves jumps and
        velocities of that joint unjudged. Shape (n,).
    continuous
        Joints without position limits, whose positions may wrap; shape (n,).
    timeout
        Age at which a state is stale, s; 0 never.
    filter_frequency
        Corner frequency of the velocity estimate, Hz, greater than 0.
    joints
        Names for messages; n of them.

    Raises
    ------
    ControlError
        A value outside these ranges, NaN, or a wrong shape.
    """

    velocity: Array
    continuous: NDArray[np.bool_]
    timeout: float
    filter_frequency: float
    joints: tuple[str, ...]

    def __post_init__(self) -> None:
        n, names = len(self.joints), self.joints
        smallest = float(np.finfo(np.float64).tiny)
        velocity = frozen_vector(self.velocity, n, "velocity limit", lowest=smallest, finite=False, names=names)
        object.__setattr__(self, "velocity", velocity)
        continuous = np.array(self.continuous, dtype=np.bool_)
        if continuous.shape != (n,):
            raise ControlError(f"continuous has shape {continuous.shape}; there are {n} joints")
        continuous.flags.writeable = False
        object.__setattr__(self, "continuous", continuous)
        if not self.timeout >= 0.0:
            raise ControlError(f"state timeout is {self.timeout} s; it must not be negative (0 is never)")
        if not (math.isfinite(self.filter_frequency) and self.filter_frequency > 0.0):
            raise ControlError(f"velocity filter is {self.filter_frequency} Hz; it must be finite and greater than 0")


class StateFilter:
    """Joint states checked one by one against those before them; the module's table says how.

    Parameters
    ----------
    limits
        What to expect.
    """

    def __init__(self, limits: StateLimits) -> None:
        self._whole, self._clock = np.zeros(checks.WHOLE, dtype=np.int64), np.zeros(checks.SIZE)
        self._table = np.zeros((checks.TABLE, len(limits.joints)))
        self._clock[checks.OTHER_AT] = -np.inf
        self.limits = limits
        self.change(limits)
        self.accept(1, 0.0, np.zeros(len(limits.joints)), np.zeros(len(limits.joints)))  # compiles before it matters
        self.reset()

    @property
    def stamp(self) -> int:
        """Time of the last good state, ns: its stamp, or its arrival where the stream has no stamps."""
        return int(self._whole[checks.STAMP])

    @property
    def place(self) -> Array:
        """Positions of the last good state, unwrapped, rad or m; shape (n,): the filter's own memory."""
        place: Array = self._table[checks.PLACE]
        return place

    @property
    def speed(self) -> Array:
        """Velocities of the last good state, rad/s or m/s; shape (n,): the filter's own memory."""
        speed: Array = self._table[checks.SPEED]
        return speed

    def reset(self) -> None:
        """Take the next state as the first, wherever it finds the arm: after a gap in the stream.

        What is known of a second sender stays.
        """
        self._whole[checks.KNOWN], self._whole[checks.SEQUENCE] = 0, -1
        self._table[checks.JUMPED] = np.nan

    def change(self, limits: StateLimits) -> None:
        """Expect something else from the next state on; what is known of the stream stays.

        Raises
        ------
        ControlError
            Limits for other joints.
        """
        if limits.joints != self.limits.joints:
            raise ControlError(f"limits are for {limits.joints}; the filter has {self.limits.joints}")
        self.limits = limits
        self._timeout = limits.timeout or math.inf
        self._rate = 2.0 * math.pi * limits.filter_frequency
        self._table[checks.LIMIT], self._table[checks.CONTINUOUS] = limits.velocity, limits.continuous

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

        Parameters
        ----------
        stamp
            Time of the state, ns; 0 for none.
        arrival
            When it came, on a clock that is never set, s.
        q, qd
            Contiguous arrays (n,) of float64, rad or m and rad/s or m/s. Written to, also where the state is refused:
            keep what you need of an earlier state elsewhere.
        velocity_missing
            Whether `qd` is to be estimated; what it holds is ignored then.
        sequence
            The middleware's number of this message, counted by its publisher; None where unknown.

        Returns
        -------
        bool
            Whether the time base is new: motion must be called off and the arm held where it is.

        Raises
        ------
        StateError
            The state must not be used; `problem` says why. Nothing has changed that a later good state needs.
        ControlError
            Arrays of a wrong shape.
        """
        if not 0 <= stamp < _LAST:
            raise StateError(
                f"joint state: its stamp is {stamp} ns; it must not be negative or beyond 2^62", StateProblem.NO_STAMP
            )
        number = sequence if sequence is not None and sequence < _LAST else -1
        code = checks.check_state(
            self._whole, self._clock, self._table, self._timeout, self._rate, q, qd, stamp, arrival, number,
            velocity_missing,
        )  # fmt: skip
        if code > checks.NEW_BASE:
            raise self._refusal(code, stamp, q, qd)
        return code == checks.NEW_BASE

    def _refusal(self, code: int, stamp: int, q: Array, qd: Array) -> ControlError:
        if code == checks.WRONG_SHAPE:
            return ControlError(f"q has shape {q.shape}, qd {qd.shape}; there are {len(self.limits.joints)} joints")
        return StateError(f"joint state: {self._reason(code)}", _PROBLEMS[code])

    def _reason(self, code: int) -> str:
        found, allowed, step = (float(self._clock[k]) for k in (checks.FOUND, checks.ALLOWED, checks.STEP))
        joint = int(self._whole[checks.JOINT])
        name = f"joint {self.limits.joints[joint]!r}" if joint >= 0 else "its arrival"
        if code == checks.NOT_FINITE:
            return f"a value of {name} is {found}; it must be finite"
        if code == checks.OUT_OF_RANGE:
            return f"a value of {name} is {found:g}, beyond +-{allowed:g}; is its unit rad or m?"
        if code == checks.NO_STAMP:
            return "its stamp is zero, those before were not; stamp every state or none"
        if code == checks.DUPLICATE:
            return "it has the stamp of the one before; every state needs a time of its own"
        if code == checks.OUT_OF_ORDER:
            return f"its stamp is {-step:.6f} s before that of the one before"
        if code == checks.DELAYED:
            return f"it is {found:.3f} s later than others of the last half second; {allowed:g} allowed (state_timeout)"
        if code == checks.JUMP:
            return (
                f"{name} is {found:.6g} from its last good place after {step:.6f} s; at most {allowed:.4g} is possible "
                f"at its velocity limit {self.limits.velocity[joint]:g}. Is there a second sender, has an encoder "
                "slipped, is the limit too low?"
            )
        if code == checks.FAST:
            return f"velocity of {name} is {found:.4g}, far beyond its limit {self.limits.velocity[joint]:g}"
        return "two publishers send these joints; stop one of them"
