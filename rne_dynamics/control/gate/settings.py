"""Modes, settings and counters of the effort gate."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from rne_dynamics.control.checks import check_number
from rne_dynamics.control.guards.effort_limits import EffortLimits
from rne_dynamics.control.guards.state_limits import StateLimits
from rne_dynamics.control.supervision.settings import check_compensated
from rne_dynamics.control.supervision.stop_plan import StopPlan
from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot


class GateMode(Enum):
    """What a gate is doing; the values are those of ``~/state``."""

    UNCONFIGURED = "unconfigured"
    INACTIVE = "inactive"
    WAITING = "waiting"
    PASSING = "passing"
    STOPPING = "stopping"
    RELEASED = "released"
    FAULT = "fault"


UNCONFIGURED, INACTIVE, WAITING, PASSING, STOPPING, RELEASED, FAULT = GateMode


class CommandProblem(Enum):
    """Why an effort command is refused; the values are for people and for the keys of diagnostics."""

    UNREADABLE = "unreadable"
    WRONG_LENGTH = "wrong length"
    NOT_FINITE = "not finite"
    TOO_OLD = "too old"


@dataclass(frozen=True, eq=False)
class GateSettings:
    """Settings of the gate.

    Parameters
    ----------
    robot
        The model, payload included.
    limits, states
        Of efforts that go out and of joint states that come in.
    stop
        How the arm is held and released after a take-over; its `brake_time` has no meaning here.
    command_timeout
        Age of the last good effort at which the gate takes over, s.
    compensated
        Terms that the arm's own electronics adds.
    recover_automatically, recover_after
        Whether efforts are passed again unasked, after so many good ones in a row.
    blend_time
        Time over which the gate's own effort fades into the controller's when it hands the held arm back, s.

    Raises
    ------
    ControlError
        A time or number out of range, an unknown name among `compensated`.
    """

    robot: RigidRobot
    limits: EffortLimits
    states: StateLimits
    stop: StopPlan = field(default_factory=StopPlan)
    command_timeout: float = 0.02
    compensated: frozenset[str] = frozenset()
    recover_automatically: bool = False
    recover_after: int = 100
    blend_time: float = 0.5

    def __post_init__(self) -> None:
        check_number(self.command_timeout, "command_timeout", unit=" s")
        check_number(self.blend_time, "blend_time", zero=True, unit=" s")
        if self.recover_after < 1:
            raise ControlError(f"recover_after is {self.recover_after}; it must be at least 1")
        check_compensated(self.compensated)


@dataclass
class GateCounters:
    """Totals since activation.

    Parameters
    ----------
    commands, passed
        Effort commands received, and those that were passed on.
    refused, refusal
        Commands that were not used, by what was wrong with them, and the text of the last refusal.
    limited, stepped
        Commands passed on that were beyond an effort limit, and those that changed faster than the rate allows.
    own, dead_reckoned
        Efforts of the gate itself; of these those without a usable joint state.
    takeovers
        Times that the gate has taken over.
    failure
        Text of the last posture for which the model has no torque; empty for none.
    """

    commands: int = 0
    passed: int = 0
    refused: Counter[CommandProblem] = field(default_factory=Counter)
    refusal: str = ""
    limited: int = 0
    stepped: int = 0
    own: int = 0
    dead_reckoned: int = 0
    takeovers: int = 0
    failure: str = ""


class GateEffort(NamedTuple):
    """An effort to be sent.

    Parameters
    ----------
    command
        N·m or N; shape (n,).
    last
        Whether the arm is released with it: zeros, which must arrive.
    """

    command: Array
    last: bool = False
