"""Slow motions of foreign arms, with and without a joint whose reading freezes; pure functions of a number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from support.foreign_episodes import TICK, ForeignRig, Line, arms, controller_values
from support.foreign_plant import Deviation, ForeignArm
from support.supervised import Rig

from rne_dynamics.c_export.export import end_links
from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.control.motion.motion import Motion
from rne_dynamics.control.supervision.states import DRIVING, Mode
from rne_dynamics.control.trajectory import SampledTrajectory
from rne_dynamics.errors import ControlError, StateProblem
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.ros.parameters.tracking import tracking_settings

#: Steps of encoders, rad or m.
STEPS = (0.0, 2 * np.pi / 2**20, 2 * np.pi / 2**17, 2 * np.pi / 2**14, 2 * np.pi / 2**12)
#: Speeds of a joint that freezes, rad/s or m/s.
SPEEDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
#: Time in which a stop brakes the arm, s. Later an arm without friction may fall by the errors of its model.
STOP = 0.3
#: What is reported of a frozen joint's velocity: zero, the true one, or that of when it froze.
WAYS = ("zero", "live", "frozen")
#: Lowest frequency of gears on which the default gains do not swing, Hz.
STIFF = 30.0


def slow_move(rig: Rig, way: Array, seconds: float, *, ramp: float = 0.2, back: bool = False) -> float:
    """Move by `way`, (n,), at a constant speed but for its ramps, and back; the time that takes, s."""
    n, speed = rig.robot.n, way / seconds
    times, places, speeds = [0.0], [rig.supervisor.queue.reference.q], [np.zeros(n)]
    for sign in (1.0, -1.0)[: 1 + back]:
        steady = seconds - ramp
        for passed, part, fast in ((ramp, 0.5 * ramp, 1.0), (steady, steady, 1.0), (ramp, 0.5 * ramp, 0.0)):
            times.append(times[-1] + passed)
            places.append(places[-1] + sign * part * speed)
            speeds.append(sign * fast * speed)
    trajectory = SampledTrajectory(
        np.array(times), np.array(places), np.array(speeds), np.zeros((len(times), n)), rig.robot.joint_names
    )
    motion = Motion(trajectory, rig.supervisor.stamp, Tolerances(rig.robot.joint_names), blend_time=0.2)
    rig.supervisor.follow(motion, lambda ending, text: rig.endings.append((ending, text)))
    return times[-1]


def frozen_reading(j: int, way: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Joint j reads what it read first, with a velocity as `WAYS` says."""
    first: dict[str, float] = {}

    def corrupt(state: dict[str, Any]) -> dict[str, Any]:
        first.setdefault("q", state["q"][j])
        first.setdefault("qd", state["qd"][j] if way == "frozen" else 0.0)
        state["q"][j] = first["q"]
        if way != "live":
            state["qd"][j] = first["qd"]
        return state

    return corrupt


