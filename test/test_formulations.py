"""Every formulation against every other: a robot of each kind; by hand all shipped ones and ten trees of the wheel."""

from __future__ import annotations

import pytest
from support.robots import CASES, robot
from support.trees import TREES

from rne_dynamics.description.share import shipped_robots
from rne_dynamics.verification.agreement import TOLERANCE, TOLERANCE_LINEAR, compare, engines_of
from rne_dynamics.verification.engines import QUANTITIES

#: Largest difference relative to the terms, in the first states.
ROUND_OFF = 1e-13
WHEEL_TREES = (
    "baxter.urdf", "talos_full_v2.urdf", "tiago_dual.urdf", "icub_reduced.urdf", "solo12.urdf",
    "hyq_no_sensors.urdf", "bolt.urdf", "laikago.urdf", "simple_humanoid.urdf", "hextilt_flying_arm_5.urdf",
)  # fmt: skip
#: Robot, base, and states: bare, and as many with external loads and (where the base is fixed) a moving base.
STATES = [(*case, 5) for case in (*CASES, *((name, "built") for name in TREES))]
MANY = [
    *((name, "fixed", 100) for name in (*shipped_robots(), *WHEEL_TREES)),
    *((name, "floating", 100) for name in WHEEL_TREES), *((name, "built", 100) for name in TREES),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "base", "states"), [*STATES, *(pytest.param(*case, marks=pytest.mark.soak) for case in MANY)]
)
def test_every_pair_agrees(name: str, base: str, states: int) -> None:
    model = TREES[name]() if base == "built" else robot(name, base)
    report = compare(model, states)
    assert report.remarks == ()
    assert {d.quantity for d in report.disagreements} == set(QUANTITIES)
    engines = {engine.name for engine in engines_of(model)}
    assert {x for d in report.disagreements for x in (d.first, d.second)} == engines
    for d in report.disagreements:
        tolerance = TOLERANCE_LINEAR if {d.first, d.second} <= {"newton_euler", "nasser"} else TOLERANCE
        assert d.relative <= (ROUND_OFF if states < 100 else tolerance), d
        # relative to the largest acceleration itself. iCub's eyes have so little inertia that in a few states the
        # terms of an acceleration are 1e10 times its size, and round-off alone separates any two solvers by more
        assert d.plain <= tolerance or "icub" in name, d
