"""Arms of MuJoCo's that are held and moved under the node's settings, and deviate from their models as is asked for.

In the folder `test`, `python -m support.deviations` measures the table of test/faults/README.md, "Arms that
deviate from the model".
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from support.foreign_episodes import TICK, ForeignRig, Line, arms, controller_values
from support.foreign_plant import Deviation, ForeignArm

from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.ros.parameters.tracking import tracking_settings

NAMES = ("puma560", "panda", "ur10", "four_joint_arm")
#: How the arms differ from their models; with the way of the states efforts act 3.5 ms late.
DEVIATION = {"friction": 2.0, "frequency": 25.0, "rotor": 1.0, "backlash": 3e-4, "command_delay": 2e-3}
LINE = Line(2e-3, 1e-3, 5e-4)
#: Times of a stop, s, and by which it may be late.
STOP, LATE = {"stop.brake_time": 0.2, "stop.hold_time": 0.2, "stop.ramp_time": 0.2}, 0.2
#: What the clock of a `Rig` begins with, s.
BEGIN = 100.0
#: A move of all joints, rad or m and s.
WAY, DURATION = 0.3, 0.8


def foreign(name: str, line: Line = LINE, *, bandwidth: float = 20.0, deviation: Any = None, **parameters: Any) -> Arm:
    """A held arm under the node's settings."""
    urdf, robot = arms()[2 + NAMES.index(name)]
    rng = np.random.default_rng(NAMES.index(name))
    lower, upper = np.maximum(robot.lower, -1.5), np.minimum(robot.upper, 1.5)
    start = rng.uniform(0.7 * lower + 0.3 * upper, 0.3 * lower + 0.7 * upper)
    named = {key.replace("__", "."): value for key, value in parameters.items()}
    values = {
        "gains.{joint}.p": bandwidth**2, "gains.{joint}.d": 2.0 * bandwidth, "startup_check.duration": 0.0,
        "start.ramp_time": 0.1, "min_rate": 0.4 / line.period, **STOP, **named,
    }  # fmt: skip
    unlike = Deviation(tuple(rng.uniform(0.8, 1.2, 40)), **DEVIATION) if deviation is None else deviation
    rig = Arm(
        robot, start, tracking_settings(robot, controller_values(robot, values)), period=TICK, line=line,
        arm=ForeignArm(urdf, start, TICK, unlike),
    )
    rig.urdf, rig.unlike = urdf, unlike
    return rig


class Arm(ForeignRig):
    """The arm and what happens to it."""

    urdf, unlike = "", Deviation()
    #: What its joint states' clock is ahead, s.
    clock = 0.0

    def hold(self, seconds: float = 0.3) -> Arm:
        self.run(seconds)
        assert self.mode is Mode.HOLDING, self.supervisor.cause
        return self

    def off(self, way: float = WAY, duration: float = DURATION, tolerances: Tolerances | None = None) -> Arm:
        """In the middle of a move, inwards."""
        limits, q = self.settings.limits, self.supervisor.queue.reference.q
        inwards = np.where(q > 0.5 * (limits.lower + limits.upper), -1.0, 1.0)
        most = np.minimum(way, 0.3 * limits.velocity * duration)
        loose = tolerances or Tolerances(self.robot.joint_names, goal=0.1, goal_time=0.3)
        self.move(q + np.where(np.isfinite(inwards), inwards, 1.0) * most, duration, tolerances=loose)
        self.run(0.5 * duration)
        assert self.mode is Mode.TRACKING, self.supervisor.cause
        return self

    def caught(self) -> None:
        """Brakes have caught the arm where it is, and let go."""
        self.simulator = ForeignArm(self.urdf, self.simulator.state.q, TICK, self.unlike)

    def stamped(self, state: dict[str, Any], rate: float = 0.0) -> dict[str, Any]:
        """A joint state with the stamp of that clock, which gains `rate`."""
        self.clock += rate * self.line.period
        return state | {"stamp": state["stamp"] + round(1e9 * self.clock)}

    def go(self, seconds: float, *, rate: float = 0.0, **how: Any) -> None:
        """Run with the stamps of that clock."""
        self.run(seconds, corrupt=partial(self.stamped, rate=rate), **how)

    def silent(self, seconds: float) -> None:
        self.run(seconds, corrupt=lambda state: None)

    def until(self, *modes: Mode, seconds: float = 3.0, **how: Any) -> float:
        """Run until it is in one of the modes; the time that took, s."""
        began = self.now
        while self.mode not in modes:
            assert self.now - began < seconds, f"{self.mode} ({self.supervisor.cause}) after {seconds:g} s"
            self.run(4 * TICK, **how)
        return self.now - began

    @property
    def fastest(self) -> int:
        """The joint that is nearest its velocity limit."""
        return int(np.argmax(np.abs(self.simulator.state.qd) / self.settings.limits.velocity))

    def peak(self, first: int = 0) -> float:
        """Largest true speed of a joint since a step, in velocity limits, until the arm is released."""
        driven = max((t for t, effort in zip(self.times, self.sent, strict=True) if effort.any()), default=0.0)
        if self.mode in (Mode.FAULT, Mode.RELEASED):
            driven -= self.settings.stop.ramp_time
        speeds = np.abs(np.array(self.speeds[first : round((driven - BEGIN) / TICK) + 1]).reshape(-1, self.robot.n))
        return float((speeds / self.settings.limits.velocity).max(initial=0.0))

    def arrives(self) -> None:
        """The motion went on to its end, where an arm without an integral may hang or creep."""
        assert [ending for ending, _ in self.endings] in ([Ending.SUCCEEDED], [Ending.GOAL]), self.endings

    def ends(self, mode: Mode = Mode.HOLDING, most: float = 1.5) -> None:
        """The row's state; efforts within their limits, and no joint thrown while it was driven."""
        assert self.mode is mode, f"{self.mode}: {self.supervisor.cause}"
        self.check()
        assert self.peak() < most


