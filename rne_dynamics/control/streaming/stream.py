"""Stream of setpoints as a motion: followed while they arrive, brought to rest on its path when they end."""

from __future__ import annotations

import math

import numpy as np

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.motion.limits import Outcome, Tolerances
from rne_dynamics.control.motion.motion import rest
from rne_dynamics.control.streaming.limits import (
    ACCELERATION,
    JERK,
    LOWER,
    RESERVE,
    UPPER,
    VELOCITY,
    StreamLimits,
    follow_kernel,
)
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.control.trajectory import SampledTrajectory
from rne_dynamics.model.inertia import Array

#: Periods of the sender in which a deviation dies out, and after a setpoint until its acceleration is not used further.
HORIZON, BEND = 2.0, 1.5
#: Longest horizon, s.
LONGEST_HORIZON = 0.1
#: Speed and acceleration, as fractions of the limits, below which the reference counts as at rest.
REST_PART = 1e-4
#: Braking time of an aim that rests, s: not 0, so that parts of it are defined.
NO_BRAKING = 1e-12
#: Fraction of the period after which a setpoint says anything about velocity and acceleration.
LEAST_STEP = 0.25


@kernel
def aim_kernel(aim: Array, q: Array, qd: Array, elapsed: float, settled: bool, smoothing: float, limits: Array) -> int:
    """Move `aim`, (3, n), on by `elapsed`, s, and to a setpoint, (n,) or NaN; how many joints a limit has changed."""
    # Position and velocity given: they are the aim's; its acceleration is the smoothed difference quotient of
    # velocities. Position alone: a fading-memory filter of second degree (Morrison 1969, "Introduction to Sequential
    # Smoothing and Prediction", chapter 13), without lag for constant acceleration. Velocity alone: the position is the
    # integral.
    changed = 0
    theta = math.exp(-elapsed / smoothing)
    for j in range(aim.shape[1]):
        p, w, c = aim[0, j], aim[1, j], aim[2, j]
        p_next = p + elapsed * (w + 0.5 * elapsed * c)
        w_next = w + elapsed * c
        if np.isnan(qd[j]):
            off = q[j] - p_next
            if settled:
                p_next += (1.0 - theta**3) * off
                w_next += 1.5 * (1.0 - theta) ** 2 * (1.0 + theta) * off / elapsed
                c += (1.0 - theta) ** 3 * off / elapsed**2
            else:
                p_next = q[j]
        else:
            if settled:
                c += (1.0 - theta) * ((qd[j] - w) / elapsed - c)
            p_next = p + 0.5 * elapsed * (w + qd[j]) if np.isnan(q[j]) else q[j]
            w_next = qd[j]
        lower, upper, fastest = limits[LOWER, j], limits[UPPER, j], limits[VELOCITY, j]
        if not (lower <= p_next <= upper and abs(w_next) <= fastest):
            changed += 1
        aim[0, j] = min(max(p_next, lower), upper)
        aim[1, j] = min(max(w_next, -fastest), fastest)
        aim[2, j] = c
    return changed


