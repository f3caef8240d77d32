"""The effort gate recovers and ends; random misbehaviour of everything around it breaks none of its promises."""

from __future__ import annotations

import numpy as np
import pytest
from support.gated import (
    FAULT,
    HOLD,
    INACTIVE,
    PASSING,
    RAMP,
    RATE,
    RELEASED,
    SLACK,
    STOPPING,
    WAITING,
    GateRig,
    Q,
    arm,
    gate_settings,
    holding,
    middle,
    passing,
)  # fmt: skip

from rne_dynamics.control.supervision.states import StopPlan
from rne_dynamics.errors import ControlError

# -- recovery ---------------------------------------------------------------------------------------------------------


def test_the_held_arm_is_handed_back_on_request_without_a_step():
    rig, controller = passing(stop=StopPlan(policy="hold"))
    rig.run(0.5)
    with pytest.raises(ControlError, match="controller"):
        rig.gate.recover(rig.now)
    # the controller comes back and wants something else: 40 N m more on joint 2
    wanted = np.array([0, 40.0, 0, 0, 0, 0])
    rig.run(0.3, lambda q, qd: controller(q, qd) + wanted)
    assert rig.mode is STOPPING, "not unasked"
    before, first = rig.sent[-1].command, len(rig.sent)
    rig.gate.recover(rig.now)
    rig.run(0.02, lambda q, qd: controller(q, qd) + wanted)
    assert rig.mode is PASSING
    steps = np.abs(np.diff([before, *(e.command for e in rig.sent[first:])], axis=0))
    assert steps.max() < 1.0, "the gate's effort fades into the controller's"
    rig.run(0.4, controller)
    np.testing.assert_allclose(rig.simulator.state.q, Q, atol=0.05)
    rig.check()


def test_after_a_fault_recovery_waits_for_efforts_again():
    rig, controller = passing()
    rig.run(1.0)
    assert rig.mode is FAULT
    first = len(rig.sent)
    rig.run(0.1, controller)
    assert len(rig.sent) == first, "silent until it is asked"
    rig.gate.recover(rig.now)
    rig.run(0.05)
    assert len(rig.sent) == first
    assert rig.mode is WAITING
    rig.run(0.05, controller)
    assert rig.mode is PASSING
    with pytest.raises(ControlError, match="nothing to recover from"):
        rig.gate.recover(rig.now)


# -- ends -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["ramp", "hold", "release"])
def test_the_end_of_the_gate_is_a_stop_that_ends(policy):
    rig, controller = passing(stop=StopPlan(policy=policy, hold_time=HOLD, ramp_time=RAMP))
    rig.gate.stop(rig.now, "deactivated", ending=True)
    rig.run(HOLD + RAMP + SLACK, controller)
    assert rig.mode is INACTIVE
    assert not rig.sent[-1].command.any()
    rig.check()


# -- ends -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("silent", [0.0, 0.2], ids=["passing", "taken over"])
def test_letting_go_takes_no_longer_than_the_rate_allows(silent):
    rig, controller = passing(stop=StopPlan(policy="hold"))
    rig.run(silent)
    began = rig.now
    rig.gate.let_go(rig.now, "a second signal")
    rig.run(0.1, controller)
    assert rig.mode is FAULT
    assert rig.times[-1] - began <= 1.0 / RATE + 0.01
    rig.check()


def episode(seed: int) -> None:
    """A random arm at a random rate, with efforts, joint states, motors and requests that misbehave by turns."""
    rng = np.random.default_rng(seed)
    robot = arm(rng.choice(["puma560", "panda", "ur10", "homemade"]))
    n, start = robot.n, middle(robot)
    policy = rng.choice(["ramp", "hold", "release"])
    settings = gate_settings(
        robot,
        stop=StopPlan(policy=policy, hold_time=0.05, ramp_time=0.1, damping=rng.choice([0.0, 10.0, 200.0])),
        compensated=frozenset({"gravity"} if rng.integers(4) == 0 else ()),
    )  # fmt: skip
    rig = GateRig(robot, start, settings, period=rng.choice([0.001, 0.002, 0.004]), friction=bool(rng.integers(2)))
    controller = holding(robot, start)
    limit = robot.effort_limit
    efforts = [
        controller, controller, None, lambda q, qd: rng.choice([np.nan, 1e300, -np.inf, 50.0], n),
        lambda q, qd: rng.normal(0.0, 1.5, n) * limit, lambda q, qd: np.zeros(rng.integers(9)),
        lambda q, qd: controller(q, qd) + 0.7 * limit,
    ]  # fmt: skip
    states = [
        lambda s: s, lambda s: s, lambda s: None, lambda s: {**s, "q": s["q"] + 0.7},
        lambda s: {**s, "stamp": s["stamp"] - 10**10}, lambda s: {**s, "qd": np.full(n, np.nan)},
        lambda s: {**s, "qd": s["qd"], "stamp": 0}, lambda s: {**s, "velocity_missing": True},
    ]  # fmt: skip
    reversed_one = np.where(np.arange(n) == rng.integers(n), -1.0, 1.0)
    drives = [lambda e: e, lambda e: e, lambda e: 0.0 * e, lambda e: reversed_one * e, lambda e: 2.0 * e, np.flip]
    for _ in range(12):
        rig.run(
            rng.uniform(0.0, 0.2), efforts[rng.integers(len(efforts))], states=states[rng.integers(len(states))],
            drive=drives[rng.integers(len(drives))],
        )  # fmt: skip
        request = rng.integers(8)
        if request == 0:
            rig.gate.stop(rig.now, "asked")
        elif request <= 3 and rig.mode in (FAULT, RELEASED):
            rig.gate.recover(rig.now)
    rig.gate.stop(rig.now, "deactivated", ending=True)
    rig.run(0.15 + SLACK + 0.05, controller, drive=drives[rng.integers(len(drives))])
    rig.check()
    assert rig.mode is INACTIVE
    assert not rig.sent or not rig.sent[-1].command.any()


@pytest.mark.parametrize("seeds", [
    range(3), pytest.param(range(3, 8), marks=pytest.mark.slow), pytest.param(range(8, 1500), marks=pytest.mark.soak),
])
def test_random_misbehaviour_breaks_no_promise(seeds):
    for seed in seeds:
        episode(seed)
