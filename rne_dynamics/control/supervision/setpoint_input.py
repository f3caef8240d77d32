"""Setpoints that arrive one at a time, as motions of a controller."""

from __future__ import annotations

import math

from rne_dynamics.control.reference import Reference
from rne_dynamics.control.streaming.limits import SetpointError, SetpointProblem
from rne_dynamics.control.streaming.setpoints import Setpoints
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.control.supervision.pose_input import PoseInput
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.state_machine import StateMachine
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array


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
