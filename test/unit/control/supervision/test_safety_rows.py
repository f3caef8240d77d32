"""Every row of the tables of docs/safety.md, on arms that are not the model.

The tables of faults below "Tests" are the campaign's: `make faults`, in test/ros/test_faults.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from support import safety_rows as shown
from support.altered import altered
from support.deviations import LATE, NAMES, STOP, foreign
from support.foreign_episodes import Line, arms, controller_values
from support.foreign_plant import Deviation
from support.moving_bases import Swell
from support.supervised import Rig

from rne_dynamics.c_export.export import end_links
from rne_dynamics.control.guards.base_filter import BaseSensor
from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.control.thresholds import OVERSPEED
from rne_dynamics.errors import ControlError
from rne_dynamics.ros.parameters.tracking import tracking_settings
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.simulator import Simulator

# -- the arm -----------------------------------------------------------------------------------------------------------


def a_left_path_ends_the_motion(name: str) -> None:
    rig = foreign(name).hold()
    tight = Tolerances(rig.robot.joint_names, path=2e-3)  # an arm that is not the model is further off
    rig.move(rig.supervisor.queue.reference.q + 0.1, 0.5, tolerances=tight)
    rig.run(0.8)
    assert [ending for ending, _ in rig.endings] == [Ending.PATH], rig.endings
    rig.ends()


def a_pushed_reference_follows_the_arm(name: str) -> None:
    rig = foreign(name, **{"limits.{joint}.holding_error": 0.1}).hold()
    q, push = rig.supervisor.queue.reference.q.copy(), np.zeros(6)
    while np.abs(rig.simulator.state.q - q).max() < 0.2:
        push[:3] += 1.0
        assert push[0] < 1000.0, "no push moves the arm away"
        rig.run(0.02, wrenches={end_links(rig.robot)[-1]: push})
    first = len(rig.speeds)
    away = np.abs(rig.simulator.state.q - q).max()
    rig.run(1.0)
    assert np.abs(rig.supervisor.queue.reference.q - q).max() > 0.5 * away - 0.1
    assert rig.peak(first) < 1.0
    rig.ends()


def drives_that_return_hold_the_arm(name: str) -> None:
    rig = foreign(name).hold().off()
    rig.supervisor.drives(rig.now, False)
    with pytest.raises(ControlError, match="drives do not act"):
        rig.supervisor.ready()
    rig.run(0.3, command=False)
    rig.caught()
    first = len(rig.speeds)
    rig.supervisor.drives(rig.now, True)
    rig.run(0.5)
    assert rig.peak(first) < 1.0
    assert rig.mode is Mode.HOLDING
    rig.check()


def an_unknown_base_motion_releases_the_arm(name: str) -> None:
    robot = arms()[2 + NAMES.index(name)][1]
    start, base = foreign(name).start, Swell()
    made = tracking_settings(robot, controller_values(robot, {"startup_check.duration": 0.0, "start.ramp_time": 0.1}))
    rig = Rig(robot, start, replace(made, base=BaseSensor()), period=2e-3, base=base)
    arm = altered(robot, np.random.default_rng(0).uniform(0.8, 1.2, 40), 2.0)
    rig.simulator = Simulator(ArmPlant(arm, base_motion=base), start, dt=rig.period, command_timeout=0.2)
    rig.run(0.4)
    assert rig.mode is Mode.HOLDING
    rig.base_message = lambda reading: None
    rig.reach(Mode.FAULT, most=2.5)
    assert rig.mode is Mode.FAULT
    assert not rig.check()[-1].any()


def a_delay_beyond_the_gains_refuses_motions(name: str) -> None:
    rig = foreign(name, Line(1e-3, 6e-3), bandwidth=40.0, deviation=Deviation((1.2,) * 40, command_delay=6e-3))
    rig.run(1.0)
    with pytest.raises(ControlError, match=r"gains tolerate .*lower the gains to p = \d+, d = \d+"):
        rig.supervisor.ready()
    rig.ends()


def oscillations_lower_the_feedback(name: str) -> None:
    soft = Deviation(friction=0.0, frequency=12.0, rotor=0.4, command_delay=8e-3)
    rig = foreign(name, Line(1e-3, 2e-3), deviation=soft, stop__policy="hold", command_delay=0.0)
    lowest = 1.0
    for _ in range(60):
        rig.run(0.05)
        if rig.mode is Mode.HOLDING and not rig.endings and not rig.supervisor.queue.moving:
            rig.move(rig.supervisor.queue.reference.q + 0.2, 0.8)
        lowest = min(lowest, rig.supervisor.loop.part(rig.now))
    assert lowest < 1.0 or Mode.STOPPING in rig.modes, "nothing oscillates"
    assert rig.peak() < 1.5
    rig.check()


def a_reversed_motor_stops_the_arm(name: str) -> None:
    """How fast it is cut is what the campaign's motor-reversed checks."""
    stopped = 0
    for j in range(0, arms()[2 + NAMES.index(name)][1].n, 2):
        rig = foreign(name)
        sign = np.where(np.arange(rig.robot.n) == j, -1.0, 1.0)
        rig.motors = lambda command, sign=sign: sign * command
        rig.run(0.4)
        if rig.mode is Mode.HOLDING:
            rig.move(rig.supervisor.queue.reference.q + 0.2, 0.8)
        rig.reach(Mode.STOPPING, Mode.FAULT, most=1.2)
        rig.run(0.3)
        rig.check()
        fast = (np.abs(np.array(rig.speeds)) > OVERSPEED * rig.settings.limits.velocity).any()
        assert not fast or Mode.STOPPING in rig.modes, j
        stopped += Mode.STOPPING in rig.modes
    assert stopped, "friction holds all joints"


