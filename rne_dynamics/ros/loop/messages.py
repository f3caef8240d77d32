"""Messages between the two processes of a controller; see `control_loop` and `process`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from rne_dynamics.control.reference import Reference
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.parameters.schema import Values


class Command(NamedTuple):
    """A call of a method in the other process: of the control loop, or, as a report, of the controller's node."""

    #: Returned with the answer; 0 for no answer.
    number: int
    #: Of the method.
    name: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Setup:
    """Everything that the loop is built from."""

    #: Laws and limits.
    settings: Settings
    #: Of the loop's own node.
    name: str
    namespace: str
    #: Full name of each topic, remapped as for the controller, by its name in the code.
    topics: Mapping[str, str]
    #: Controlled joints in the order of the effort commands; and others whose positions are requested sometimes.
    joints: tuple[str, ...]
    others: tuple[str, ...]
    #: What is sent for each N·m or N, shape (n,), in the model's order.
    scale: Array
    #: Whether time is that of ``/clock``.
    simulated: bool
    #: All parameters of the controller.
    values: Values


class Present(NamedTuple):
    """The state against which a new trajectory is checked."""

    #: Of the last joint state, ns; and the present time, s of the loop's clock.
    stamp: int
    now: float
    #: The reference when the trajectory begins.
    followed: Reference
    #: Of path time, as for `Motion.begin`.
    rate: float
    slope: float
    #: As `Supervisor.posture`.
    posture: Array | None
    #: Of the loop, as measured, s; NaN where it is not known.
    delay: float


class Answer(NamedTuple):
    """The result of a command."""

    #: Of the command.
    number: int
    #: Result of the method.
    value: object
    #: Text of the `RneDynamicsError` that it raised; empty for none.
    refusal: str = ""
    #: Traceback of any other exception; empty for none.
    crash: str = ""


class Snapshot(NamedTuple):
    """Reference and measured state, several times a second, for feedback and reports."""

    #: Of the last joint state, ns.
    stamp: int
    #: Reference and measured state, in the turns that the driver reports; each (n,).
    reference: Reference
    q: Array
    qd: Array
