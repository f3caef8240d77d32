"""Output of a controller: efforts of the law, limited, counted, remembered, and reported where a limit changed them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from rne_dynamics.control.checks import joint_name
from rne_dynamics.control.guards import effort_limits as rows
from rne_dynamics.control.guards.effort_limiter import EFFORT, RATE, SPEED, STOP, VELOCITY, EffortLimiter, Limited
from rne_dynamics.control.guards.effort_limits import EffortLimits, VelocityInForce
from rne_dynamics.control.reference import Reference, TorqueTerms, named_terms
from rne_dynamics.control.startup.payload_estimate import friction_bound
from rne_dynamics.control.supervision.answer import Answer, QuickAnswer
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.torques import Torques
from rne_dynamics.control.thresholds import LONGEST_STEP
from rne_dynamics.errors import StateProblem
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot

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
    ) -> Answer:
        """The effort along a reference at a measured state; the law answers for the `expected` one, if given."""
        place, speed = expected or (q, qd)
        if torques.integrates:
            torques.tracked = reference, place
        step = min(now - self.at, LONGEST_STEP)
        answer = quick.answer(place, speed, reference, feedback, torques.integral, self.limiter, step, q, qd)
        self._note(answer.limited, answer.rows, now, q, counters)
        return answer

    def approach(self, effort: Array, terms: TorqueTerms, now: float, q: Array, counters: Counters) -> Limited:
        """A step towards `effort`, (n,), without walls and dampers: where the arm or its motors cannot be trusted."""
        return self._note(self.limiter.approach(effort, self._step(now)), terms, now, q, counters)

    def _step(self, now: float) -> float:
        return min(now - self.at, LONGEST_STEP)

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