def a_pushed_arm_is_guided_on(name: str) -> None:
    rig = foreign(name, deviation=Deviation((1.2,) * 40, friction=2.0, command_delay=2e-3)).hold()
    rig.supervisor.hand_guide(True)
    push = np.zeros(6)
    push[:3] = 6.0 if name == "four_joint_arm" else 30.0
    for _ in range(3):
        rig.run(0.3, wrenches={end_links(rig.robot)[-1]: push})
        rig.run(0.3)
        push[:3] = -push[:3]
    assert Mode.STOPPING not in rig.modes, rig.supervisor.cause
    rig.ends(Mode.FLOATING, 4.0)


def a_lowered_velocity_limit_slows_the_arm(name: str) -> None:
    rig = foreign(name).hold().off()
    limit = 0.4 * np.abs(rig.speeds[-1]).max() * np.ones(rig.robot.n)
    rig.supervisor.adopt(replace(rig.settings, limits=replace(rig.settings.limits, velocity=limit)))
    rig.run(0.5)
    first = len(rig.speeds)
    rig.reach(Mode.HOLDING, most=3.0)
    assert (np.abs(np.array(rig.speeds[first:])) < 1.3 * limit).all()
    rig.arrives()
    rig.ends()


def efforts_that_do_not_fit_refuse_motions(name: str) -> None:
    rig = foreign(name, startup_check__duration=0.3)
    rig.run(1.0, corrupt=lambda state: state | {"reported": -state["reported"]})
    with pytest.raises(ControlError, match="no motion is allowed"):
        rig.supervisor.ready()
    rig.ends()


def a_contact_ends_the_motion(name: str) -> None:
    near = Deviation(tuple(np.random.default_rng(3).uniform(0.95, 1.05, 40)))  # what contact.model_error allows
    rig = foreign(name, deviation=near, contact__reaction="stop").hold()
    contact = replace(rig.settings.contact, threshold=0.03 * rig.robot.effort_limit)  # efforts act late
    rig.supervisor.adopt(replace(rig.settings, contact=contact))
    rig.off()
    push = {end_links(rig.robot)[-1]: np.array([0.0, 0.0, -20.0 if name == "four_joint_arm" else -60.0, 0, 0, 0])}
    for _ in range(20):
        rig.run(0.005, wrenches=push)
        if rig.mode is Mode.HOLDING:
            break
    assert rig.supervisor.contact.count == 1, rig.supervisor.cause
    assert rig.endings[-1][1].startswith("contact at joint")
    rig.run(0.3)
    assert rig.mode is Mode.HOLDING
    rig.check()


def an_exception_stops_the_arm(name: str) -> None:
    rig = foreign(name).hold().off()
    rig.supervisor.fail(rig.now, "ZeroDivisionError")
    rig.until(Mode.FAULT, seconds=sum(STOP.values()) + LATE)
    rig.run(0.3)
    assert not rig.check()[-1].any()
    assert rig.mode is Mode.FAULT


