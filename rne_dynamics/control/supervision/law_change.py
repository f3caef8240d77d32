"""The change from one law to another while the arm is driven: the share of the new one grows from nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rne_dynamics.control.control_law import ControlLaw, terms_of
from rne_dynamics.control.reference import Reference, TorqueTerms
from rne_dynamics.control.supervision.load_change import FASTEST_FADE, LOAD_TIME, other_load
from rne_dynamics.control.thresholds import LONGEST_STEP
from rne_dynamics.dynamics.declared.arguments import BaseMotion
from rne_dynamics.model.inertia import Array

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

    @property
    def under_way(self) -> bool:
        """Whether the effort is not that of `law` alone."""
        return bool(self._former)

    def finish(self, law: ControlLaw | None) -> None:
        """Let a law be in force at once."""
        self._apply(law)
        self.law = law
        self._former: list[_Former] = []
        self._next: ControlLaw | None = None
        self._share = 1.0

    def act_after(self, delay: float, period: float) -> None:
        """Pass on the delay from a state until its effort acts, and the time between states, s."""
        for law in (self.law, self._next, *(former.law for former in self._former)):
            own: Callable[[float, float], None] | None = getattr(law, "act_after", None)
            if own is not None:
                own(delay, period)

    def apply_wrench(self, rows: Array) -> None:
        """Pass on a wrench, as of `WrenchFade.rows`, also to laws that are still to come."""
        self._wrench = rows
        self._apply(self.law)
        for former in self._former:
            self._apply(former.law)

    def _apply(self, law: ControlLaw | None) -> None:
        own: Callable[[Array], None] | None = getattr(law, "apply_wrench", None)
        if own is not None:
            own(self._wrench)

    def begin(self, law: ControlLaw, integral: Array) -> None:
        """Let a law come into force, as fast as it says where the one before is of its class, and has its load."""
        self._apply(law)
        same = type(law) is type(self.law)
        time = getattr(law, "fade_time", 0.0) if same else FADE_TIME
        if self.law is not None and other_load(law.robot, self.law.robot):
            time = max(time, LOAD_TIME)
        fades = any(former.law is law for former in self._former)  # one that has a state answers once a cycle
        if fades or len(self._former) == MOST_FADING or (self.under_way and not time > 0.0):
            self._next = law
        elif self.law is None or not time > 0.0:
            self.law = law
        else:
            for former in self._former:
                former.share *= 1.0 - self._share
            self._former.append(_Former(self.law, self._share, integral))
            self.law, self._next, self._share, self._time, self._difference = law, None, 0.0, time, 0.0

    def keep_effort(
        self, q: Array, qd: Array, reference: Reference, posture: Array | None, base: BaseMotion | None
    ) -> None:
        """Let the efforts of former laws at a state fade, not their answers to another reference."""
        for former in self._former:
            if former.feedback is None:
                former.feedback = terms_of(former.law, q, qd, reference, former.integral, posture, base).feedback

    def terms(
        self, q: Array, qd: Array, reference: Reference, integral: Array, posture: Array | None,
        base: BaseMotion | None,
    ) -> TorqueTerms:
        """The efforts for one cycle; see `terms_of`."""
        law: Any = self.law
        after = terms_of(law, q, qd, reference, integral, posture, base)
        if not self._former:
            return after
        before = np.zeros((len(TorqueTerms._fields), len(q)))
        for former in self._former:
            terms = terms_of(former.law, q, qd, reference, former.integral, posture, base)
            if former.feedback is not None:
                terms = terms._replace(feedback=former.feedback)
            before += former.share * np.array(terms)
        self._difference = float(np.abs(after.total - before.sum(axis=0)).max())
        return TorqueTerms(*((1.0 - self._share) * before + self._share * np.array(after)))

    def advance(self, dt: float, integral: Array) -> None:
        """Let the share of the new law grow over `dt`, s, at most `LONGEST_STEP`; `integral`: ∫e now, (n,)."""
        if not self._former or self.law is None:
            return
        step = min(max(dt, 0.0), LONGEST_STEP)
        self._share += step * min(1.0 / self._time, FASTEST_FADE / max(self._difference, 1e-9))
        if self._share >= 1.0:
            law, self._next = self._next, None
            self._former, self._share = [], 1.0
            if law is not None:
                self.begin(law, integral)
