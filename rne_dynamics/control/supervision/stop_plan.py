"""A stop as a function of time: brake, hold, release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from rne_dynamics.control.parameters import check_parameters, parameter

Policy = Literal["hold", "release", "ramp"]
POLICIES: tuple[Policy, ...] = ("hold", "release", "ramp")


class Stage(Enum):
    """Phases of a stop."""

    BRAKE = "decelerating"
    HOLD = "held against gravity, damped"
    FADE = "fade"
    OVER = "over"


@dataclass(frozen=True)
class StopPlan:
    """Settings of stopping and releasing an arm; `ControlError` for a number or policy that is not allowed."""

    #: ``"hold"``: where the controller itself ends, as ``"ramp"``.
    policy: Policy = parameter(
        "ramp", "How a stopped arm is released after stop.hold_time: over stop.ramp_time (ramp), at once (release), or "
        "only when the controller ends (hold).", choices=POLICIES,
    )
    brake_time: float = parameter(0.3, "Time in which a cancelled motion comes to rest.", "s", lower=0.01, upper=10.0)
    hold_time: float = parameter(
        0.5, "Time for which a stop then holds the arm against gravity.", "s", lower=0.0, upper=60.0
    )
    ramp_time: float = parameter(
        1.0, "Time over which the effort is then ramped to zero.", "s", lower=0.05, upper=60.0
    )
    damping: float = parameter(
        10.0, "Damping while stopping, as a rate: times the inertia that each joint feels.", "1/s", lower=0.0,
        upper=200.0,
    )
    after_cancel: Literal["hold", "stop"] = parameter(
        "hold", "Reaction after a motion is cancelled or aborted: the arm is held (hold) or stopped as by ~/stop "
        "(stop).", choices=("hold", "stop"),
    )

    def __post_init__(self) -> None:
        check_parameters(self, "stop.")

    def begin(self, now: float, *, braking: bool, ending: bool) -> Stop:
        """The stop from `now`, s: at once without `braking`, with an end where the controller is `ending`."""
        hold_from = now + (self.brake_time if braking else 0.0)
        endless = self.policy == "hold" and not ending
        down_from = math.inf if endless else hold_from + self.hold_time
        return Stop(hold_from, down_from, 0.0 if self.policy == "release" else self.ramp_time)


@dataclass(frozen=True)
class Stop:
    """A stop under way; times are monotonic, s."""

    #: When it is held, and when it is released.
    hold_from: float
    down_from: float
    #: Time over which the support fades.
    ramp: float

    def stage(self, now: float) -> Stage:
        """Phase at `now`."""
        if now < self.hold_from:
            return Stage.BRAKE
        if now < self.down_from:
            return Stage.HOLD
        return Stage.FADE if now < self.down_from + self.ramp else Stage.OVER

    def support(self, now: float) -> float:
        """Fraction of the support that is given at `now`: 1 until it is released, 0 when it is over."""
        if now < self.down_from:
            return 1.0
        return max(1.0 - (now - self.down_from) / self.ramp, 0.0) if self.ramp > 0.0 else 0.0

    def ended_by(self, now: float, plan: StopPlan) -> Stop:
        """The same stop where the controller is deactivated meanwhile: one without end is released."""
        if not math.isinf(self.down_from):
            return self
        return Stop(self.hold_from, max(self.hold_from, now) + plan.hold_time, plan.ramp_time)


#: Where none is under way: all of the support.
NO_STOP = Stop(math.inf, math.inf, 0.0)
