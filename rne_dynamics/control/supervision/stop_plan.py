"""A stop as a function of time: brake, hold, release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from rne_dynamics.control.checks import check_number
from rne_dynamics.errors import ControlError

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

    #: What follows the deceleration. ``"ramp"``: hold for `hold_time`, then let the support fade over `ramp_time`.
    #: ``"release"``: hold for `hold_time`, then no support, as fast as the effort rate allows. ``"hold"``: hold without
    #: end; where the controller itself ends, as ``"ramp"``.
    policy: Policy = "ramp"
    #: s, not negative.
    brake_time: float = 0.3
    hold_time: float = 0.5
    ramp_time: float = 1.0
    #: While held and released: a rate, 1/s, which times the inertia each joint feels is its damper.
    damping: float = 10.0
    #: What follows where a motion is cancelled or aborted: ``"hold"`` the position, or ``"stop"`` as everything else.
    after_cancel: Literal["hold", "stop"] = "hold"

    def __post_init__(self) -> None:
        for name in ("brake_time", "hold_time", "ramp_time", "damping"):
            check_number(getattr(self, name), f"stop.{name}", zero=True)
        if self.policy not in POLICIES:
            raise ControlError(f"stop.policy is {self.policy!r}; it must be one of {', '.join(POLICIES)}")
        if self.after_cancel not in ("hold", "stop"):
            raise ControlError(f"stop.after_cancel is {self.after_cancel!r}; it must be hold or stop")

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
