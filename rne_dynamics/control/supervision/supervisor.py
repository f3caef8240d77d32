"""The controller between joint states and efforts: states in, efforts out, requests at any time.

Two clocks matter, so every call takes two times: `stamp`, ns of the joint states' own clock, is the time of the
motion; `now`, monotonic s of this computer, is the time of stops and time-outs.

One joint state passes these files in turn: `state_stream` checks it, `state_machine` changes the mode with it,
`efforts` takes the reference from `motion_queue`, the efforts from `torques` and what the limits leave of them from
`output`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rne_dynamics.compiling.apart import load_all
from rne_dynamics.control.guards.base_filter import BaseReading
from rne_dynamics.control.motion.motion import Motion
from rne_dynamics.control.motion.motion import warm_up as warm_up_motion
from rne_dynamics.control.streaming.setpoints import warm_up as warm_up_setpoints
from rne_dynamics.control.supervision.efforts import Efforts
from rne_dynamics.control.supervision.inputs import SetpointInput
from rne_dynamics.control.supervision.loop_watch import LoopWatch
from rne_dynamics.control.supervision.motion_queue import OnEnd, StartGate
from rne_dynamics.control.supervision.output import Counters, Effort
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.state_machine import OnChange, StateMachine
from rne_dynamics.control.supervision.states import (
    DRIVING,
    FAULT,
    FLOATING,
    HOLDING,
    INACTIVE,
    RELEASED,
    SENDING,
    STOPPING,
    TRACKING,
    UNCONFIGURED,
    WAITING,
    Stop,
)
from rne_dynamics.control.thresholds import BACK
from rne_dynamics.errors import ControlError, RneDynamicsError, StateError
from rne_dynamics.model.inertia import Array


class Supervisor(StateMachine):
    """A controller: the state machine with its inputs; `on_change` gets each new mode and its cause."""

    def __init__(self, settings: Settings, on_change: OnChange = lambda mode, cause: None) -> None:
        super().__init__(settings, on_change)
        self._efforts = Efforts(self)
        #: To be called when an effort has been sent.
        self.settle = self._efforts.settle
        #: Measured position and velocity, (n,): written by each good state, and by no other.
        self.q, self.qd = self.stream.q, self.stream.qd
        #: What is published of positions is less by that, as the driver reports them, (n,).
        self.unwrapped = self.stream.filter.unwrapped
        #: Setpoints and poses that come one at a time.
        self.input = SetpointInput(self)
        #: Follow a setpoint.
        self.setpoint = self.input.take
        self.poses, self.contact, self.wrenches = self.input.poses, self._efforts.contact, self._efforts.wrenches

    # -- joint states in, efforts out ---------------------------------------------------------------------------------

    def observe(
        self, stamp: int, now: float, q: Array, qd: Array, reported: Array, *, velocity_missing: bool = False,
        sequence: int | None = None,
    ) -> bool:
        """Take a joint state of `stamp`, ns, that came at `now`, s, (n,) each, written to; whether it is usable."""
        if self.mode in (INACTIVE, UNCONFIGURED):
            return False
        self.counters.states += 1
        if self._efforts.followed:  # nobody has called `settle`
            self.settle()
        if now - self.stream.arrival >= self.stream.patience and self.stale(now):
            self.lose(now)
        if self.mode in (FAULT, RELEASED):
            if not (self.lost and self.settings.recover_automatically) or self.requested:
                return False
            self.wait(now, "joint states are back", needed=BACK)
        try:
            fresh = self.stream.accept(
                stamp, now, q, qd, reported, velocity_missing=velocity_missing, sequence=sequence
            )
        except StateError as error:
            self.refused(now, error)
            return False
        self.arrived(now, fresh)
        return True

    def refuse(self, error: StateError) -> None:
        """Count a message that could not even be read."""
        self.counters.states += 1
        self.counters.refuse(error.problem, str(error))
        self.stream.good = 0

    def effort(self, stamp: int, now: float) -> Effort | None:
        """The answer to the last state, for the time `stamp`; None where there is nothing to send."""
        if self.base is not None:
            self.watch_base(now)
        if self.dead_reckoning or self.mode not in SENDING:
            return None
        if now - self.stream.arrival > self.stream.gap and self.unseen(now):
            return self._efforts.bridge(now)
        try:
            if now >= self.torques.inertia_at or self.torques.loops is not None:
                self._efforts.prepare(now)
            return self._efforts.answer(stamp, now)
        except RneDynamicsError as error:
            self.fail(now, str(error))
            return self.tick(now)

    def tick(self, now: float) -> Effort | None:
        """To be called every few milliseconds: looks for a broken stream; the effort of a stop without states."""
        self.watch_base(now)
        if self.stale(now):
            self.lose(now)
        if self.dead_reckoning:
            return self._efforts.reckoned(now)
        return self._efforts.bridge(now) if self.unseen(now) else None

    def sense_base(self, reading: BaseReading, now: float) -> None:
        """Take a message on the motion of the base, from the next effort on; one that must not be used is counted."""
        if self.base is None or self.mode in (INACTIVE, UNCONFIGURED):
            return
        self.watch_base(now)  # before the message, which may end a gap that was too long
        try:
            self.torques.move_base(self.base.accept(reading, now))
            self.base_lost = False
        except StateError as error:
            self.refuse_base(error)

    def refuse_base(self, error: StateError) -> None:
        """Count a message on the motion of the base that could not even be read."""
        self.counters.base_refused += 1
        self.counters.base_refusal = str(error)

    # -- start and stop -----------------------------------------------------------------------------------------------

    def adopt(self, settings: Settings) -> None:
        """Other parameters from the next effort on; with another robot a start-up check not passed begins anew."""
        super().adopt(settings)
        self.input.adopt(settings)

    def warm_up(self) -> None:
        """Compile everything a cycle needs, so that the first one is as fast as the others; changes no state."""
        other, settings = Supervisor(self.settings), self.settings
        n = settings.robot.n
        other.speed = self.speed
        q = np.clip(np.array(settings.robot.neutral), *self.place_range()[:2])
        other.activate(0.0)
        for k in range(1, 4):
            if settings.base is not None:
                other.sense_base(settings.base.at_rest(k * 1_000_000, settings.robot.open_tree.gravity), 1e-3 * k)
            other.observe(k * 1_000_000, 1e-3 * k, q.copy(), np.zeros(n), np.zeros(n), velocity_missing=k == 2)
            other.effort(k * 1_000_000, 1e-3 * k)
        # the law without limits, as in a stop without states
        other.torques.along(other.queue.reference, braking=True)
        other.torques.explaining(q, np.zeros(n), np.zeros(n))  # of a joint that is too fast
        other.stop(0.004, "warm-up", ending=True)
        other.effort(4_000_000, 0.5)
        other.tick(100.0)
        StartGate(settings, other.torques.posture).check.warm_up()
        warm_up_motion(n)
        warm_up_setpoints(n)
        other.poses.warm_up(q)
        load_all()
        for law in settings.others:
            Supervisor(replace(settings, tracking=law, others=(), command_delay=0.0)).warm_up()

    def activate(self, now: float) -> None:
        """Wait for the first usable state and hold the arm where it finds it."""
        zero = np.zeros(self.settings.robot.n)
        self.counters = Counters()
        self.input.restart()
        self.torques.restart()
        self.stream.filter.restart()
        self.output.start_from(zero, zero)
        self.wait(now, "activated")

    def recover(self, now: float) -> None:
        """After a fault or a release: as after activation. Raises ControlError: there is nothing to recover from."""
        lowered = self.loop.text or self.loop.locked
        if self.mode is HOLDING and (lowered or self.gate.failed):
            if lowered:  # all of the feedback acts again: it grows from nothing
                self.loop = LoopWatch(self.settings, self.loop.acts_after)
                self.anchor("recovery was requested")
            self.begin_check()
            return
        if self.dead_reckoning and self.stopped_by_loss:
            self.lost = True  # the operator trusts the states: they are used as soon as there are `BACK` good ones
            self.stream.filter.restart()
            return
        if self.mode not in (FAULT, RELEASED):
            raise ControlError(f"nothing to recover from: the controller is {self.mode.value}")
        self.stream.filter.restart()
        self.wait(now, "recovery was requested")

    def stop(self, now: float, why: str, *, ending: bool = False) -> None:
        """Decelerate, hold and release as `settings.stop` says; inactive afterwards where `ending`, else released."""
        after = INACTIVE if ending else RELEASED
        self.requested, self.stopped_by_loss = True, False
        if self.mode is STOPPING:
            if ending:
                self.stop_under_way, self.after = self.stop_under_way.ended_by(now, self.settings.stop), after
        elif self.mode in DRIVING:
            self.begin_stop(now, why, after=after, ending=ending)
        elif ending or self.mode is WAITING:
            self.enter(after, why)

    def hurry(self, now: float, why: str) -> None:
        """Bring the efforts to zero at the rate limit, instead of the planned stop: for a second stop signal."""
        self.stop(now, why)
        if self.mode is STOPPING:
            self.stop_under_way = Stop(now, now, 0.0)

    def drives(self, now: float, act: bool) -> None:
        """Whether the drives act on what is sent. While not, motions are refused; then the arm is held where it is."""
        if act is self.drives_act:
            return
        self.drives_act = act
        if self.mode in DRIVING:
            self.hold("the drives act again" if act else "the drives do not act")
            self.begin_check()

    # -- motions ------------------------------------------------------------------------------------------------------

    def follow(self, motion: Motion, on_end: OnEnd) -> None:
        """Follow `motion` from its start on, see `MotionQueue.put`; `ControlError` where no motion is accepted now."""
        self.ready()
        self.queue.put(motion, on_end)

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
        """Let a hand lead the arm, or hold it again where it is; `ControlError` where it is not held and checked."""
        if on == (self.mode is FLOATING):
            return
        if self.settings.tracking is None:
            raise ControlError("this controller does nothing but hand guiding: deactivate it to end that")
        if on:
            self.ready()
            if self.mode is not HOLDING or self.queue.awaited:
                raise ControlError("hand guiding needs an arm that is held: a trajectory is under way or to come")
        self.anchor("hand guiding")
        self.enter(FLOATING if on else HOLDING, "hand guiding")

    # -- what it does -------------------------------------------------------------------------------------------------

    @property
    def stamp(self) -> int:
        """Time of the last good state, ns."""
        return self.stream.stamp
