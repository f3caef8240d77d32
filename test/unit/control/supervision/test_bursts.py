"""Joint states that come in bursts: none for up to 40 ms, then the late ones at once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from support.foreign_episodes import TICK, ForeignRig, Line, arms, controller_values
from support.foreign_plant import Deviation, ForeignArm
from support.supervised import settings

import rne_dynamics as rne
from rne_dynamics.control.laws import find_law
from rne_dynamics.control.supervision.states import HOLDING
from rne_dynamics.ros.parameters.tracking import tracking_settings

PLANAR = rne.load_urdf("planar2").with_effort_limit(np.array([60.0, 25.0]))
START, GOAL, PERIOD, LONGEST = np.array([0.3, 0.8]), np.array([1.1, -0.2]), 0.004, 0.04

LONGEST = 0.04


@dataclass
class BurstRig(ForeignRig):
    """A loop in which states wait for each other from `bursts` on."""

    bursts: bool = False
    held_back: list = field(default_factory=list)
    waiting: int = 0

    def _measure(self, corrupt):
        super()._measure(corrupt)
        if not self.bursts:
            return
        self.held_back.append(self.under_way.pop()[1])
        self.waiting -= 1
        if self.waiting < 0:
            self.waiting = int(self.rng.integers(round(LONGEST / self.line.period)))
            self.under_way += [(self.now, state) for state in self.held_back]
            self.held_back = []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), [("computed_torque", 1), ("disturbance_observer", 2)])
def test_a_motion_reaches_its_goal(name, seed):
    """Before: the support in gaps was the feedback to gaps before, and drove it beyond 1.5 velocity limits."""
    law = find_law(name).law(PLANAR, {} if name != "computed_torque" else {"p": 720.0, "d": 48.0})
    given = replace(settings(PLANAR), tracking=law, holding_error=np.full(2, 0.05))
    rig = BurstRig(PLANAR, START, given, period=TICK, line=Line(PERIOD), rng=np.random.default_rng(seed))
    rig.run(0.6)
    rig.bursts = True
    rig.move(GOAL, 0.8)
    moved = len(rig.speeds)
    rig.run(1.6)
    assert rig.mode is HOLDING
    assert (np.abs(rig.speeds[moved:]) < 0.5 * PLANAR.velocity_limit).all()
    np.testing.assert_allclose(rig.simulator.state.q, GOAL, atol=0.05)
    rig.check()


@pytest.mark.parametrize(("law", "seed"), [
    ("computed_torque", 2), pytest.param("pd_gravity", 8, marks=pytest.mark.slow),
])  # fmt: skip
def test_a_light_arm_with_other_masses_is_not_driven_off_in_the_gaps(law, seed):
    """Before: without feedback in a gap wrong masses drove it beyond 1.5 velocity limits; then its motors were cut."""
    rng = np.random.default_rng(seed)
    urdf, robot = arms()[5]
    period = float(rng.choice([1.0, 2.0, 4.0])) * 1e-3
    deviation = Deviation(
        mass=tuple(rng.uniform(0.5, 1.5, len(robot.link_names) + 20)), friction=float(rng.uniform(0.0, 3.0)),
        rotor=float(rng.uniform(0.3, 1.0)), dry=float(rng.choice([0.0, 0.0, 0.01, 0.03])),
    )
    place = np.clip(robot.neutral + rng.uniform(-0.3, 0.3, robot.n), robot.lower + 0.2, robot.upper - 0.2)
    values = controller_values(robot, {"law": law, "startup_check.duration": 0.2, "min_rate": 0.8 / period})
    arm = ForeignArm(urdf, place, TICK, deviation)
    rig = BurstRig(robot, place, tracking_settings(robot, values), period=TICK, line=Line(period), rng=rng, arm=arm)
    rig.run(1.0)
    rig.bursts, moved = True, len(rig.speeds)
    goal = np.clip(place + rng.uniform(-0.5, 0.5, robot.n), robot.lower + 0.1, robot.upper - 0.1)
    rig.move(goal, 1.5)
    rig.run(2.5)
    assert rig.mode is HOLDING, rig.supervisor.cause
    assert (np.abs(rig.speeds[moved:]) < 0.6 * robot.velocity_limit).all()
