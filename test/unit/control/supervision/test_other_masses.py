"""Arms of other masses while their feedback grows: a light wrist, a mechanism, and an arm on a moving base."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np
import pytest
from support.compliant import text_of
from support.foreign_episodes import TICK, ForeignRig, Line, controller_values
from support.foreign_plant import Deviation, ForeignArm
from support.moving_bases import Swell
from support.pushes import FOREIGN, ON_SHIP, PANTOGRAPH, node_settings
from support.supervised import settings, table

import rne_dynamics as rne
from rne_dynamics.closed_chain.assembly import assembled
from rne_dynamics.control.guards.base_filter import BaseSensor
from rne_dynamics.control.motion.acceptance import CurrentMotion, Rules, accept_table
from rne_dynamics.control.motion.effort_demand import EffortDemand
from rne_dynamics.control.motion.limited_path import leading_path
from rne_dynamics.control.motion.limits import MotionLimits, Tolerances
from rne_dynamics.control.supervision.states import DRIVING
from rne_dynamics.dispatch import mechanism_of
from rne_dynamics.errors import TrajectoryError
from rne_dynamics.model.layout import MASS, ROTOR
from rne_dynamics.ros.parameters.tracking import motion_limits, tracking_settings
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.simulator import Simulator


class LateSimulator(Simulator):
    """Efforts act after `delay`, s."""

    delay = 0.0

    def command(self, effort):
        if not hasattr(self, "under_way"):
            self.under_way = deque()
        self.under_way.append((self.state.t + self.delay, effort.copy()))

    def advance(self, *arguments, **named):
        while getattr(self, "under_way", None) and self.under_way[0][0] <= self.state.t + 1e-9:
            super().command(self.under_way.popleft()[1])
        return super().advance(*arguments, **named)


def heavier(robot, rng):
    """The robot with other masses, 50 to 150 % of each body's."""
    mechanism = mechanism_of(robot)
    arm = robot.open_tree if mechanism is None else mechanism.robot
    parameters = arm.parameters.copy()
    parameters[:, MASS:ROTOR] *= rng.uniform(0.5, 1.5, (len(parameters), 1))
    arm = replace(arm, parameters=parameters)
    return arm if mechanism is None else replace(mechanism, robot=arm)


def random_points(robot, rng, now, limits):
    """Points near the velocity limits, reversals among them."""
    gaps, speed, q = rng.uniform(0.1, 0.5, int(rng.integers(2, 5))), np.zeros(robot.n), [now]
    for gap in gaps:
        fraction = rng.choice([0.1, 0.3, 0.6, 0.95])
        speed = -speed if rng.random() < 0.4 else fraction * limits.velocity * rng.uniform(-1.0, 1.0, robot.n)
        q.append(np.clip(q[-1] + gap * speed, np.maximum(limits.lower, -2.5), np.minimum(limits.upper, 2.5)))
    rows = np.array(q)
    still = np.zeros_like(rows) if rng.random() < 0.5 else None
    return table(np.append(0.0, np.cumsum(gaps)), rows, still, still)


def peak(robot, given, limits, start, delay, rng, base=None):
    """The fastest of an accepted random trajectory, in velocity limits; NaN where it was refused."""
    arm = LateSimulator(
        ArmPlant(heavier(robot, rng), base_motion=base), start, dt=TICK, command_timeout=0.2, hold_until_command=True
    )
    arm.delay = delay
    rig = ForeignRig(robot, start, given, period=TICK, line=Line(0.001), arm=arm, base=base)
    rig.run(0.4)
    supervisor = rig.supervisor
    posture = supervisor.machine.torques.posture
    demand = EffortDemand(given.tracking, given.limits, frozenset(), supervisor.loop.delay, posture)
    leading = None if posture is None else leading_path(mechanism_of(robot), posture)
    now = supervisor.queue.reference
    moving = CurrentMotion(supervisor.stamp, lambda stamp: now)
    try:
        accepted = accept_table(
            random_points(robot, rng, now.q, limits), supervisor.stamp, moving, Rules(limits, 0.3, demand, leading)
        )
    except TrajectoryError:
        return np.nan
    supervisor.follow(accepted.motion(Tolerances(robot.joint_names)), lambda ending, text: None)
    rig.speeds.clear()
    fastest = 0.0
    for _ in range(round((accepted.trajectory.duration + 0.3) / 0.01)):
        rig.run(0.01)
        fastest = max(fastest, float((np.abs(rig.speeds[-1]) / given.limits.velocity).max()))
        assert rig.mode in DRIVING, supervisor.cause
    return fastest


