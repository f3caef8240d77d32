"""Contact of a controlled arm: observed after each effort, and what it does to the motion."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from rne_dynamics.control.contact.contact_watch import ContactWatch
from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.control.motion.motion import Motion
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.control.supervision.state_machine import StateMachine
from rne_dynamics.control.supervision.states import DRIVING, FLOATING, HOLDING, TRACKING
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.control.trajectory import SampledTrajectory
from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array

#: Time between two points of the way back, s, and how much slower it is than the way there.
BACK_STEP, BACK_SLOWER = 0.02, 2.0


class ContactReaction:
    """Observes contact for a controller; `machine`: its mode and parts."""

    def __init__(self, machine: StateMachine) -> None:
        self._machine = machine
        self._acted = self._zero = np.zeros(machine.settings.robot.n)
        self._way: deque[tuple[Array, Array]] = deque()
        self._noted, self._retracting = 0, False
        self._watch: ContactWatch | None = None
        self._tared: Callable[[str], None] | None = None
        #: Whether somebody reads external efforts; they are observed too for a reaction, and for a tare.
        self.read = True
        #: Contacts since the start.
        self.count = 0

    @property
    def watch(self) -> ContactWatch | None:
        """With the settings in force; None where nothing is observed."""
        settings = self._machine.settings.contact
        if settings is None or self._watch is None:
            self._watch = None if settings is None else ContactWatch(settings)
        elif settings is not self._watch.settings:
            self._watch.adopt(settings)
        return self._watch

    def tare(self, done: Callable[[str], None] = lambda text: None) -> None:
        """Let present external efforts be zero once observed; `done` is then called with why not. ControlError."""
        watch = self.watch
        if watch is None:
            raise ControlError("external efforts are not observed: see docs/contact.md")
        if self._machine.mode not in DRIVING:
            raise ControlError(f"external efforts are not observed: the controller is {self._machine.mode.value}")
        if watch.settled:
            watch.tare()
        else:
            self._tared = done

    def take(self, command: Array) -> None:
        """Take the state that `command`, (n,), has answered: what acted until then was the effort before."""
        machine = self._machine
        if machine.settings.contact is None or (watch := self.watch) is None:
            self._watch = None
            return
        reaction = watch.settings.reaction
        if not self.read and reaction == "none" and self._tared is None:
            if watch.observing:
                watch.rest()
            return
        stream, reference = machine.stream, machine.queue.reference
        qdd = self._zero if machine.mode is FLOATING else reference.qdd
        began = watch.take(stream.stamp, stream.q, stream.qd, self._acted, qdd)
        self._acted = command
        if self._tared is not None and watch.settled:
            self._late_tare(watch, self._tared)
        if reaction == "retract" and machine.mode is TRACKING and not self._retracting:
            self._note(stream.stamp, watch.settings.retract_time)
        if began:
            self.count += 1
            self._react(watch, f"contact at {watch.text()}")

    def _late_tare(self, watch: ContactWatch, done: Callable[[str], None]) -> None:
        self._tared, why = None, ""
        try:
            watch.tare()
        except ControlError as error:
            why = str(error)
        done(why)

    def _note(self, stamp: int, seconds: float) -> None:
        """Remember the way of the reference over the last `seconds`."""
        if 0 <= stamp - self._noted < BACK_STEP * NANOSECONDS:
            return
        self._noted, reference = stamp, self._machine.queue.reference
        self._way.append((reference.q.copy(), reference.qd.copy()))
        while len(self._way) > seconds / BACK_STEP + 1:
            self._way.popleft()

    def _react(self, watch: ContactWatch, why: str) -> None:
        machine, reaction = self._machine, watch.settings.reaction
        if reaction == "none" or machine.mode not in (HOLDING, TRACKING) or not machine.gate.open:
            return
        if machine.mode is HOLDING and reaction in ("stop", "retract"):
            return  # it stands still
        way, again = list(self._way), self._retracting
        self._way.clear()
        machine.anchor(why, soft=False, still=True)
        machine.enter(HOLDING, why)
        if reaction == "float":
            machine.enter(FLOATING, why)
        elif reaction == "retract" and len(way) > 1 and not again:
            self._retract(way)

    def _retract(self, way: list[tuple[Array, Array]]) -> None:
        """Lead the arm from where it is back along the points that the reference passed."""
        machine, stream = self._machine, self._machine.stream
        q, qd = (np.array(part)[::-1] for part in zip(*way, strict=True))
        length = BACK_STEP * (len(way) - 1)
        duration = BACK_SLOWER * length
        t = np.linspace(0.0, 1.0, 2 * len(way))
        passed = t**3 * (10.0 + t * (6.0 * t - 15.0))  # a quintic, from rest to rest
        rate = 30.0 * t**2 * (1.0 - t) ** 2 / duration
        at = passed * (len(way) - 1)
        points, speeds = (np.stack([np.interp(at, np.arange(len(way)), c) for c in x.T], axis=1) for x in (q, qd))
        joints = machine.settings.robot.joint_names
        path = SampledTrajectory(duration * t, points, -speeds * (length * rate)[:, None], None, joints)
        motion = Motion(path, stream.stamp, Tolerances(joints), blend_time=duration)
        self._retracting = True
        machine.queue.put(motion, self._back)

    def _back(self, ending: Ending, text: str) -> None:
        self._retracting = False
