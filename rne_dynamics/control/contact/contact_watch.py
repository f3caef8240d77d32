"""Contact from external efforts: beyond each joint's threshold and the allowance for what the model may not know."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.control.checks import frozen_vector
from rne_dynamics.control.contact.momentum_observer import ALLOWANCE, EXTERNAL, ROWS, MomentumObserver, observe_kernel
from rne_dynamics.control.parameters import check_parameters, of_node, parameter
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.dynamics.declared.arguments import Arm
from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array

Reaction = Literal["none", "stop", "float", "comply", "retract"]
REACTIONS: tuple[Reaction, ...] = ("none", "stop", "float", "comply", "retract")
#: Part of the threshold below which a contact may have ended, and for how long, s; least threshold, N·m or N.
RELEASE, CLEAR, LEAST_THRESHOLD = 0.5, 0.1, 1e-9
#: Part of the effort limit that is the threshold of nodes by default.
THRESHOLD_SHARE = 0.01
#: Longest time between two states over which efforts are observed, s.
OBSERVED_GAP = 0.05
#: Rows of a watch's memory after those of the observer.
OFFSET, THRESHOLD = ROWS, ROWS + 1
#: What `watch_kernel` returns besides a joint: whether a contact may have ended.
ENDING, BETWEEN = -1, -2
#: Bandwidths after which the first external efforts are no transient any more, for a tare.
OBSERVED = 8.0


@kernel
def watch_kernel(
    arm: Arm, q: Array, qd: Array, qdd: Array, effort: Array, friction: Array, steepness: Array, numbers: Array,
    dt: float, memory: Array,
) -> int:
    """As `observe_kernel`; the index of the joint that feels a contact most, or `ENDING`, or `BETWEEN`."""
    observe_kernel(arm, q, qd, qdd, effort, friction, steepness, numbers, dt, memory)
    most, part = 0, -np.inf
    for j in range(q.shape[0]):
        beyond = (abs(memory[EXTERNAL, j] - memory[OFFSET, j]) - memory[ALLOWANCE, j]) / memory[THRESHOLD, j]
        if beyond > part:
            most, part = j, beyond
    if part >= 1.0:
        return most
    return ENDING if part < RELEASE else BETWEEN


@dataclass(frozen=True, eq=False)
class ContactSettings:
    """When external efforts are a contact, and what follows. Raises ControlError: a number that is not allowed."""

    observer: MomentumObserver
    #: Not negative, (n,).
    threshold: Array = field(metadata=of_node(
        "contact.{joint}.threshold", -1.0, "External effort, beyond what errors of the model explain, that is a "
        f"contact; if negative, {THRESHOLD_SHARE:.0%} of the effort limit.", "N m or N", -1.0, 1e6,
    ))
    reaction: Reaction = parameter(
        "none", "What a contact does to the arm: nothing (none); it is held where it touched (stop), led by hand "
        "(float), held by the law joint_impedance, which prepared_laws must name (comply), or goes back along its path "
        "(retract).", choices=REACTIONS,
    )
    retract_time: float = parameter(
        0.3, "Path time that the arm goes back, at half the speed.", "s", lower=0.05, upper=10.0
    )
    link: str = parameter("", "Link of which the external wrench is published; empty for none.", at_configure=True)

    def __post_init__(self) -> None:
        robot = self.observer.robot
        threshold = frozen_vector(self.threshold, robot.n, "contact threshold", lowest=0.0, names=robot.joint_names)
        object.__setattr__(self, "threshold", threshold)
        check_parameters(self, "contact.")


class ContactWatch:
    """Observes external efforts state by state; `settings`: when they are a contact."""

    def __init__(self, settings: ContactSettings) -> None:
        n = settings.observer.robot.n
        self._memory = np.zeros((ROWS + 2, n))
        self._anew, self._still = False, np.zeros(n)
        #: Whether external efforts are observed at present, and since when, s.
        self.observing, self.age = False, 0.0
        self._stamp, self._calm = 0, 0.0
        #: Index of the joint that feels a contact most, -1 for none.
        self.joint = -1
        self.settings = settings
        self.adopt(settings)

    def adopt(self, settings: ContactSettings) -> None:
        """Other settings; another model makes the observer begin anew."""
        if settings.observer is not self.settings.observer:  # momentum by another model; r goes on
            self._anew = True
        self.settings = settings
        self._memory[THRESHOLD] = np.maximum(settings.threshold, LEAST_THRESHOLD)

    @property
    def external(self) -> Array:
        """External efforts less those of the last tare, N·m or N; (n,). Zero where none are observed."""
        found: Array = self._memory[EXTERNAL] - self._memory[OFFSET]
        return found if self.observing else self._still

    @property
    def allowance(self) -> Array:
        """What errors of the model may contribute, N·m or N; (n,)."""
        return np.array(self._memory[ALLOWANCE])

    @property
    def settled(self) -> bool:
        """Whether external efforts are observed, and their beginning has decayed."""
        return self.observing and self.age * self.settings.observer.bandwidth >= OBSERVED

    def rest(self) -> None:
        """Observe nothing until the next state is taken, which begins anew; the last tare stays."""
        self.observing, self.joint = False, -1

    def tare(self) -> None:
        """Let the present external efforts be zero. Raises ControlError: none are observed, or a contact is felt."""
        if not self.observing:
            raise ControlError("no external efforts are observed: the arm must be driven")
        if self.joint >= 0:
            raise ControlError("a contact is felt: clear it first, or raise contact.<joint>.threshold")
        self._memory[OFFSET] = self._memory[EXTERNAL]

    def take(self, stamp: int, q: Array, qd: Array, effort: Array, qdd: Array) -> bool:
        """Take a state at `stamp`, ns, and the effort that acted since the last, (n,); whether a contact has begun."""
        dt, self._stamp = (stamp - self._stamp) / NANOSECONDS, stamp
        constants, memory = self.settings.observer.constants, self._memory
        if not self.observing or not 0.0 < dt <= OBSERVED_GAP:
            watch_kernel(constants[0], q, qd, self._still, effort, *constants[1:], 0.0, memory)
            self.observing, self.age, self._calm, self.joint, self._anew = True, 0.0, 0.0, -1, False
            return False
        if self._anew:
            self._anew, former = False, memory[EXTERNAL:].copy()
            watch_kernel(constants[0], q, qd, self._still, effort, *constants[1:], 0.0, memory)
            memory[EXTERNAL:] = former
            return False
        self.age += dt
        felt = watch_kernel(constants[0], q, qd, qdd, effort, *constants[1:], dt, memory)
        if felt >= 0:
            began, self._calm = self.joint < 0, 0.0
            self.joint = felt
            return began
        self._calm = self._calm + dt if felt == ENDING else 0.0
        if self._calm >= CLEAR:
            self.joint = -1
        return False

    def text(self) -> str:
        """What is felt, as in "joint 'elbow': 12.3 N m beyond 4.1 N m"; empty for no contact."""
        j = self.joint
        if j < 0:
            return ""
        bound = self.settings.threshold[j] + self.allowance[j]
        name = self.settings.observer.robot.joint_names[j]
        return f"joint {name!r}: external effort {self.external[j]:.3g}, more than {bound:.3g} explain"
