"""Stop of an arm beyond its velocity limits: only dissipating efforts, zero where they do not brake it.

When a joint is faster than `OVERSPEED` times its limit, the law that was in force may be the cause: a reversed or
swapped motor, a wrong unit. A brake with the wrong sign drives the joint on. So the stop tries to brake for a short
time, and compares the efforts sent with those that explain the measured motion:

====================  ==================================================================================================
time from detection   effort of each joint
====================  ==================================================================================================
0 to `TRIAL`          gravity and damping, of which only what takes energy: zero where effort · velocity > 0. Never more
                      than the rate limit can bring to zero by `CUT`
at `TRIAL`, and       zero for all joints, where an effort should brake a joint, and more than that effort has driven
every `INTERVAL` later  the joint on
every `INTERVAL` later  the same, if a fast joint is faster than ever since, whatever explains it
two `TRIAL` of zero   as before, if the joint is driven on without its motor: a hand pushes harder than the motors
efforts later         brake. That is believed up to `TRUSTED` times the speed, in a stop up to `TRUSTED_IN_STOP` times
                      and one way, and until more drives the joint on than did without efforts. Otherwise the motors
                      are at fault, and the efforts stay zero
otherwise             gravity and damping that take energy; slow joints are held
====================  ==================================================================================================

Hand guiding goes on meanwhile, with all of its efforts, until the motors are at fault twice: a hand may let go.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rne_dynamics.control.guards.effort_limits import EffortLimits
from rne_dynamics.control.thresholds import CUT, OVERSPEED, TRIAL
from rne_dynamics.model.inertia import Array

#: Time between two comparisons afterwards, s, and the growth of speed that counts, as a factor.
INTERVAL, GROWTH = 0.020, 1.02
#: Fractions of the velocity limit: below the first a joint is held, above the second growing speed counts.
HELD, FAST = 0.05, 1.0
#: Fractions of the effort limit: braking efforts below the first prove nothing; a joint that is driven on by more than
#: the second although nothing was sent to it gets the effort of another joint.
LEAST_BRAKING, STRAY = 2e-4, 0.05
#: Part of what has driven a joint on that must stay without efforts to be a hand's: it would grow, since the brake is
#: gone, but the hand's lever changes. Efforts may act late by `TRIAL`. It is then trusted up to so much more
#: speed, in a stop up to less: soft gears drive a joint on for a moment too.
EXTERNAL, TRUSTED, TRUSTED_IN_STOP = 0.5, 3.0, 1.25
#: Multiple of a braking effort that drives a joint of a guided arm on, for which a hand alone is not believed; a motor
#: with the wrong sign makes it 2.
GUIDED = 1.5


class Runaway:
    """Efforts that a stop may send after a joint was too fast; `guided`: a hand may drive joints on."""
    # moving: `JointInertia.moving`, since what motors pull against each other explains no motion

    def __init__(
        self, now: float, qd: Array, command: Array, limits: EffortLimits, moving: Array, guided: bool = False
    ) -> None:
        self._limits, self._moving = limits, moving
        self._began, self._last_at = now, now
        self._command = command.copy()
        self._first = np.abs(qd) / limits.velocity
        self._tried = False
        #: Whether all efforts are zero; whether that is for good, because motors do not brake.
        self.cut = self.proved = False
        self._zero_from, self._trusted, self._hand = now, np.full(len(qd), FAST if guided else 0.0), np.zeros(len(qd))
        # what has driven joints on without efforts, and whether more does so with them at a trusted speed: no hand
        self._push, self._refuted = np.zeros(len(qd)), False
        self._guided = self._doubted = guided
        self._along, self._drive, self._suspects = np.sign(qd), np.zeros(len(qd)), np.zeros(len(qd), dtype=bool)
        self._restart(now, qd)

    def allow(self, now: float, late: float, qd: Array, effort: Array, explaining: Callable[[Array], Array]) -> Array:
        """The part of `effort` that may be sent, N·m or N; (n,). `qd` shows efforts that are `late` s old."""
        self._impulse += (now - self._last_at) * self._command
        self._last_at = now
        if self.cut and (self._command.any() or now - late - self._zero_from < TRIAL):
            self._zero_from = now if self._command.any() else self._zero_from
            self._restart(now, qd)  # efforts may still act
        elif now - self._from >= (TRIAL if self.cut or not self._tried else INTERVAL):
            self._judge(now, qd, explaining)
        if self.cut:
            return np.zeros(len(effort))
        drives = (effort * qd > 0.0) & (np.abs(qd) > HELD * self._limits.velocity)
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
        acting = self._moving @ explaining((qd - self._qd) / time)
        along = np.sign(self._qd)
        speed, before = np.abs(qd) / limits.velocity, np.abs(self._qd) / limits.velocity
        if self.cut:
            external = acting * self._along >= EXTERNAL * self._drive
            found = self.proved or self._refuted or not external[self._suspects].all()
            self.cut = self.proved = found and not self._doubted  # a hand may have let go meanwhile: once
            self._doubted = False
            if not found:
                most = TRUSTED if self._guided else TRUSTED_IN_STOP
                self._trusted, self._hand = most * np.maximum(speed, OVERSPEED), self._along
                self._push = np.maximum(acting * self._along, 0.0)
        else:
            braked = (commanded * self._qd < 0.0) & (np.abs(commanded) > LEAST_BRAKING * limits.effort)
            bound = np.where(braked, np.abs(commanded), STRAY * limits.effort)
            if self._guided:
                bound = np.maximum(GUIDED * np.abs(commanded), STRAY * limits.effort)
            driven = (before > HELD) & ((acting - commanded) * along > bound)
            grown = self._tried & (speed > np.maximum(GROWTH * np.maximum(before, self._first), FAST))
            # nobody leads the arm of a stop: what has pushed it does not pull it back
            same = self._guided | (along == self._hand)
            more = same & (not self._guided) & ((acting - commanded) * along > bound + self._push)
            self._suspects = (driven if self._guided else driven | grown) & (more | (speed > self._trusted * same))
            self._refuted = bool((self._suspects & more & (speed <= self._trusted)).any())
            self._along, self._drive = along, acting * along
            self.cut, self._zero_from = bool(self._suspects.any()), now
        self._tried = True
        self._restart(now, qd)
