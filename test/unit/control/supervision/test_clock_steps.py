"""Steps of the clock of the joint states: any size, either way; the arm is held and not dropped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.altered import KINDS, model
from support.moving_bases import Swell
from support.supervised import Rig, settings

from rne_dynamics.control.guards.base_filter import BaseSensor
from rne_dynamics.control.streaming.limits import SetpointError, StreamLimits
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.control.supervision.settings import StartCheck
from rne_dynamics.control.supervision.states import DRIVING, Mode
from rne_dynamics.errors import StateProblem

STEPS = (-3600.0, -0.45, -0.12, -0.05, -0.012, 0.04, 0.3, 3600.0)
#: An open arm, a mechanism, and an arm whose base moves; with the slow tests an arm whose wrist has little inertia.
ARMS = ("panda", "pantograph", "puma560 on a ship")
EACH = [ARMS[0], *(pytest.param(name, marks=pytest.mark.slow) for name in (*ARMS[1:], "four_joint_arm"))]


def shared_out(*steps: float) -> list[tuple[str, float]]:
    """All steps with the first arm, and each other arm with one of them in turn."""
    return [*((ARMS[0], step) for step in steps), *((name, steps[k % len(steps)]) for k, name in enumerate(ARMS[1:]))]


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


@pytest.mark.slow
@pytest.mark.parametrize(("name", "step"), shared_out(-0.3, -0.012, -0.0009, 0.05))
def test_steps_in_a_row(name, step):
    """Twenty of them, 30 ms apart."""
    rig = arm(name)
    rig.move_off()
    for _ in range(20):
        rig.set_clock(step)
        rig.go(0.03)
    rig.go(0.3)
    assert rig.mode is Mode.HOLDING
    rig.never_dropped()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "period"), [
    ("panda", 0.002), ("panda", 0.01), ("panda", 0.03), ("four_joint_arm", 0.004),
])
def test_at_each_rate(name, period):
    """With a period of 10 ms the gains tolerate a delay that is shorter than the period."""
    rig = arm(name, period, bandwidth=min(20.0, 0.05 / period))
    rig.go(0.5)
    for step in (*STEPS, -0.015, -0.008, -0.006, -0.025):
        rig.set_clock(step)
        rig.go(0.35)
        assert rig.mode is Mode.HOLDING, (step, rig.supervisor.cause)
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


@pytest.mark.slow
@pytest.mark.parametrize(("name", "step"), shared_out(-3600.0, -0.02, 0.3))
def test_a_stream_of_setpoints_is_called_off_and_can_begin_again(name, step):
    rig = arm(name)
    plain = rig.settings.limits
    limits = StreamLimits(rig.robot.joint_names, plain.lower, plain.upper, plain.velocity)
    rig.supervisor.adopt(replace(rig.settings, stream=limits))
    rest = np.zeros(rig.robot.n)

    def send(seconds, speed):
        refused = 0
        for _ in range(round(seconds / 0.02)):
            try:
                rig.supervisor.setpoint(0, rig.supervisor.queue.reference.q + 0.02 * speed, rest, rig.now)
            except SetpointError:
                refused += 1
            rig.go(0.02)
        return refused

    assert send(0.4, 0.1) == 0
    assert rig.mode is Mode.TRACKING
    rig.set_clock(step)
    assert send(0.2, 0.0) > 0
    assert rig.mode is Mode.HOLDING
    rig.go(0.3)
    assert send(0.2, 0.1) == 0
    assert rig.mode is Mode.TRACKING
    rig.never_dropped()


@pytest.mark.slow
def test_a_clock_that_is_slewed_disturbs_nothing():
    """As fast as NTP does, for a minute at 200 states per second: 30 ms in all, more than the gains tolerate."""
    rig = arm("four_joint_arm", 0.005, bandwidth=10.0)
    rig.rate = 5e-4
    rig.go(60.0)
    assert rig.mode is Mode.HOLDING
    assert rig.supervisor.counters.time_jumps == 0
    assert rig.supervisor.machine.stream.filter.late < 0.002
    rig.never_dropped()


@pytest.mark.parametrize("name", EACH)
def test_single_messages_out_of_order_are_refused_one_by_one(name):
    rig = arm(name, 1e-3)
    rig.move_off()
    kept = []

    def disturbed(state):
        kept.append(state["stamp"])
        k = len(kept)
        if k % 10 in (3, 4):  # up to two late ones in a row
            return state | {"stamp": state["stamp"] - (200_000_000 if k % 20 < 10 else 3_000_000)}
        return state | {"stamp": kept[-2]} if k % 10 == 7 else state  # one that came already

    rig.run(0.6, corrupt=disturbed)
    assert rig.endings[-1][0] is Ending.SUCCEEDED
    assert rig.supervisor.counters.time_jumps == 0
    assert rig.supervisor.counters.refused[StateProblem.OUT_OF_ORDER] == 120
    assert rig.supervisor.counters.refused[StateProblem.DUPLICATE_STAMP] == 60
    rig.never_dropped()


def test_a_second_sender_whose_clock_lags_is_no_new_time():
    """Without publication numbers: its states are refused between those of the first."""
    rig = arm("panda")
    rig.move_off()
    refused = rig.supervisor.counters.states
    for _ in range(500):
        rig.run(0.001)
        state = rig.simulator.state
        stamp = round(1e9 * state.t) + 10**18 - 200_000_000
        zero = np.zeros(rig.robot.n)
        assert not rig.supervisor.observe(stamp, rig.now, state.q.copy(), state.qd.copy(), zero)
    assert rig.supervisor.counters.states == refused + 1000
    assert rig.supervisor.counters.time_jumps == 0
    assert rig.mode in DRIVING
    rig.never_dropped()


def reset(rig: Clocked, *, back: float = 0.05) -> None:
    """As the simulator's service: the arm at its start with its brakes on, and time set back."""
    rig.simulator.reset()
    rig.set_clock(-back)


