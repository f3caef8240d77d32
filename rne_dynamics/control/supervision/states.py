"""Modes of a controller and the transitions between them; docs/states.md is generated from here."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


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


class Transition(NamedTuple):
    """One arrow of the state machine."""

    source: Mode
    event: str
    target: Mode


TRANSITIONS: tuple[Transition, ...] = (
    Transition(Mode.UNCONFIGURED, "configure", Mode.INACTIVE),
    Transition(Mode.INACTIVE, "cleanup", Mode.UNCONFIGURED),
    Transition(Mode.INACTIVE, "activate", Mode.WAITING),
    Transition(Mode.WAITING, "first usable state", Mode.HOLDING),
    Transition(Mode.WAITING, "stop", Mode.RELEASED),
    Transition(Mode.WAITING, "deactivate", Mode.INACTIVE),
    Transition(Mode.HOLDING, "trajectory or stream of setpoints begins", Mode.TRACKING),
    Transition(Mode.HOLDING, "hand guiding on", Mode.FLOATING),
    Transition(Mode.TRACKING, "at rest (goal, cancel, abort, no more setpoints)", Mode.HOLDING),
    Transition(Mode.TRACKING, "time jump", Mode.HOLDING),
    Transition(Mode.FLOATING, "hand guiding off", Mode.HOLDING),
    Transition(Mode.FLOATING, "time jump", Mode.HOLDING),
    Transition(Mode.HOLDING, "stop, deactivate, signal, states lost, fault", Mode.STOPPING),
    Transition(Mode.TRACKING, "stop, deactivate, signal, states lost, fault", Mode.STOPPING),
    Transition(Mode.FLOATING, "stop, deactivate, signal, states lost, fault", Mode.STOPPING),
    Transition(Mode.STOPPING, "lost states are back", Mode.HOLDING),
    Transition(Mode.STOPPING, "released on request", Mode.RELEASED),
    Transition(Mode.STOPPING, "released after a fault or without states", Mode.FAULT),
    Transition(Mode.STOPPING, "released (deactivate, signal)", Mode.INACTIVE),
    Transition(Mode.RELEASED, "recover", Mode.WAITING),
    Transition(Mode.FAULT, "recover", Mode.WAITING),
    Transition(Mode.RELEASED, "deactivate", Mode.INACTIVE),
    Transition(Mode.FAULT, "deactivate", Mode.INACTIVE),
)
ALLOWED = frozenset((t.source, t.target) for t in TRANSITIONS)


def diagram() -> str:
    """The state machine as a Mermaid state diagram."""
    lines = ["stateDiagram-v2", f"    [*] --> {Mode.UNCONFIGURED.value}"]
    lines += [f"    {t.source.value} --> {t.target.value}: {t.event}" for t in TRANSITIONS]
    return "\n".join(lines)