def start_of(name, seed):
    """The fastest of an arm whose masses are 50 % off while its feedback grows over 0.5 s, in velocity limits."""
    rng = np.random.default_rng(seed)
    robot = assembled(rne.load_model(name)) if name == PANTOGRAPH else rne.load_urdf(text_of(name.partition(" ")[0]))
    base = Swell() if name == ON_SHIP else None
    given = node_settings(robot, start__ramp_time=0.5, base_motion__topic="imu" if base else "")
    lower, upper = np.maximum(robot.lower, -2.8), np.minimum(robot.upper, 2.8)
    start = rng.uniform(0.8 * lower + 0.2 * upper, 0.2 * lower + 0.8 * upper)
    if name == PANTOGRAPH:
        start = np.array(robot.posture[robot.actuated])
    if name in FOREIGN:
        masses = tuple(rng.choice([0.5, 1.5], 40))
        arm = ForeignArm(text_of(name), start, TICK, Deviation(mass=masses, friction=0.0, command_delay=0.002))
    else:
        plant = ArmPlant(heavier(robot, rng), base_motion=base)
        arm = Simulator(plant, start, dt=TICK, command_timeout=0.2, hold_until_command=True)
    rig = ForeignRig(robot, start, given, period=TICK, line=Line(0.004), arm=arm, base=base)
    rig.run(0.7)
    assert rig.mode in DRIVING, rig.supervisor.cause
    return float((np.abs(np.array(rig.speeds)) / given.limits.velocity).max())


@pytest.mark.parametrize(("name", "arms"), [
    ("four_joint_arm", 2), (PANTOGRAPH, 1),
    *(pytest.param(name, 2, marks=pytest.mark.slow) for name in (ON_SHIP, PANTOGRAPH)),
])  # fmt: skip
def test_an_arm_does_not_fall_while_its_feedback_grows(name, arms):
    """Before: `four_joint_arm`, whose wrist weighs little, was stopped for overspeed and fell."""
    assert max(start_of(name, seed) for seed in range(arms)) < (1.2 if name == "four_joint_arm" else 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_the_pantograph_is_not_thrown_with_a_delay_of_3_to_6_ms(seed):
    """Before: mechanisms were not checked, and what is refused now reached 1.3 to 1.4 velocity limits here."""
    robot, rng = assembled(rne.load_model("pantograph")), np.random.default_rng(seed)
    values = controller_values(robot, {"startup_check.duration": 0.0, "min_rate": 800.0})
    given = tracking_settings(robot, values)
    start = np.array(robot.posture[robot.actuated])
    assert not peak(robot, given, motion_limits(robot, values), start, rng.uniform(0.003, 0.006), rng) > 1.5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_puma_on_a_moving_base_is_not_thrown(seed):
    robot, rng = rne.load_urdf("puma560"), np.random.default_rng(seed)
    given = settings(robot, base=BaseSensor(filter=20.0))
    limits = MotionLimits(robot.joint_names, robot.lower, robot.upper, robot.velocity_limit, 0.05)
    start = rng.uniform(np.maximum(robot.lower, -1.5), np.minimum(robot.upper, 1.5))
    assert not peak(robot, given, limits, start, 0.004, rng, Swell()) > 1.5
