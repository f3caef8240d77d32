"""Modes, settings and counters of the effort gate."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from rne_dynamics.control.guards.effort_limits import EffortLimits
from rne_dynamics.control.guards.state_limits import StateLimits
from rne_dynamics.control.parameters import check_parameters, parameter
from rne_dynamics.control.supervision.settings import check_compensated
from rne_dynamics.control.supervision.stop_plan import StopPlan
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot


class GateMode(Enum):
    """States of a gate; the values are those of ``~/state``."""

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
    """Settings of the gate. Raises ControlError: a time or number out of range, an unknown name among `compensated`."""

    #: The model, payload included.
    robot: RigidRobot
    #: Of efforts that go out and of joint states that come in.
    limits: EffortLimits
    states: StateLimits
    #: How the arm is held and released after a take-over; its `brake_time` has no meaning here.
    stop: StopPlan = field(default_factory=StopPlan)
    command_timeout: float = parameter(
        0.02, "Age of the last good effort at which the gate takes over: a few periods of the controller.", "s",
        lower=0.001, upper=10.0,
    )
    #: Terms that the arm's own electronics adds.
    compensated: frozenset[str] = frozenset()
    recover_automatically: bool = parameter(
        False, "Whether efforts are passed again after recover_after good ones in a row; otherwise ~/recover is "
        "needed. Not after ~/stop, nor after an overspeed in a take-over.",
    )
    recover_after: int = parameter(
        100, "Good efforts in a row after which recover_automatically passes them.", lower=1, upper=1_000_000
    )
    hand_back_time: float = parameter(
        0.5, "Time over which the gate's own effort fades into the controller's when a held arm is handed back.", "s",
        lower=0.0, upper=60.0,
    )

    def __post_init__(self) -> None:
        check_parameters(self, "")
        check_compensated(self.compensated)


@dataclass
class GateCounters:
    """Totals since activation."""

    #: Effort commands received, and those that were passed on.
    commands: int = 0
    passed: int = 0
    #: Commands that were not used, by what was wrong with them, and the text of the last refusal.
    refused: Counter[CommandProblem] = field(default_factory=Counter)
    refusal: str = ""
    #: Commands passed on that were beyond an effort limit, and those that changed faster than the rate allows.
    limited: int = 0
    stepped: int = 0
    #: Efforts of the gate itself; of these those without a usable joint state.
    own: int = 0
    dead_reckoned: int = 0
    #: Times that the gate has taken over.
    takeovers: int = 0
    #: Text of the last posture for which the model has no torque; empty for none.
    failure: str = ""


class GateEffort(NamedTuple):
    """An effort to be sent."""

    #: N·m or N; shape (n,).
    command: Array
    #: Whether the arm is released with it: zeros, which must arrive.
    last: bool = False
