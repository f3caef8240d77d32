"""Joint states that come in bursts: none for up to 40 ms, then the late ones at once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from support.foreign_episodes import TICK, ForeignRig, Line
from support.supervised import settings

import rne_dynamics as rne
from rne_dynamics.control.laws import find_law
from rne_dynamics.control.supervision.states import HOLDING

PLANAR = rne.load_urdf("planar2").with_effort_limit(np.array([60.0, 25.0]))
START, GOAL, PERIOD, LONGEST = np.array([0.3, 0.8]), np.array([1.1, -0.2]), 0.004, 10


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
            self.waiting = int(self.rng.integers(LONGEST))
            self.under_way += [(self.now, state) for state in self.held_back]
            self.held_back = []


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
