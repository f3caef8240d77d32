"""Modes of a controller and the transitions between them; a stop as a function of time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from rne_dynamics.control.parameters import check_parameters, parameter


class Mode(Enum):
    """States of a controller; the values are those of ``~/state``."""

    UNCONFIGURED = "unconfigured"
    INACTIVE = "inactive"
    WAITING = "waiting"
    HOLDING = "holding"
    TRACKING = "tracking"
    FLOATING = "floating"
    STOPPING = "stopping"
    RELEASED = "released"
    FAULT = "fault"


#: The states by names of their own, for hot paths: in Python 3.11 reading a member off its class takes half a
#: microsecond.
UNCONFIGURED, INACTIVE, WAITING, HOLDING, TRACKING, FLOATING, STOPPING, RELEASED, FAULT = Mode
#: States in which efforts are computed from measured joint states; a tuple, since Python computes a member's hash.
DRIVING = (HOLDING, TRACKING, FLOATING)
#: States in which efforts are sent, in a stop also without joint states.
SENDING = (*DRIVING, STOPPING)
#: States in which nothing is sent.
SILENT = (UNCONFIGURED, INACTIVE, WAITING, RELEASED, FAULT)

MEANING: dict[Mode, str] = {
    Mode.UNCONFIGURED: "No model yet.",
    Mode.INACTIVE: "Model read, kernels compiled; sends nothing.",
    Mode.WAITING: "Active, but no usable joint state yet; sends nothing.",
    Mode.HOLDING: "Holds the arm where it is. After activation first the start-up check: no motion is accepted before.",
    Mode.TRACKING: "Follows a trajectory or setpoints, or decelerates after they have ended or were cancelled.",
    Mode.FLOATING: "Hand guiding: gravity is compensated, motion is damped, a hand moves the arm.",
    Mode.STOPPING: "Decelerates, holds and releases, as `stop.policy` says; by dead reckoning if states are missing.",
    Mode.RELEASED: "Released on request; zeros were sent last; sends nothing.",
    Mode.FAULT: "Released after a fault, whose cause is reported; zeros were sent last; sends nothing until recovery.",
}


#: The arrows of the state machine: from which mode, at which event, to which.
TRANSITIONS: tuple[tuple[Mode, str, Mode], ...] = (
    (Mode.UNCONFIGURED, "configure", Mode.INACTIVE),
    (Mode.INACTIVE, "cleanup", Mode.UNCONFIGURED),
    (Mode.INACTIVE, "activate", Mode.WAITING),
    (Mode.WAITING, "first usable state", Mode.HOLDING),
    (Mode.WAITING, "stop", Mode.RELEASED),
    (Mode.WAITING, "deactivate", Mode.INACTIVE),
    (Mode.HOLDING, "trajectory or stream of setpoints begins", Mode.TRACKING),
    (Mode.HOLDING, "hand guiding on", Mode.FLOATING),
    (Mode.TRACKING, "at rest (goal, cancel, abort, no more setpoints)", Mode.HOLDING),
    (Mode.TRACKING, "time jump", Mode.HOLDING),
    (Mode.FLOATING, "hand guiding off", Mode.HOLDING),
    (Mode.FLOATING, "time jump", Mode.HOLDING),
    (Mode.HOLDING, "stop, deactivate, signal, states lost, fault", Mode.STOPPING),
    (Mode.TRACKING, "stop, deactivate, signal, states lost, fault", Mode.STOPPING),
    (Mode.FLOATING, "stop, deactivate, signal, states lost, fault", Mode.STOPPING),
    (Mode.STOPPING, "lost states are back", Mode.HOLDING),
    (Mode.STOPPING, "released on request", Mode.RELEASED),
    (Mode.STOPPING, "released after a fault or without states", Mode.FAULT),
    (Mode.STOPPING, "released (deactivate, signal)", Mode.INACTIVE),
    (Mode.RELEASED, "recover", Mode.WAITING),
    (Mode.FAULT, "recover", Mode.WAITING),
    (Mode.RELEASED, "deactivate", Mode.INACTIVE),
    (Mode.FAULT, "deactivate", Mode.INACTIVE),
)
ALLOWED = frozenset((source, target) for source, _, target in TRANSITIONS)


def diagram() -> str:
    """The state machine as a Mermaid state diagram."""
    lines = ["stateDiagram-v2", f"    [*] --> {Mode.UNCONFIGURED.value}"]
    lines += [f"    {source.value} --> {target.value}: {event}" for source, event, target in TRANSITIONS]
    return "\n".join(lines)


@dataclass(frozen=True)
class StopPlan:
    """Settings of stopping and releasing an arm; `ControlError` for a number or policy that is not allowed."""

    #: ``"hold"``: where the controller itself ends, as ``"ramp"``.
    policy: Literal["hold", "release", "ramp"] = parameter(
        "ramp", "How a stopped arm is released after stop.hold_time: over stop.ramp_time (ramp), at once (release), or "
        "only when the controller ends (hold).", choices=("hold", "release", "ramp"),
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
    """A stop under way: the arm decelerates, is held, and its support fades; times are monotonic, s."""

    #: When it is held, and when it is released.
    hold_from: float
    down_from: float
    #: Time over which the support fades.
    ramp: float

    def braking(self, now: float) -> bool:
        """Whether the arm still decelerates at `now`."""
        return now < self.hold_from

    def over(self, now: float) -> bool:
        """Whether nothing of the support is left at `now`."""
        return now >= self.down_from + self.ramp

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
