"""Steps of the clock of the joint states: any size, either way; the arm is held and not dropped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.altered import KINDS, model
from support.moving_bases import Swell
from support.supervised import Rig, settings

from rne_dynamics.control.guards.base_filter import BaseSensor
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.control.supervision.settings import StartCheck
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.errors import StateProblem

STEPS = (-3600.0, -0.45, -0.12, -0.05, -0.012, 0.04, 0.3, 3600.0)


class Clocked(Rig):
    """`ahead` is what the sender's clock is ahead of the arm's time, s."""

    ahead = 0.0

    def go(self, seconds: float, step: float = 0.0) -> None:
        """Set the clock, and run with the stamps of that clock."""
        self.ahead += step
        self.run(seconds, corrupt=lambda state: state | {"stamp": state["stamp"] + round(1e9 * self.ahead)})

    def move_off(self) -> None:
        """Be in motion at about 30 % of the velocity limit, but slower where the gains could not stop it."""
        limits = self.settings.limits
        q = self.supervisor.queue.reference.q
        way = np.minimum(0.1 * limits.velocity, 0.15) * np.where(q > 0.5 * (limits.lower + limits.upper), -1.0, 1.0)
        self.move(q + way, 0.6)
        self.go(0.25)
        assert self.mode is Mode.TRACKING, self.supervisor.cause
        assert np.abs(self.simulator.state.qd).max() > 0.02

    def never_dropped(self) -> None:
        """No stop, no speed beyond what it moved at, all limits of the efforts kept."""
        assert not {Mode.STOPPING, Mode.FAULT, Mode.RELEASED} & set(self.modes), self.supervisor.cause
        assert (np.abs(self.speeds) <= self.settings.limits.velocity).all()
        self.check()


def arm(name: str, period: float = 2e-3, **changes: Any) -> Clocked:
    """A held arm whose sender's clock can be set."""
    robot, base = model(name), Swell() if name.endswith("ship") else None
    neutral = np.array(robot.neutral)
    start = neutral if robot.loops else np.clip(neutral + 0.3, robot.lower + 0.4, robot.upper - 0.4)
    given = settings(robot, base=BaseSensor(filter=20.0) if base else None, **changes)
    rig = Clocked(robot, start, given, period=period, base=base)
    rig.base_message = lambda reading: reading._replace(stamp=reading.stamp + round(1e9 * rig.ahead))
    rig.run(0.25)
    return rig


@pytest.mark.parametrize(("name", "steps", "changes"), [
    *((name, STEPS[k::4], {}) for k, name in enumerate(KINDS)), ("puma560", STEPS[3::4], {"command_delay": 0.002}),
])
def test_each_step_in_motion_ends_it_and_the_arm_is_held_where_it_is(name, steps, changes):
    """Some steps with each arm, and with prediction."""
    rig = arm(name, **changes)
    for step in steps:
        rig.move_off()
        jumps, place = rig.supervisor.counters.time_jumps, rig.simulator.state.q.copy()
        rig.go(0.35, step)
        assert rig.mode is Mode.HOLDING, (step, rig.supervisor.cause)
        assert rig.supervisor.counters.time_jumps == jumps + 1, step
        assert rig.endings[-1][0] is Ending.STOPPED
        assert np.abs(rig.simulator.state.q - place).max() < 0.1
        assert np.abs(rig.simulator.state.qd).max() < 0.02
    rig.move_off()
    for _ in range(10):
        rig.go(0.03, -0.012)
    rig.go(0.3)
    assert rig.mode is Mode.HOLDING
    rig.never_dropped()


@pytest.mark.parametrize("period", [0.01, 0.03])
def test_at_low_rates(period):
    """With a period of 10 ms the gains tolerate a delay that is shorter than the period."""
    rig = arm("panda", period, bandwidth=0.05 / period)
    rig.go(0.5)
    for step in (*STEPS, -0.015, -0.006):
        rig.go(0.35, step)
        assert rig.mode is Mode.HOLDING, (step, rig.supervisor.cause)
    rig.never_dropped()


@pytest.mark.parametrize("tracking", [True, False])
def test_hand_guiding_ends_and_a_controller_that_only_floats_goes_on(tracking):
    rig = arm("panda", tracking=tracking)
    for step in (-3600.0, -0.02, 0.05):
        if tracking:
            rig.supervisor.hand_guide(True)
        rig.go(0.1)
        rig.go(0.2, step)
        assert rig.mode is (Mode.HOLDING if tracking else Mode.FLOATING)
    rig.never_dropped()


def test_the_start_up_check_begins_anew_and_takes_its_time():
    rig = arm("panda", check=StartCheck(duration=0.4, required=True))
    rig.go(0.2, -0.3)
    assert rig.supervisor.gate.checking
    rig.go(0.3)
    assert rig.supervisor.gate.open, rig.supervisor.gate.text
    rig.never_dropped()


@pytest.mark.parametrize("step", [0.0, 0.2])
def test_a_place_that_jumps_without_a_time_that_is_set_back_is_refused(step):
    rig = arm("pantograph")
    rig.move_off()
    rig.go(0.5)
    rig.simulator.reset()
    rig.go(0.3, step)
    assert rig.mode in (Mode.STOPPING, Mode.FAULT)
    assert rig.supervisor.counters.refused[StateProblem.POSITION_JUMP]
