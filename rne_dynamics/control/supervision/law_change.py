"""The change from one law to another while the arm is driven: the share of the new one grows from nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rne_dynamics.control.control_law import ControlLaw, terms_of
from rne_dynamics.control.reference import Reference, TorqueTerms
from rne_dynamics.control.supervision.load_change import FASTEST_FADE, LOAD_TIME, other_load
from rne_dynamics.control.thresholds import LONGEST_STEP
from rne_dynamics.dynamics.declared.base_motion import BaseMotion
from rne_dynamics.model.inertia import Array

#: Least time of a change to another law, s.
FADE_TIME = 0.3


class LawChange:
    """The law in force, with what is left of the one before; without a change that is `law` alone.

    Of changes that come before one is over only the newest is made, after it.
    """

    def __init__(self, law: ControlLaw | None) -> None:
        #: ∫e of the law before at the beginning of the change, and its feedback where that stays, (n,).
        self._integral: Array | None = None
        self._feedback: Array | None = None
        self._time, self._difference = 0.0, 0.0
        self._wrench = np.zeros((2, 6))
        self.finish(law)

    @property
    def under_way(self) -> bool:
        """Whether the effort is not that of `law` alone."""
        return self._former is not None

    def finish(self, law: ControlLaw | None) -> None:
        """Let a law be in force at once."""
        self._apply(law)
        self.law = law
        self._former: ControlLaw | None = None
        self._next: ControlLaw | None = None
        self._share = 1.0

    def act_after(self, delay: float, period: float) -> None:
        """Pass on the delay from a state until its effort acts, and the time between states, s."""
        for law in (self.law, self._former):
            own: Callable[[float, float], None] | None = getattr(law, "act_after", None)
            if own is not None:
                own(delay, period)

    def apply_wrench(self, rows: Array) -> None:
        """Pass on a wrench, as of `WrenchFade.rows`, also to laws that are still to come."""
        self._wrench = rows
        self._apply(self.law)
        self._apply(self._former)

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
        if self.under_way and (time > 0.0 or self._next is not None):
            self._next = law
        elif self.law is None or not time > 0.0:
            self.law = law
        else:
            self._former, self.law, self._integral, self._feedback = self.law, law, integral, None
            self._share, self._time, self._difference = 0.0, time, 0.0

    def keep_effort(
        self, q: Array, qd: Array, reference: Reference, posture: Array | None, base: BaseMotion | None
    ) -> None:
        """Let the effort of the former law at a state fade, not its answer to another reference."""
        if self._former is not None and self.law is not None and self._feedback is None:
            before = terms_of(self._former, q, qd, reference, self._integral, posture, base)
            self._feedback = before.feedback

    def terms(
        self, q: Array, qd: Array, reference: Reference, integral: Array, posture: Array | None,
        base: BaseMotion | None,
    ) -> TorqueTerms:
        """The efforts for one cycle; see `terms_of`."""
        law: Any = self.law
        after = terms_of(law, q, qd, reference, integral, posture, base)
        if self._former is None:
            return after
        before = terms_of(self._former, q, qd, reference, self._integral, posture, base)
        if self._feedback is not None:
            before = before._replace(feedback=self._feedback)
        self._difference = float(np.abs(after.total - before.total).max())
        s = self._share
        return TorqueTerms(*((1.0 - s) * x + s * y for x, y in zip(before, after, strict=True)))

    def advance(self, dt: float, integral: Array) -> None:
        """Let the share of the new law grow over `dt`, s, at most `LONGEST_STEP`; `integral`: ∫e now, (n,)."""
        if self._former is None or self.law is None:
            return
        step = min(max(dt, 0.0), LONGEST_STEP)
        self._share += step * min(1.0 / self._time, FASTEST_FADE / max(self._difference, 1e-9))
        if self._share >= 1.0:
            law, self._next = self._next, None
            self._former, self._share = None, 1.0
            if law is not None:
                self.begin(law, integral)
