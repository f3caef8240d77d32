"""Change from one law or load to another: what is faded in and out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rne_dynamics.control.control_law import ControlLaw, Reference, TorqueTerms, call_own, terms_of
from rne_dynamics.control.model_terms import holding_terms
from rne_dynamics.control.thresholds import LONGEST_STEP
from rne_dynamics.dynamics.declared.arguments import BaseMotion
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import MASS, ROTOR, same_masses
from rne_dynamics.model.mechanism import RigidRobot

#: Time of a change of the load, s, and fastest change of an effort by it, N·m/s or N/s.
LOAD_TIME, FASTEST_FADE = 0.2, 500.0


def relocked(robot: RigidRobot, former: RigidRobot) -> bool:
    """Whether bodies of two models are placed elsewhere, as with joints that are locked at other positions."""
    a, b = robot.open_tree.parameters, former.open_tree.parameters
    placed = np.r_[:MASS, ROTOR : a.shape[1]]
    return not np.array_equal(a[:, placed], b[:, placed])


def other_load(robot: RigidRobot, former: RigidRobot) -> bool:
    """Whether two models differ in what their bodies weigh, and in nothing else."""
    return not (same_masses(robot.open_tree.parameters, former.open_tree.parameters) or relocked(robot, former))


class LoadChange:
    """Models whose gravity has not faded yet, each with its share; without a change there is none."""

    def __init__(self) -> None:
        #: Of the models before, while something of them is left.
        self.former: list[tuple[float, RigidRobot]] = []
        self._left, self._difference = 0.0, 0.0

    def begin(self, former: RigidRobot) -> None:
        """Let the gravity of the model before fade, and what is left of those before it."""
        self.former = [(share * self._left, robot) for share, robot in self.former] + [(1.0 - self._left, former)]
        self._left = 1.0

    def apply(
        self, terms: TorqueTerms, q: Array, qd: Array, posture: Array | None, base: BaseMotion | None
    ) -> TorqueTerms:
        """Efforts at a state with as much gravity of the models before as is left."""
        if not self.former:
            return terms
        more = np.zeros(len(q))
        for share, robot in self.former:
            more += share * (holding_terms(robot, q, qd, posture, base)[0] - terms.gravity)
        self._difference = float(np.abs(more).max())
        return terms._replace(gravity=terms.gravity + self._left * more)

    def inertia(self, robot: RigidRobot) -> Array:
        """Mass, first moment and inertia of the bodies with what is left of those before; columns of `parameters`."""
        now: Array = robot.open_tree.parameters[:, MASS:ROTOR]
        before = sum(share * (former.open_tree.parameters[:, MASS:ROTOR] - now) for share, former in self.former)
        return np.asarray(now + self._left * before)

    def advance(self, dt: float) -> None:
        """Let them fade over `dt`, s."""
        if self.former:
            self._left -= dt * min(1.0 / LOAD_TIME, FASTEST_FADE / max(self._difference, 1e-9))
            if self._left <= 0.0:
                self.__init__()  # type: ignore[misc]


#: Least time of a change to another law, s.
FADE_TIME = 0.3
#: Laws that fade at once: a load that is set must not wait for the end of another change.
MOST_FADING = 2


@dataclass
class _Former:
    """A law that fades: its share when the change began, and what stays of it then."""

    law: ControlLaw
    share: float
    #: ∫e at the beginning, and its feedback where that stays, (n,).
    integral: Array
    feedback: Array | None = None


class LawChange:
    """The law in force, with what is left of those before; without a change that is `law` alone.

    Of changes that come while two are under way only the newest is made, after them.
    """

    def __init__(self, law: ControlLaw | None) -> None:
        self._time, self._difference = 0.0, 0.0
        self._wrench = np.zeros((2, 6))
        self.finish(law)

    def finish(self, law: ControlLaw | None) -> None:
        """Let a law be in force at once."""
        call_own(law, "apply_wrench", self._wrench)
        self.law = law
        #: Laws that were in force, as long as the effort is not that of `law` alone.
        self.former: list[_Former] = []
        self._next: ControlLaw | None = None
        self._share = 1.0

    def act_after(self, delay: float, period: float) -> None:
        """Pass on the delay from a state until its effort acts, and the time between states, s."""
        for law in (self.law, self._next, *(former.law for former in self.former)):
            call_own(law, "act_after", delay, period)

    def apply_wrench(self, rows: Array) -> None:
        """Pass on a wrench, as of `WrenchInput.rows`, also to laws that are still to come."""
        self._wrench = rows
        for law in (self.law, *(former.law for former in self.former)):
            call_own(law, "apply_wrench", rows)

    def begin(self, law: ControlLaw, integral: Array) -> None:
        """Let a law come into force, as fast as it says where the one before is of its class, and has its load."""
        call_own(law, "apply_wrench", self._wrench)
        same = type(law) is type(self.law)
        if same and self.law is not None and self._next is None and relocked(law.robot, self.law.robot):
            self.law = law  # a small step, and where those joints go on moving the next one comes soon
            return
        time = getattr(law, "fade_time", 0.0) if same else FADE_TIME
        if self.law is not None and other_load(law.robot, self.law.robot):
            time = max(time, LOAD_TIME)
        fades = any(former.law is law for former in self.former)  # one that has a state answers once a cycle
        if fades or len(self.former) == MOST_FADING or (self.former and not time > 0.0):
            self._next = law
        elif self.law is None or not time > 0.0:
            self.law = law
        else:
            for former in self.former:
                former.share *= 1.0 - self._share
            self.former.append(_Former(self.law, self._share, integral))
            self.law, self._next, self._share, self._time, self._difference = law, None, 0.0, time, 0.0

    def keep_effort(
        self, q: Array, qd: Array, reference: Reference, posture: Array | None, base: BaseMotion | None
    ) -> None:
        """Let the efforts of former laws at a state fade, not their answers to another reference."""
        for former in self.former:
            if former.feedback is None:
                former.feedback = terms_of(former.law, q, qd, reference, former.integral, posture, base).feedback

    def terms(
        self, q: Array, qd: Array, reference: Reference, integral: Array, posture: Array | None,
        base: BaseMotion | None,
    ) -> TorqueTerms:
        """The efforts for one cycle; see `terms_of`."""
        law: Any = self.law
        after = terms_of(law, q, qd, reference, integral, posture, base)
        if not self.former:
            return after
        before = np.zeros((len(TorqueTerms._fields), len(q)))
        for former in self.former:
            terms = terms_of(former.law, q, qd, reference, former.integral, posture, base)
            if former.feedback is not None:
                terms = terms._replace(feedback=former.feedback)
            before += former.share * np.array(terms)
        self._difference = float(np.abs(after.total - before.sum(axis=0)).max())
        return TorqueTerms(*((1.0 - self._share) * before + self._share * np.array(after)))

    def advance(self, dt: float, integral: Array) -> None:
        """Let the share of the new law grow over `dt`, s, at most `LONGEST_STEP`; `integral`: ∫e now, (n,)."""
        if not self.former or self.law is None:
            return
        step = min(max(dt, 0.0), LONGEST_STEP)
        self._share += step * min(1.0 / self._time, FASTEST_FADE / max(self._difference, 1e-9))
        if self._share >= 1.0:
            law, self._next = self._next, None
            self.former, self._share = [], 1.0
            if law is not None:
                self.begin(law, integral)
