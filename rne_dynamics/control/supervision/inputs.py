"""What reaches a controller besides joint states: setpoints, poses, target wrenches, contact."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from rne_dynamics.control.contact_watch import ContactWatch
from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.control.motion.motion import Motion
from rne_dynamics.control.streaming.limits import SetpointError, SetpointProblem, StreamLimits
from rne_dynamics.control.streaming.pose_following import PoseLimits, PoseStream
from rne_dynamics.control.streaming.setpoints import Setpoints
from rne_dynamics.control.supervision.fading import BASE_AXES, LINK_AXES, WrenchFade, limited
from rne_dynamics.control.supervision.motion_queue import Ending, OnEnd
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.state_machine import StateMachine
from rne_dynamics.control.supervision.states import DRIVING, FLOATING, HOLDING, TRACKING
from rne_dynamics.control.thresholds import LONGEST_GAP, LONGEST_STEP, NANOSECONDS
from rne_dynamics.control.trajectory import QUINTIC_PEAK_ACCELERATION, QUINTIC_PEAK_VELOCITY, SampledTrajectory
from rne_dynamics.errors import ControlError, refuse
from rne_dynamics.model.inertia import Array

#: After a motion to a pose that did not end by itself, time without a target until the next one is followed, s.
CALLED_OFF = 0.5


class PoseInput:
    """Puts a motion to a pose into the queue, or gives it another target; `machine`: of the controller."""

    def __init__(self, machine: StateMachine) -> None:
        self._machine = machine
        self._stream: PoseStream | None = None
        self._on_end: OnEnd = lambda ending, text: None
        self._called_off, self._aimed = "", 0  # why targets are ignored; stamp of the last one, ns

    def restart(self) -> None:
        """Nothing is under way any more."""
        self._stream = None

    def adopt(self, settings: Settings) -> None:
        """Other limits, also for a motion under way."""
        if self._stream is not None and settings.stream is not None:
            self._stream.adopt(settings.stream, settings.path_tolerances)

    def aim(self, target: Array, detour: Array | None, on_end: OnEnd) -> None:
        """Move the link of `settings.pose` to a pose, (1, 12), by a posture `detour`, (n,). Raises ControlError."""
        settings, queue = self._machine.settings, self._machine.queue
        if settings.stream is None or settings.pose is None:
            raise ControlError(settings.no_pose or settings.no_stream)
        before, self._aimed = self._aimed, self._machine.stream.stamp
        if not 0 <= self._aimed - before <= CALLED_OFF * NANOSECONDS:
            self._called_off = ""
        refuse(
            ControlError,
            (self._called_off, f"{self._called_off}: targets are ignored until none has come for {CALLED_OFF:g} s"),
            (not np.isfinite(target).all(),
             f"a pose target is ignored: it has numbers that are not finite: {target.tolist()}"),
        )  # fmt: skip
        self._machine.ready()
        if self._stream is None or self._stream.braking:
            if queue.moving or queue.awaited:
                under_way = queue.followed or "a trajectory is to begin"
                raise ControlError(f"a pose target is ignored: {under_way}; wait for its end, or cancel it")
            self._stream = self._new(settings.stream, settings.pose)
            self._stream.start = self._machine.stream.stamp
            queue.put(self._stream, self._ended)
        self._stream.aim(target, detour)
        self._on_end = on_end

    def warm_up(self, q: Array) -> None:
        """Compile what a motion to a pose needs, at a posture (n,)."""
        settings = self._machine.settings
        if settings.stream is not None and settings.pose is not None:
            stream, zero = self._new(settings.stream, settings.pose), np.zeros(len(q))
            for detour in (None, q):
                stream.aim(np.eye(4)[None, :3].reshape(1, -1), detour)
                stream.begin(0, Reference(q, zero, zero))
                stream.advance(1_000_000)

    def _new(self, limits: StreamLimits, pose: PoseLimits) -> PoseStream:
        settings = self._machine.settings
        return PoseStream(settings.robot.open_tree, limits, settings.path_tolerances, pose)

    def _ended(self, ending: Ending, text: str) -> None:
        self._stream = None
        if ending not in (Ending.SUCCEEDED, Ending.UNREACHED):  # targets of a stream would begin it anew
            self._called_off = f"the motion to a pose was {ending.value} ({text})"
        self._on_end(ending, text)


class SetpointInput:
    """Puts a stream of setpoints into the queue of motions; `machine`: of the controller."""

    def __init__(self, machine: StateMachine) -> None:
        self._machine = machine
        self.poses = PoseInput(machine)
        self._received = 0.0  # when the last one was, on the clock that is never set
        self.restart()

    def restart(self) -> None:
        """No setpoint is known any more."""
        settings = self._machine.settings
        self.poses.restart()
        #: None where none are followed.
        self.setpoints = None if settings.stream is None else Setpoints(settings.stream, settings.path_tolerances)

    def adopt(self, settings: Settings) -> None:
        """Other settings; a stream that is under way goes on."""
        self.poses.adopt(settings)
        if self.setpoints is None:
            self.restart()
        elif settings.stream is not None:
            self.setpoints.adopt(settings.stream, settings.path_tolerances)

    def take(
        self, source: int, q: Array, qd: Array, now: float, *, stamp: int, ahead: int, sequence: int | None
    ) -> None:
        """As `Supervisor.setpoint`."""
        setpoints, stream, queue = self.setpoints, self._machine.stream, self._machine.queue
        if setpoints is None:
            raise SetpointError(self._machine.settings.no_stream, SetpointProblem.NOT_READY)
        at = stream.stamp + round(max(now - stream.arrival, 0.0) * NANOSECONDS) if stream.arrival > -math.inf else 0
        setpoints.received, self._received = at - round((now - self._received) * NANOSECONDS), now
        try:
            if setpoints.take(
                source, q, qd, stamp=stamp, ahead=ahead, at=at, sequence=sequence, begin=self._may_begin
            ):
                setpoints.stream.start = stream.stamp
                queue.put(setpoints.stream, self._ended)
        except SetpointError as error:
            setpoints.refuse(error)
            raise

    def _may_begin(self) -> Reference:
        """The current reference, where setpoints may be followed from now on."""
        queue = self._machine.queue
        try:
            self._machine.ready()
        except ControlError as error:
            raise SetpointError(f"setpoints are ignored: {error}", SetpointProblem.NOT_READY) from None
        if queue.moving or queue.awaited:
            assert self.setpoints is not None
            self.setpoints.ended("a trajectory is under way")
            raise SetpointError("setpoints are ignored: a trajectory is under way", SetpointProblem.NOT_READY)
        return queue.reference

    def _ended(self, ending: Ending, text: str) -> None:
        assert self.setpoints is not None
        self.setpoints.ended("" if ending is Ending.SILENT else f"the stream was {ending.value} ({text})")


class WrenchInput:
    """Takes target wrenches; `machine`: of the controller.

    `fade`: what is applied; `advance` is to be called while it is active.
    """

    def __init__(self, machine: StateMachine) -> None:
        self._machine, self.fade = machine, WrenchFade()
        self._until = self._at = -math.inf

    def take(self, wrench: Array, frame: str, now: float) -> str:
        """Apply force and moment, (6,), in axes of the root link or the law's; what was limited."""
        settings, law = self._machine.settings, self._law()
        if law is None:
            name = getattr(settings.tracking, "name", type(settings.tracking).__name__)
            raise ControlError(f"the law in force ({name}) applies no wrench; change to cartesian_impedance")
        root = settings.robot.tree.root
        refuse(
            ControlError,
            (not np.isfinite(wrench).all(), f"a target wrench has numbers that are not finite: {wrench.tolist()}"),
            (frame not in ("", root, law.link),
             f"frame {frame!r} of a target wrench is neither the root link {root!r} nor the law's link {law.link!r}"),
        )
        self._machine.ready()
        if not self.fade.active:
            self._at = now
        allowed, said = limited(wrench, law.force_limit, law.moment_limit)
        self.fade.aim(allowed.tolist(), LINK_AXES if frame == law.link else BASE_AXES)
        self._until = now + settings.wrench.timeout
        return said

    def advance(self, now: float) -> None:
        """Let the wrench move on to its target at the time `now`, before the law is evaluated."""
        machine, dt, self._at = self._machine, now - self._at, now
        if dt > LONGEST_GAP:  # a hand had the arm, or nobody
            self.fade.end(at_once=True)
        if now >= self._until or machine.mode not in (HOLDING, TRACKING) or self._law() is None:
            self.fade.end()
        self.fade.advance(min(max(dt, 0.0), LONGEST_STEP), machine.settings.wrench)
        machine.torques.change.apply_wrench(self.fade.rows)

    def rest(self) -> None:
        """Apply none at once, since no law for references is in force."""
        self.fade.end(at_once=True)
        self._machine.torques.change.apply_wrench(self.fade.rows)

    def text(self) -> str:
        """What is applied, for reports; empty for nothing."""
        if not self.fade.active:
            return ""
        force, moment = (math.hypot(*part) for part in self.fade.rows.sum(axis=0).reshape(2, 3))
        return f"{force:.3g} N, {moment:.3g} N m"

    def _law(self) -> Any:
        """The law in force, or to come, if it applies wrenches."""
        law = self._machine.settings.tracking
        return law if hasattr(law, "apply_wrench") else None


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
        machine = self._machine
        if machine.mode not in DRIVING or not machine.drives_act:
            why = f"the controller is {machine.mode.value}" if machine.drives_act else "the drives do not act"
            raise ControlError(f"external efforts are not observed: {why}")
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
