"""State machine of a controller: requests in. See `states` for its modes.

Two clocks matter, so every call takes two times: `stamp`, ns of the joint states' own clock, is the time of the
motion; `now`, monotonic s of this computer, is the time of stops and time-outs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from rne_dynamics.compiling.apart import load_all
from rne_dynamics.control.motion.limits import MotionLimits, Tolerances
from rne_dynamics.control.motion.motion import Motion
from rne_dynamics.control.motion.motion import warm_up as warm_up_motion
from rne_dynamics.control.reference import Reference
from rne_dynamics.control.streaming.limits import SetpointError, SetpointProblem
from rne_dynamics.control.streaming.setpoints import Setpoints
from rne_dynamics.control.streaming.setpoints import warm_up as warm_up_setpoints
from rne_dynamics.control.supervision.motion_queue import Ending, OnEnd
from rne_dynamics.control.supervision.observation import Observation
from rne_dynamics.control.supervision.output import Counters
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.start_gate import StartGate
from rne_dynamics.control.supervision.stop_plan import (
    DRIVING,
    FAULT,
    FLOATING,
    HOLDING,
    INACTIVE,
    RELEASED,
    STOPPING,
    TRACKING,
    WAITING,
    Mode,
    Stop,
)
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array


class Supervisor(Observation):
    """A controller between two joint states; parameters as for `Transitions`."""

    def __init__(self, settings: Settings, on_change: Callable[[Mode, str], None] = lambda mode, cause: None) -> None:
        super().__init__(settings, on_change)
        self.setpoints = _setpoints(settings)
        self.obstacle, self._received = "", 0.0  # the latter: of the last setpoint, on the clock that is never set

    def adopt(self, settings: Settings) -> None:
        """Other parameters, from the next effort on; the rate limit softens what jumps.

        A start-up check that is under way or has failed begins anew where the robot is another one.
        """
        old, self.settings = self.settings, settings
        self._torques.adopt(settings)
        if self._base is not None and settings.base is not None:
            self._base.sensor = settings.base
        self._filter.change(settings.states)
        self._output.adopt(settings)
        self._update_inertia_at = -math.inf
        self._rates.adopt(settings)
        self.loop.adopt(settings)
        if settings.robot is not old.robot and self.mode is HOLDING and not self.gate.open:
            self._begin_check()
        queue, limits = self.queue, self._range()
        if not np.array_equal((queue.lower, queue.upper, queue.velocity), limits):
            queue.lower, queue.upper, queue.velocity = limits
            queue.limit(MotionLimits(settings.robot.joint_names, *limits, np.inf))
        self.queue.brake_time = settings.stop.brake_time
        if self.setpoints is None:
            self.setpoints = _setpoints(settings)
        elif settings.stream is not None:
            self.setpoints.adopt(settings.stream, _stream_tolerances(settings))

    def warm_up(self) -> None:
        """Compile everything a cycle needs, so that the first one is as fast as the others; changes no state."""
        other = Supervisor(self.settings)
        other.speed = self.speed
        n = self.settings.robot.n
        q = np.clip(np.array(self.settings.robot.neutral), *self._range()[:2])
        other.activate(0.0)
        for k in range(1, 4):
            if self.settings.base is not None:
                resting = self.settings.base.at_rest(k * 1_000_000, self.settings.robot.open_tree.gravity)
                other.sense_base(resting, 1e-3 * k)
            other.observe(k * 1_000_000, 1e-3 * k, q.copy(), np.zeros(n), np.zeros(n), velocity_missing=k == 2)
            other.effort(k * 1_000_000, 1e-3 * k)
        other._torques.along(other.queue.reference, braking=True)  # the law without limits, as in a stop without states
        other._torques.warm_up(q)
        other.stop(0.004, "warm-up", ending=True)
        other.effort(4_000_000, 0.5)
        other.tick(100.0)
        StartGate(self.settings, self._torques.posture).check.warm_up()
        warm_up_motion(n)
        warm_up_setpoints(n)
        load_all()

    def activate(self, now: float) -> None:
        """Wait for the first usable state and hold the arm where it finds it."""
        self.counters = Counters()
        self.setpoints = _setpoints(self.settings)
        self._torques.restart()
        self._filter.restart()
        self._output.start_from(np.zeros(self.settings.robot.n), np.zeros(self.settings.robot.n))
        self._wait(now, "activated")

    def recover(self, now: float) -> None:
        """After a fault or a release: as after activation. Raises ControlError: there is nothing to recover from."""
        if self.mode is HOLDING and self.gate.failed:
            self._begin_check()  # it disagreed: check again
            return
        if self._dead_reckoning and self._stopped_by_loss:
            self._lost = True  # the operator trusts the states: they are used as soon as there are `BACK` good ones
            self._filter.restart()
            return
        if self.mode not in (FAULT, RELEASED):
            raise ControlError(f"nothing to recover from: the controller is {self.mode.value}")
        self._filter.restart()
        self._wait(now, "recovery was requested")

    def stop(self, now: float, why: str, *, ending: bool = False) -> None:
        """Decelerate, hold and release as `settings.stop` says; nothing where nothing is driven.

        `now`: present time. `why`: reported to the sender of a motion, and shown. `ending`: whether the controller is
        deactivated, so that it cannot hold without end; it is inactive afterwards, and released otherwise.
        """
        after = INACTIVE if ending else RELEASED
        self._requested, self._stopped_by_loss = True, False
        if self.mode is STOPPING:
            self._stop = self._stop.ended_by(now, self.settings.stop) if ending else self._stop
            self._after = after if ending else self._after
        elif self.mode in DRIVING:
            self._begin_stop(now, why, after=after, ending=ending)
        elif ending or self.mode is WAITING:
            self._enter(after, why)

    def hurry(self, now: float, why: str) -> None:
        """Bring the efforts to zero at the rate limit, instead of the planned stop: for a second stop signal."""
        self.stop(now, why)
        if self.mode is STOPPING:
            self._stop = Stop(now, now, 0.0)

    def drives(self, now: float, act: bool) -> None:
        """Whether the drives act on what is sent, as far as they say.

        While they do not, motions end and are refused, and the efforts are those that hold the measured posture. When
        they do again, the arm is held where it is then, and the feedback grows from nothing.
        """
        if act is self._drives:
            return
        self._drives = act
        if self.mode in DRIVING:
            self._hold("the drives act again" if act else "the drives do not act")
            self._begin_check()

    def fail(self, now: float, why: str) -> None:
        """Stop without states and stay out of it, because of an error outside that leaves no other way."""
        if self.mode in DRIVING or self.mode is STOPPING:
            self._fail(now, why)

    def follow(self, motion: Motion, on_end: OnEnd) -> None:
        """Follow `motion` from its start on; see `MotionQueue.put`.

        Raises ControlError: the controller does not accept motions now; the message says why.
        """
        self.ready()
        self.queue.put(motion, on_end)

    def setpoint(
        self, source: int, q: Array, qd: Array, now: float, *, stamp: int = 0, ahead: int = 0,
        sequence: int | None = None,
    ) -> None:
        """Follow a setpoint from the next effort on; one that is not followed is counted.

        `source`, `q`, `qd`, `stamp`, `ahead`, `sequence`: as for `Setpoints.take`; `now`: when it was received,
        monotonic s. Raises SetpointError: it is not followed; the message says why.
        """
        setpoints = self.setpoints
        if setpoints is None:
            raise SetpointError(self.settings.no_stream, SetpointProblem.NOT_READY)
        at = self.stamp + round(max(now - self.arrival, 0.0) * NANOSECONDS) if self.arrival > -math.inf else 0
        setpoints.received, self._received = at - round((now - self._received) * NANOSECONDS), now
        try:
            if setpoints.take(
                source, q, qd, stamp=stamp, ahead=ahead, at=at, sequence=sequence, begin=self._may_stream
            ):
                setpoints.stream.start = self.stamp
                self.queue.put(setpoints.stream, self._stream_ended)
        except SetpointError as error:
            setpoints.refuse(error)
            raise

    def _may_stream(self) -> Reference:
        """The current reference, where setpoints may be followed from now on."""
        try:
            self.ready()
        except ControlError as error:
            raise SetpointError(f"setpoints are ignored: {error}", SetpointProblem.NOT_READY) from None
        if self.queue.moving or self.queue.awaited:
            assert self.setpoints is not None
            self.setpoints.ended("a trajectory is under way")
            raise SetpointError("setpoints are ignored: a trajectory is under way", SetpointProblem.NOT_READY)
        return self.queue.reference

    def _stream_ended(self, ending: Ending, text: str) -> None:
        assert self.setpoints is not None
        self.setpoints.ended("" if ending is Ending.SILENT else f"the stream was {ending.value} ({text})")

    def ready(self) -> None:
        """`ControlError` where no motion can be accepted now; the message says why."""
        if self.settings.tracking is None:
            raise ControlError("this controller follows no trajectories")
        if self.mode not in (HOLDING, TRACKING):
            raise ControlError(f"the controller is {self.mode.value}{f' ({self.cause})' if self.cause else ''}")
        if not self._drives:
            raise ControlError("the drives do not act: enable them on the arm, or check drives.topic")
        if self.obstacle:
            raise ControlError(f"no motion is allowed: {self.obstacle}")
        if self.loop.locked:
            raise ControlError(f"no motion is allowed: {self.loop.locked}")
        if not self.gate.open:
            again = "; ~/recover repeats the check" if self.gate.failed else ""
            raise ControlError(f"no motion is allowed: {self.gate.text}{again}")

    def obstruct(self, why: str) -> None:
        """Brake what is under way and accept no motion, for a reason outside of the arm; empty: accept them again."""
        if why and not self.obstacle and self.mode in (HOLDING, TRACKING):
            self.cancel(why)
        self.obstacle = why

    def scale_speed(self, speed: float) -> None:
        """Let path time run at `speed` of real time, 0 to 1; `ControlError` for anything else."""
        if not 0.0 <= speed <= 1.0:
            raise ControlError(f"speed scaling is {speed}; it must lie between 0 and 1")
        self.speed = speed

    def cancel(self, why: str) -> None:
        """Brake what is under way, along its path; what follows says `stop.after_cancel`."""
        self.queue.cancel(why)

    def hand_guide(self, on: bool) -> None:
        """Let a hand lead the arm, or hold it again where it is.

        Raises ControlError: the arm moves by itself, is not held, or the start-up check is not passed.
        """
        if on == (self.mode is FLOATING):
            return
        if self.settings.tracking is None:
            raise ControlError("this controller does nothing but hand guiding: deactivate it to end that")
        if on:
            self.ready()
            if self.mode is not HOLDING or self.queue.awaited:
                raise ControlError("hand guiding needs an arm that is held: a trajectory is under way or to come")
        elif self.mode is not FLOATING:
            raise ControlError(f"hand guiding is not on: the controller is {self.mode.value}")
        self._anchor("hand guiding")
        self._enter(FLOATING if on else HOLDING, "hand guiding")


def _setpoints(settings: Settings) -> Setpoints | None:
    return None if settings.stream is None else Setpoints(settings.stream, _stream_tolerances(settings))


def _stream_tolerances(settings: Settings) -> Tolerances:
    return settings.stream_tolerances or Tolerances(settings.robot.joint_names)
