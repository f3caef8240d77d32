"""Torques of a controller in each of its modes, from laws without modes."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rne_dynamics.closed_chain.assembly import Follower
from rne_dynamics.control.control_law import (
    CORIOLIS,
    FRICTION,
    GRAVITY,
    INERTIA,
    CompiledLaw,
    Reference,
    TorqueTerms,
    call_own,
    next_integral,
    resume_law,
)
from rne_dynamics.control.felt_inertia import joint_inertia, lowered
from rne_dynamics.control.gravity_compensation import GravityCompensation
from rne_dynamics.control.guards.effort_limiter import Limited
from rne_dynamics.control.model_terms import closed_terms, holding_terms, open_terms
from rne_dynamics.control.supervision.answer import QuickAnswer
from rne_dynamics.control.supervision.fading import LawChange, LoadChange, other_load
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.thresholds import CALM, LONGEST_GAP, LONGEST_STEP, SAFETY, STREAM_WINDOW
from rne_dynamics.dispatch import follower, mechanism_of
from rne_dynamics.dynamics.declared.arguments import BaseMotion
from rne_dynamics.errors import AssemblyError, SingularPostureError
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array, read_only
from rne_dynamics.model.layout import same_masses

if TYPE_CHECKING:
    from rne_dynamics.control.prediction import Predictor

#: Efforts that are fitted, the newest of them that give the support, and the time between two, s.
FITTED, NEWEST, FIT_PERIOD = 50, 10, 0.01
#: Deviations of a model that are believed, as parts of its inertia and of its friction: least and most.
BELIEVED = np.array([[[-0.5], [0.0]], [[0.5], [3.0]]])
#: Part of the model's gravity that a support may have which stays in a stop: more is a hand's, or a wall's.
HEAVIER = 0.5
#: Scatter of a term that proves nothing, in effort limits: what it explains is counted as support.
SCATTER = 0.003


class MissedEffort:
    """The last efforts of an arm with the effort limits `limit`, (n,), and what the model misses in them."""

    def __init__(self, limit: Array) -> None:
        self._scatter = (FITTED * (SCATTER * limit) ** 2)[:, None, None] * np.eye(2)
        self.forget()

    def forget(self) -> None:
        """No effort is known any more."""
        self._efforts: deque[tuple[TorqueTerms | Array, Array]] = deque(maxlen=FITTED)
        #: When the next effort is to be noted, s.
        self.due = -math.inf
        self._fit = np.zeros(0)

    def note(self, now: float, terms: TorqueTerms | Array, command: Array) -> None:
        """Remember what was sent at `now`, when it is due, (n,), limits included, and the law's terms."""
        self.due, self._fit = now + FIT_PERIOD, np.zeros(0)
        self._efforts.append((terms, command))

    def weight(self, gravity: Array) -> Array:
        """Support that an arm of other masses needs besides the model's `gravity`, N·m or N; shape (n,)."""
        most = HEAVIER * np.abs(gravity)
        return np.asarray(np.clip(self.fit()[0], -most, most))

    def fit(self) -> Array:
        """Support, factor of the inertia term, factor of the friction term, (3, n): least squares, each joint alone."""
        if not self._fit.size:
            rows = [(t[INERTIA], t[FRICTION], c - t[INERTIA] - t[CORIOLIS] - t[GRAVITY]) for t, c in self._efforts]
            data = np.array(rows or np.zeros((1, 3, len(self._scatter))))
            off = data - data.mean(axis=0)
            products = np.einsum("kaj,kbj->jab", off, off)
            factors = np.linalg.solve(products[:, :2, :2] + self._scatter, products[:, :2, 2:])[..., 0].T
            factors = np.clip(factors, *BELIEVED)
            support = (data[-NEWEST:, 2] - (factors * data[-NEWEST:, :2]).sum(axis=1)).mean(axis=0)
            self._fit = np.array([support, 1.0 + factors[0], factors[1]])
        return self._fit


# -- torques of a controller in each of its modes, from laws without modes ---------------------------------------------


#: Part of the braking effort that dead reckoning sends: an arm of half the inertia is driven back at half the speed.
BRAKING = 0.75
#: Part of its velocity limit from which on a joint that is guided by hand is braked.
RESISTED = 0.8


