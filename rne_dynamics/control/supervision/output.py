"""Output of a controller: which efforts go out, limited, counted, reported; those of a stop of an arm that is too fast.

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

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from rne_dynamics.control.control_law import Reference, TorqueTerms, named_terms
from rne_dynamics.control.guards import effort_limits as rows
from rne_dynamics.control.guards.effort_limiter import EFFORT, RATE, SPEED, STOP, VELOCITY, EffortLimiter, Limited
from rne_dynamics.control.guards.effort_limits import EffortLimits, VelocityInForce
from rne_dynamics.control.parameters import joint_name
from rne_dynamics.control.supervision.answer import QuickAnswer
from rne_dynamics.control.supervision.payload_estimate import friction_bound
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.torques import Torques
from rne_dynamics.control.thresholds import CUT, LONGEST_STEP, OVERSPEED, TRIAL
from rne_dynamics.errors import StateProblem
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot

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
        #: What was sent last, N·m or N; shape (n,).
        self.command = command
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
        self._impulse += (now - self._last_at) * self.command
        self._last_at = now
        if self.cut and (self.command.any() or now - late - self._zero_from < TRIAL):
            self._zero_from = now if self.command.any() else self._zero_from
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


#: Besides Coulomb friction: fraction of the effort limit, and of gravity, that a true report may be off by.
FRICTION, MODEL_ERROR = 0.02, 0.1


class Effort(NamedTuple):
    """An effort to be sent."""

    #: N·m or N; shape (n,).
    command: Array
    #: Its terms, before limits; as they are named, or rows of an array.
    parts: TorqueTerms | Array
    #: Whether the arm is released with it, so that it must arrive: zeros.
    last: bool

    @property
    def terms(self) -> TorqueTerms:
        """Its terms, before limits."""
        return named_terms(self.parts)


class Output:
    """Limits efforts and remembers when and what went out last."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.limiter = EffortLimiter(settings.limits)
        self._clamp: tuple[TorqueTerms | Array, Limited, Array] | None = None
        self.velocity = VelocityInForce(settings.limits.velocity)
        self.at = -math.inf

    def adopt(self, settings: Settings) -> None:
        """Other limits; the rate limit softens what jumps, and lower velocity limits wait for the arm to slow down."""
        self._settings = settings
        self.limiter.change(settings.limits)
        self.velocity.change(settings.limits.velocity, self.limiter.memory[SPEED])
        self.limiter.memory[rows.VELOCITY] = self.velocity.now

    def slow(self, now: float, speed: Array) -> None:
        """Let lowered velocity limits come into force as a reference with the velocity `speed`, (n,), keeps them."""
        self.velocity.advance(self._step(now), speed)
        self.limiter.memory[rows.VELOCITY] = self.velocity.now

    def start_from(self, reported: Array, gravity: Array) -> None:
        """Begin at the efforts reported, NaN for none, as far as plausible with the model's gravity; (n,) each."""
        if "gravity" in self._settings.compensated:  # whether such an arm reports gravity too is unknown
            self.limiter.start(np.zeros(len(reported)))
            return
        tolerance = start_tolerance(self._settings.robot, gravity, self._settings.limits.effort)
        self.limiter.start(believable_start(reported, gravity, tolerance))

    def answer(
        self, terms: TorqueTerms, now: float, q: Array, qd: Array, counters: Counters, fade: float = 1.0
    ) -> Limited:
        """The effort at a measured state; `ControlError`, and nothing goes out, for what is not finite."""
        motion = terms.inertia + terms.coriolis + terms.friction + terms.feedback
        limited = self.limiter.limit(terms.gravity, motion, q, qd, self._step(now), fade)
        return self._note(limited, terms, now, q, counters)

    def track(
        self, torques: Torques, quick: QuickAnswer, q: Array, qd: Array, reference: Reference, feedback: float,
        now: float, counters: Counters, expected: tuple[Array, Array] | None = None,
    ) -> tuple[Array, Limited, bool]:
        """The effort along a reference at a measured state; the law answers for the `expected` one, if given."""
        place, speed = expected or (q, qd)
        if torques.integrates:
            torques.tracked = reference, place
        answer = quick.answer(
            place, speed, reference, feedback, torques.integral, self.limiter, self._step(now), q, qd
        )
        self._note(answer[1], answer[0], now, q, counters)
        return answer

    def approach(self, effort: Array, terms: TorqueTerms, now: float, q: Array, counters: Counters) -> Limited:
        """A step towards `effort`, (n,), without walls and dampers: where the arm or its motors cannot be trusted."""
        return self._note(self.limiter.approach(effort, self._step(now)), terms, now, q, counters)

    def _step(self, now: float) -> float:
        step = now - self.at
        return step if step < LONGEST_STEP else LONGEST_STEP  # a call of `min` takes four times as long

    def _note(self, limited: Limited, terms: TorqueTerms | Array, now: float, q: Array, counters: Counters) -> Limited:
        self.at = now
        if limited.any:
            counters.clamped += 1
            self._clamp = terms, limited, q.copy()
        return limited

    def clamp_text(self) -> str:
        """What was clamped last, and which term asked for what; empty for nothing since the last call."""
        if self._clamp is None:
            return ""
        terms, limited, q = self._clamp
        self._clamp = None
        return clamp_report(named_terms(terms), limited, self._settings.limits, q)


