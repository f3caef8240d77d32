"""Random closed-loop episodes: the real `Supervisor` with a simulated arm that misbehaves, and what must hold all along.

One episode is a pure function of its number. `python test/support/episodes.py 1234` runs that one again and prints its
story; `python test/support/episodes.py --from 0 --to 10000` searches.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1])]  # as a command; pytest has it already

from support.supervised import Rig, settings
from support.wheel import wheel_urdf

import rne_dynamics as rne
from rne_dynamics.control.motion.acceptance import accept_points
from rne_dynamics.control.motion.limits import MotionLimits
from rne_dynamics.control.motion.motion import Motion
from rne_dynamics.control.motion.tolerances import Tolerances
from rne_dynamics.control.supervision.runaway import OVERSPEED
from rne_dynamics.control.supervision.settings import Settings, StartCheck
from rne_dynamics.control.supervision.states import DRIVING, SILENT, Mode
from rne_dynamics.control.supervision.stop_plan import StopPlan
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

PERIOD = 2e-3
#: Beyond a stop's configured times: the silence before it goes on without states, the way to zero, some periods.
STOP_GRACE = 0.2
#: Longest time in which a motor may drive a fast joint on after overspeed was found, s.
DRIVEN = 0.05
#: Power below this part of a joint's effort limit times its velocity limit does not count as driving.
NEGLIGIBLE = 0.02
#: How far the reference may move in a cycle, in multiples of what the velocity limit allows.
REFERENCE = 1.2

State = dict[str, Any]
Corrupt = Callable[[State], State | None]


class BrokenError(AssertionError):
    """An invariant does not hold."""


@cache
def robots() -> tuple[RobotModel, ...]:
    """The arms: two table-top classics, a redundant one, a light homemade one, and a large one of the wheel."""
    return (
        rne.load_urdf("planar2"), rne.load_urdf("puma560"), rne.load_urdf("panda"), homemade(),
        rne.load_urdf(str(wheel_urdf("ur10_robot.urdf"))),
    )


def homemade() -> RobotModel:
    """Four joints and a light wrist, as somebody would write it down."""
    links, joints = ["<link name='base'/>"], []
    parent = "base"
    for k, (mass, inertia, effort, speed, axis, z) in enumerate([
        (3.0, 0.02, 40.0, 3.0, "0 0 1", 0.1), (2.0, 0.015, 40.0, 3.0, "0 1 0", 0.15), (1.2, 0.008, 20.0, 3.0, "0 1 0", 0.3),
        (0.3, 0.0004, 5.0, 6.0, "1 0 0", 0.25),
    ]):  # fmt: skip
        name = f"link{k + 1}"
        links.append(
            f"<link name='{name}'><inertial><origin xyz='0 0 {z / 2}'/><mass value='{mass}'/><inertia ixx='{inertia}' "
            f"iyy='{inertia}' izz='{inertia / 2}' ixy='0' ixz='0' iyz='0'/></inertial></link>"
        )
        joints.append(
            f"<joint name='joint{k + 1}' type='revolute'><parent link='{parent}'/><child link='{name}'/><origin xyz='0 0 "
            f"{z if k else 0.1}'/><axis xyz='{axis}'/><limit lower='-2.5' upper='2.5' effort='{effort}' "
            f"velocity='{speed}'/><dynamics damping='0.05' friction='0.05'/></joint>"
        )
        parent = name
    return rne.load_urdf(f"<robot name='homemade'>{''.join(links + joints)}</robot>")


@dataclass
class Duration:
    sec: int
    nanosec: int


@dataclass
class Point:
    positions: list[float]
    velocities: list[float]
    accelerations: list[float]
    time_from_start: Duration
    effort: list[float] = field(default_factory=list)


@dataclass
class Episode:
    """One run: what happens, and what has been seen."""

    number: int
    story: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = rng = np.random.default_rng(self.number)
        self.robot = robots()[rng.integers(len(robots()))]
        n = self.robot.n
        lower, upper = np.maximum(self.robot.lower, -2.8), np.minimum(self.robot.upper, 2.8)
        start = lower + (upper - lower) * rng.uniform(0.15, 0.85, n)
        self.rig = Rig(self.robot, start, self._settings(), period=PERIOD)
        self.rig.motors = self._motors
        self.gain, self.order, self.drag, self.width = np.ones(n), np.arange(n), np.zeros(n), np.ones(n)
        self.wrenches: dict[str, Array] | None = None
        self.corrupt: list[tuple[float, Corrupt]] = []  # until when, and what
        self.command = True
        self.healthy = True  # nothing but messages and requests is out of order, and nobody pushes
        self.stop_asked = self.settled = False
        self.stopping_since = self.overspeed_step = -1.0
        self.before, self.q_before = self.rig.supervisor.queue.reference.q.copy(), self.rig.supervisor.q.copy()
        self.judged_at, self.speed = self.rig.now, np.zeros(n)

    # -- the arm and its controller -----------------------------------------------------------------------------------

    def _settings(self) -> Settings:
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
        qd = self.rig.simulator.state.qd
        return self.gain * command[self.order] - self.drag * np.tanh(qd / self.width)

    # -- what happens -------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """All of it; raises `BrokenError`."""
        rng = self.rng
        happenings = [getattr(self, name) for name in dir(self) if name.startswith("does_")]
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

    def _for(self, seconds: float, corrupt: Corrupt) -> None:
        self.corrupt.append((self.rig.now + seconds, corrupt))

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
        self.rig.run(PERIOD, corrupt=self._state, command=self.command, wrenches=self.wrenches)
        if self.rig.mode is not mode:
            self.story.append(
                f"{self.rig.now - 100.0:.3f} s {mode.value} > {self.rig.mode.value}: {self.rig.supervisor.cause[:160]}"
            )
        self._judge(mode)

    # requests

    def does_move(self) -> None:
        rng, rig, robot = self.rng, self.rig, self.robot
        supervisor = rig.supervisor
        supervisor.ready()
        knots = int(rng.integers(1, 4))
        times = np.cumsum(rng.uniform(0.15, 0.8, knots))
        now = supervisor.queue.reference.q
        span = rng.uniform(0.05, 0.6)
        lower, upper = np.maximum(robot.lower, -2.8), np.minimum(robot.upper, 2.8)
        kind = rng.integers(3)
        points = []
        for t in times:
            q = np.clip(now + rng.uniform(-span, span, robot.n), lower + 0.1, upper - 0.1)
            zero = [0.0] * robot.n
            points.append(Point(q.tolist(), zero if kind else [], zero if kind == 2 else [],
                                Duration(int(t), int(t % 1.0 * 1e9))))
        delay = float(rng.choice([0.0, 0.0, 0.2]))
        begin = supervisor.stamp + round(delay * 1e9)
        header = Duration(*divmod(begin, 10**9)) if delay else Duration(0, 0)
        limits = MotionLimits(
            robot.joint_names, rig.settings.limits.lower + rig.settings.limits.margin,
            rig.settings.limits.upper - rig.settings.limits.margin, rig.settings.limits.velocity, 0.05,
        )
        rate, slope = supervisor.queue.path_rate(supervisor.speed)
        blend = float(rng.choice([0.05, 0.3]))
        accepted = accept_points(
            robot.joint_names, points, header, robot.joint_names, supervisor.stamp, supervisor.queue.ahead, limits,
            blend_time=blend, rate=rate, slope=slope,
        )  # fmt: skip
        tolerances = Tolerances(robot.joint_names, path=float(rng.choice([0.0, 0.1])) or np.inf, goal=0.02, goal_time=0.3)
        motion = Motion(accepted.trajectory, accepted.start, tolerances, blend_time=blend)
        supervisor.follow(motion, lambda ending, text: self.story.append(f"    motion {ending.value}: {text[:120]}"))

    def does_stop(self) -> None:
        self.rig.supervisor.stop(self.rig.now, "~/stop", ending=bool(self.rng.random() < 0.3))
        self.stop_asked = True

    def does_hurry(self) -> None:
        self.rig.supervisor.hurry(self.rig.now, "again")
        self.stop_asked = True

    def does_recover(self) -> None:
        self.rig.supervisor.recover(self.rig.now)
        self.stop_asked = self.stop_asked and self.rig.mode is Mode.STOPPING

    def does_cancel(self) -> None:
        self.rig.supervisor.cancel("~/cancel")

    def does_hand_guide(self) -> None:
        self.rig.supervisor.hand_guide(bool(self.rng.random() < 0.7))

    def does_speed(self) -> None:
        self.rig.supervisor.scale_speed(float(self.rng.choice([0.0, 0.3, 1.0])))

    def does_settings(self) -> None:
        held = self.rig.settings
        new = self._settings()
        new = replace(new, min_rate=held.min_rate, tracking=None if held.tracking is None else new.tracking or held.tracking)
        self.rig.supervisor.adopt(new)
        slow = np.minimum(held.limits.rate, new.limits.rate)
        self.rig.settings = replace(new, limits=replace(new.limits, rate=np.maximum(held.limits.rate, new.limits.rate)))
        assert (slow > 0.0).all()

    def does_drives(self) -> None:
        off = bool(self.rng.random() < 0.6)
        self.rig.supervisor.drives(self.rig.now, not off)

    # messages

    def does_silence(self) -> None:
        self._for(float(self.rng.choice([0.03, 0.15, 0.5, 3.0])), lambda s: None)

    def does_loss(self) -> None:
        p = self.rng.uniform(0.1, 0.9)
        self._for(self.rng.uniform(0.1, 1.0), lambda s: s if self.rng.random() > p else None)

    def does_delay(self) -> None:
        length, queue = int(self.rng.choice([5, 20, 75])), []

        def late(state: State) -> State | None:
            queue.append(state)
            return queue.pop(0) if len(queue) > length else None

        self._for(self.rng.uniform(0.3, 2.0), late)

    def does_clock(self) -> None:
        shift = round(float(self.rng.choice([-10.0, -1.0, -0.05, 0.05, 0.3, 10.0])) * 1e9)
        self._for(self.rng.uniform(0.002, 2.0), lambda s: {**s, "stamp": s["stamp"] + shift})

    def does_clock_rate(self) -> None:
        rate, base = float(self.rng.choice([0.3, 1.5, 3.0])), []

        def paced(state: State) -> State:
            base[:] = base or [state["stamp"]]
            return {**state, "stamp": base[0] + round(rate * (state["stamp"] - base[0]))}

        self._for(self.rng.uniform(0.2, 2.0), paced)

    def does_no_stamps(self) -> None:
        self._for(self.rng.uniform(0.1, 2.0), lambda s: {**s, "stamp": 0})

    def does_frozen_stamp(self) -> None:
        first: State = {}

        def frozen(state: State) -> State:
            first.setdefault("stamp", state["stamp"])
            return {**state, **first}

        self._for(self.rng.uniform(0.05, 1.0), frozen)

    def does_nan(self) -> None:
        j = self.rng.integers(self.robot.n)
        what = str(self.rng.choice(["q", "qd", "reported"]))

        def broken(state: State) -> State:
            values = state[what].copy()
            values[j] = np.nan
            return {**state, what: values}

        self._for(self.rng.uniform(0.004, 0.5), broken)

    def does_slip(self) -> None:
        by = self.rng.uniform(-1.0, 1.0, self.robot.n) * (np.arange(self.robot.n) == self.rng.integers(self.robot.n))
        self._for(float(self.rng.choice([0.004, 0.1, 3.0])), lambda s: {**s, "q": s["q"] + by})

    def does_velocity_missing(self) -> None:
        self._for(self.rng.uniform(0.1, 2.0), lambda s: {**s, "velocity_missing": True})

    def does_wrong_velocity(self) -> None:
        j, factor = self.rng.integers(self.robot.n), float(self.rng.choice([-1.0, 0.0, 57.3, 0.0174]))

        def wrong(state: State) -> State:
            qd = state["qd"].copy()
            qd[j] *= factor
            return {**state, "qd": qd}

        self._for(self.rng.uniform(0.1, 2.0), wrong)

    def does_frozen_joint(self) -> None:
        j, value = self.rng.integers(self.robot.n), []

        def frozen(state: State) -> State:
            value[:] = value or [state["q"][j]]
            q, qd = state["q"].copy(), state["qd"].copy()
            q[j], qd[j] = value[0], 0.0
            return {**state, "q": q, "qd": qd}

        self._for(self.rng.uniform(0.1, 1.0), frozen)

    def does_wrong_report(self) -> None:
        factor = float(self.rng.choice([-1.0, 3.0, 0.0, 1000.0]))
        self._for(self.rng.uniform(0.1, 2.0), lambda s: {**s, "reported": factor * s["reported"]})

    def does_stall(self) -> None:
        """The process is paused: the arm goes on, the drives keep the last command for their time-out."""
        steps = int(self.rng.choice([10, 60, 200]))
        self.rig.simulator.advance(steps, self.wrenches)
        self.rig.now += steps * PERIOD

    # the arm

    def does_motor(self) -> None:
        j, kind = self.rng.integers(self.robot.n), self.rng.integers(5)
        self.healthy = False
        if kind == 4 and self.robot.n > 1:
            k = (j + 1) % self.robot.n
            self.order[[j, k]] = self.order[[k, j]]
        else:
            self.gain[j] = (-1.0, 0.0, 0.3, 2.0, 1.0)[kind]

    def does_all_motors_off(self) -> None:
        self.healthy = False
        self.gain[:] = 0.0

    def does_motors_on(self) -> None:
        self.gain[:] = 1.0
        self.order = np.arange(self.robot.n)

    def does_drag(self) -> None:
        self.healthy = False
        j = self.rng.integers(self.robot.n)
        self.drag[j] = self.rng.uniform(0.0, 0.3) * self.robot.effort_limit[j]
        # smooth enough to be stable as an effort that is held for a period
        felt = 1.0 / np.diag(np.linalg.inv(rne.mass_matrix(self.robot, self.rig.simulator.state.q)))
        self.width = np.maximum(0.02, 4.0 * self.drag * PERIOD / felt)

    def does_push(self) -> None:
        self.healthy = False
        force = self.rng.uniform(-1.0, 1.0, 6) * np.array([60.0] * 3 + [5.0] * 3) * self.rng.random()
        self.wrenches = {self.robot.link_names[-1]: force}

    def does_let_go(self) -> None:
        self.wrenches = None

    # -- what must hold -----------------------------------------------------------------------------------------------

    def _fail(self, text: str) -> None:
        raise BrokenError(f"episode {self.number} ({self.robot.name}) at {self.rig.now - 100.0:.3f} s: {text}")

    def _judge(self, before: Mode) -> None:
        rig, supervisor = self.rig, self.rig.supervisor
        mode = rig.mode
        if not 0.0 <= supervisor._feedback <= 1.0:
            self._fail(f"the fraction of the feedback is {supervisor._feedback}")
        if self.stop_asked and mode in DRIVING:
            self._fail(f"a stop that was asked for was undone: {mode.value} ({supervisor.cause})")
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
        if self.stopping_since < 0.0:
            self.stopping_since, self.plan = rig.now, stop
        plan = self.plan
        planned = plan.brake_time + plan.hold_time + plan.ramp_time
        # one that holds without end may go blind, or be told to end, at any time
        if plan.policy == "hold" and not rig.supervisor.blind:
            if rig.supervisor._stop is not None and np.isinf(rig.supervisor._stop.down_from):
                self.stopping_since = rig.now
        if rig.now - self.stopping_since > planned + STOP_GRACE + (0.1 if rig.supervisor.blind else 0.0):
            self._fail(f"a stop has not ended {rig.now - self.stopping_since - planned:.3f} s after its time")

    def _judge_reference(self, mode: Mode) -> None:
        rig, now = self.rig, self.rig.supervisor.queue.reference.q
        step = np.abs(now - self.before)
        # where it was anchored it began as fast as the arm was
        limit = np.maximum(rig.supervisor.settings.limits.velocity, np.maximum(np.abs(rig.supervisor.qd), self.speed))
        self.speed = np.abs(rig.supervisor.queue.reference.qd)
        # after missing states the reference goes on where it would be
        gap = rig.now - self.judged_at + (0.1 if self.corrupt else 0.0)
        leap = step > REFERENCE * limit * gap + 1e-9
        anchored = any(np.allclose(now, q) for q in (rig.supervisor.q, self.q_before))
        if leap.any() and not anchored and mode in DRIVING | {Mode.STOPPING}:
            self._fail(f"the reference leaps by {step.max():.4f}")
        self.before, self.q_before, self.judged_at = now.copy(), rig.supervisor.q.copy(), rig.now

    def _judge_energy(self) -> None:
        rig, supervisor = self.rig, self.rig.supervisor
        limits = supervisor.settings.limits
        if supervisor._runaway is None:
            self.overspeed_step = -1.0
            self.driven = np.zeros(self.robot.n)
        else:
            drives = (rig.power[-1] > NEGLIGIBLE * limits.effort * limits.velocity) & (
                np.abs(rig.speeds[-1]) > 0.1 * limits.velocity
            )
            self.driven = np.where(drives, self.driven + PERIOD, 0.0)
            if (self.driven > DRIVEN).any():
                self._fail(f"after overspeed joint {int(np.argmax(self.driven))} is driven on for {self.driven.max():.3f} s")
        fast = np.abs(rig.speeds[-1]) / limits.velocity
        # an arm that fell while nothing held it is fast when it is caught
        self.settled = supervisor.mode in DRIVING and (self.settled or bool((fast < 0.5).all()))
        if self.healthy and self.settled and fast.max() > OVERSPEED * 1.02:
            self._fail(f"a healthy arm moves at {fast.max():.2f} times its limit, joint {int(np.argmax(fast))}")

    def _end(self) -> None:
        try:
            if self.rig.sent:
                self.rig.check()
        except AssertionError as error:
            self._fail(f"limits: {str(error)[:300]}")


def broken_episodes(first: int, last: int) -> Iterator[tuple[int, str]]:
    """Numbers and causes of the episodes from `first` to before `last` in which something did not hold."""
    for number in range(first, last):
        episode = Episode(number)
        try:
            episode.run()
        except BrokenError as error:
            happened = ", ".join(line.partition(": ")[2] for line in episode.story if line[0] != " " and ">" not in line)
            yield number, f"{error} [{happened}]"
        except Exception as error:
            yield number, f"episode {number}: {type(error).__name__}: {error}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("number", type=int, nargs="?", help="run this one and tell its story")
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--to", dest="last", type=int, default=1000)
    options = parser.parse_args()
    if options.number is not None:
        episode = Episode(options.number)
        try:
            episode.run()
        finally:
            print("\n".join(episode.story))
        return 0
    began, found = time.monotonic(), 0
    for _, text in broken_episodes(options.first, options.last):
        found += 1
        print(text, flush=True)
    print(f"{options.last - options.first} episodes, {found} broken, {time.monotonic() - began:.0f} s")
    return int(found > 0)


if __name__ == "__main__":
    raise SystemExit(main())
