"""What reaches a controller besides joint states: setpoints, poses, target wrenches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.streaming.limits import SetpointError, SetpointProblem, StreamLimits
from rne_dynamics.control.streaming.pose_following import PoseLimits, PoseStream
from rne_dynamics.control.streaming.setpoints import Setpoints
from rne_dynamics.control.supervision.motion_queue import Ending, OnEnd
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.state_machine import StateMachine
from rne_dynamics.control.supervision.states import HOLDING, TRACKING
from rne_dynamics.control.thresholds import LONGEST_GAP, LONGEST_STEP, NANOSECONDS
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
        self, source: int, q: Array, qd: Array, now: float, *, stamp: int = 0, ahead: int = 0,
        sequence: int | None = None,
    ) -> None:
        """Follow a setpoint received at `now`, s, others as for `Setpoints.take`; `SetpointError` where not."""
        setpoints, stream, queue = self.setpoints, self._machine.stream, self._machine.queue
        if setpoints is None:
            raise SetpointError(self._machine.settings.no_stream, SetpointProblem.NOT_READY)
        at = stream.stamp + round(max(now - stream.arrival, 0.0) * NANOSECONDS) if stream.arrival > -math.inf else 0
        setpoints.received, self._received = at - round((now - self._received) * NANOSECONDS), now
        try:
            if setpoints.take(
                source, q, qd, stamp=stamp, ahead=ahead, at=at, sequence=sequence,
                begin=partial(self._may_begin, setpoints),
            ):
                setpoints.stream.start = stream.stamp
                queue.put(setpoints.stream, partial(self._ended, setpoints))
        except SetpointError as error:
            setpoints.refuse(error)
            raise

    def _may_begin(self, setpoints: Setpoints) -> Reference:
        """The current reference, where setpoints may be followed from now on."""
        queue = self._machine.queue
        try:
            self._machine.ready()
        except ControlError as error:
            raise SetpointError(f"setpoints are ignored: {error}", SetpointProblem.NOT_READY) from None
        if queue.moving or queue.awaited:
            setpoints.ended("a trajectory is under way")
            raise SetpointError("setpoints are ignored: a trajectory is under way", SetpointProblem.NOT_READY)
        return queue.reference

    @staticmethod
    def _ended(setpoints: Setpoints, ending: Ending, text: str) -> None:
        setpoints.ended("" if ending is Ending.SILENT else f"the stream was {ending.value} ({text})")


_NONE: Sequence[float] = (0.0, 0.0, 0.0)


class WrenchInput:
    """Takes target wrenches, and lets what is applied move towards them; `machine`: of the controller.

    `advance` is to be called while it is `active`.
    """

    def __init__(self, machine: StateMachine) -> None:
        self._machine = machine
        #: What is applied, in axes of the base and of the link, N and N·m, (2, 6).
        self.rows = np.zeros((2, 6))
        #: Whether anything is applied, or on the way.
        self.active = False
        self._parts = self._targets = [_NONE] * 4
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
        if not self.active:
            self._at = now
        allowed, said = limited(wrench, law.force_limit, law.moment_limit)
        force, moment = allowed.reshape(2, 3).tolist()
        # what is applied in the other axes fades
        self._targets = [_NONE, _NONE, force, moment] if frame == law.link else [force, moment, _NONE, _NONE]
        self.active = True
        self._until = now + settings.wrench.timeout
        return said

    def advance(self, now: float) -> None:
        """Let the wrench move on to its target at the time `now`, before the law is evaluated."""
        machine, dt, self._at = self._machine, now - self._at, now
        if dt > LONGEST_GAP:  # a hand had the arm, or nobody
            self.rest()
        if now >= self._until or machine.mode not in (HOLDING, TRACKING) or self._law() is None:
            self._targets = [_NONE] * 4
        step, rates = min(max(dt, 0.0), LONGEST_STEP), machine.settings.wrench
        steps = (step * rates.force_rate, step * rates.moment_rate) * 2
        self._parts = list(map(towards, self._parts, self._targets, steps))
        self.rows[:] = np.reshape(self._parts, (2, 6))
        self.active = any(map(any, self._parts)) or any(map(any, self._targets))
        machine.torques.change.apply_wrench(self.rows)

    def rest(self) -> None:
        """Apply none at once."""
        self._parts = self._targets = [_NONE] * 4
        self.active = False
        self.rows[:] = 0.0
        self._machine.torques.change.apply_wrench(self.rows)

    def text(self) -> str:
        """What is applied, for reports; empty for nothing."""
        if not self.active:
            return ""
        force, moment = (math.hypot(*part) for part in self.rows.sum(axis=0).reshape(2, 3))
        return f"{force:.3g} N, {moment:.3g} N m"

    def _law(self) -> Any:
        """The law in force, or to come, if it applies wrenches."""
        law = self._machine.settings.tracking
        return law if hasattr(law, "apply_wrench") else None


def towards(now: Sequence[float], aim: Sequence[float], step: float) -> Sequence[float]:
    """A vector, moved towards another by at most `step`."""
    way = [y - x for x, y in zip(now, aim, strict=True)]
    size = math.hypot(*way)
    return aim if size <= step else [x + step / size * d for x, d in zip(now, way, strict=True)]


def limited(wrench: Array, force: float, moment: float) -> tuple[Array, str]:
    """A wrench, (6,), within limits of force and moment, 0 for none, and what was limited, for messages."""
    found, said = wrench.copy(), []
    for at, limit, what, unit in ((0, force, "force", "N"), (3, moment, "moment", "N m")):
        size = math.hypot(*found[at : at + 3])
        if size > limit > 0.0:
            found[at : at + 3] *= limit / size
            said.append(f"its {what} of {size:.3g} {unit} is limited to {limit:g} {unit} ({what}_limit of the law)")
    return found, ", ".join(said)
