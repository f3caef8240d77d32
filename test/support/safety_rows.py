"""What rows of docs/safety.md promise of efforts, stops, joint states and clocks, one function of an arm each."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.deviations import DURATION, LATE, NAMES, STOP, foreign
from support.foreign_episodes import TICK, arms
from support.foreign_plant import ForeignArm

import rne_dynamics as rne
from rne_dynamics.c_export.export import end_links
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.errors import ControlError

#: From the middle of a move until after its end has been reported, s.
ARRIVED = 0.5 * DURATION + 0.45

# -- efforts and stops -------------------------------------------------------------------------------------------------


def efforts_are_finite_and_within_limit_and_rate(name: str) -> None:
    rig = foreign(name).hold().off()
    rig.run(0.05, corrupt=lambda state: state | {"q": state["q"] * np.nan})
    rig.run(0.3, wrenches={end_links(rig.robot)[-1]: np.array([0.0, 8.0, 0.0, 0.0, 0.0, 0.0])})
    rig.silent(0.6)
    rig.until(Mode.FAULT, Mode.HOLDING)
    assert len(rig.check()) > 300


def the_first_effort_is_the_reported_one(name: str) -> None:
    robot = arms()[2 + NAMES.index(name)][1]
    for reported in (True, False):
        rig = foreign(name)
        slow = replace(rig.settings.limits, rate=5.0 * robot.effort_limit)  # from zero it would take longer
        rig.supervisor.adopt(replace(rig.settings, limits=slow))
        held = rne.gravity_torque(robot, rig.start) if reported else np.full(robot.n, np.nan)
        rig.run(0.02, corrupt=lambda state, held=held: state | {"reported": held})
        step = 0.01 * slow.rate + 1e-9
        begins = [held] if reported else [np.zeros(robot.n), rne.gravity_torque(robot, rig.start)]
        assert min(float((np.abs(rig.sent[0] - begin) / step).max()) for begin in begins) <= 1.0


def every_stop_ends_at_zero_in_time(name: str) -> None:
    for lost in (False, True):
        rig = foreign(name).hold().off()
        rig.supervisor.stop(rig.now, "a request")
        how = {"corrupt": lambda state: None} if lost else {}
        assert rig.until(Mode.RELEASED, Mode.FAULT, seconds=sum(STOP.values()) + LATE, **how) > 0.3
        assert not rig.sent[-1].any()
        rig.check()


def refused_input_changes_no_effort(name: str) -> None:
    sent = []
    for hostile in (False, True):
        rig = foreign(name).hold().off()
        for _ in range(20):
            rig.run(0.005)
            if hostile:
                n, stamp = rig.robot.n, rig.supervisor.stamp
                assert not rig.supervisor.observe(stamp, rig.now, np.ones(n), np.ones(n), np.ones(n))
                with pytest.raises(ControlError):
                    rig.supervisor.scale_speed(np.nan)
        sent.append(rig.check())
    np.testing.assert_array_equal(*sent)


def a_second_signal_is_faster(name: str) -> None:
    rig = foreign(name).hold().off()
    rig.supervisor.hurry(rig.now, "SIGINT again")
    rig.until(Mode.RELEASED, seconds=0.2)
    assert not rig.check()[-1].any()


def a_requested_stop_is_final(name: str) -> None:
    rig = foreign(name, recover_automatically=True).hold()
    rig.supervisor.stop(rig.now, "a request")
    rig.until(Mode.RELEASED)
    first = len(rig.sent)
    rig.silent(0.6)
    rig.run(0.3)
    assert rig.mode is Mode.RELEASED
    assert not np.array(rig.sent[first:]).any()
    rig.caught()
    rig.run(0.05)
    rig.supervisor.recover(rig.now)
    rig.until(Mode.HOLDING)


def without_states_an_arm_is_released(name: str) -> None:
    rig = foreign(name, stop__policy="hold").hold()
    rig.silent(0.6 + sum(STOP.values()))
    assert rig.mode is Mode.FAULT
    assert not rig.check()[-1].any()


# -- joint states ------------------------------------------------------------------------------------------------------


def broken_states_are_refused_alone(name: str) -> None:
    rig, number = foreign(name).hold(), iter(range(10**6))
    rig.off().run(ARRIVED, corrupt=lambda state: state if next(number) % 5 else state | {"q": state["q"] * np.nan})
    rig.arrives()
    rig.ends()


def a_gap_is_bridged_along_the_reference(name: str) -> None:
    rig = foreign(name).hold().off()
    sent = len(rig.sent)
    rig.silent(0.05)
    assert len(rig.sent) - sent >= 5, "efforts go on"
    rig.run(ARRIVED)
    rig.arrives()
    rig.ends()


def lost_states_are_a_stop(name: str) -> None:
    rig = foreign(name).hold().off()
    at, first = rig.peak(len(rig.speeds) - 20), len(rig.speeds)
    rig.until(Mode.STOPPING, corrupt=lambda state: None)
    rig.silent(STOP["stop.brake_time"])
    assert rig.peak(first) < max(at + 0.25, 1.0)
    rig.until(Mode.FAULT, corrupt=lambda state: None)
    assert not rig.check()[-1].any()


def states_that_return_hold_the_arm(name: str) -> None:
    rig = foreign(name).hold().off()
    rig.until(Mode.STOPPING, corrupt=lambda state: None)
    rig.silent(0.05)
    rig.until(Mode.HOLDING, seconds=0.3)
    rig.run(0.3)
    assert rig.endings[0][0] is not Ending.SUCCEEDED
    rig.ends()


def states_that_return_elsewhere_are_refused(name: str) -> None:
    rig = foreign(name).hold()
    rig.until(Mode.STOPPING, corrupt=lambda state: None)
    away = 4.0 * rig.robot.velocity_limit  # twice the speed limit would take 2 s for it
    rig.run(1.2, corrupt=lambda state: state | {"q": state["q"] + away})
    assert rig.mode is Mode.FAULT
    rig.check()


def late_states_are_refused(name: str) -> None:
    rig = foreign(name).hold().off()
    rig.line = rig.line._replace(delay=0.3)
    rig.until(Mode.FAULT)
    rig.ends(Mode.FAULT)


def contradicting_velocities_are_estimated(name: str) -> None:
    for factor in (-1.0, 57.3, 0.0):
        rig = foreign(name).hold().off()
        j = rig.fastest

        def wrong(state: dict[str, Any], j: int = j, factor: float = factor) -> dict[str, Any]:
            state["qd"][j] *= factor
            return state

        rig.run(ARRIVED, corrupt=wrong)
        rig.ends()


def a_frozen_reading_stops_the_arm(name: str) -> None:
    rig = foreign(name).hold()
    rig.off()
    j = rig.fastest
    q = rig.simulator.state.q[j]

    def frozen(state: dict[str, Any]) -> dict[str, Any]:
        state["q"][j], state["qd"][j] = q, 0.0
        return state

    rig.until(Mode.STOPPING, seconds=0.5, corrupt=frozen)
    rig.until(Mode.FAULT, corrupt=frozen)
    rig.check()


def fast_stamps_are_refused(name: str) -> None:
    rig = foreign(name).hold()
    first = len(rig.modes)
    rig.go(0.25, rate=0.1)
    assert Mode.STOPPING not in rig.modes[first:]
    rig.reach(Mode.FAULT, most=3.5, corrupt=partial(rig.stamped, rate=0.1))
    rig.ends(Mode.FAULT)


# -- clocks ------------------------------------------------------------------------------------------------------------


def a_clock_that_is_set_holds_the_arm(name: str) -> None:
    for seconds in (-1.0, -0.05, 0.45):
        rig = foreign(name).hold().off()
        rig.clock += seconds
        rig.go(0.4)
        assert [ending for ending, _ in rig.endings] == [Ending.STOPPED], (seconds, rig.endings)
        assert Mode.STOPPING not in rig.modes, rig.supervisor.cause
        rig.ends()
        rig.supervisor.stop(rig.now, "a request")
        rig.go(0.05)
        rig.clock += seconds
        rig.reach(Mode.RELEASED, most=sum(STOP.values()) + LATE, corrupt=rig.stamped)
        rig.ends(Mode.RELEASED)


def a_clock_that_is_set_back_is_believed_after_five_states(name: str) -> None:
    rig = foreign(name).hold()
    before, rig.clock = rig.supervisor.stamp, -1.0
    states = 0
    while rig.supervisor.stamp >= before:
        rig.go(rig.line.period)
        states += 1
    assert 3 <= states <= 8


def stamps_that_do_not_follow_each_other_are_refused(name: str) -> None:
    rig = foreign(name).hold()
    rng = np.random.default_rng(0)
    rig.until(
        Mode.FAULT, corrupt=lambda state: state | {"stamp": state["stamp"] - round(1e9 * rng.uniform(1.0, 9.0))}
    )
    rig.ends(Mode.FAULT)


def a_reset_holds_the_arm_at_its_new_position(name: str) -> None:
    rig = foreign(name).hold().off()
    rig.run(ARRIVED)
    rig.simulator = ForeignArm(rig.urdf, rig.start, TICK, rig.unlike)
    rig.run(0.6)
    assert Mode.STOPPING not in rig.modes, rig.supervisor.cause
    assert np.abs(rig.simulator.state.q - rig.start).max() < 0.1
    rig.ends()


def a_small_step_back_interrupts_nothing(name: str) -> None:
    rig = foreign(name).hold().off()
    rig.clock -= 1.5 * rig.line.period
    rig.go(ARRIVED)
    rig.arrives()
    rig.ends()


def a_small_step_ahead_interrupts_nothing(name: str) -> None:
    rig = foreign(name).hold().off()
    rig.clock += 0.02
    rig.go(ARRIVED)
    rig.arrives()
    rig.ends()


def a_slewed_clock_has_no_effect(name: str) -> None:
    for rate in (-1e-3, 1e-3):
        rig = foreign(name).hold()
        rig.off()
        rig.go(ARRIVED, rate=rate)
        rig.arrives()
        rig.ends()


def a_clock_slewed_further_back_is_a_delay(name: str) -> None:
    rig = foreign(name).hold()
    rig.go(1.0, rate=-0.02)
    assert rig.supervisor.machine.stream.filter.late > 0.005
    assert rig.peak() < 0.5
    rig.check()
