"""Contact from external efforts: beyond each joint's threshold and the allowance for what the model may not know."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from rne_dynamics.control.checks import check_number, frozen_vector
from rne_dynamics.control.contact.momentum_observer import ALLOWANCE, EXTERNAL, MomentumObserver, Observed
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array

Reaction = Literal["none", "stop", "float", "comply", "retract"]
REACTIONS: tuple[Reaction, ...] = ("none", "stop", "float", "comply", "retract")
#: Part of the threshold below which a contact may have ended, and for how long, s; least threshold, N·m or N.
RELEASE, CLEAR, LEAST_THRESHOLD = 0.5, 0.1, 1e-9
#: Longest time between two states over which efforts are observed, s.
OBSERVED_GAP = 0.05


@dataclass(frozen=True, eq=False)
class ContactSettings:
    """When external efforts are a contact, and what follows. Raises ControlError: a number that is not allowed."""

    observer: MomentumObserver
    #: External effort of each joint, beyond the allowance, that counts as contact, N·m or N; (n,).
    threshold: Array
    #: What a contact does to a motion.
    reaction: Reaction = "none"
    #: How long the way back is with "retract", s of path time.
    retract_time: float = 0.3
    #: Link of which the wrench is published; empty for none.
    link: str = ""
    #: The law to which "comply" changes; one of `Settings.others`.
    compliant: str = field(default="joint_impedance")

    def __post_init__(self) -> None:
        robot = self.observer.robot
        threshold = frozen_vector(self.threshold, robot.n, "contact threshold", lowest=0.0, names=robot.joint_names)
        object.__setattr__(self, "threshold", threshold)
        check_number(self.retract_time, "contact.retract_time", unit=" s")
        if self.reaction not in REACTIONS:
            raise ControlError(f"contact.reaction is {self.reaction!r}; allowed are {', '.join(REACTIONS)}")


class ContactWatch:
    """Observes external efforts state by state; `settings`: when they are a contact."""

    def __init__(self, settings: ContactSettings) -> None:
        n = settings.observer.robot.n
        self._offset = np.zeros(n)
        self._start = np.zeros(n)
        self.settings, self._anew = settings, False
        self._state: Observed | None = None
        self._stamp, self._calm = 0, 0.0
        #: Index of the joint that feels a contact most, -1 for none.
        self.joint = -1

    def adopt(self, settings: ContactSettings) -> None:
        """Other settings; another model makes the observer begin anew."""
        if settings.observer is not self.settings.observer:  # momentum by another model; r goes on
            self._anew = True
        self.settings = settings

    @property
    def external(self) -> Array:
        """External efforts less those of the last tare, N·m or N; (n,)."""
        return self._start if self._state is None else self._state.external - self._offset

    @property
    def allowance(self) -> Array:
        """What errors of the model may contribute, N·m or N; (n,)."""
        return self._start if self._state is None else self._state.allowance

    def tare(self) -> None:
        """Let the present external efforts be zero. Raises ControlError: none are observed, or a contact is felt."""
        if self._state is None:
            raise ControlError("no external efforts are observed: the arm must be driven")
        if self.joint >= 0:
            raise ControlError("a contact is felt: clear it first, or raise contact.<joint>.threshold")
        self._offset = self._state.external.copy()

    def take(self, stamp: int, q: Array, qd: Array, effort: Array, qdd: Array) -> bool:
        """Take a state, with the effort that acted since the last one; whether a contact has begun with it.

        `stamp`: its time, ns; `qdd`: desired acceleration. Arrays of shape (n,), float64, contiguous.
        """
        dt, self._stamp = (stamp - self._stamp) / NANOSECONDS, stamp
        observer = self.settings.observer
        if self._state is None or not 0.0 < dt <= OBSERVED_GAP:
            self._state, self._calm, self.joint = observer.start(q, qd), 0.0, -1
            return False
        memory = self._state.memory
        if self._anew:
            self._anew = False
            fresh = observer.start(q, qd)
            fresh.memory[EXTERNAL:] = memory[EXTERNAL:]
            self._state = fresh
            return False
        observer.update_in_place(memory, q, qd, qdd, effort, dt)
        beyond = np.abs(memory[EXTERNAL] - self._offset) - memory[ALLOWANCE]
        part = beyond / np.maximum(self.settings.threshold, LEAST_THRESHOLD)
        most = int(part.argmax())
        if part[most] >= 1.0:
            began, self._calm = self.joint < 0, 0.0
            self.joint = most
            return began
        self._calm = self._calm + dt if part[most] < RELEASE else 0.0
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
