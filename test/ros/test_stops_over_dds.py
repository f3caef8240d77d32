"""Fifty random stops of real controllers over DDS, in lock-step: each ends within its configured times and 0.2 s."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2's client library is not installed: pip install '.[ros]'")

from faults import campaign
from faults.arm import COMPUTED_TORQUE, GRAVITY_COMPENSATION, STOP, STOP_SLACK
from faults.drive_faults import felt_inertia
from faults.driver import RATE
from faults.falsify import silence
from faults.fault import Faults
from faults.rig import Rig
from faults.robots import ROBOTS
from lifecycle_msgs.msg import Transition

from rne_dynamics.model.tree import Payload

ROUNDS = 50
#: Natural frequency of an end stop that yields, 1/s.
YIELDING = 60.0


def situation(seed: int):
    """Posture, load and disturbance of the arm, and then a stop."""

    def inject(rig: Rig) -> None:
        rng = np.random.default_rng(seed)
        lower, upper = np.maximum(rig.robot.lower, -2.8), np.minimum(rig.robot.upper, 2.8)
        home = lower + (upper - lower) * rng.uniform(0.15, 0.85, rig.robot.n)
        if rng.random() < 0.4:  # in a wall, or at an end stop that yields
            j, side = rng.integers(rig.robot.n), rng.random() < 0.5
            home[j] = (lower[j] if side else upper[j]) + (1.0 if side else -1.0) * rng.uniform(1e-4, rig.arm.margin)
        stiffness = YIELDING**2 * felt_inertia(rig.robot, home) if rng.random() < 0.3 else None
        rig.driver.restart(plant(rig, rng), home=home, stop_stiffness=stiffness)
        rig.activate()
        rig.run(rng.uniform(0.0, 0.3))
        pushed = rng.uniform(-0.5, 0.5, 6) * rig.arm.push if rng.random() < 0.4 else np.zeros(6)
        pushed[3:] *= 0.1
        rig.driver.wrenches = {rig.arm.tool: pushed} if pushed.any() else {}
        if rig.module == COMPUTED_TORQUE and rng.random() < 0.5:
            inside = np.clip(home + 0.3 * np.array(rig.arm.far), lower + 2 * rig.arm.margin, upper - 2 * rig.arm.margin)
            rig.send(rig.trajectory(to=inside, seconds=1.5))
            rig.run(rng.uniform(0.0, 1.0))
        if rng.random() < 0.3:
            rig.driver.falsify = silence
            rig.run(rng.uniform(0.0, 0.12))  # before or after it is noticed
        rig.mark()
        began = rig.driver.time
        if rig.controller.state not in ("fault", "released"):
            rig.trigger("stop")
        allowed = sum(STOP.values()) + STOP_SLACK + 1.0 / RATE
        rig.until(lambda: rig.controller.state in ("fault", "released"), "the end of the stop", allowed)
        rig.check(rig.driver.time - began <= allowed, f"the stop took {rig.driver.time - began:.3f} s")
        rig.silent()
        rig.transition(Transition.TRANSITION_DEACTIVATE)

    return inject


def plant(rig: Rig, rng: np.random.Generator):
    """The arm, with an unknown load in some rounds."""
    if rng.random() < 0.6:
        return None
    mass = rng.uniform(0.1, 1.0) * rig.arm.payload
    return rig.robot.with_payload(Payload(rig.arm.tool, mass))


@pytest.mark.soak
def test_fifty_random_stops_end_in_time():
    stops = Faults("stop")
    for seed in range(ROUNDS):
        stops.add(
            f"stop-{seed}", "a random situation", "it ends", situation(seed), before="inactive",
            arms=(ROBOTS[seed % len(ROBOTS)],), nodes=((COMPUTED_TORQUE, GRAVITY_COMPENSATION)[seed // 4 % 2],),
        )
    results = campaign.run(tuple(stops), lambda result: None)
    failures = {result.fault.name: result.failure for result in results if not result.passed}
    assert not failures, failures
    assert len(results) == ROUNDS
