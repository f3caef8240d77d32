"""Random closed-loop episodes on an arm that is not the controller's model; otherwise as `support.episodes`.

Joint states come late and unevenly, efforts act late, and the settings are those that the parameters of the node make.
In 67 % of the episodes only requests are made: these arms are healthy, must not be thrown, and are rarely
stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from support.compliant import text_of
from support.episode_arms import homemade_urdf
from support.episodes import Episode
from support.foreign_plant import Deviation, ForeignArm
from support.supervised import Rig

import rne_dynamics as rne
from rne_dynamics.control.motion.acceptance import Rules
from rne_dynamics.control.motion.effort_demand import EffortDemand
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.states import DRIVING, Mode
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.ros.parameters.table import COMMON
from rne_dynamics.ros.parameters.tracking import SCHEMA, motion_limits, tracking_settings

#: Step of the loop, s: times of arrival and of efforts are known that exactly.
TICK = 5e-4
#: Time after which the loop looks for a broken stream where nothing comes, s.
WATCH = 4e-3
#: How slow the gears of a healthy arm may swing, Hz.
STIFF = 25.0
#: Causes of stops that `stop.after_cancel` and a tolerance of the request make.
REQUESTED = (Ending.CANCELLED.value, Ending.PATH.value)


@cache
def arms() -> tuple[tuple[str, RobotModel], ...]:
    """URDFs and the controller's models of them."""
    names = ("planar2", "puma560", "panda", "ur10", "four_joint_arm")
    texts = [homemade_urdf(), *(text_of(name) for name in names)]
    return tuple((text, rne.load_urdf(text)) for text in texts)


def controller_values(robot: RobotModel, changes: dict[str, Any]) -> dict[str, Any]:
    """The node's parameters, with `changes` by name; a name with ``{joint}`` counts for all joints."""
    given = {name.replace("{joint}", j): value for name, value in changes.items() for j in robot.joint_names}
    return {p.name.replace("{joint}", j): p.default for p in (*COMMON, *SCHEMA) for j in robot.joint_names} | given


class Line(NamedTuple):
    """How joint states come.

    Parameters
    ----------
    period, delay
        From one to the next, and from the stamp to the arrival, s.
    jitter
        Largest further delay, s; they come in order.
    """

    period: float
    delay: float = 0.0
    jitter: float = 0.0