@pytest.mark.slow
@pytest.mark.parametrize("name", EACH)
def test_a_simulation_that_is_reset_is_held_at_its_start(name):
    rig = arm(name, 1e-3, check=StartCheck(duration=0.1))
    rig.go(0.2)
    assert rig.supervisor.gate.open
    for mode in (Mode.TRACKING, Mode.HOLDING, Mode.FLOATING):
        rig.move_off()
        rig.go(0.15 if mode is Mode.TRACKING else 0.9)
        if mode is Mode.FLOATING:
            rig.supervisor.hand_guide(True)
            rig.go(0.05)
        assert rig.mode is mode
        moved = np.abs(rig.simulator.state.q - rig.start)
        assert moved.max() > 0.02
        jumps, since = rig.supervisor.counters.time_jumps, len(rig.speeds)
        reset(rig)
        rig.go(0.02)
        assert rig.mode is Mode.HOLDING, rig.supervisor.cause
        assert rig.supervisor.counters.time_jumps == jumps + 1
        reach = 2.0 * rig.settings.limits.velocity * 0.016 + 0.002  # of an arm that was not reset
        assert rig.supervisor.gate.checking or (moved < reach).all(), "as after a start"
        rig.go(0.4)
        assert rig.supervisor.gate.open, rig.supervisor.gate.text
        np.testing.assert_allclose(rig.simulator.state.q, rig.start, atol=0.02)
        assert (np.abs(rig.speeds[since:]) < 0.1 * rig.settings.limits.velocity).all()
    assert not {Mode.STOPPING, Mode.FAULT} & set(rig.modes)
    assert not rig.supervisor.counters.lost


@pytest.mark.parametrize("name", EACH)
def test_a_reset_in_a_stop_ends_in_its_time(name):
    rig = arm(name)
    rig.move_off()
    rig.go(0.3)
    rig.supervisor.stop(rig.now, "asked")
    rig.go(0.05)
    reset(rig)
    rig.go(0.7)
    assert rig.mode is Mode.RELEASED
    assert not rig.sent[-1].any()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "back"), shared_out(0.0, -0.2, 0.0005))
def test_a_place_that_jumps_without_a_time_that_was_set_back_is_refused(name, back):
    """Nor with a time that was set ahead."""
    rig = arm(name)
    rig.move_off()
    rig.go(0.9)
    reset(rig, back=back)
    rig.go(0.3)
    assert rig.mode in (Mode.STOPPING, Mode.FAULT)
    assert rig.supervisor.counters.refused[StateProblem.POSITION_JUMP]


@pytest.mark.parametrize("name", EACH)
def test_broken_messages_are_no_reset(name):
    """One after the other, elsewhere each time, or two of four."""
    rig = arm(name)
    count, chance = [0], np.random.default_rng(3)

    def broken(state):
        count[0] += 1
        if count[0] % 40 < 20 if count[0] > 1000 else count[0] % 4 < 2:
            q = state["q"] + (chance.uniform(0.2, 0.5, len(state["q"])) if count[0] > 1000 else 0.3)
            return state | {"stamp": state["stamp"] - 200_000_000, "q": q}
        return state

    rig.run(1.5, corrupt=broken)
    assert rig.mode is Mode.HOLDING
    assert rig.supervisor.counters.time_jumps == 0
    rig.never_dropped()


@pytest.mark.parametrize("step", [0.0, 0.2])
def test_a_place_that_jumps_without_a_time_that_is_set_back_is_refused(step):
    rig = arm("pantograph")
    rig.move_off()
    rig.go(0.9)
    rig.simulator.reset()
    rig.go(0.3, step)
    assert rig.mode in (Mode.STOPPING, Mode.FAULT)
    assert rig.supervisor.counters.refused[StateProblem.POSITION_JUMP]