class PeriodWatch:
    """Longest recent time between two joint states, s: rises at once, and falls over about `STREAM_WINDOW`."""

    def __init__(self, expected: float) -> None:
        self.longest = expected

    def add(self, gap: float) -> None:
        """Take the time between the last two states, s; 0 where there was no new one."""
        if gap > self.longest:
            self.longest = min(gap, LONGEST_GAP)
        elif gap > 0.0:
            self.longest += (gap - self.longest) * (gap / STREAM_WINDOW if gap < STREAM_WINDOW else 1.0)


class Torques:
    """Laws, without what the hardware compensates, with the integral of the error and a mechanism's loops."""

    def __init__(self, settings: Settings) -> None:
        n = settings.robot.n
        self._settings = settings
        self.loops: Follower | None = None
        self.integral = np.zeros(n)
        #: Reference and position of the last effort along a reference, for `integrate`.
        self.tracked: tuple[Reference, Array] | None = None
        self._zero = read_only(np.zeros(n))
        self.held, self.moving, self.inverse = np.ones(n), np.eye(n), np.eye(n)
        self.base: BaseMotion | None = None
        self.predictor: Predictor | None = None
        #: The law in force, and what is left of the one before.
        self.change, self._load = LawChange(None), LoadChange()
        #: When `update_inertia` is due, monotonic s, and the stamp up to which the error is integrated, ns.
        self.inertia_at, self.integrated = -math.inf, 0
        self.period = PeriodWatch(1.0 / settings.assumed_rate)
        self.missed = MissedEffort(settings.limits.effort)
        self.adopt(settings)

    def adopt(self, settings: Settings, *, at_once: bool = True) -> None:
        """Other laws or another payload; the loops go on where they are. Not `at_once` a law fades into the next."""
        robot, posture = settings.robot, self.posture
        law: Any = settings.tracking
        former = self._settings.tracking
        resume_law(law, former)
        if at_once or law is None:
            self.change.finish(law)
        elif law is not former:
            self.change.begin(law, self.integral)
        if type(law) is not type(former):
            self.integral = np.zeros(robot.n)
        if not same_masses(robot.open_tree.parameters, self._settings.robot.open_tree.parameters):
            self.missed.forget()
        if not at_once and other_load(robot, self._settings.robot):
            self._load.begin(self._settings.robot)
        self._settings = settings
        #: Whether the law needs the integral of the error.
        self.integrates: bool = getattr(law, "integrates", hasattr(law, "next_integral"))
        self.loops = follower(robot, posture)
        self._damped = self._braked = GravityCompensation(robot, np.zeros(robot.n))
        self._floating, self._inertia_period = settings.floating, self.period.longest
        compiled: CompiledLaw | None = getattr(law, "compiled", None)
        self.quick = None if compiled is None else QuickAnswer(compiled, settings.compensated)
        self.move_base(self.base)
        self.inertia_at = -math.inf
        before, self.predictor = self.predictor, None
        if law is not None and settings.command_delay > 0.0:  # which only some laws take, see `check_delay`
            from rne_dynamics.control.prediction import Predictor  # with forward dynamics, which few arms need

            self.predictor = Predictor(law, settings.command_delay, settings.compensated, before)
            self.predictor.set_inertia(self._load.inertia(robot))

    def move_base(self, motion: BaseMotion | None) -> None:
        """How the base moves from now on; None for a base at rest."""
        self.base = motion
        if self.quick is not None and motion is not None:
            self.quick.move_base(motion.packed(self._settings.robot.open_tree.gravity))

    def upright(self, q: Array, effort: Array) -> Array:
        """What an effort, (n,), that holds the arm on the moving base would be on a base at rest."""
        if self.base is None:
            return effort
        still = self._damped.law(q, self._zero, posture=self.posture).gravity
        return effort - (self.gravity(q) - still)

    def restart(self) -> None:
        """Loops in the posture of the model, nothing integrated."""
        self.loops = follower(self._settings.robot)
        self.period = PeriodWatch(1.0 / self._settings.assumed_rate)
        self.forget()

    def forget(self) -> None:
        """Nothing integrated, no effort under way."""
        self.integral, self._load = np.zeros(len(self.integral)), LoadChange()
        call_own(self._settings.tracking, "restart")
        if self.predictor is not None:
            self.predictor.forget()

    @property
    def posture(self) -> Array | None:
        """Positions of all joints of a mechanism's tree at the state at hand; None for an open arm."""
        return None if self.loops is None else self.loops.posture

    def follow(self, q: Array, qd: Array) -> None:
        """Bring the loops to a state; `AssemblyError`, `SingularPostureError` where that cannot be."""
        if self.loops is not None:
            self.loops.follow(q, qd)

    def update_inertia(self, q: Array, acts_after: float = 0.0) -> Array:
        """Inertia of walls and overspeed dampers, (n,), where efforts act `acts_after` s late; new dampers too."""
        # as large as is stable here; walls and overspeed dampers may act together: they get half as much as the rate
        # allows
        settings, robot = self._settings, self._settings.robot
        inertia = joint_inertia(robot, q, self.posture)
        felt, inverse = inertia.felt, inertia.inverse
        self.held, self.moving, self.inverse = inertia.held, inertia.moving, inertia.inverse
        self._inertia_period = self.period.longest
        safe = 1.0 / (SAFETY * max(self._inertia_period, acts_after))
        calm = min(1.0 / (CALM * self._inertia_period), safe)
        self._damped = GravityCompensation(robot, lowered(inverse, settings.stop.damping * felt, safe))
        wanted = settings.floating.damping
        allowed = lowered(inverse, wanted, safe)
        viscous = self._viscous_part(q, inverse, safe)
        self._floating = settings.floating
        if allowed is not wanted or viscous.min() < 1.0:
            self._floating = replace(settings.floating, damping=allowed, viscous_part=viscous)
        frequency = 2.0 * settings.limits.stop_frequency
        damper = lowered(inverse, frequency * felt, calm)
        self._braked = GravityCompensation(robot, np.maximum(damper, self._damped.damping))
        return damper / frequency

    def _viscous_part(self, q: Array, inverse: Array, fastest: float) -> Array:
        """Fractions, (n,), of the viscous friction that hand guiding compensates: none decays faster than `fastest`."""
        law, robot = self._settings.floating, self._settings.robot
        if law.friction_compensation is None:
            return np.ones(robot.n)
        viscous = law.friction_compensation.scale * joint_friction(robot).viscous
        if not robot.loops:
            return np.divide(lowered(inverse, viscous, fastest), viscous, np.ones(robot.n), where=viscous > 0.0)
        matrix = np.diag(viscous)  # of a mechanism passive joints too, so that it is not diagonal
        for j, speed in enumerate(np.eye(robot.n)):
            matrix[:, j] += law.friction_compensation.scale * holding_terms(robot, q, speed, self.posture)[1]
        decay = float(np.linalg.eigvals(inverse @ matrix).real.max())
        return np.full(robot.n, min(1.0, fastest / decay) if decay > 0.0 else 1.0)

    def gravity(self, q: Array) -> Array:
        """The model's gravity at a measured posture, (n,), also where compensated; zero where loops do not close."""
        try:
            self.follow(q, self._zero)
            return self._damped.law(q, self._zero, posture=self.posture, base_motion=self.base).gravity
        except (AssemblyError, SingularPostureError):
            return self._zero

    def tracking(self, q: Array, qd: Array, reference: Reference, feedback: float) -> TorqueTerms:
        """Along a reference, with a fraction of the feedback; without a tracking law damped gravity."""
        law = self._settings.tracking
        if law is None:
            return self.damped(q, qd)
        if self.integrates:
            self.tracked = reference, q
        terms = self.change.terms(q, qd, reference, self.integral, self.posture, self.base)
        if feedback < 1.0:
            terms = terms._replace(feedback=feedback * terms.feedback)
        return self._own(terms)

    def floating(self, q: Array, qd: Array, damped: float) -> TorqueTerms:
        """Hand guiding with a part of its damping, which the motors resist as a joint comes near its velocity limit."""
        terms = self._loaded(self._floating, q, qd)
        fast = np.maximum(np.abs(qd) - RESISTED * self._settings.limits.velocity, 0.0)
        if fast.any():
            terms = terms._replace(feedback=terms.feedback - self._braked.damping * np.copysign(fast, qd))
        if damped < 1.0:
            terms = terms._replace(feedback=damped * terms.feedback)
        return self._own(self._slowed(terms))

    def damped(self, q: Array, qd: Array, support: float = 1.0, *, hard: bool = False) -> TorqueTerms:
        """A fraction of gravity and damping: how an arm is held and released in a stop; `hard` where it is too fast."""
        law = self._braked if hard else self._damped
        terms = self._slowed(self._loaded(law, q, qd))
        if support < 1.0:
            terms = terms._replace(gravity=support * terms.gravity, feedback=support * terms.feedback)
        return self._own(terms)

    def explaining(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Efforts that explain an acceleration, (n,), without what the hardware adds and without friction."""
        robot, tree = self._settings.robot, self._settings.robot.open_tree
        if (mechanism := mechanism_of(robot)) is not None:  # the loops do not allow measured rates exactly
            terms = closed_terms(mechanism, q, qd, qdd, self._zero, self.posture, self.base)
        else:
            base = tree.base_at_rest if self.base is None else self.base.packed(tree.gravity)
            terms = open_terms(tree, base, q, qd, qdd)
        effort: Array = terms[INERTIA]
        for name, row in (("coriolis", CORIOLIS), ("gravity", GRAVITY)):
            effort = effort if name in self._settings.compensated else effort + terms[row]
        return effort

    def along(self, reference: Reference, *, braking: bool, faster: bool = False) -> TorqueTerms:
        """Feedforward for an arm that is not measured, with what the model has missed; accelerates only if `faster`."""
        q, qd, qdd = reference
        self.follow(q, qd)
        aim = reference if faster else Reference(q, qd, np.where(qdd * qd > 0.0, 0.0, qdd))
        terms = self.tracking(q, qd, aim, 0.0)
        support, inertia, friction = self.missed.fit()
        if braking:
            inertia, friction = BRAKING * inertia, self._zero
        return terms._replace(inertia=inertia * terms.inertia, friction=friction * terms.friction, feedback=support)

    def integrate(self, dt: float, late: float, limited: Limited) -> None:
        """Integrate the error of the last `tracking` over `dt`, s; a state that came `late`, s, counts for damping."""
        self.period.add(dt + late if dt > 0.0 else dt)
        self.change.advance(dt, self.integral)
        if self._load.former:
            self._load.advance(min(max(dt, 0.0), LONGEST_STEP))
            if self.predictor is not None:
                self.predictor.set_inertia(self._load.inertia(self._settings.robot))
        law = self._settings.tracking
        if law is not None and self.integrates and self.tracked is not None:
            (reference, q), self.tracked = self.tracked, None  # an effort along no reference leaves it as it is
            step = min(max(dt, 0.0), LONGEST_GAP)
            self.integral = next_integral(law, self.integral, q, reference, step, limited.saturated)

    def only_support(self, gravity: Array, support: float) -> TorqueTerms:
        """A fraction of a gravity torque known from before, (n,), and of what the model has missed at rest."""
        zero = self._zero
        return TorqueTerms(zero, zero, support * gravity, zero, support * self.missed.fit()[0])

    def _loaded(self, law: GravityCompensation, q: Array, qd: Array) -> TorqueTerms:
        terms = law.law(q, qd, posture=self.posture, base_motion=self.base)
        return self._load.apply(terms, q, qd, self.posture, self.base)

    def _slowed(self, terms: TorqueTerms) -> TorqueTerms:
        """Less damping and compensated friction where states have become rarer since inertia was updated."""
        part = self._inertia_period / self.period.longest
        return terms._replace(feedback=part * terms.feedback, friction=part * terms.friction) if part < 1.0 else terms

    def _own(self, terms: TorqueTerms) -> TorqueTerms:
        for name in self._settings.compensated:
            terms = terms._replace(**{name: self._zero})
        return terms
