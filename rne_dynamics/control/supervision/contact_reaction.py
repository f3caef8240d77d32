"""What a controller does at a contact: it stops, gives way, or retracts along the way that it came."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

import numpy as np

from rne_dynamics.control.contact_watch import ContactWatch
from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.control.motion.motion import Motion
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.control.supervision.state_machine import StateMachine
from rne_dynamics.control.supervision.states import DRIVING, FLOATING, HOLDING, TRACKING
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.control.trajectory import QUINTIC_PEAK_ACCELERATION, QUINTIC_PEAK_VELOCITY, SampledTrajectory
from rne_dynamics.errors import ControlError, refuse
from rne_dynamics.model.inertia import Array

#: Least time between two points of the way back, s, and how much slower it is than the way there.
BACK_STEP, BACK_SLOWER = 0.02, 2.0


class ContactReaction:
    """Observes contact for a controller; `machine`: its mode and parts."""

    def __init__(self, machine: StateMachine) -> None:
        self._machine = machine
        self._acted = self._zero = np.zeros(machine.settings.robot.n)
        self._bridged: list[tuple[float, Array]] = []  # efforts since the last state, and from when on, s
        self._way: deque[tuple[int, Array, Array]] = deque()  # stamps, ns, positions and velocities
        self._at, self._retracting = 0.0, False
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
        mode = self._machine.mode
        refuse(
            ControlError,
            (not self._machine.drives, "external efforts are not observed: the drives do not act"),
            (mode not in DRIVING, f"external efforts are not observed: the controller is {mode.value}"),
        )
        if watch.settled:
            watch.tare()
        else:
            self._tared = done

    def rest(self) -> None:
        """Observe nothing, since neither a reference nor a hand is followed."""
        self._way.clear()
        self._bridged.clear()
        if self._watch is not None:
            self._watch.rest()
        if self._tared is not None:
            done, self._tared = self._tared, None
            done("the arm is being stopped, or its drives do not act")

    def bridge(self, command: Array) -> None:
        """Take an effort, (n,), that is sent in a gap between two states."""
        self._bridged.append((self._machine.output.at, command))

    def take(self, command: Array) -> None:
        """Take the state that `command`, (n,), has answered: what acted until then were the efforts before."""
        machine = self._machine
        acted, self._acted = self._acted, command
        if self._bridged:
            times, efforts = zip((self._at, acted), *self._bridged, strict=True)
            acted = np.average(efforts, axis=0, weights=np.diff([*times, machine.output.at]))
            self._bridged.clear()
        self._at = machine.output.at
        watch = self.watch
        if watch is None:
            return
        reaction = watch.settings.reaction
        if not self.read and reaction == "none" and self._tared is None:
            if watch.observing:
                watch.rest()
            return
        stream, reference = machine.stream, machine.queue.reference
        qdd = self._zero if machine.mode is FLOATING else reference.qdd
        began = watch.take(stream.stamp, stream.q, stream.qd, acted, qdd)
        if self._tared is not None and watch.settled:
            done, self._tared, why = self._tared, None, ""
            try:
                watch.tare()
            except ControlError as error:
                why = str(error)
            done(why)
        if machine.mode is not TRACKING:
            self._way.clear()  # from there a hand may have led it elsewhere
        elif reaction == "retract" and not self._retracting:
            self._note(stream.stamp, watch.settings.retract_time)
        if began:
            self.count += 1
            self._react(watch, f"contact at {watch.text()}")

    def _note(self, stamp: int, seconds: float) -> None:
        """Remember the way of the reference over the last `seconds`."""
        way, reference = self._way, self._machine.queue.reference
        if not way or stamp - way[-1][0] >= BACK_STEP * NANOSECONDS:
            way.append((stamp, reference.q.copy(), reference.qd.copy()))
        while stamp - way[0][0] > (seconds + 0.5 * BACK_STEP) * NANOSECONDS:
            way.popleft()

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

    def _retract(self, way: list[tuple[int, Array, Array]]) -> None:
        """Lead the arm from where it is back along the points that the reference passed."""
        machine, stream = self._machine, self._machine.stream
        stamps, q, qd = (np.array(part)[::-1] for part in zip(*way, strict=True))
        passed = (stamps[0] - stamps) / NANOSECONDS
        length = float(passed[-1])
        # no faster than its limits, and where soft springs have let it go no harder than a cancelled motion is braked
        settings = machine.settings
        off = np.abs(machine.queue.reference.q - q[0]) / settings.limits.velocity
        far = off + length * np.abs(qd).max(axis=0) / settings.limits.velocity
        duration = max(
            BACK_SLOWER * length, QUINTIC_PEAK_VELOCITY * far.max(),
            math.sqrt(QUINTIC_PEAK_ACCELERATION * off.max() * settings.stop.brake_time),
        )
        t = np.linspace(0.0, 1.0, 2 * len(way))
        at = length * t**3 * (10.0 + t * (6.0 * t - 15.0))  # a quintic, from rest to rest
        rate = length * 30.0 * t**2 * (1.0 - t) ** 2 / duration
        points, speeds = (np.stack([np.interp(at, passed, c) for c in x.T], axis=1) for x in (q, qd))
        joints = settings.robot.joint_names
        path = SampledTrajectory(duration * t, points, -speeds * rate[:, None], None, joints)
        motion = Motion(path, stream.stamp, Tolerances(joints), blend_time=duration)
        self._retracting = True
        machine.queue.put(motion, self._back)

    def _back(self, ending: Ending, text: str) -> None:
        self._retracting = False
