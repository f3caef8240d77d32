"""The effort gate in one process with a simulated arm: what it passes, when it takes over, and how that ends."""

from __future__ import annotations

import numpy as np
import pytest
from support.gated import (
    FAULT,
    HOLD,
    INACTIVE,
    PASSING,
    RAMP,
    ROBOT,
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

import rne_dynamics as rne
from rne_dynamics.control.felt_inertia import of_mass_matrix, stable_damping
from rne_dynamics.control.gate_parts import CommandProblem
from rne_dynamics.control.guards.effort_limits import EffortLimits
from rne_dynamics.control.supervision.states import StopPlan
from rne_dynamics.control.thresholds import CALM
from rne_dynamics.errors import ControlError

# -- passing ----------------------------------------------------------------------------------------------------------


def test_nothing_is_sent_before_the_first_effort_of_a_controller_and_it_ends_at_once():
    rig = GateRig(ROBOT, Q, gate_settings(ROBOT))
    rig.run(0.5)
    assert rig.sent == []
    assert rig.mode is WAITING
    rig.gate.stop(rig.now, "deactivated", ending=True)
    assert rig.mode is INACTIVE
    rig.run(0.1, holding(ROBOT, Q))
    assert rig.sent == []


def test_nothing_is_passed_before_the_first_joint_state():
    rig = GateRig(ROBOT, Q, gate_settings(ROBOT))
    rig.run(0.1, holding(ROBOT, Q), states=lambda state: None)
    assert rig.sent == []
    rig.run(0.1, holding(ROBOT, Q))
    assert rig.mode is PASSING


def test_efforts_within_the_limits_are_passed_on_unchanged():
    rig, controller = passing()
    asked = []

    def noted(q, qd):
        asked.append(controller(q, qd))
        return asked[-1]

    first = len(rig.sent)
    rig.run(0.3, noted)
    np.testing.assert_array_equal([e.command for e in rig.sent[first:]], asked)
    assert rig.gate.counters.refused.total() == rig.gate.counters.limited == rig.gate.counters.own == 0


def test_efforts_beyond_limits_and_steps_are_limited_and_said():
    rig, controller = passing()
    rig.run(0.002, lambda q, qd: controller(q, qd) + np.array([0, 60.0, 0, 0, 0, 0]))
    text = rig.gate.limited_text()
    assert "joint2" in text
    assert "effort rate" in text
    assert rig.gate.limited_text() == ""
    assert rig.mode is PASSING
    rig.run(0.03, lambda q, qd: np.full(6, 1000.0))
    assert "effort limit" in rig.gate.limited_text()
    assert rig.gate.counters.limited
    assert rig.gate.counters.stepped
    rig.check()


@pytest.mark.parametrize(("bad", "problem"), [
    (np.array([0, 0, 0, np.nan, 0, 0]), CommandProblem.NOT_FINITE), (np.zeros(7), CommandProblem.WRONG_LENGTH),
])
def test_what_is_no_effort_is_refused_and_then_taken_over_from(bad, problem):
    rig, controller = passing()
    rig.run(0.005, lambda q, qd: bad)  # shorter than the time-out: nothing happens
    rig.run(0.1, controller)
    assert rig.mode is PASSING
    rig.run(0.1, lambda q, qd: bad)
    assert rig.mode is STOPPING
    assert rig.gate.counters.refused[problem] > 0.1 / rig.period
    assert rig.gate.counters.refusal in rig.gate.cause
    rig.run(HOLD + RAMP + SLACK, lambda q, qd: bad)
    assert rig.mode is FAULT
    rig.check()


# -- taking over ------------------------------------------------------------------------------------------------------


def test_a_silent_controller_is_replaced_within_the_timeout_and_the_arm_held_and_released_in_time():
    rig, _ = passing()
    silent = rig.now
    rig.run(0.1)
    assert rig.mode is STOPPING
    assert next(t for t in rig.times if t > silent) - silent <= rig.settings.command_timeout + rig.period
    assert "command_timeout" in rig.gate.cause
    rig.run(HOLD - 0.1)
    np.testing.assert_allclose(rig.simulator.state.q, Q, atol=2e-3)
    rig.run(RAMP + SLACK)
    assert rig.mode is FAULT
    assert rig.modes == [WAITING, PASSING, STOPPING, FAULT]
    assert rig.sent[-1].last
    assert not rig.sent[-1].command.any()
    assert rig.times[-1] - silent <= rig.settings.command_timeout + HOLD + RAMP + SLACK
    rig.check()


def test_a_large_effort_of_a_controller_that_dies_is_not_left():
    rig, controller = passing()
    rig.run(0.015, lambda q, qd: controller(q, qd) + np.array([0, 80.0, 0, 0, 0, 0]))
    rig.run(HOLD)
    assert np.abs(rig.simulator.state.qd).max() < 0.05, "the motion is damped"
    rig.check()


def test_an_arm_that_compensates_gravity_gets_damping_alone():
    robot = ROBOT
    weightless = rne.load_urdf("puma560", gravity=(0.0, 0.0, 0.0))
    rig = GateRig(weightless, Q, gate_settings(robot, compensated=frozenset({"gravity"})))
    rig.run(0.2, lambda q, qd: np.array([5.0, 5.0, 0, 0, 0, 0]))
    rig.run(0.1)
    assert rig.mode is STOPPING
    rig.run(0.2)
    assert np.abs(rig.simulator.state.qd).max() < 0.05
    assert np.abs(rig.sent[-1].command).max() < 1.0
    rig.check()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "rate", "damping"), [
    ("panda", 250.0, 200.0), ("ur10", 500.0, 10.0), ("homemade", 1000.0, 200.0), ("homemade", 250.0, 200.0),
])
def test_damping_is_stable_without_friction_and_with_a_period_of_delay(name, rate, damping):
    robot = arm(name)
    rng = np.random.default_rng(1)
    start = middle(robot)
    settings = gate_settings(
        robot, stop=StopPlan(policy="hold", damping=damping),
        # faster than these limits is another matter
        limits=EffortLimits(
            effort=robot.effort_limit, rate=100.0 * robot.effort_limit, velocity=np.full(robot.n, np.inf),
            lower=robot.lower, upper=robot.upper, margin=np.zeros(robot.n), joints=robot.joint_names,
        ),
    )
    rig = GateRig(robot, start, settings, period=1.0 / rate, friction=False,
                  qd=0.3 * robot.velocity_limit * rng.choice([-1.0, 1.0], robot.n))
    late = [np.zeros(robot.n)]

    def delayed(effort):
        late.append(effort)
        return late[-2]

    rig.run(0.02, lambda q, qd: rne.gravity_torque(robot, q))
    rig.run(1.5, drive=delayed)
    assert rig.mode is STOPPING
    speed = np.abs(rig.speeds) / robot.velocity_limit
    assert speed[-1].max() < 0.03, "the arm has come to rest"
    # energy falls all the way: no joint is thrown about
    assert np.abs(rig.speeds[len(rig.speeds) // 3 :]).max(axis=0).max() < 0.6 * np.abs(rig.speeds).max()
    rig.check()


def test_policy_hold_holds_until_it_is_ended():
    rig, _ = passing(stop=StopPlan(policy="hold", hold_time=HOLD, ramp_time=RAMP))
    rig.run(1.0)
    assert rig.mode is STOPPING
    np.testing.assert_allclose(rig.simulator.state.q, Q, atol=0.02)
    rig.gate.stop(rig.now, "deactivated", ending=True)
    rig.run(HOLD + RAMP + SLACK)
    assert rig.mode is INACTIVE


def test_damping_keeps_its_bound_in_all_postures():
    rng = np.random.default_rng(2)
    for name in ("puma560", "panda", "ur10", "homemade"):
        robot = arm(name)
        for _ in range(50):
            q = rng.uniform(np.maximum(robot.lower, -3.0), np.minimum(robot.upper, 3.0))
            M = rne.mass_matrix(robot, q)
            for delay in (0.001, 0.004, 0.02):
                D = stable_damping(of_mass_matrix(M), 200.0, delay)
                fastest = np.abs(np.linalg.eigvals(np.linalg.solve(M, np.diag(D)))).max()
                assert fastest * delay <= (1.0 + 1e-9) / CALM
    assert not stable_damping(of_mass_matrix(M), 0.0, 0.001).any()


def test_lost_joint_states_do_not_stop_what_the_controller_sends():
    rig, controller = passing()
    rig.run(0.5, controller, states=lambda state: None)
    assert rig.mode is PASSING
    assert rig.gate.states.stale(rig.now)
    rig.run(0.01, controller)
    assert not rig.gate.states.stale(rig.now)


# -- joint states -----------------------------------------------------------------------------------------------------


def test_without_joint_states_gravity_of_the_last_posture_fades():
    rig, controller = passing(stop=StopPlan(policy="hold", hold_time=HOLD, ramp_time=RAMP))
    rig.run(0.3, controller, states=lambda state: None)
    rig.run(0.1, states=lambda state: None)
    assert rig.gate.dead_reckoning
    np.testing.assert_allclose(rig.sent[-1].command, rne.gravity_torque(ROBOT, rig.gate.q), atol=1e-9)
    rig.run(HOLD + RAMP + SLACK, states=lambda state: None)
    assert rig.mode is FAULT
    assert not rig.sent[-1].command.any()
    rig.check()


def test_joint_states_that_are_lost_and_come_back_in_a_take_over_are_used_again():
    rig, _ = passing()
    rig.run(0.05)
    rig.run(0.15, states=lambda state: None)
    assert rig.gate.dead_reckoning
    rig.run(0.05)
    assert rig.mode is STOPPING
    assert not rig.gate.dead_reckoning


def test_joint_states_that_jump_are_not_believed_in_a_take_over():
    rig, _ = passing()
    rig.run(0.05)

    def elsewhere(state):
        return {**state, "q": state["q"] + 1.0}

    rig.run(0.3, states=elsewhere)
    assert rig.gate.dead_reckoning
    rig.run(HOLD + RAMP + SLACK, states=elsewhere)
    assert rig.mode is FAULT
    assert rig.gate.states.refused > 0
    rig.gate.activate(rig.now)
    assert rig.gate.states.refused == rig.gate.states.received == 0, "totals since activation"


def test_velocities_may_be_missing():
    rig = GateRig(ROBOT, Q, gate_settings(ROBOT))

    def positions(state):
        return {**state, "qd": np.full(6, np.nan), "velocity_missing": True}

    rig.run(0.2, holding(ROBOT, Q), states=positions)
    rig.run(HOLD, states=positions)
    assert rig.mode is STOPPING
    np.testing.assert_allclose(rig.simulator.state.q, Q, atol=2e-3)


# -- runaway ----------------------------------------------------------------------------------------------------------


def test_an_arm_with_a_reversed_motor_is_let_go_of():
    """The gate's own gravity torque drives such an arm on: the effort is zero within 0.1 s of the overspeed."""
    rig, _ = passing(stop=StopPlan(policy="hold", hold_time=HOLD, ramp_time=RAMP), friction=False)
    sign = np.array([1.0, -1.0, 1.0, 1.0, 1.0, 1.0])
    rig.run(1.5, drive=lambda effort: sign * effort)
    assert rig.mode is FAULT
    assert "damps" in rig.gate.cause
    limit = 1.5 * ROBOT.velocity_limit
    over = next(t for t, qd in zip(100.0 + rig.period * np.arange(len(rig.speeds)), rig.speeds, strict=True)
                if (np.abs(qd) > limit).any())
    assert rig.times[-1] - over < 0.1
    assert not rig.sent[-1].command.any()
    rig.check()


def test_a_controller_that_lets_the_arm_run_away_is_replaced():
    rig, controller = passing()
    rig.run(0.6, lambda q, qd: rne.gravity_torque(ROBOT, q) + np.array([90.0, 0, 0, 0, 0, 0]))
    assert STOPPING in rig.modes
    assert "its limit is" in rig.gate.cause
    rig.run(HOLD + RAMP + SLACK)
    assert rig.mode is FAULT
    assert np.abs(rig.speeds[-1]).max() < 1.0
    assert controller is not None
    rig.check()


# -- settings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("changes", "said"), [
    ({"command_timeout": 0.0}, "command_timeout"), ({"command_timeout": np.nan}, "command_timeout"),
    ({"hand_back_time": -1.0}, "hand_back_time"),
    ({"compensated": frozenset({"gravty"})}, "gravty"),
])  # fmt: skip
def test_settings_that_cannot_be_are_refused(changes, said):
    with pytest.raises(ControlError, match=said):
        gate_settings(ROBOT, **changes)


def test_warming_up_changes_nothing_and_other_settings_are_adopted_in_motion():
    rig, controller = passing()
    rig.gate.warm_up()
    assert rig.mode is PASSING
    rig.gate.adopt(gate_settings(ROBOT, stop=StopPlan(hold_time=0.0, ramp_time=0.1)))
    rig.run(0.1, controller)
    assert rig.mode is PASSING
    rig.run(0.1 + 0.02 + SLACK)
    assert rig.mode is FAULT
    rig.check()


# -- mechanisms -------------------------------------------------------------------------------------------------------


def test_a_mechanism_with_loops_is_held_and_released():
    robot = rne.load_model("five_bar").with_effort_limit(np.full(2, 50.0))
    start = np.array(robot.neutral)
    rig = GateRig(robot, start, gate_settings(robot))
    rig.run(0.1, lambda q, qd: rne.gravity_torque(robot, q))
    rig.run(HOLD)
    assert rig.mode is STOPPING
    assert not rig.gate.counters.failure
    np.testing.assert_allclose(rig.simulator.state.q, start, atol=2e-3)
    rig.run(RAMP + SLACK)
    assert rig.mode is FAULT
    rig.check()
