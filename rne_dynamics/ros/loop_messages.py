"""Messages between the two processes of a controller; see `control_loop` and `loop_process`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from rne_dynamics.control.reference import Reference
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.parameters import Values


class Command(NamedTuple):
    """A call of a method in the other process: of the control loop, or, as a report, of the controller's node.

    Parameters
    ----------
    number
        Returned with the answer; 0 for no answer.
    name, arguments
        Of the method.
    """

    number: int
    name: str
    arguments: tuple[Any, ...]


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
    simulated
        Whether time is that of ``/clock``.
    values
        All parameters of the controller.
    """

    settings: Settings
    name: str
    namespace: str
    topics: Mapping[str, str]
    joints: tuple[str, ...]
    others: tuple[str, ...]
    scale: Array
    simulated: bool
    values: Values



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
