"""Result of the start-up check: no motion before the arm agrees with its model."""

from __future__ import annotations

from rne_dynamics.control.startup.load_check import LoadCheck
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.model.inertia import Array


class StartGate:
    """Shut until the start-up check is passed.

    `settings`: how the check is done; `posture` of a mechanism as in `LoadCheck`.
    """

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
