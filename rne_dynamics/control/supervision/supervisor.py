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
    Mode,
    Stop,
)
from rne_dynamics.control.thresholds import BACK
from rne_dynamics.errors import ControlError, RneDynamicsError, StateError
from rne_dynamics.model.inertia import Array


class Supervisor:
    """A controller; `on_change` gets each new mode and its cause."""

    def __init__(self, settings: Settings, on_change: OnChange = lambda mode, cause: None) -> None:
        #: Its mode, its parts, and the transitions; for tests and reports.
        self.machine = StateMachine(settings, on_change)
        #: Say why no motion can be accepted now; stop without states, because of an error outside, and stay out of it.
        self.ready, self.fail = self.machine.ready, self.machine.fail
        self._stream, self._efforts = self.machine.stream, Efforts(self.machine)
        #: To be called when an effort has been sent.
        self.settle = self._efforts.settle
        #: Measured position and velocity, (n,): written by each good state, and by no other.
        self.q, self.qd = self._stream.q, self._stream.qd
        self.queue = self.machine.queue
        #: What is published of positions is less by that, as the driver reports them, (n,).
        self.unwrapped = self._stream.filter.unwrapped
        #: Setpoints and poses that come one at a time.
        self.input = SetpointInput(self.machine)
        #: Follow a setpoint.
        self.setpoint = self.input.take
        self.poses, self.contact, self.wrenches = self.input.poses, self._efforts.contact, self._efforts.wrenches

    # -- joint states in, efforts out ---------------------------------------------------------------------------------

    def observe(
        self, stamp: int, now: float, q: Array, qd: Array, reported: Array, *, velocity_missing: bool = False,
        sequence: int | None = None,
    ) -> bool:
        """Take a joint state of `stamp`, ns, that came at `now`, s, (n,) each, written to; whether it is usable."""
        machine = self.machine
        if machine.mode in (INACTIVE, UNCONFIGURED):
            return False
        machine.counters.states += 1
        if self._efforts.followed:  # nobody has called `settle`
            self.settle()
        if now - self._stream.arrival >= self._stream.patience and machine.stale(now):
            machine.lose(now)
        if machine.mode in (FAULT, RELEASED):
            if not (machine.lost and machine.settings.recover_automatically) or machine.requested:
                return False
            machine.wait(now, "joint states are back", needed=BACK)
        try:
            fresh = self._stream.accept(
                stamp, now, q, qd, reported, velocity_missing=velocity_missing, sequence=sequence
            )
        except StateError as error:
            machine.refused(now, error)
            return False
        machine.arrived(now, fresh)
        return True

    def refuse(self, error: StateError) -> None:
        """Count a message that could not even be read."""
        self.counters.states += 1
        self.counters.refuse(error.problem, str(error))
        self._stream.good = 0

    def effort(self, stamp: int, now: float) -> Effort | None:
        """The answer to the last state, for the time `stamp`; None where there is nothing to send."""
        machine = self.machine
        if machine.base is not None:
            machine.watch_base(now)
        if machine.dead_reckoning or machine.mode not in SENDING:
            return None
        if now - self._stream.arrival > self._stream.gap and machine.unseen(now):
            return self._efforts.bridge(now)
        try:
            if now >= machine.torques.inertia_at or machine.torques.loops is not None:
                self._efforts.prepare(now)
            return self._efforts.answer(stamp, now)
        except RneDynamicsError as error:
            machine.fail(now, str(error))
            return self.tick(now)

    def tick(self, now: float) -> Effort | None:
        """To be called every few milliseconds: looks for a broken stream; the effort of a stop without states."""
        machine = self.machine
        machine.watch_base(now)
        if machine.stale(now):
            machine.lose(now)
        if machine.dead_reckoning:
            return self._efforts.reckoned(now)
        return self._efforts.bridge(now) if machine.unseen(now) else None

    def sense_base(self, reading: BaseReading, now: float) -> None:
        """Take a message on the motion of the base, from the next effort on; one that must not be used is counted."""
        machine = self.machine
        if machine.base is None or machine.mode in (INACTIVE, UNCONFIGURED):
            return
        machine.watch_base(now)  # before the message, which may end a gap that was too long
        try:
            machine.torques.move_base(machine.base.accept(reading, now))
            machine.base_lost = False
        except StateError as error:
            self.refuse_base(error)

    def refuse_base(self, error: StateError) -> None:
        """Count a message on the motion of the base that could not even be read."""
        self.counters.base_refused += 1
        self.counters.base_refusal = str(error)

    # -- start and stop -----------------------------------------------------------------------------------------------

    def adopt(self, settings: Settings) -> None:
        """Other parameters from the next effort on; with another robot a start-up check not passed begins anew."""
        self.machine.adopt(settings)
        self.input.adopt(settings)

    def warm_up(self) -> None:
        """Compile everything a cycle needs, so that the first one is as fast as the others; changes no state."""
        other, settings = Supervisor(self.settings), self.settings
        machine, n = other.machine, settings.robot.n
        machine.speed = self.machine.speed
        q = np.clip(np.array(settings.robot.neutral), *machine.place_range()[:2])
        other.activate(0.0)
        for k in range(1, 4):
            if settings.base is not None:
                other.sense_base(settings.base.at_rest(k * 1_000_000, settings.robot.open_tree.gravity), 1e-3 * k)
            other.observe(k * 1_000_000, 1e-3 * k, q.copy(), np.zeros(n), np.zeros(n), velocity_missing=k == 2)
            other.effort(k * 1_000_000, 1e-3 * k)
        # the law without limits, as in a stop without states
        machine.torques.along(other.queue.reference, braking=True)
        machine.torques.explaining(q, np.zeros(n), np.zeros(n))  # of a joint that is too fast
        other.stop(0.004, "warm-up", ending=True)
        other.effort(4_000_000, 0.5)
        other.tick(100.0)
        StartGate(settings, machine.torques.posture).check.warm_up()
        warm_up_motion(n)
        warm_up_setpoints(n)
        other.poses.warm_up(q)
        load_all()
        for law in settings.others:
            Supervisor(replace(settings, tracking=law, others=(), command_delay=0.0)).warm_up()

    def activate(self, now: float) -> None:
        """Wait for the first usable state and hold the arm where it finds it."""
        machine, zero = self.machine, np.zeros(self.settings.robot.n)
        machine.counters = Counters()
        self.input.restart()
        machine.torques.restart()
        self._stream.filter.restart()
        machine.output.start_from(zero, zero)
        machine.wait(now, "activated")

    def recover(self, now: float) -> None:
        """After a fault or a release: as after activation. Raises ControlError: there is nothing to recover from."""
        machine = self.machine
        lowered = machine.loop.text or machine.loop.locked
        if machine.mode is HOLDING and (lowered or machine.gate.failed):
            if lowered:  # all of the feedback acts again: it grows from nothing
                machine.loop = LoopWatch(machine.settings, machine.loop.acts_after)
                machine.anchor("recovery was requested")
            machine.begin_check()
            return
        if machine.dead_reckoning and machine.stopped_by_loss:
            machine.lost = True  # the operator trusts the states: they are used as soon as there are `BACK` good ones
            self._stream.filter.restart()
            return
        if machine.mode not in (FAULT, RELEASED):
            raise ControlError(f"nothing to recover from: the controller is {machine.mode.value}")
        self._stream.filter.restart()
        machine.wait(now, "recovery was requested")

    def stop(self, now: float, why: str, *, ending: bool = False) -> None:
        """Decelerate, hold and release as `settings.stop` says; inactive afterwards where `ending`, else released."""
        machine, after = self.machine, INACTIVE if ending else RELEASED
        machine.requested, machine.stopped_by_loss = True, False
        if machine.mode is STOPPING:
            if ending:
                machine.stop, machine.after = machine.stop.ended_by(now, machine.settings.stop), after
        elif machine.mode in DRIVING:
            machine.begin_stop(now, why, after=after, ending=ending)
        elif ending or machine.mode is WAITING:
            machine.enter(after, why)

    def hurry(self, now: float, why: str) -> None:
        """Bring the efforts to zero at the rate limit, instead of the planned stop: for a second stop signal."""
        self.stop(now, why)
        if self.mode is STOPPING:
            self.machine.stop = Stop(now, now, 0.0)

    def drives(self, now: float, act: bool) -> None:
        """Whether the drives act on what is sent. While not, motions are refused; then the arm is held where it is."""
        machine = self.machine
        if act is machine.drives:
            return
        machine.drives = act
        if machine.mode in DRIVING:
            machine.hold("the drives act again" if act else "the drives do not act")
            machine.begin_check()

    # -- motions ------------------------------------------------------------------------------------------------------

    def follow(self, motion: Motion, on_end: OnEnd) -> None:
        """Follow `motion` from its start on, see `MotionQueue.put`; `ControlError` where no motion is accepted now."""
        self.ready()
        self.queue.put(motion, on_end)

    def obstruct(self, why: str) -> None:
        """Brake what is under way and accept no motion, for a reason outside of the arm; empty: accept them again."""
        machine = self.machine
        if why and not machine.obstacle and machine.mode in (HOLDING, TRACKING):
            self.cancel(why)
        machine.obstacle = why

    def scale_speed(self, speed: float) -> None:
        """Let path time run at `speed` of real time, 0 to 1; `ControlError` for anything else."""
        if not 0.0 <= speed <= 1.0:
            raise ControlError(f"speed scaling is {speed}; it must lie between 0 and 1")
        self.machine.speed = speed

    def cancel(self, why: str) -> None:
        """Brake what is under way, along its path; what follows says `stop.after_cancel`."""
        self.queue.cancel(why)

    def hand_guide(self, on: bool) -> None:
        """Let a hand lead the arm, or hold it again where it is; `ControlError` where it is not held and checked."""
        machine, mode = self.machine, self.mode
        if on == (mode is FLOATING):
            return
        if machine.settings.tracking is None:
            raise ControlError("this controller does nothing but hand guiding: deactivate it to end that")
        if on:
            self.ready()
            if mode is not HOLDING or self.queue.awaited:
                raise ControlError("hand guiding needs an arm that is held: a trajectory is under way or to come")
        machine.anchor("hand guiding")
        machine.enter(FLOATING if on else HOLDING, "hand guiding")

    # -- what it does -------------------------------------------------------------------------------------------------

    @property
    def mode(self) -> Mode:
        """What it is doing."""
        return self.machine.mode

    @property
    def cause(self) -> str:
        """Why it is in that mode."""
        return self.machine.cause

    @property
    def settings(self) -> Settings:
        """Those in force."""
        return self.machine.settings

    @property
    def counters(self) -> Counters:
        """Totals since activation."""
        return self.machine.counters

    @property
    def gate(self) -> StartGate:
        """The start-up check."""
        return self.machine.gate

    @property
    def loop(self) -> LoopWatch:
        """Delay and oscillations."""
        return self.machine.loop

    @property
    def stamp(self) -> int:
        """Time of the last good state, ns."""
        return self._stream.stamp