Case = Callable[[str], None]
#: What shows each row: a function of the arm, or faults of the campaign where processes are needed.
ROWS: dict[str, Case | tuple[str, ...]] = {
    # guarantees of efforts
    "is finite": shown.efforts_are_finite_and_within_limit_and_rate,
    "is within its limit": shown.efforts_are_finite_and_within_limit_and_rate,
    "changes at a limited rate": shown.efforts_are_finite_and_within_limit_and_rate,
    "starts from the arm's present effort": shown.the_first_effort_is_the_reported_one,
    "ends at zero": shown.every_stop_ends_at_zero_in_time,
    "does not depend on refused input": shown.refused_input_changes_no_effort,
    # guarantees of stops
    "ends": shown.every_stop_ends_at_zero_in_time,
    "is faster after a second signal": shown.a_second_signal_is_faster,
    "is final": shown.a_requested_stop_is_final,
    "releases the arm without joint states": shown.without_states_an_arm_is_released,
    # reactions
    "one joint state is broken": shown.broken_states_are_refused_alone,
    "none is usable for 10 ms and three usual periods": shown.a_gap_is_bridged_along_the_reference,
    "none is usable for `state_timeout`": shown.lost_states_are_a_stop,
    "usable ones return during that stop": shown.states_that_return_hold_the_arm,
    "they return with a position that no motion can have reached": shown.states_that_return_elsewhere_are_refused,
    "they are late by more than `state_lateness` (default `state_timeout`)": shown.late_states_are_refused,
    "a joint's velocity contradicts its positions (sign, unit, zero)": shown.contradicting_velocities_are_estimated,
    "a joint's reading freezes in motion, see [Frozen readings](#frozen-readings)":
        shown.a_frozen_reading_stops_the_arm,
    "stamps run faster than real time, by more than 5 %": shown.fast_stamps_are_refused,
    "the clock of the joint states is set back, or ahead by 30 ms or more": shown.a_clock_that_is_set_holds_the_arm,
    "clock and positions of the joint states jump together, as by `~/reset` of the simulator":
        shown.a_reset_holds_the_arm_at_its_new_position,
    "a motion leaves its path tolerance": a_left_path_ends_the_motion,
    "a held arm is further than `limits.<joint>.holding_error` from its reference (drives off, a strong push)":
        a_pushed_reference_follows_the_arm,
    "the drives report that they are inactive (`drives.topic`)": drives_that_return_hold_the_arm,
    "no usable base motion for `base_motion.timeout`": an_unknown_base_motion_releases_the_arm,
    "the delay measured twice after a start is longer than the gains tolerate":
        a_delay_beyond_the_gains_refuses_motions,
    "a joint's error swings and does not decay": oscillations_lower_the_feedback,
    "a joint is faster than 1.5 times its velocity limit": a_reversed_motor_stops_the_arm,
    "the same in hand guiding": a_pushed_arm_is_guided_on,
    "a velocity limit is lowered below the speed of the arm": a_lowered_velocity_limit_slows_the_arm,
    "reported efforts do not fit the model, or an unknown payload": efforts_that_do_not_fit_refuse_motions,
    "a contact is felt, and `contact.reaction` is not `none`": a_contact_ends_the_motion,
    "an unexpected exception": an_exception_stops_the_arm,
    "the node is stopped: service, lifecycle, SIGINT, SIGTERM":
        ("stop-in-motion", "deactivated-in-motion", "sigint-while-held", "sigterm-in-motion"),
    "the node's own process is killed": ("node-killed-in-motion",),
    # clocks
    "states in a row": shown.a_clock_that_is_set_back_is_believed_after_five_states,
    "their stamps": shown.stamps_that_do_not_follow_each_other_are_refused,
    "their positions": shown.a_reset_holds_the_arm_at_its_new_position,
    "back, or ahead by 30 ms or more": shown.a_clock_that_is_set_holds_the_arm,
    "back, by less than the time of the states in a row": shown.a_small_step_back_interrupts_nothing,
    "ahead by less than 30 ms (100 ms in the first 0.1 s of a stream)": shown.a_small_step_ahead_interrupts_nothing,
    "ahead by more than 5 % of real time, bit by bit": shown.fast_stamps_are_refused,
    "slewed, up to 0.1 % (NTP: 0.05 %)": shown.a_slewed_clock_has_no_effect,
    "slewed further back": shown.a_clock_slewed_further_back_is_a_delay,
    # runaway
    "0 to 10 ms": ("motor-reversed", "motors-swapped"),
    "at 10 ms, then every 20 ms": ("motor-reversed", "motors-swapped"),
    "after 20 ms at zero, and as much longer as the delay of the loop": ("hand-pushes-hard", "motor-reversed"),
    "otherwise": ("overspeed", "hand-pushes-hard"),
}
CASES = tuple(dict.fromkeys(case for case in ROWS.values() if callable(case)))
#: Tables of figures, which `docs/safety.md` says how to measure, by their first column.
FIGURES = ("arm", "deviation", "what", "see also", "fault", "search")


def rows(page: str) -> list[str]:
    """First cells of the rows of all tables but those of figures, in order."""
    found, table = [], ""
    for line in page.splitlines():
        if not line.startswith("|"):
            table = ""
            continue
        first = re.split(r"(?<!\\)\|", line)[1].strip()
        if not table:
            table = first
        elif not set(first) <= set("-:") and table not in FIGURES:
            found.append(first)
    return found


def test_every_row_of_the_page_is_shown(root):
    found = rows((root / "docs" / "safety.md").read_text(encoding="utf-8"))
    assert sorted(found) == sorted(ROWS), set(found) ^ set(ROWS)
    faults = pytest.importorskip("faults.campaign", reason="ROS 2 is not installed").FAULTS
    named = {name for case in ROWS.values() if isinstance(case, tuple) for name in case}
    assert named <= {fault.name for fault in faults}


@pytest.mark.parametrize(("case", "name"), [
    pytest.param(case, name, id=f"{case.__name__}-{name}", marks=[] if k % len(NAMES) == i else [pytest.mark.soak])
    for k, case in enumerate(CASES) for i, name in enumerate(NAMES)
])
def test_row(case, name):
    case(name)
