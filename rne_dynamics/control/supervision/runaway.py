"""Stop of an arm beyond its velocity limits: only dissipating efforts, zero where they do not brake it.

When a joint is faster than `OVERSPEED` times its limit, the law that was in force may be the cause: a reversed or
swapped motor, a wrong unit. A brake with the wrong sign drives the joint on. So the stop tries to brake for a short
time, and compares the efforts sent with those that explain the measured motion:

====================  ==================================================================================================
time from detection   effort of each joint
====================  ==================================================================================================
0 to `TRIAL`          gravity and damping, of which only what takes energy: zero where effort · velocity > 0. Never more
                      than the rate limit can bring to zero by `CUT`
at `TRIAL`, and       zero for all joints from then on, where an effort should brake a joint, and more than that
every `WINDOW` later  effort has driven the joint on
every `WINDOW` later  the same, if a fast joint is faster than ever since, whatever explains it
otherwise             gravity and damping that take energy; slow joints are held
====================  ==================================================================================================
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rne_dynamics.control.guards.effort_limits import EffortLimits
from rne_dynamics.model.inertia import Array

#: Multiple of a joint's velocity limit at which its motion is always stopped.
OVERSPEED = 1.5
#: How long braking is tried, and when efforts that did not brake are zero, s.
TRIAL, CUT = 0.010, 0.020
#: Time between two comparisons afterwards, s, and the growth of speed that counts, as a factor.
WINDOW, GROWTH = 0.020, 1.02
#: Fractions of the velocity limit: below the first a joint is held, above the second growing speed counts.
SLOW, FAST = 0.05, 1.0
#: Fractions of the effort limit: braking efforts below the first prove nothing; a joint that is driven on by more than
#: the second although nothing was sent to it gets the effort of another joint.
LEAST, STRAY = 2e-4, 0.05


class Runaway:
    """What the efforts of a stop may be after a joint was too fast.

    Parameters
    ----------
    now
        Time of the detection, monotonic s.
    qd
        Measured velocity, rad/s or m/s; shape (n,).
    command
        Effort sent last, N·m or N; shape (n,).
    limits
        Limits in force.
    moving
        `JointInertia.moving`: what motors pull against each other explains no motion; shape (n, n).
    """

    def __init__(self, now: float, qd: Array, command: Array, limits: EffortLimits, moving: Array) -> None:
        self._limits, self._moving = limits, moving
        self._began, self._last_at = now, now
        self._command = command.copy()
        self._first = np.abs(qd) / limits.velocity
        self._tried = self.cut = False
        self._restart(now, qd)

    def allow(self, now: float, qd: Array, effort: Array, explaining: Callable[[Array], Array]) -> Array:
        """The part of `effort` that may be sent, N·m or N; shape (n,).

        Parameters
        ----------
        now
            Present time, monotonic s.
        qd
            Measured velocity, rad/s or m/s; shape (n,).
        effort
            Gravity and damping.
        explaining
            Efforts of the motors that explain an acceleration at the measured state; both (n,).
        """
        self._impulse += (now - self._last_at) * self._command
        self._last_at = now
        if now - self._from >= (WINDOW if self._tried else TRIAL):
            self._judge(now, qd, explaining)
        if self.cut:
            return np.zeros(len(effort))
        drives = (effort * qd > 0.0) & (np.abs(qd) > SLOW * self._limits.velocity)
        allowed: Array = np.where(drives, 0.0, effort)
        if not self._tried:
            cap = self._limits.rate * max(self._began + CUT - now, 0.0)
            allowed = np.clip(allowed, -cap, cap)
        return allowed

    def sent(self, command: Array) -> None:
        """Note what has been sent, N·m or N; shape (n,)."""
        self._command = command

    def _restart(self, now: float, qd: Array) -> None:
        self._from, self._qd, self._impulse = now, qd.copy(), np.zeros(len(qd))

    def _judge(self, now: float, qd: Array, explaining: Callable[[Array], Array]) -> None:
        """Compare commands and motion since the last comparison."""
        time, limits = now - self._from, self._limits
        commanded = self._moving @ (self._impulse / time)
        unexplained = self._moving @ explaining((qd - self._qd) / time) - commanded
        speed, before = np.abs(qd) / limits.velocity, np.abs(self._qd) / limits.velocity
        braked = (commanded * self._qd < 0.0) & (np.abs(commanded) > LEAST * limits.effort)
        bound = np.where(braked, np.abs(commanded), STRAY * limits.effort)
        driven = (before > SLOW) & (unexplained * np.sign(self._qd) > bound)
        grown = self._tried & (speed > np.maximum(GROWTH * np.maximum(before, self._first), FAST))
        self.cut = self.cut or bool((grown | driven).any())
        self._tried = True
        self._restart(now, qd)
