"""Limits that change while the arm moves: it is slowed to them first, and no accepted change throws or faults it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.compliant import text_of
from support.foreign_episodes import Line
from support.foreign_plant import Deviation
from support.moving_bases import Swell
from support.pushes import ON_SHIP, PANTOGRAPH, held, node_settings
from support.supervised import Rig

import rne_dynamics as rne
from rne_dynamics.c_export.export import end_links
from rne_dynamics.control.guards.base_filter import BaseSensor
from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.control.supervision.states import Mode

#: What limits are lowered to, of the speed of a motion, and the largest speed then, in these limits.
LOWERED, SLOWED = 0.4, 1.2
#: Time of a motion, s.
DURATION = 0.6
ROBOTS = ("four_joint_arm", ON_SHIP, PANTOGRAPH)


def rig_of(name: str) -> Rig:
    """A held arm: on MuJoCo with 10 % more mass and efforts that are 3 ms late, or the model itself."""
    robot = rne.load_model(PANTOGRAPH) if name == PANTOGRAPH else rne.load_urdf(text_of(name.partition(" ")[0]))
    lower, upper = np.maximum(robot.lower, -2.5), np.minimum(robot.upper, 2.5)
    start = 0.5 * (lower + upper) + 0.1 * (upper - lower) * (-1.0) ** np.arange(robot.n)  # bent, away from the stops
    if name == ON_SHIP:
        rig = Rig(robot, start, replace(node_settings(robot), base=BaseSensor()), period=2e-3, base=Swell())
    else:
        late = Deviation((1.1,) * 40, command_delay=1.5e-3)
        rig = held(name, start, Line(2e-3, 1.5e-3), late, np.random.default_rng(0))
    rig.run(0.3)
    assert rig.mode is Mode.HOLDING
    return rig


def move(rig: Rig, delay: float = 0.0) -> tuple[np.ndarray, float]:
    """Send the arm off; the goal, and how long it takes."""
    robot, now = rig.robot, rig.supervisor.queue.reference.q
    goal = now - 0.4 * (-1.0) ** np.arange(robot.n)
    rig.move(goal, DURATION, delay, Tolerances(robot.joint_names, goal=0.05, goal_time=0.5))
    return goal, DURATION


def lowered(rig: Rig) -> np.ndarray:
    """Lower every velocity limit to `LOWERED` of the largest speed of the motion; the new limits."""
    limit = np.full(rig.robot.n, LOWERED * 1.875 * 0.4 / DURATION)
    rig.supervisor.adopt(replace(rig.settings, limits=replace(rig.settings.limits, velocity=limit)))
    return limit


def to_the_end(rig: Rig, most: float) -> float:
    """Let the motion end; how long that took, s."""
    began = rig.now
    while not rig.endings and rig.now - began < most:
        rig.run(0.1)
    return rig.now - began


def fastest(rig: Rig, limit: np.ndarray, seconds: float) -> float:
    """Largest speed of a joint in its limit over the last `seconds`."""
    return float((np.abs(np.array(rig.speeds[-round(seconds / rig.period):])) / limit).max())


@pytest.mark.parametrize("name", ROBOTS[1:])
def test_a_motion_is_slowed_along_its_path_and_reaches_its_goal(name):
    rig = rig_of(name)
    goal, duration = move(rig)
    rig.run(0.4 * duration)
    limit = lowered(rig)
    rig.run(0.5)
    assert fastest(rig, limit, to_the_end(rig, 1.5 * duration / LOWERED)) < SLOWED
    assert Mode.STOPPING not in rig.modes, rig.supervisor.cause
    assert [ending for ending, _ in rig.endings] == [Ending.SUCCEEDED], rig.endings
    assert np.abs(goal - rig.simulator.state.q).max() < 0.05
    rig.check()


@pytest.mark.parametrize("name", [ROBOTS[0], pytest.param(PANTOGRAPH, marks=pytest.mark.slow)])
def test_a_deferred_motion_keeps_the_limits_of_its_begin(name):
    rig = rig_of(name)
    _, duration = move(rig, delay=0.5)
    rig.run(0.1)
    limit = lowered(rig)
    rig.run(0.4)
    assert fastest(rig, limit, to_the_end(rig, 0.1 + 1.3 * duration / LOWERED)) < SLOWED
    assert [ending for ending, _ in rig.endings] == [Ending.SUCCEEDED], rig.endings
    assert Mode.STOPPING not in rig.modes


def test_limits_that_rise_again_let_the_motion_go_on_as_fast_as_before():
    rig = rig_of(ON_SHIP)
    _, duration = move(rig)
    rig.run(0.3 * duration)
    lowered(rig)
    rig.run(0.3)
    rig.supervisor.adopt(rig.settings)
    to_the_end(rig, 0.6 + duration)
    assert [ending for ending, _ in rig.endings] == [Ending.SUCCEEDED], rig.endings
    assert Mode.STOPPING not in rig.modes


@pytest.mark.parametrize(("name", "then"), [
    *zip(ROBOTS, ["stop", "cancel", "speed"], strict=True), (ROBOTS[0], "takeover"),
    pytest.param(PANTOGRAPH, "stop", marks=pytest.mark.slow),
])  # fmt: skip
def test_whatever_comes_after_the_change_is_no_fault(name, then):
    rig = rig_of(name)
    _, duration = move(rig)
    rig.run(0.4 * duration)
    limit = lowered(rig)
    rig.run(0.02)
    if then == "stop":
        rig.supervisor.stop(rig.now, "test")
    elif then == "cancel":
        rig.supervisor.cancel("test")
    elif then == "speed":
        rig.supervisor.scale_speed(0.5)
    else:
        rig.move(rig.supervisor.queue.reference.q + 0.02, 4.0)
    rig.run(0.35 if then == "stop" else 1.0)  # before it is released, and sinks
    assert "moves at" not in rig.supervisor.cause
    assert Mode.FAULT not in rig.modes
    assert then == "stop" or fastest(rig, limit, 0.2) < SLOWED
    rig.check()


@pytest.mark.parametrize("name", [ROBOTS[0], pytest.param(ON_SHIP, marks=pytest.mark.slow), PANTOGRAPH])
def test_a_guided_arm_is_slowed_too(name):
    rig = rig_of(name)
    rig.supervisor.hand_guide(True)
    limit = rig.settings.limits.velocity
    hand = {end_links(rig.robot.open_tree)[-1]: np.array([4.0, -6.0, 3.0, 0.0, 0.0, 0.0])}
    for _ in range(20):
        rig.run(0.02, wrenches=hand)
        if (np.abs(rig.speeds[-1]) > 0.5 * limit).any():
            break
    lowered(rig)
    rig.run(0.3, wrenches=hand)
    rig.run(0.5)
    assert rig.mode is Mode.FLOATING, rig.supervisor.cause
    assert Mode.STOPPING not in rig.modes


def test_a_margin_that_is_raised_brakes_what_would_enter_it():
    rig = rig_of("panda")
    goal, duration = move(rig)
    rig.run(0.4 * duration)
    lower, upper = rig.robot.lower, rig.robot.upper
    place = rig.supervisor.queue.reference.q
    margin = np.zeros(rig.robot.n)
    margin[1] = min(place[1] - lower[1], upper[1] - place[1]) + 0.1  # joint 2 is inside of it now
    outward = goal[1] > place[1] if upper[1] - place[1] < place[1] - lower[1] else goal[1] < place[1]
    rig.supervisor.adopt(replace(rig.settings, limits=replace(rig.settings.limits, margin=margin)))
    rig.run(2.0)
    assert rig.mode is Mode.HOLDING, rig.supervisor.cause
    assert Mode.STOPPING not in rig.modes
    assert rig.endings[0][0] is (Ending.STOPPED if outward else Ending.SUCCEEDED)