class Stream:
    """A motion whose aim is moved on by setpoints; see `Motion` for what a motion does."""

    #: What the controller follows, for messages.
    name = "setpoints"
    #: Whether its end is reached; a stream has none.
    over = False

    def __init__(self, limits: StreamLimits, tolerances: Tolerances) -> None:
        n = len(limits.joints)
        self.limits, self.tolerances = limits, tolerances
        self.start, self.rate, self.slope = 0, 1.0, 0.0
        #: Setpoints that a limit has changed.
        self.limited = 0
        self._table = limits.table.copy()
        self._state, self._aim, self._passing = np.zeros((3, n)), np.zeros((3, n)), np.zeros((3, n))
        self._due = self._stamp = self._received = 0
        self._horizon, self._bend = limits.smoothing, 0.0
        self._line: tuple[int, float] | None = None  # of an aim that brakes: from which stamp on, and how long, s
        self._rest: tuple[int, SampledTrajectory] | None = None  # likewise of the reference itself
        self._timed_out = False
        self.reference = Reference(*np.zeros((3, n)))

    # -- setpoints ----------------------------------------------------------------------------------------------------

    def prepare(self, now: Reference, due: int) -> None:
        """Begin a stream: the aim is where the reference is, at the time of the first setpoint, ns."""
        self._bound(now.q)
        self._aim[0], self._aim[1], self._aim[2] = now.q, now.qd, 0.0
        self._due, self._line, self._rest, self._timed_out = due, None, None, False

    def adopt(self, limits: StreamLimits, tolerances: Tolerances) -> None:
        """Other limits, from now on."""
        self.limits, self.tolerances = limits, tolerances
        self._bound(self.reference.q)

    def _bound(self, q: Array) -> None:
        """Use the limits for a reference at `q`, (n,): outside them it may move, but not further out."""
        table = self._table
        table[:] = self.limits.table
        np.minimum(table[LOWER], q, out=table[LOWER])
        np.maximum(table[UPPER], q, out=table[UPPER])

    def set(self, q: Array, qd: Array, due: int, at: int, period: float) -> None:
        """Take a setpoint, (n,), NaN where not given, `due` and received `at` stamps, ns; its `period`, s, or 0."""
        if self._timed_out:  # the sender is back
            self._line, self._timed_out = None, False
        elapsed = (due - self._due) / NANOSECONDS
        settled = period > 0.0 and elapsed >= LEAST_STEP * period
        self._bend = min(BEND * period, LONGEST_HORIZON)
        self._horizon = min(max(self.limits.smoothing, HORIZON * period), LONGEST_HORIZON)
        smoothing = max(0.5 * self.limits.smoothing, period)
        changed = aim_kernel(self._aim, q, qd, max(elapsed, 0.0), settled, smoothing, self._table)
        self.limited += changed > 0
        self._due, self._received = due, at

    # -- as a motion --------------------------------------------------------------------------------------------------

    def begin(self, stamp: int, now: Reference, *, rate: float = 1.0, slope: float = 0.0) -> None:
        """Go on from the reference `now` at `stamp`, ns; as `Motion.begin`."""
        self._state[0], self._state[1], self._state[2] = now
        self._stamp, self.reference = stamp, now

    def advance(self, stamp: int, speed: float = 1.0) -> Reference:
        """The reference at `stamp`, ns; `speed`, 0 to 1, scales velocity limits. The aim brakes after the time-out."""
        stamp = max(stamp, self._stamp)
        self.rate = min(speed, 1.0) if speed > 0.0 else 0.0
        if not self.braking and stamp - self._received > self.limits.timeout * NANOSECONDS:
            self._timed_out = True
            self._straighten(stamp)
        self.reference = self._after(self._state, stamp)
        self._stamp = stamp
        return self.reference

    def ahead(self, stamp: int) -> Reference:
        """The reference at a later `stamp`, ns, if no setpoint comes; changes nothing."""
        self._passing[:] = self._state
        return self._after(self._passing, max(stamp, self._stamp))

    def brake(self, duration: float) -> None:
        """Come to rest on the path, within `duration`, s, even beyond the limits of acceleration."""
        began, lasts = self._line or self._straighten(self._stamp)
        self._timed_out = False
        if (began - self._stamp) / NANOSECONDS + lasts + self._horizon > duration:
            table = self._table
            self._rest = self._stamp, rest(self.reference, duration, table[LOWER], table[UPPER], table[VELOCITY])

    @property
    def braking(self) -> bool:
        """Whether setpoints are not followed any more."""
        return self._line is not None or self._rest is not None

    @property
    def called_off(self) -> bool:
        """Whether it brakes on request."""
        return self.braking and not self._timed_out

    @property
    def stopped(self) -> bool:
        """Whether it was braked and has come to rest."""
        if self._rest is not None:
            return self._stamp - self._rest[0] >= self._rest[1].duration * NANOSECONDS
        if self._line is None or self._stamp < self._line[0] + self._line[1] * NANOSECONDS:
            return False
        limits = self._table
        slow = np.abs(self._state[1]) <= REST_PART * limits[VELOCITY]
        return bool((slow & (np.abs(self._state[2]) <= REST_PART * limits[ACCELERATION])).all())

    def judge(self, stamp: int, q: Array, qd: Array) -> Outcome | None:
        """Whether the stream has ended, or the arm, at `q` and `qd`, (n,), has left the path's tolerance."""
        off = np.abs(self.reference.q - q) > self.tolerances.path
        if off.any():
            j = int(np.argmax(off))
            return Outcome("path", (
                f"joint {self.limits.joints[j]!r} is {self.reference.q[j] - q[j]:.4g} off the setpoints; allowed is "
                f"{self.tolerances.path[j]:g} (constraints.{self.limits.joints[j]}.trajectory). The stream is aborted"
            ))
        if self._timed_out and self.stopped:
            return Outcome("silent", f"no setpoint for {self.limits.timeout:g} s: the arm has come to rest")
        return None

    # -- inside -------------------------------------------------------------------------------------------------------

    def _after(self, state: Array, stamp: int) -> Reference:
        """Advance `state` from the last stamp to `stamp`."""
        if self._rest is not None:
            reference = self._rest[1].sample((stamp - self._rest[0]) / NANOSECONDS)
            state[0], state[1], state[2] = reference
            return reference
        aim, since, bend, horizon = self._aim, (self._stamp - self._due) / NANOSECONDS, self._bend, self._horizon
        if self._line is not None:
            aim = self._along(*self._line, self._stamp + round(horizon * NANOSECONDS))
            since, bend = -horizon, horizon
        dt = (stamp - self._stamp) / NANOSECONDS
        follow_kernel(state, aim, since, bend, self._table, self.rate, horizon, dt)
        q, qd, qdd = state.copy()
        return Reference(q, qd, qdd)

    def _straighten(self, stamp: int) -> tuple[int, float]:
        """Make the aim a line that it brakes along from `stamp` on, ns: `_line`."""
        aim, elapsed = self._aim, (stamp - self._due) / NANOSECONDS
        curved = min(max(elapsed, -self._bend), self._bend)
        aim[0] += elapsed * (aim[1] + curved * aim[2]) - 0.5 * curved * curved * aim[2]
        aim[1] += curved * aim[2]
        aim[2] = 0.0
        self._due = stamp
        speed = np.abs(aim[1])
        # a cubic from 1 to 0 in the time T has the slope 1.5 / T and the curvature 6 / T² at most
        slope = 1.5 * float((speed / (RESERVE * self._table[ACCELERATION])).max())
        bent = math.sqrt(6.0 * float((speed / (RESERVE * self._table[JERK])).max()))
        # the reference follows what the aim does one horizon ahead
        self._line = stamp + round(self._horizon * NANOSECONDS), max(slope, bent, NO_BRAKING)
        return self._line

    def _along(self, began: int, lasts: float, stamp: int) -> Array:
        """The aim that brakes from the stamp `began` on for `lasts`, s, at `stamp`, ns."""
        before, t = (began - self._due) / NANOSECONDS, (stamp - began) / NANOSECONDS
        x = min(max(t / lasts, 0.0), 1.0)
        way = before + min(t, 0.0) + lasts * x * (1.0 - x * x * (1.0 - 0.5 * x))
        rate, slope = 1.0 - x * x * (3.0 - 2.0 * x), -6.0 * x * (1.0 - x) / lasts
        w = self._aim[1]
        return np.stack([self._aim[0] + way * w, rate * w, slope * w])