@dataclass
class ForeignRig(Rig):
    """The loop with messages under way; `period` is its step."""

    line: Line = field(default_factory=lambda: Line(TICK))
    arm: Any = None
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.arm is not None:
            self.simulator = self.arm
        self.under_way: list[tuple[float, dict[str, Any]]] = []
        self.next_state = self.received = self.now

    def run(
        self, seconds: float, *, corrupt: Callable[[dict[str, Any]], dict[str, Any] | None] = lambda state: state,
        command: bool = True, wrenches: Any = None,
    ) -> None:
        """Let time pass; `corrupt` may change or swallow the states."""
        simulator = self.simulator
        for _ in range(max(round(seconds / TICK), 1)):
            efforts = simulator.applied_effort
            simulator.advance(1, wrenches)
            self.now += TICK
            speed = simulator.speed if isinstance(simulator, ForeignArm) else simulator.state.qd
            self.power.append(efforts * speed)
            self.speeds.append(speed)
            if self.now >= self.next_state - 1e-9:
                self._measure(corrupt)
            while self.under_way and self.under_way[0][0] <= self.now + 1e-9:
                self._arrive(self.under_way.pop(0)[1], command)
            if self.now - self.received >= WATCH:
                self.received = self.now
                self.take(self.supervisor.tick(self.now), command)

    def _measure(self, corrupt: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
        self.next_state += self.line.period
        state = self.simulator.state
        self.sequence += 1
        self.sense(state.t)
        message = corrupt({
            "stamp": round(1e9 * state.t) + 10**18, "q": state.q.copy(), "qd": state.qd.copy(),
            "reported": self.simulator.applied_effort, "velocity_missing": False, "sequence": self.sequence,
        })
        if message is not None:
            arrival = self.now + self.line.delay + self.line.jitter * self.rng.random()
            if self.under_way:
                arrival = max(arrival, self.under_way[-1][0])
            self.under_way.append((arrival, message))

    def _arrive(self, message: dict[str, Any], command: bool) -> None:
        stamp, q, qd, reported = (message.pop(key) for key in ("stamp", "q", "qd", "reported"))
        self.received = self.now
        taken = self.supervisor.observe(stamp, self.now, q, qd, reported, **message)
        effort = self.supervisor.effort(self.supervisor.stamp, self.now) if taken else None
        self.supervisor.settle()
        self.take(effort if effort is not None else self.supervisor.tick(self.now), command)


class Wave(NamedTuple):
    """Setpoints of a sender: each joint to `way` and back, from where it was when they began.

    Parameters
    ----------
    began, end, period
        Times of the first and after the last one, and between two, s.
    place, way
        Rad or m; shape (n,).
    rate
        Angular frequency, 1/s.
    """

    began: float
    end: float
    period: float
    place: Array
    way: Array
    rate: float

    def at(self, t: float) -> tuple[Array, Array]:
        """Position and velocity at a time."""
        phase = self.rate * (t - self.began)
        return self.place + 0.5 * self.way * (1.0 - np.cos(phase)), 0.5 * self.rate * self.way * np.sin(phase)


@dataclass
class ForeignEpisode(Episode):
    """One run on a foreign arm."""

    #: Largest speed of a driven arm until its release in velocity limits, and why it was stopped without a request.
    peak: float = 0.0
    stopped: str = ""
    delay: float = 0.0
    calm: bool = False
    wave: Wave | None = None
    cycle: float = 4 * TICK

    def new_rig(self) -> Rig:
        """An arm with its deviations, and messages that take their time."""
        rng, self.period = self.rng, TICK
        self.requests_only = bool(rng.random() < 2 / 3)
        urdf, self.robot = arms()[rng.integers(len(arms()))]
        total = float(rng.choice([0.0, 0.001, 0.003, 0.006, 0.012, 0.020])) * rng.uniform(0.5, 1.0)
        late = total * float(rng.choice([0.0, 0.5, 1.0]))
        period = float(rng.choice([1.0, 2.0, 4.0, 10.0])) * 1e-3
        self.line = Line(period, late, float(rng.choice([0.0, 0.2, 0.8])) * min(period, 4e-3))
        self.delay = self.late = total
        self.jitter, self.interval, self.declared = self.line.jitter, period, bool(rng.random() < 0.5)
        frequency = np.inf if rng.random() < 0.5 else float(rng.uniform(12.0, 60.0))
        self.deviation = Deviation(
            mass=tuple(rng.uniform(0.5, 1.5, len(self.robot.link_names) + 20) if rng.random() < 0.6 else ()),
            friction=float(rng.uniform(0.0, 3.0)), dry=float(rng.choice([0.0, 0.0, 0.01, 0.03])),
            frequency=frequency, rotor=float(rng.uniform(0.3, 1.0)),
            backlash=float(rng.choice([0.0, 0.0, 3e-4, 1e-3])), at_motor=bool(rng.random() < 0.7),
            resolution=float(rng.choice([0.0, 2 * np.pi / 2**17, 2 * np.pi / 2**12])), command_delay=total - late,
        )  # fmt: skip
        self.stiff = frequency >= STIFF
        self.hidden = 0.0 if self.stiff else 0.5 / frequency
        self.story.append(f"{self.robot.name} {self.line} {self.deviation} declared {self.declared}")
        start = self.start()
        return ForeignRig(
            self.robot, start, self.new_settings(), period=TICK, line=self.line, rng=rng,
            arm=ForeignArm(urdf, start, TICK, self.deviation),
        )

    def new_settings(self) -> Settings:
        """As the node makes them of its parameters."""
        rng = self.rng
        bandwidth = float(rng.choice([10.0, 20.0, 40.0], p=[0.2, 0.6, 0.2]))
        bandwidth = min(bandwidth, 1.0 / self.line.period / 8.0)
        parameters: dict[str, Any] = {
            "gains.{joint}.p": bandwidth**2, "gains.{joint}.d": 2.0 * bandwidth,
            "stop.policy": str(rng.choice(["ramp", "release", "hold"])),
            "stop.brake_time": float(rng.uniform(0.05, 0.4)), "stop.hold_time": float(rng.uniform(0.0, 0.3)),
            "stop.ramp_time": float(rng.uniform(0.05, 0.4)), "stop.after_cancel": str(rng.choice(["hold", "stop"])),
            "startup_check.duration": float(rng.choice([0.0, 0.2])), "start.ramp_time": float(rng.choice([0.1, 0.5])),
            "min_rate": 0.8 / self.line.period, "recover_automatically": bool(rng.random() < 0.3),
        }  # fmt: skip
        if self.declared:
            parameters["command_delay"] = self.delay
        self.parameters = parameters
        return tracking_settings(self.robot, controller_values(self.robot, parameters))

    def rules(self, blend_time: float) -> Rules:
        """Those of the node."""
        settings = self.rig.supervisor.settings
        assert settings.tracking is not None
        limits = motion_limits(self.robot, controller_values(self.robot, {}))
        demand = EffortDemand(
            settings.tracking, settings.limits, settings.compensated, self.rig.supervisor.loop.delay
        )
        return Rules(replace(limits, velocity=settings.limits.velocity), blend_time, demand)

    def happenings(self) -> list[Callable[[], None]]:
        """Requests alone where the arm is to stay healthy."""
        if not self.requests_only:
            return super().happenings()
        wanted = [self.does_move, self.does_move, self.does_stream, self.does_cancel, self.does_speed]
        return [*wanted, self.does_hand_guide]

    def does_stall(self) -> None:
        """As there; messages that were under way are read as much later."""
        before = self.rig.now
        super().does_stall()
        self.jitter += self.rig.now - before

    def does_stream(self) -> None:
        """Setpoints for a while, almost as fast as the limits allow; half of the senders leave velocities out."""
        rng, supervisor, robot = self.rng, self.rig.supervisor, self.robot
        supervisor.ready()
        place, rate = supervisor.queue.reference.q.copy(), rng.uniform(1.0, 8.0)
        way = 2.0 / rate * rng.uniform(-0.95, 0.95, robot.n) * supervisor.settings.limits.velocity
        lower, upper = np.maximum(robot.lower, -2.8) + 0.1, np.minimum(robot.upper, 2.8) - 0.1
        way = np.clip(place + way, np.minimum(lower, place), np.maximum(upper, place)) - place
        period, now = float(rng.choice([0.002, 0.01, 0.02])), self.rig.now
        self.positions_only, self.setpoints = bool(rng.random() < 0.5), 0
        self.wave = Wave(now, now + rng.uniform(0.3, 1.5), period, place, way, rate)

    def _cycle(self) -> None:
        wave, now = self.wave, self.rig.now
        if wave is not None and now >= wave.began + self.setpoints * wave.period - 1e-9:
            q, qd = wave.at(now)
            qd = np.full_like(qd, np.nan) if self.positions_only else qd
            self.setpoints += 1
            taken = self._request(lambda: self.rig.supervisor.setpoint(0, q, qd, now, sequence=self.setpoints))
            self.wave = wave if taken and now < wave.end else None
        super()._cycle()

    def _judge(self, before: Mode) -> None:
        supervisor = self.rig.supervisor
        fast = np.abs(self.rig.speeds[-round(self.cycle / TICK):]).max(axis=0) / supervisor.settings.limits.velocity
        stop, q = supervisor.machine.stop, self.rig.simulator.state.q
        # not being released
        held = supervisor.mode in DRIVING or (supervisor.mode is Mode.STOPPING and self.rig.now < stop.down_from)
        # nobody leads a guided arm here: one of other masses falls, and what its mechanical stop does to it is no throw
        struck = supervisor.mode is Mode.FLOATING and ((q < self.robot.lower) | (q > self.robot.upper)).any()
        self.settled = self.settled and not struck
        self.calm = held and not struck and (self.calm or bool((fast < 0.5).all()))
        if self.healthy and self.calm:
            self.peak = max(self.peak, float(fast.max()))
        cause = supervisor.cause
        requested = self.stop_requested or cause.partition(";")[0] in REQUESTED  # a released arm may become fast
        if self.rig.mode is Mode.STOPPING and not (requested or self.stopped):
            self.stopped = cause or "?"
        super()._judge(before)

    @property
    def judged(self) -> bool:
        """Whether the arm must neither be stopped nor thrown."""
        return self.requests_only and self.stiff
