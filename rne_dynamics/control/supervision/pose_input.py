"""Pose targets as motions of a controller."""

from __future__ import annotations

import numpy as np

from rne_dynamics.control.reference import Reference
from rne_dynamics.control.streaming.limits import StreamLimits
from rne_dynamics.control.streaming.pose_following import PoseLimits
from rne_dynamics.control.streaming.pose_stream import PoseStream
from rne_dynamics.control.supervision.motion_queue import Ending, OnEnd
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.state_machine import StateMachine
from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array


class PoseInput:
    """Puts a motion to a pose into the queue, or gives it another target; `machine`: of the controller."""

    def __init__(self, machine: StateMachine) -> None:
        self._machine = machine
        self._stream: PoseStream | None = None
        self._on_end: OnEnd = lambda ending, text: None

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
        if not np.isfinite(target).all():
            raise ControlError(f"a pose target is ignored: it has numbers that are not finite: {target.tolist()}")
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
        self._on_end(ending, text)