#: Deviations that are measured one by one: its words, how the states come, and the arm.
MEASURED: dict[str, tuple[Line, dict[str, Any]]] = {
    "none": (Line(2e-3), {}),
    **{f"masses {f:g} times": (Line(2e-3), {"mass": (f,) * 40}) for f in (0.5, 1.5)},
    **{f"friction {f:g} times": (Line(2e-3), {"friction": f}) for f in (0.0, 3.0)},
    **{f"delay of {1e3 * d:g} ms": (Line(2e-3, 0.5 * d), {"command_delay": 0.5 * d}) for d in (3e-3, 6e-3, 9e-3)},
    **{f"gears of {f:g} Hz": (Line(2e-3), {"frequency": f, "rotor": 1.0}) for f in (12.0, 25.0, 40.0)},
    "gears of 25 Hz, half the rotors": (Line(2e-3), {"frequency": 25.0, "rotor": 0.5}),
    "gears of 25 Hz, play of 1 mrad": (Line(2e-3), {"frequency": 25.0, "rotor": 1.0, "backlash": 1e-3}),
    "gears of 25 Hz, delay of 3 ms": (Line(2e-3, 1e-3), {"frequency": 25.0, "rotor": 1.0, "command_delay": 2e-3}),
}


class Measure(NamedTuple):
    """Of a move: largest speed in velocity limits, largest error in rad or m, part of the feedback at the end, mode."""

    peak: float
    error: float
    part: float
    mode: Mode


def measure(name: str, line: Line, deviation: dict[str, Any]) -> Measure:
    """Hold the arm, and move all joints to and fro."""
    rig = foreign(name, line, deviation=Deviation(**deviation), stop__policy="hold")  # a released arm falls
    rig.run(0.5)
    error = 0.0
    for way in (WAY, -WAY):
        if rig.mode is Mode.HOLDING:
            q = rig.supervisor.queue.reference.q
            rig.move(q + np.minimum(WAY, 0.3 * rig.settings.limits.velocity * DURATION) * np.sign(way), DURATION)
        for _ in range(round((DURATION + 0.3) / 0.01)):
            rig.run(0.01)
            error = max(error, float(np.abs(rig.supervisor.queue.reference.q - rig.simulator.state.q).max()))
    return Measure(rig.peak(), error, rig.supervisor.loop.part(0.0), rig.mode)


def main() -> int:
    for words, (line, deviation) in MEASURED.items():
        for name in NAMES:
            found = measure(name, line, deviation)
            figures = f"{found.peak:.2f} | {found.error:.3f} | {found.part:.2f} | {found.mode.value}"
            print(f"{words} | {name} | {figures}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
