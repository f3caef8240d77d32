"""Joints whose reading freezes in slow motion are found before they are thrown; joints that friction holds are not."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.compliant import text_of
from support.episode_arms import homemade_urdf
from support.foreign_episodes import TICK, ForeignRig, Line, arms, controller_values
from support.foreign_plant import Deviation, ForeignArm
from support.frozen_joints import STEPS, WAYS, SlowArm, frozen_reading, peak, slow_move
from support.supervised import Rig

import rne_dynamics as rne
from rne_dynamics.c_export.export import end_links
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.errors import StateProblem
from rne_dynamics.ros.parameters.tracking import tracking_settings
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.simulator import Simulator

ARMS = ("planar2", "puma560", "panda", "ur10", "four_joint_arm", "homemade", "pantograph")
#: An open arm, one whose wrist has little inertia, and a mechanism.
KINDS = ("panda", "four_joint_arm", "pantograph")
#: Speeds and rates at which a joint is found in time, with the default gains.
SPEEDS, RATES = (0.05, 0.1, 0.5), (100, 250, 500, 1000)
#: Largest speed of the true joint, in velocity limits, until the arm is released.
PEAK = 1.2


@cache
def model(name):
    if name == "pantograph":
        return rne.load_model(name)
    return rne.load_urdf(homemade_urdf() if name == "homemade" else text_of(name))


def slow_arm(name, rate):
    """An arm with the default settings of the node, held."""
    robot = model(name)
    lower, upper = np.maximum(robot.lower, -2.8), np.minimum(robot.upper, 2.8)
    start = np.array(robot.posture[robot.actuated]) if robot.loops else lower + 0.6 * (upper - lower)
    values = {"startup_check.duration": 0.0, "start.ramp_time": 0.1, "min_rate": 0.8 * rate}
    if rate < 160:  # the default gains need faster states
        values |= {"gains.{joint}.p": 156.0, "gains.{joint}.d": 25.0}
    rig = Rig(robot, start, tracking_settings(robot, controller_values(robot, values)), period=1.0 / rate)
    rig.simulator = Simulator(
        ArmPlant(robot, friction=True), start, dt=rig.period, command_timeout=0.2, hold_until_command=True
    )
    rig.run(0.3)
    return rig


def freezes(name, j, speed, rate, how):
    """Largest speed after joint j has frozen in slow motion of this joint alone."""
    rig = slow_arm(name, rate)
    way = np.zeros(rig.robot.n)
    way[j] = speed
    rig.run(0.6 * slow_move(rig, way, 1.0))
    assert rig.mode is Mode.TRACKING
    fastest = peak(rig, frozen_reading(j, how), 3.0)
    found = rig.supervisor.counters.refused[StateProblem.FROZEN]
    return fastest, found


@pytest.mark.parametrize(("name", "how"), list(zip(KINDS, WAYS, strict=True)))
def test_a_slow_joint_whose_reading_freezes_is_not_thrown(name, how):
    j = model(name).n - 2 if name == "panda" else model(name).n - 1
    fastest, found = freezes(name, j, 0.1, 500, how)
    assert found == 1
    assert fastest < PEAK


def test_no_joint_is_thrown_where_all_readings_freeze():
    """Only the stamps go on: all joints are braked by dead reckoning."""
    rig, first = slow_arm("four_joint_arm", 500), {}
    rig.run(0.6 * slow_move(rig, np.full(rig.robot.n, 0.4), 1.0))
    def corrupt(state):
        first.setdefault("q", state["q"].copy())
        return state | {"q": first["q"].copy(), "qd": np.zeros(rig.robot.n)}

    assert peak(rig, corrupt, 3.0) < PEAK
    assert rig.supervisor.counters.refused[StateProblem.FROZEN] == 1


@pytest.mark.soak
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("name", ARMS)
def test_any_slow_joint_at_any_rate(name, rate):
    for j in range(model(name).n):
        for speed in SPEEDS:
            for how in WAYS:
                fastest, _ = freezes(name, j, speed, rate, how)
                assert fastest < PEAK, f"joint {j} at {speed} rad/s, velocity {how}"


@pytest.mark.slow
@pytest.mark.parametrize("which", [2, 5])
def test_coarse_encoders_and_three_times_the_friction_are_not_frozen(which):
    urdf, robot = arms()[which]
    start = 0.4 * np.maximum(robot.lower, -2.8) + 0.6 * np.minimum(robot.upper, 2.8)
    values = controller_values(robot, {"startup_check.duration": 0.0, "start.ramp_time": 0.1})
    deviation = Deviation(friction=3.0, dry=0.01, resolution=2 * np.pi / 2**12)
    rig = ForeignRig(
        robot, start, tracking_settings(robot, values), period=TICK, line=Line(2e-3),
        arm=ForeignArm(urdf, start, TICK, deviation),
    )
    rig.run(0.3)
    rig.run(slow_move(rig, np.full(robot.n, 0.02), 1.0, back=True) + 0.2)
    assert not rig.supervisor.counters.refused
    assert rig.mode in (Mode.TRACKING, Mode.HOLDING)


@pytest.mark.slow
def test_a_reading_that_goes_to_and_fro_between_two_steps_has_not_moved():
    """A planar arm that dry friction holds, later pushed by a hand: its joint has not moved with its reference."""
    case = SlowArm(337)
    assert case.moves_healthily(), case.rig.supervisor.cause


def test_a_hand_may_push_an_arm_that_friction_holds_after_a_slow_motion():
    """Friction holds the joint within a step of its encoder, while the feedback of others acts on it."""
    rng = np.random.default_rng(101)
    urdf, robot = arms()[rng.integers(6)]
    period = float(rng.choice([1, 2, 4])) * 1e-3
    deviation = Deviation(
        friction=float(rng.uniform(1, 3)), dry=float(rng.choice([0.01, 0.03])), resolution=float(rng.choice(STEPS[2:]))
    )
    lower, upper = np.maximum(robot.lower, -2.8), np.minimum(robot.upper, 2.8)
    start = lower + (upper - lower) * rng.uniform(0.25, 0.75, robot.n)
    values = {"startup_check.duration": 0.0, "start.ramp_time": 0.1, "min_rate": 0.8 / period}
    rig = ForeignRig(
        robot, start, tracking_settings(robot, controller_values(robot, values)), period=TICK, line=Line(period),
        rng=rng, arm=ForeignArm(urdf, start, TICK, deviation),
    )
    rig.run(0.3)
    way = rng.uniform(0.02, 0.1, robot.n) * rng.choice([-1, 1], robot.n)
    passed = slow_move(rig, way, 1.0, ramp=float(rng.choice([0.2, 0.5])), back=bool(rng.random() < 0.3))
    rig.run(passed + 0.2)
    for _ in range(2):
        force = rng.normal(size=3) * rng.choice([10, 25])
        rig.run(0.3, wrenches={end_links(robot)[-1]: np.append(force, np.zeros(3))})
        rig.run(0.1)
    assert not rig.supervisor.counters.refused, rig.supervisor.cause


def test_a_brake_that_closes_in_motion_is_a_gentle_stop():
    """It looks as a frozen reading does; what then brakes the joint by dead reckoning does no harm."""
    rig = slow_arm("puma560", 500)
    rig.run(0.6 * slow_move(rig, np.full(6, 0.1), 1.0))
    held = rig.simulator.state.q[2]

    def closed(state):
        q, qd = rig.simulator.state.q.copy(), rig.simulator.state.qd.copy()
        q[2], qd[2] = held, 0.0
        rig.simulator._state = replace(rig.simulator.state, q=q, qd=qd)
        return state | {"q": q.copy(), "qd": qd.copy()}

    rig.reach(Mode.FAULT, most=3.0, corrupt=closed)
    assert rig.mode is Mode.FAULT
    assert "the brake closed" in rig.supervisor.cause
    rig.check()


@pytest.mark.parametrize("numbers", [
    pytest.param((*range(4), 337), marks=pytest.mark.slow),
    pytest.param(range(4, 10), marks=pytest.mark.soak),
])  # fmt: skip
def test_no_healthy_arm_of_the_search_is_called_frozen(numbers):
    for number in numbers:  # in 337 a reading goes to and fro between two steps of its encoder
        case = SlowArm(number)
        assert case.moves_healthily(), case.text


@pytest.mark.parametrize(("first", "last"), [
    pytest.param(1000, 1006, marks=pytest.mark.slow), pytest.param(1000, 1012, marks=pytest.mark.soak),
])  # fmt: skip
def test_hardly_a_joint_of_the_search_that_freezes_is_thrown(first, last):
    """One of twenty may be: an arm without friction and with other masses falls before its efforts show anything."""
    thrown = []
    for number in range(first, last):
        case = SlowArm(number)
        fastest = case.peak_of_frozen()
        if fastest is not None and fastest > 1.5:
            thrown.append(case.text)
    assert len(thrown) <= (last - first) // 12, thrown
