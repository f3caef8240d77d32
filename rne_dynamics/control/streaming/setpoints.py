"""Acceptance of setpoints: checks of each one, who may send, begin and end of a stream."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.motion.limits import Tolerances, turns_off_kernel
from rne_dynamics.control.streaming.limits import (
    JERK,
    LOWER,
    SetpointError,
    SetpointProblem,
    StreamLimits,
    follow_kernel,
)
from rne_dynamics.control.streaming.stream import Stream, aim_kernel
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.model.inertia import Array

#: Messages of one sender that may be lost in a row: so many, and more by the time since the last one, in periods.
LOST_SETPOINTS, LOST_PERIODS = 20, 4.0
#: Gains of the corrections of time and period once many setpoints have arrived.
TIME_GAIN, PERIOD_GAIN = 0.1, 0.0025


class Setpoints:
    """The stream of setpoints of one controller. `limits`: limits and times; `tolerances`: as for `Stream`."""

    def __init__(self, limits: StreamLimits, tolerances: Tolerances) -> None:
        self.stream = Stream(limits, tolerances)
        self.adopt(limits, tolerances)
        #: Setpoints that were followed; refused ones by reason, and the text of the last refusal.
        self.taken = 0
        self.refused: Counter[SetpointProblem] = Counter()
        self.refusal = ""
        self.following = False
        self._called_off = ""
        #: When the last one was received, by the clock of the joint states, which may be set meanwhile; ns.
        self.received = -(1 << 62)
        self._source, self._sequence, self._due = -1, -1, 0
        self._times = SendTimes()

    def adopt(self, limits: StreamLimits, tolerances: Tolerances) -> None:
        """Other limits, from now on."""
        n = len(limits.joints)
        self.limits, self._start = limits, np.full(n, limits.start)
        self._continuous = np.zeros(n, dtype=np.bool_) if limits.continuous is None else limits.continuous
        self.stream.adopt(limits, tolerances)

    def take(
        self, source: int, q: Array, qd: Array, *, stamp: int, ahead: int, at: int, sequence: int | None,
        begin: Callable[[], Reference],
    ) -> bool:
        """Take a setpoint, (n,), NaN where not given, received `at`, ns, on topic `source`; whether a stream begins.

        `stamp`, 0 for none, and `ahead`, ns, say when the arm is to be there. `begin`: the reference from which a
        stream may begin. SetpointError: it is not followed.
        """
        silence, self.received = at - self.received, at
        quiet = silence > self.limits.timeout * NANOSECONDS
        if quiet:
            self._called_off = ""
        if self.following and self.stream.called_off:  # braking, however long the sender was silent
            self._called_off = "the stream is called off"
        if self._called_off:
            raise SetpointError(
                f"{self._called_off}: setpoints are ignored until none has come for {self.limits.timeout:g} s",
                SetpointProblem.CALLED_OFF,
            )
        if not self.following or quiet:
            self._times = SendTimes()
            self._source, self._sequence, self._due = source, -1, 0
        self._check_sender(source, sequence, silence)
        now, allowed = (self.stream.reference, self.limits.reach) if self.following else (begin(), self._start)
        bad = check_kernel(q, qd, now.q, allowed, self._continuous)
        if bad >= 0:
            raise self._refusal(bad, q, qd, now.q, allowed)
        due = self._time(stamp, at) + ahead
        if not self.following:
            self.stream.prepare(now, due)
        self.stream.set(q, qd, due, at, self._times.period)
        self.taken += 1
        began, self.following = not self.following, True
        return began

    def refuse(self, error: SetpointError) -> None:
        """Count a setpoint that is not followed."""
        self.refused[error.problem] += 1
        self.refusal = str(error)

    def ended(self, called_off: str) -> None:
        """The controller does not follow the stream any more; why it was called off, empty where it ended by itself."""
        self.following, self._called_off = False, called_off

    def _check_sender(self, source: int, sequence: int | None, silence: int) -> None:
        if source != self._source:
            raise SetpointError(
                "setpoints come on two topics; those of the second are ignored until the first is silent",
                SetpointProblem.TWO_SENDERS,
            )
        if sequence is None:
            return
        period = self._times.period * NANOSECONDS
        most = LOST_SETPOINTS + (LOST_PERIODS * silence / period if period > 0.0 else 0.0)
        if self._sequence >= 0 and not 0 < sequence - self._sequence <= most:
            raise SetpointError(
                f"setpoint number {sequence} after {self._sequence}: there are two senders, or it was delivered late; "
                "those of one sender are followed until it is silent", SetpointProblem.TWO_SENDERS,
            )
        self._sequence = sequence

    def _time(self, stamp: int, at: int) -> int:
        """Time of sending of a setpoint, ns."""
        if not stamp:
            return self._times.arrived(at)
        age, timeout = (at - stamp) / NANOSECONDS, self.limits.timeout
        if abs(age) > timeout:
            problem = SetpointProblem.TOO_OLD if age > 0.0 else SetpointProblem.TOO_EARLY
            raise SetpointError(
                f"setpoint: its stamp is {abs(age):.3f} s {'before' if age > 0.0 else 'after'} the time of the joint "
                f"states; at most {timeout:g} s (setpoints.timeout) are allowed. Use the clock of the joint states, or "
                "leave the stamp zero", problem,
            )
        if stamp <= self._due:
            raise SetpointError(
                f"setpoint: its stamp is {(self._due - stamp) / NANOSECONDS:.3f} s before that of the setpoint before "
                "it; stamps must increase", SetpointProblem.OUT_OF_ORDER,
            )
        self._due = stamp
        self._times.stamped(stamp)
        return stamp

    def _refusal(self, bad: int, q: Array, qd: Array, now: Array, allowed: Array) -> SetpointError:
        """Error for an answer of `check_kernel`."""
        what, j = divmod(bad, len(q))
        name = self.limits.joints[j]
        if what < 2:
            label, value = ("position", q[j]) if what == 0 else ("velocity", qd[j])
            return SetpointError(
                f"setpoint: {label} of joint {name!r} is {value}; it must be finite", SetpointProblem.NOT_FINITE
            )
        here = now[j] + 2.0 * np.pi * self.limits.turns_off(q, now)[j]  # in the turn of the setpoint
        return SetpointError(
            f"setpoint: joint {name!r} is to be at {q[j]:.6g}, {abs(q[j] - here):.3g} away from where the controller "
            f"has it ({here:.6g}); at most {allowed[j]:.3g} are allowed. Begin the stream where the arm is, and send "
            "steps that its velocity limit allows", SetpointProblem.TOO_FAR,
        )


@kernel
def check_kernel(q: Array, qd: Array, now: Array, allowed: Array, continuous: NDArray[np.bool_]) -> int:
    """−1 for a good setpoint, moved by turns near `now`; j, n + j: not finite position, velocity; 2 n + j: too far."""
    n: int = q.shape[0]
    no_q, no_qd = True, True
    for j in range(n):
        no_q, no_qd = no_q and np.isnan(q[j]), no_qd and np.isnan(qd[j])
    for j in range(n):
        if not (no_q or np.isfinite(q[j])):
            return j
        if not (no_qd or np.isfinite(qd[j])):
            return n + j
        turns = turns_off_kernel(q[j], now[j]) if continuous[j] and not no_q else 0.0
        if not no_q and abs(q[j] - 2.0 * math.pi * turns - now[j]) > allowed[j]:
            return 2 * n + j
    if no_q and no_qd:
        return 0
    for j in range(n):
        if continuous[j] and not no_q:
            q[j] -= 2.0 * math.pi * turns_off_kernel(q[j], now[j])
    return -1


def warm_up(n: int) -> None:
    """Compile what a stream for `n` joints needs."""
    q, qd, now, allowed = np.zeros((4, n))
    check_kernel(q, qd, now, allowed, np.zeros(n, dtype=np.bool_))
    limits = np.ones((JERK + 1, n))
    limits[LOWER] = -1.0
    follow_kernel(np.zeros((3, n)), np.zeros((3, n)), 0.0, 0.0, limits, 1.0, 0.02, 1e-3)
    aim_kernel(np.zeros((3, n)), q, qd, 0.0, False, 1.0, limits)


class SendTimes:
    """Estimates when equally spaced messages were sent from their arrivals, by a line fitted over their number."""
    # gains of a growing memory (least squares) that end at those of a fading one remove most jitter, and no delay

    def __init__(self) -> None:
        self.period = 0.0
        self._count, self._last = 0, 0

    def arrived(self, at: int) -> int:
        """Time of sending of the message that arrived `at`; both ns."""
        self._count += 1
        if self._count == 1:
            self._last = at
            return at
        passed = at - self._last
        if self._count == 2 or self.period <= 0.0:
            self.period, self._last = max(passed, 0) / NANOSECONDS, at
            return at
        period = round(self.period * NANOSECONDS)
        steps = max(round(passed / period), 1) if period > 0 else 1
        error = passed - steps * period
        error = min(max(error, -period), period)  # of those that were held up and arrive together
        n = self._count
        self.period += max(6.0 / (n * (n + 1)), PERIOD_GAIN) * error / steps / NANOSECONDS
        self._last += steps * period + round(max(2.0 * (2 * n - 1) / (n * (n + 1)), TIME_GAIN) * error)
        return self._last

    def stamped(self, at: int) -> None:
        """Note a message that says that it was sent `at`, ns."""
        self._count += 1
        passed = (at - self._last) / NANOSECONDS
        self._last = at
        if self._count == 2:
            self.period = passed
        elif self._count > 2 and self.period > 0.0:
            steps = max(round(passed / self.period), 1)
            self.period += max(1.0 / self._count, TIME_GAIN) * (passed / steps - self.period)