@dataclass
class Counters:
    """Totals since activation."""

    #: Joint states with our joints, and messages with none of them.
    states: int = 0
    foreign: int = 0
    #: Joint states that were not used, by what was wrong with them.
    refused: Counter[StateProblem] = field(default_factory=Counter)
    #: Text of the last refusal.
    refusal: str = ""
    #: New time bases that were taken.
    time_jumps: int = 0
    #: Efforts without a usable state, and those that a limit changed.
    dead_reckoned: int = 0
    clamped: int = 0
    #: Streams lost, stops begun, faults, and the cause of the last fault.
    lost: int = 0
    stops: int = 0
    faults: int = 0
    fault: str = ""
    #: How often an arm that was held was too far from its place, so that it is held where it then was.
    held_anew: int = 0
    #: Messages on the motion of the base that were not used, and the text of the last refusal.
    base_refused: int = 0
    base_refusal: str = ""

    def refuse(self, problem: StateProblem, text: str) -> None:
        """Count a joint state that is not used."""
        self.refused[problem] += 1
        self.refusal = text


def believable_start(reported: Array, gravity: Array, tolerance: Array) -> Array:
    """What the motors give now, (n,), as far as the report of it, NaN for none, is plausible for an arm at rest."""
    # An arm that brakes hold reports about zero, one that another controller holds about gravity, one that rests on
    # something any effort between. A report outside of that by more than `tolerance` has a wrong unit, sign or offset:
    # the nearer end is taken instead, so that the start never goes against gravity, nor beyond it, by more than that.
    known = np.where(np.isfinite(reported), reported, 0.0)
    plausible = np.clip(known, np.minimum(gravity, 0.0), np.maximum(gravity, 0.0))
    return np.asarray(np.where(np.abs(known - plausible) <= tolerance, known, plausible))


def start_tolerance(robot: RigidRobot, gravity: Array, effort_limit: Array) -> Array:
    """How far a true report can be from gravity or zero: friction and model error, N·m or N; shape (n,)."""
    return friction_bound(robot, FRICTION, FRICTION * effort_limit) + MODEL_ERROR * np.abs(gravity)


# -- report of limited efforts: joint, reason, and the share of each term of the law -----------------------------------


#: Terms below this part of a joint's largest are left out.
NEGLIGIBLE = 0.01


def clamp_report(terms: TorqueTerms, limited: Limited, limits: EffortLimits, q: Array) -> str:
    """A sentence a joint that was limited: what each term asked, what it got, and why. Not for the hot path."""
    return "; ".join(_sentence(int(j), terms, limited, limits, q) for j in np.flatnonzero(limited.flags))


def _sentence(j: int, terms: TorqueTerms, limited: Limited, limits: EffortLimits, q: Array) -> str:
    parts = {name: float(value[j]) for name, value in zip(terms._fields, terms, strict=True)}
    largest = max(map(abs, parts.values()))
    shares = ", ".join(
        f"{name} {parts[name]:.4g}"
        for name in sorted(parts, key=lambda name: -abs(parts[name]))
        if abs(parts[name]) > NEGLIGIBLE * largest
    )
    asked = sum(parts.values())
    return (
        f"{joint_name(j, limits.joints or None)} asked for {asked:.4g}{f' ({shares})' if shares else ''} and got "
        f"{limited.command[j]:.4g}: {', '.join(_reasons(j, asked, limited, limits, float(q[j])))}"
    )


def _reasons(j: int, asked: float, limited: Limited, limits: EffortLimits, q: float) -> Iterator[str]:
    flags = int(limited.flags[j])
    if flags & STOP:
        lower, upper, margin = limits.lower[j], limits.upper[j], limits.margin[j]
        side, limit, inside = ("upper", upper, upper - q) if q > upper - margin else ("lower", lower, q - lower)
        where = f"{inside:.3g} before" if inside >= 0.0 else f"{-inside:.3g} beyond"
        yield f"it is at {q:.4g}, {where} its {side} position limit {limit:g} (margin {margin:g})"
    if flags & VELOCITY:
        yield f"it is faster than its velocity limit {limits.velocity[j]:g}"
    if flags & EFFORT:
        limit = limits.effort[j]
        if limits.saturation == "joint" or abs(asked) > limit:
            yield f"its effort limit is {limit:g}"
        else:
            yield "all joints are scaled down with one at its effort limit"
    if flags & RATE:
        yield f"its effort may change by {limits.rate[j]:g} per s"
