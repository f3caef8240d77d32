"""Reasons to refuse a setpoint."""

from __future__ import annotations

from enum import Enum

from rne_dynamics.errors import ControlError


class SetpointProblem(Enum):
    """Why a setpoint is refused; the values are keys of diagnostics."""

    UNREADABLE = "unreadable"
    WRONG_JOINTS = "wrong joints"
    NOT_FINITE = "not finite"
    TOO_OLD = "too old"
    TOO_EARLY = "too far in the future"
    OUT_OF_ORDER = "out of order"
    TOO_FAR = "too far away"
    TWO_SENDERS = "two senders"
    NOT_READY = "not ready"
    CALLED_OFF = "called off"


class SetpointError(ControlError):
    """A setpoint that is not followed.

    Attributes
    ----------
    problem : SetpointProblem
        What is wrong with it, for counting.
    """

    def __init__(self, message: str, problem: SetpointProblem) -> None:
        super().__init__(message, problem)  # both, so that it can be pickled
        self.problem = problem

    def __str__(self) -> str:
        return str(self.args[0])