def repeated(times: int) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A sensor that is so many times slower than the states."""
    held: dict[str, Any] = {"count": 0}

    def corrupt(state: dict[str, Any]) -> dict[str, Any]:
        if held["count"] % times == 0:
            held["q"], held["qd"] = state["q"].copy(), state["qd"].copy()
        held["count"] += 1
        return state | {"q": held["q"].copy(), "qd": held["qd"].copy()}

    return corrupt


@dataclass
class SlowArm:
    """A random arm that moves slowly; healthy unless a joint is frozen."""

    number: int
    text: str = ""
    rig: ForeignRig = field(init=False)

    def __post_init__(self) -> None:
        self.rng = rng = np.random.default_rng(self.number)
        urdf, self.robot = arms()[rng.integers(len(arms()))]
        self.period = float(rng.choice([1.0, 2.0, 4.0, 10.0])) * 1e-3
        frequency = np.inf if rng.random() < 0.5 else float(rng.uniform(STIFF, 60.0))
        self.deviation = Deviation(
            mass=tuple(rng.uniform(0.5, 1.5, len(self.robot.link_names) + 20) if rng.random() < 0.6 else ()),
            friction=float(rng.uniform(0.0, 3.0)), dry=float(rng.choice([0.0, 0.0, 0.01, 0.03])), frequency=frequency,
            rotor=float(rng.uniform(0.3, 1.0)), backlash=float(rng.choice([0.0, 0.0, 3e-4, 1e-3])),
            at_motor=bool(rng.random() < 0.7), resolution=float(rng.choice(STEPS)),
            command_delay=float(rng.choice([0.0, 0.0, 1e-3, 3e-3])),
        )  # fmt: skip
        self.bandwidth = min(20.0, 1.0 / self.period / 8.0)
        self.rig = self._rig(urdf, self.robot)
        self.text = f"{self.robot.name}, {1.0 / self.period:.0f} Hz, {self.deviation}"

    def _rig(self, urdf: str, robot: RobotModel) -> ForeignRig:
        rng = self.rng
        lower, upper = np.maximum(robot.lower, -2.8), np.minimum(robot.upper, 2.8)
        start = lower + (upper - lower) * rng.uniform(0.25, 0.75, robot.n)
        settings = tracking_settings(robot, controller_values(robot, {
            "gains.{joint}.p": self.bandwidth**2, "gains.{joint}.d": 2.0 * self.bandwidth,
            "startup_check.duration": 0.0, "start.ramp_time": 0.1, "min_rate": 0.8 / self.period,
        }))  # fmt: skip
        jitter = float(rng.choice([0.0, 0.0, 0.5])) * min(self.period, 4e-3)
        return ForeignRig(
            robot, start, settings, period=TICK, line=Line(self.period, 0.0, jitter), rng=rng,
            arm=ForeignArm(urdf, start, TICK, self.deviation),
        )

    def moves_healthily(self) -> bool:
        """Move slowly there and back; whether no reading was called frozen."""
        rng, rig, limit = self.rng, self.rig, self.robot.velocity_limit
        n, seconds = self.robot.n, float(rng.uniform(0.6, 1.5))
        speed = np.exp(rng.uniform(np.log(1e-3), np.log(0.5))) * np.exp(rng.uniform(-2.0, 1.0, n))
        way = np.minimum(speed, 0.5 * limit) * seconds * rng.choice([-1.0, 1.0], n) * (rng.random(n) < 0.8)
        sensor = repeated(int(rng.choice([1, 1, 1, 2, 5, 10])))
        rig.run(0.5, corrupt=sensor)
        try:
            passed = slow_move(rig, np.clip(way, -0.5, 0.5), seconds, back=bool(rng.random() < 0.6))
        except ControlError:  # stopped, for another reason
            return not rig.supervisor.counters.refused[StateProblem.FROZEN]
        rig.run(passed + 0.4, corrupt=sensor)
        push = {end_links(self.robot)[-1]: np.append(rng.normal(size=3) * 10.0, np.zeros(3))}
        rig.run(0.2, corrupt=sensor, wrenches=push)  # held meanwhile
        rig.run(0.2, corrupt=sensor)
        return not rig.supervisor.counters.refused[StateProblem.FROZEN]

    def peak_of_frozen(self) -> float | None:
        """Largest speed in velocity limits after the reading of a slow joint has frozen; None where it did not move."""
        rng, rig, limit = self.rng, self.rig, self.robot.velocity_limit
        j, n = int(rng.integers(self.robot.n)), self.robot.n
        speed = float(rng.choice([*SPEEDS, limit[j] * rng.uniform(0.02, 0.3)]))
        seconds = min(2.0, 0.8 / speed)
        way = np.zeros(n) if rng.random() < 0.5 else np.clip(rng.uniform(-0.3, 0.3, n) * limit * seconds, -0.6, 0.6)
        way[j] = speed * seconds * rng.choice([-1.0, 1.0])
        how = str(rng.choice([WAYS[0], *WAYS]))
        rig.run(0.5)
        try:
            passed = slow_move(rig, way, seconds)
        except ControlError:
            return None
        rig.run(float(rng.uniform(0.3, 0.9)) * passed)
        moved = abs(rig.simulator.state.q[j] - rig.start[j])
        self.text += f", joint {j} at {speed:.3g}, velocity {how}, {'one' if not way[way != way[j]].any() else 'all'}"
        slow = abs(rig.speeds[-1][j]) < 0.5 * speed or moved < 2e-3 + 5.0 * self.deviation.resolution
        if rig.mode is not Mode.TRACKING or slow:
            return None
        return peak(rig, frozen_reading(j, how), 3.0)


def peak(rig: Rig, corrupt: Callable[[dict[str, Any]], dict[str, Any]], seconds: float) -> float:
    """Largest speed in velocity limits until `STOP` after a stop has begun, while the arm is supported."""
    limit, first, end = rig.robot.velocity_limit, len(rig.speeds), rig.now + seconds
    while rig.now < end:
        rig.run(0.01, corrupt=corrupt)
        if rig.mode not in DRIVING:
            end = min(end, rig.now + STOP)
        if rig.mode not in (*DRIVING, Mode.STOPPING) or (np.abs(rig.speeds[-1]) > 3.0 * limit).any():
            break
    return float((np.abs(np.array(rig.speeds[first:])) / limit).max())
