"""Events of random episodes: requests, wrong messages, faults of motors and brakes, pushes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from support.supervised import Rig

import rne_dynamics as rne
from rne_dynamics.c_export.export import end_links
from rne_dynamics.control.motion.acceptance import CurrentMotion, Rules, accept_points
from rne_dynamics.control.motion.limits import MotionLimits, Tolerances
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.states import NO_STOP, Mode
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

PERIOD = 2e-3

State = dict[str, Any]
Corrupt = Callable[[State], "State | None"]


class Happenings:
    """Each method `does_…` is one of them; an episode draws among them."""

    rig: Rig
    robot: RobotModel
    rng: np.random.Generator
    story: list[str]
    gain: Array
    order: Array
    drag: Array
    width: Array
    wrenches: dict[str, Array] | None
    corrupt: list[tuple[float, Corrupt]]
    healthy: bool
    stop_requested: bool
    #: Between two steps, s.
    period: float = PERIOD
    #: Between two joint states, s.
    interval: float = PERIOD
    #: Fastest clock of the joint states so far, in real time.
    clock: float = 1.0
    #: By how much stamps are ahead of the last ones where a delay ends, s.
    skipped: float = 0.0
    #: How late the controller sees what its efforts do, s.
    late: float = 0.0

    def new_settings(self) -> Settings:
        """Random settings of the controller."""
        return self.rig.settings

    def rules(self, blend_time: float) -> Rules:
        """What a trajectory must keep."""
        limits, joints = self.rig.settings.limits, self.robot.joint_names
        lower, upper = limits.lower + limits.margin, limits.upper - limits.margin
        return Rules(MotionLimits(joints, lower, upper, limits.velocity, 0.05), blend_time)

    def _for(self, seconds: float, corrupt: Corrupt) -> None:
        self.corrupt.append((self.rig.now + seconds, corrupt))

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
            points.append(SimpleNamespace(
                positions=q.tolist(), velocities=zero if kind else [], accelerations=zero if kind == 2 else [],
                effort=[], time_from_start=SimpleNamespace(sec=int(t), nanosec=int(t % 1.0 * 1e9)),
            ))
        delay = float(rng.choice([0.0, 0.0, 0.2]))
        sec, nanosec = divmod(supervisor.stamp + round(delay * 1e9), 10**9) if delay else (0, 0)
        header = SimpleNamespace(sec=sec, nanosec=nanosec)
        rate, slope = supervisor.queue.path_rate(supervisor.machine.speed)
        blend = float(rng.choice([0.05, 0.3]))
        moving = CurrentMotion(supervisor.stamp, supervisor.queue.ahead, rate, slope)
        accepted = accept_points(robot.joint_names, points, header, moving, self.rules(blend))
        path = float(rng.choice([np.inf, 0.1]))
        tolerances = Tolerances(robot.joint_names, path=path, goal=0.02, goal_time=0.3)
        supervisor.follow(
            accepted.motion(tolerances),
            lambda ending, text: self.story.append(f"    motion {ending.value}: {text[:120]}"),
        )

    def does_stop(self) -> None:
        self.rig.supervisor.stop(self.rig.now, "~/stop", ending=bool(self.rng.random() < 0.3))
        self.stop_requested = True

    def does_hurry(self) -> None:
        self.rig.supervisor.hurry(self.rig.now, "again")
        self.stop_requested = True

    def does_recover(self) -> None:
        self.rig.supervisor.recover(self.rig.now)
        self.healthy = self.healthy and not self.corrupt  # somebody vouches for states that are wrong
        self.stop_requested = self.stop_requested and self.rig.mode is Mode.STOPPING

    def does_cancel(self) -> None:
        self.rig.supervisor.cancel("~/cancel")

    def does_hand_guide(self) -> None:
        self.rig.supervisor.hand_guide(bool(self.rng.random() < 0.7))

    def does_speed(self) -> None:
        self.rig.supervisor.scale_speed(float(self.rng.choice([0.0, 0.3, 1.0])))

    def does_settings(self) -> None:
        held = self.rig.settings
        new = self.new_settings()
        tracking = None if held.tracking is None else new.tracking or held.tracking
        new = replace(new, min_rate=held.min_rate, tracking=tracking)
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
        self.late += length * self.interval
        self.skipped += length * self.interval
        self.healthy = self.healthy and not self.corrupt  # of states without a true time nobody knows how late they are

        def late(state: State) -> State | None:
            queue.append(state)
            return queue.pop(0) if len(queue) > length else None

        self._for(self.rng.uniform(0.3, 2.0), late)

    def does_clock(self) -> None:
        shift = round(float(self.rng.choice([-10.0, -1.0, -0.05, 0.05, 0.3, 10.0])) * 1e9)
        self._for(self.rng.uniform(0.002, 2.0), lambda s: {**s, "stamp": s["stamp"] + shift})

    def does_clock_rate(self) -> None:
        rate, base = float(self.rng.choice([0.3, 1.5, 3.0])), []
        self.healthy = self.healthy and rate < 1.0  # a path is followed as fast as its clock runs, until that is found
        self.clock = max(self.clock, rate)

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
        # frozen states at rest look like a stuck joint: a path tolerance detects that
        self.healthy = self.healthy and abs(float(self.rig.supervisor.queue.reference.qd[j])) > 0.05

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
        self.rig.now += steps * self.period
        under_way = self.rig.supervisor.machine.stop
        if under_way != NO_STOP and np.isinf(under_way.down_from):
            self.stopping_since = self.rig.now  # one that holds without end has not begun to end

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
        self.width = np.maximum(0.02, 4.0 * self.drag * self.period / felt)

    def does_push(self) -> None:
        self.healthy = False
        force = self.rng.uniform(-1.0, 1.0, 6) * np.array([60.0] * 3 + [5.0] * 3) * self.rng.random()
        self.wrenches = {end_links(self.robot)[-1]: force}

    def does_let_go(self) -> None:
        self.wrenches = None
