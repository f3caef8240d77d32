"""What a held arm keeps: its place, the growth of its feedback, and its start-up check."""

from __future__ import annotations

import numpy as np

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.control.startup.load_check import LoadCheck
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
        """The new held position, (n,), and the cause when it begins to move; None where `held` stays."""
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


# -- result of the start-up check: no motion before the arm agrees with its model --------------------------------------


class StartGate:
    """Shut until the start-up check is passed; `posture` of a mechanism as in `LoadCheck`."""

    def __init__(self, settings: Settings, posture: Array | None = None) -> None:
        check = settings.check
        self._required = check.required
        #: Made where there is no check too, to be warmed up: the next activation may have one.
        self.check = LoadCheck(
            settings.robot, check.tolerance * settings.limits.effort, check.duration or 1.0, settings.compensated,
            posture, check.payload,
        )
        #: Whether the arm may move, whether the check was not passed, and what is said about it.
        self.open, self.failed = not check.duration > 0.0, False
        #: Whether states are wanted.
        self.checking = not self.open
        self.text = "" if self.open else "the start-up check is not over"

    def add(self, stamp: int, q: Array, qd: Array, reported: Array) -> bool:
        """One state while the arm is held, as for `LoadCheck.add`; whether it ended the check."""
        self.check.add(stamp, q, qd, reported)
        if self.check.finished:
            verdict = self.check.verdict()
            self.text = verdict.text
            self.open = verdict.agrees and (verdict.checked or not self._required)
            self.failed, self.checking = not self.open, False
        return self.check.finished
