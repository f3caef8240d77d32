"""Random closed-loop episodes: the real `Supervisor` with a faulty arm, and invariants that must hold.

An episode is a pure function of its number; `support.episode_search` searches over them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from support.episode_arms import robots
from support.happenings import PERIOD, Corrupt, Happenings, State
from support.supervised import Rig, settings

from rne_dynamics.control.supervision.settings import Settings, StartCheck
from rne_dynamics.control.supervision.states import DRIVING, NO_STOP, SILENT, Mode, StopPlan
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.inertia import Array

#: Beyond a stop's configured times: the silence before it goes on without states, the way to zero, some periods.
STOP_GRACE = 0.2
#: Longest time in which a motor may drive a fast joint on after overspeed was found, s; and that of a guided arm, which
#: keeps its gravity torque.
DRIVEN, GUIDED = 0.05, 0.15
#: Power below this part of a joint's effort limit times its velocity limit does not count as driving.
NEGLIGIBLE = 0.02
#: Of an arm nobody pushes, whatever its sensors and messages do, in velocity limits: an effort may stay unnoticed until
#: `state_timeout`. Without the guards it was 5 to 31.
FASTEST = 2.5
#: How far the reference may move in a cycle, in multiples of what the velocity limit allows.
REFERENCE = 1.2


class BrokenError(AssertionError):
    """An invariant does not hold."""


@dataclass
class Episode(Happenings):
    """One run: what happens, and what has been seen."""

    number: int
    story: list[str] = field(default_factory=list)
    #: Whether an arm that is healthy must neither be stopped nor thrown; its largest speed, and why it was stopped.
    judged, peak, stopped = False, 0.0, ""
    #: Between two checks of what must hold, s; 0 for each step.
    cycle: float = 0.0
    #: Largest lateness of a joint state compared with others, s; time in which soft gears hide what a motor does, s.
    jitter: float = 0.0
    hidden: float = 0.0

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.number)
        self.rig = self.new_rig()
        n = self.robot.n
        self.rig.motors = self._motors
        self.gain, self.order, self.drag, self.width = np.ones(n), np.arange(n), np.zeros(n), np.ones(n)
        self.wrenches: dict[str, Array] | None = None
        self.corrupt: list[tuple[float, Corrupt]] = []  # until when, and what
        self.command = True
        self.healthy = True  # nothing but messages and requests is out of order, and nobody pushes
        self.stop_requested = self.settled = False
        self.stopping_since = self.overspeed_step = -1.0
        self.stops = 0
        self.before, self.q_before = self.rig.supervisor.queue.reference.q.copy(), self.rig.supervisor.q.copy()
        self.judged_at = self.arrival = self.rig.now
        self.cycle = self.cycle or self.period
        self.speed = np.zeros(n)

    # -- the arm and its controller -----------------------------------------------------------------------------------

    def new_rig(self) -> Rig:
        """An arm somewhere, and its controller."""
        rng = self.rng
        self.robot = robots()[rng.integers(len(robots()))]
        return Rig(self.robot, self.start(), self.new_settings(), period=PERIOD)

    def start(self) -> Array:
        """Random joint positions, rad or m; shape (n,)."""
        lower, upper = np.maximum(self.robot.lower, -2.8), np.minimum(self.robot.upper, 2.8)
        place: Array = lower + (upper - lower) * self.rng.uniform(0.15, 0.85, self.robot.n)
        return place

    def new_settings(self) -> Settings:
        rng, robot = self.rng, self.robot
        bandwidth = float(rng.choice([12.0, 20.0, 40.0]))
        policy = ("ramp", "release", "hold")[rng.integers(3)]
        made = settings(
            robot, tracking=bool(rng.random() < 0.85), bandwidth=bandwidth,
            stop=StopPlan(policy, *rng.uniform([0.05, 0.0, 0.05], [0.4, 0.3, 0.4]), rng.uniform(0.0, 20.0),
                          ("hold", "stop")[rng.integers(2)]),
            check=StartCheck(duration=float(rng.choice([0.0, 0.2])), tolerance=0.1),
            feedback_ramp=float(rng.choice([0.0, 0.1, 0.5])),
            recover_automatically=bool(rng.random() < 0.3),
            min_rate=float(rng.choice([0.0, 0.0, 100.0])),
            holding_error=np.full(robot.n, 0.05),
        )
        rate = robot.effort_limit / rng.choice([0.01, 0.02])
        margin = np.full(robot.n, float(rng.choice([0.0, 0.1])))
        return replace(made, limits=replace(made.limits, rate=rate, margin=margin))

    def _motors(self, command: Array) -> Array:
        if not self.drag.any():
            return self.gain * command[self.order]
        qd = self.rig.simulator.state.qd
        return self.gain * command[self.order] - self.drag * np.tanh(qd / self.width)

    def happenings(self) -> list[Callable[[], None]]:
        """What may happen."""
        return [getattr(self, name) for name in dir(self) if name.startswith("does_")]

    # -- what happens -------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """All of it; raises `BrokenError`."""
        rng = self.rng
        happenings = self.happenings()
        times = np.sort(rng.uniform(0.2, 2.2, rng.integers(1, 6)))
        if rng.random() < 0.7:
            times[0] = 0.15
        length = times[-1] + 1.5
        pending = list(times)
        while self.rig.now - 100.0 < length:
            t = self.rig.now - 100.0
            while pending and t >= pending[0]:
                pending.pop(0)
                first = self.does_move if len(pending) == len(times) - 1 and rng.random() < 0.6 else None
                happening = first or happenings[rng.integers(len(happenings))]
                self._say(happening.__name__.removeprefix("does_"))
                self._request(happening)
            self._cycle()
        self._end()

    def _say(self, text: str) -> None:
        self.story.append(f"{self.rig.now - 100.0:.3f} s {self.rig.mode.value}: {text}")

    def _request(self, what: Callable[[], object]) -> bool:
        try:
            what()
        except RneDynamicsError as error:
            self.story.append(f"    refused: {str(error)[:150]}")
            return False
        return True

    def _state(self, state: State) -> State | None:
        for until, corrupt in self.corrupt:
            if self.rig.now <= until:
                changed = corrupt(state)
                if changed is None:
                    return None
                state = changed
        return state

    def _cycle(self) -> None:
        mode = self.rig.mode
        self.rig.run(self.cycle, corrupt=self._state, command=self.command, wrenches=self.wrenches)
        if self.rig.mode is not mode:
            self.story.append(
                f"{self.rig.now - 100.0:.3f} s {mode.value} > {self.rig.mode.value}: {self.rig.supervisor.cause[:160]}"
            )
        self._judge(mode)

    # -- what must hold -----------------------------------------------------------------------------------------------

    def _fail(self, text: str) -> None:
        raise BrokenError(f"episode {self.number} ({self.robot.name}) at {self.rig.now - 100.0:.3f} s: {text}")

    def _judge(self, before: Mode) -> None:
        rig, supervisor = self.rig, self.rig.supervisor
        mode = rig.mode
        if not 0.0 <= supervisor.machine.ramp.part <= 1.0:
            self._fail(f"the fraction of the feedback is {supervisor.machine.ramp.part}")
        if self.stop_requested and mode in DRIVING:
            self._fail(f"a stop that was requested was undone: {mode.value} ({supervisor.cause})")
        if mode in SILENT and rig.last is not None and rig.sent and rig.sent[-1].any():
            self._fail(f"the effort {rig.sent[-1]} is left standing in {mode.value}")
        self._judge_stop(mode)
        self._judge_reference(mode)
        self._judge_energy()

    def _judge_stop(self, mode: Mode) -> None:
        rig = self.rig
        stop = rig.supervisor.settings.stop
        if mode is not Mode.STOPPING:
            self.stopping_since = -1.0
            return
        if self.stopping_since < 0.0 or rig.supervisor.counters.stops != self.stops:  # or another one in the same cycle
            self.stopping_since, self.plan, self.stops = rig.now, stop, rig.supervisor.counters.stops
        plan = self.plan
        planned = plan.brake_time + plan.hold_time + plan.ramp_time
        # one that holds without end may fall back to dead reckoning, or be ended, at any time
        under_way = rig.supervisor.machine.stop
        if plan.policy == "hold" and under_way != NO_STOP and np.isinf(under_way.down_from):
            self.stopping_since = rig.now
        more = 0.1 if rig.supervisor.machine.dead_reckoning else 0.0
        if rig.now - self.stopping_since > planned + STOP_GRACE + more:
            self._fail(f"a stop has not ended {rig.now - self.stopping_since - planned:.3f} s after its time")

    def _judge_reference(self, mode: Mode) -> None:
        rig, now = self.rig, self.rig.supervisor.queue.reference.q
        # where it was anchored it began as fast as the arm was
        limit = np.maximum(rig.supervisor.settings.limits.velocity, np.maximum(np.abs(rig.supervisor.qd), self.speed))
        # dead reckoning begins where the arm would be by now
        self.speed = np.maximum(np.abs(rig.supervisor.queue.reference.qd), np.abs(rig.supervisor.qd))
        # after missing states the reference goes on where it would be
        gap = rig.now - min(self.judged_at, self.arrival) + 2 * self.period + self.jitter + self.skipped
        step, measured = np.abs(now - self.before), rig.supervisor.q
        allowed = REFERENCE * self.clock * limit * gap + 1e-6
        step[np.abs(now - measured) < np.abs(self.before - measured)] = 0.0  # or gives way to where the arm is
        leaps = bool((step > allowed).any()) and mode in (*DRIVING, Mode.STOPPING)
        if leaps and all((np.abs(now - q) > allowed).any() for q in (measured, self.q_before)):  # or held there
            self._fail(f"the reference leaps by {step.max():.4f}")
        self.before, self.q_before = now.copy(), rig.supervisor.q.copy()
        self.judged_at, self.arrival = rig.now, rig.supervisor.machine.stream.arrival

    def _judge_energy(self) -> None:
        rig, supervisor = self.rig, self.rig.supervisor
        limits = supervisor.settings.limits
        if supervisor.machine.runaway is None:
            self.overspeed_step = -1.0
            self.driven = np.zeros(self.robot.n)
        else:
            guided = supervisor.mode is Mode.FLOATING  # its other joints float on against gravity, at any speed
            drives = (rig.power[-1] > NEGLIGIBLE * limits.effort * limits.velocity) & (
                np.abs(rig.speeds[-1]) > (1.0 if guided else 0.1) * limits.velocity
            )
            self.driven = np.where(drives, self.driven + self.cycle, 0.0)
            longest = GUIDED if guided else DRIVEN
            # it shows in a state that is late, and counts from check to check
            longest += self.late + self.jitter + max(self.interval, self.cycle) + self.hidden
            if (self.driven > longest + 1e-9).any():
                j = int(np.argmax(self.driven))
                self._fail(f"after overspeed joint {j} is driven on for {self.driven[j]:.3f} s")
        fast = np.abs(rig.speeds[-1]) / limits.velocity
        # an arm that fell while nothing held it is fast when it is caught
        self.settled = supervisor.mode in DRIVING and (self.settled or bool((fast < 0.5).all()))
        if self.healthy and self.settled and fast.max() > FASTEST:
            self._fail(f"a healthy arm moves at {fast.max():.2f} times its limit, joint {int(np.argmax(fast))}")

    def _end(self) -> None:
        try:
            if self.rig.sent:
                self.rig.check()
        except AssertionError as error:
            self._fail(f"limits: {str(error)[:300]}")
