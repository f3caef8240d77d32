"""The feedback of a held arm: how far it can be pushed from its place, and how it grows after a start."""

from __future__ import annotations

import numpy as np

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.thresholds import LONGEST_GAP, NANOSECONDS
from rne_dynamics.model.inertia import Array

#: Distance between the reference and an arm that is pushed away while held, as a fraction of `holding_error`.
LEASH = 0.9
#: Deviation from the reference's velocity, in velocity limits, at which all feedback acts: the arm has other masses.
SLIP = 0.2


class HoldingBound:
    """Keeps the held position within `Settings.holding_error` of an arm that is pushed away."""

    def __init__(self) -> None:
        self._yielding = False

    def moved(self, held: Array, q: Array, settings: Settings) -> tuple[Array, str] | None:
        """The new held position, and the cause when it begins to move; None where `held` stays.

        `held`, `q`: held and measured position, rad or m; shape (n,). `settings`: with the bound.
        """
        bound = settings.holding_error
        if bound is None:
            return None
        if _within(held, q, bound):
            self._yielding = False
            return None
        error = held - q
        off = np.abs(error) > bound
        cause = ""
        if not self._yielding:
            self._yielding, j = True, int(np.argmax(off))
            cause = (
                f"joint {settings.robot.joint_names[j]!r} was {-error[j]:.4g} away from where it was held; "
                f"{bound[j]:g} is allowed: its place follows the arm"
            )
        return q + np.clip(error, -LEASH * bound, LEASH * bound), cause


@kernel
def _within(held: Array, q: Array, bound: Array) -> bool:
    """Whether no joint is beyond its bound. One call instead of five of NumPy's."""
    beyond = 0
    for j in range(q.shape[0]):
        beyond += abs(held[j] - q[j]) > bound[j]
    return beyond == 0


class FeedbackRamp:
    """The fraction of the feedback: it grows from nothing after every start."""

    def __init__(self) -> None:
        #: The fraction, and the stamp up to which it has grown, ns.
        self.part, self.at = 0.0, 0

    def grow(self, stamp: int, settings: Settings, qd: Array, speed: Array) -> None:
        """Let it grow until `stamp`, faster where the velocity `qd`, (n,), is off the desired `speed`, (n,)."""
        ramp, step = settings.feedback_ramp, min(max(stamp - self.at, 0) / NANOSECONDS, LONGEST_GAP)
        slip = float((np.abs(qd - speed) / settings.limits.velocity).max()) / SLIP
        self.part = min(max(self.part + step / ramp, slip), 1.0) if ramp > 0.0 else 1.0
        self.at = stamp
