"""Result of the start-up check: no motion before the arm agrees with its model."""

from __future__ import annotations

from rne_dynamics.control.startup.load_check import LoadCheck
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.model.inertia import Array


class StartGate:
    """Shut until the start-up check is passed.

    Parameters
    ----------
    settings
        How the check is done; `posture` of a mechanism as in `LoadCheck`.
    """

    def __init__(self, settings: Settings, posture: Array | None = None) -> None:
        check = settings.check
        self._required = check.required
        self._check: LoadCheck | None = None
        self.failed, self.text = False, ""
        # made where there is no check too, to be warmed up: the next activation may have one
        self._spare = LoadCheck(
            settings.robot, check.tolerance * settings.limits.effort, check.duration or 1.0, settings.compensated,
            posture, check.payload,
        )
        if check.duration > 0.0:
            self._check, self.text = self._spare, "the start-up check is not over"

    @property
    def open(self) -> bool:
        """Whether the arm may move."""
        return self._check is None

    @property
    def checking(self) -> bool:
        """Whether states are wanted."""
        return self._check is not None and not self.failed

    def warm_up(self) -> None:
        """Compile what a check needs."""
        self._spare.warm_up()

    def add(self, stamp: int, q: Array, qd: Array, reported: Array) -> bool:
        """One state while the arm is held, as for `LoadCheck.add`; whether it ended the check."""
        assert self._check is not None
        self._check.add(stamp, q, qd, reported)
        if not self._check.finished:
            return False
        verdict = self._check.verdict()
        self.text = verdict.text
        if verdict.agrees and (verdict.checked or not self._required):
            self._check = None
        else:
            self.failed = True
        return True
