"""Messages between the two processes of a controller; see `control_loop` and `loop_process`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from rne_dynamics.control.motion.motion import Motion
from rne_dynamics.control.reference import Reference
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.model.inertia import Array

# -- to the loop ------------------------------------------------------------------------------------------------------


class Command(NamedTuple):
    """A call of one of the loop's methods.

    Parameters
    ----------
    number
        Returned with the answer; 0 for no answer.
    name, arguments
        Of the method.
    """

    number: int
    name: str
    arguments: tuple[object, ...]


@dataclass(frozen=True, eq=False)
class Setup:
    """Everything that the loop is built from.

    Parameters
    ----------
    settings
        Laws and limits.
    name, namespace
        Of the loop's own node.
    topics
        Full name of each topic, remapped as for the controller, by its name in the code.
    joints, others
        Controlled joints in the order of the effort commands; and others whose positions are requested sometimes.
    scale
        What is sent for each N·m or N, shape (n,), in the model's order.
    message
        Type of the effort commands: the parameter `command_message`.
    rate
        Efforts per second; 0 answers each state.
    torque_divisor
        Cycles between two messages on ``~/torque/*`` and ``~/controller_state``.
    drives, base
        Whether there are topics for the readiness of the drives and for the motion of the base.
    simulated
        Whether time is that of ``/clock``.
    priority, cpus, lock_memory
        As for `apply_scheduling`.
    """

    settings: Settings
    name: str
    namespace: str
    topics: Mapping[str, str]
    joints: tuple[str, ...]
    others: tuple[str, ...]
    scale: Array
    message: str
    rate: float
    torque_divisor: int
    drives: bool
    base: bool
    simulated: bool
    priority: int
    cpus: tuple[int, ...]
    lock_memory: bool


@dataclass(frozen=True, eq=False)
class Follow:
    """A motion that was checked and accepted.

    Parameters
    ----------
    number
        Returned with how it ended.
    motion
        Its blend from the present motion is checked when it begins.
    at_once
        Whether it starts when the loop receives it, rather than at its own start time.
    checked_at
        When it was checked against the reference in force, s of the loop's clock.
    """

    number: int
    motion: Motion
    at_once: bool
    checked_at: float


# -- from the loop ----------------------------------------------------------------------------------------------------


class Present(NamedTuple):
    """The state against which a new trajectory is checked.

    Parameters
    ----------
    stamp, now
        Of the last joint state, ns; and the present time, s of the loop's clock.
    followed
        The reference when the trajectory begins.
    rate, slope
        Of path time, as for `Motion.begin`.
    posture
        As `Supervisor.posture`.
    delay
        Of the loop, as measured, s; NaN where it is not known.
    """

    stamp: int
    now: float
    followed: Reference
    rate: float
    slope: float
    posture: Array | None
    delay: float


class Answer(NamedTuple):
    """The result of a command.

    Parameters
    ----------
    number
        Of the command.
    value
        Result of the method.
    refusal
        Text of the `RneDynamicsError` that it raised; empty for none.
    crash
        Traceback of any other exception; empty for none.
    """

    number: int
    value: object
    refusal: str = ""
    crash: str = ""


class Entered(NamedTuple):
    """The controller has entered a mode, or has a cause to stay in it; `locked` if its start-up check failed."""

    mode: Mode
    cause: str
    locked: bool


class Ended(NamedTuple):
    """How the motion of that number ended."""

    number: int
    ending: Ending
    text: str


class Said(NamedTuple):
    """A log line; `level` is "info", "warning" or "error"."""

    level: str
    text: str


class Snapshot(NamedTuple):
    """Reference and measured state, several times a second, for feedback and reports.

    Parameters
    ----------
    stamp
        Of the last joint state, ns.
    reference, q, qd
        Reference and measured state, in the turns that the driver reports; each (n,).
    """

    stamp: int
    reference: Reference
    q: Array
    qd: Array
