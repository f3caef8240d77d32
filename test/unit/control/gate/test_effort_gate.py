"""The effort gate in one process with a simulated arm: what it passes, when it takes over, and how that ends."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from support.compliant import text_of
from support.episode_arms import homemade_urdf
from support.gated import HOLD, RAMP, RATE, GateRig, gate_settings, holding

import rne_dynamics as rne
from rne_dynamics.control.felt_inertia import of_mass_matrix, stable_damping
from rne_dynamics.control.gate_parts import CommandProblem, GateMode, GateSettings
from rne_dynamics.control.gravity_compensation import GravityCompensation
from rne_dynamics.control.guards.effort_limits import EffortLimits
from rne_dynamics.control.guards.state_limits import StateLimits
from rne_dynamics.control.supervision.states import StopPlan
from rne_dynamics.control.thresholds import CALM
from rne_dynamics.errors import ControlError
from rne_dynamics.model.robot import RobotModel

ROBOT = rne.load_urdf("puma560")
Q = np.array([0.2, -0.4, 0.3, 0.1, 0.5, 0.0])
WAITING, PASSING, STOPPING, RELEASED, FAULT, INACTIVE = (
    GateMode.WAITING, GateMode.PASSING, GateMode.STOPPING, GateMode.RELEASED, GateMode.FAULT, GateMode.INACTIVE
)
#: Time that a take-over may need beyond its configured times: the way to zero at the effort rate, and some periods, s.
SLACK = 1.0 / RATE + 0.02


@cache
def arm(name: str) -> RobotModel:
    if name == "homemade":
        return rne.load_urdf(homemade_urdf())
    return ROBOT if name == "puma560" else rne.load_urdf(text_of(name))


def middle(robot: RobotModel) -> np.ndarray:
    """A posture away from the stops, bent so that gravity pulls."""
    lower, upper = np.maximum(robot.lower, -1.5), np.minimum(robot.upper, 1.5)
    return lower + np.resize([0.55, 0.35, 0.7], robot.n) * (upper - lower)


def passing(
    robot: RobotModel = ROBOT, start: np.ndarray = Q, *, friction: bool = True, **changes: object
) -> tuple[GateRig, object]:
    """A rig that passes the efforts of a controller that holds the arm."""
    rig = GateRig(robot, start, gate_settings(robot, **changes), friction=friction)
    controller = holding(robot, start)
    rig.run(0.2, controller)
    assert rig.mode is PASSING
    return rig, controller


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
    assert rig.gate.counters.refused[problem] > 100
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


def test_policy_hold_holds_until_it_is_ended_and_release_lets_go_at_once():
    rig, _ = passing(stop=StopPlan(policy="hold", hold_time=HOLD, ramp_time=RAMP))
    rig.run(3.0)
    assert rig.mode is STOPPING
    np.testing.assert_allclose(rig.simulator.state.q, Q, atol=0.02)
    rig.gate.stop(rig.now, "deactivated", ending=True)
    rig.run(HOLD + RAMP + SLACK)
    assert rig.mode is INACTIVE
    rig, _ = passing(stop=StopPlan(policy="release", hold_time=HOLD, ramp_time=RAMP))
    rig.run(HOLD + SLACK + 0.02)
    assert rig.mode is FAULT


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


# -- joint states -----------------------------------------------------------------------------------------------------


def test_lost_joint_states_do_not_stop_what_the_controller_sends():
    rig, controller = passing()
    rig.run(0.5, controller, states=lambda state: None)
    assert rig.mode is PASSING
    assert rig.gate.states.stale(rig.now)
    rig.run(0.01, controller)
    assert not rig.gate.states.stale(rig.now)


@pytest.mark.parametrize("policy", ["ramp", "hold"])
def test_without_joint_states_gravity_of_the_last_posture_fades(policy):
    rig, controller = passing(stop=StopPlan(policy=policy, hold_time=HOLD, ramp_time=RAMP))
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


def test_velocities_may_be_missing():
    rig = GateRig(ROBOT, Q, gate_settings(ROBOT))

    def positions(state):
        return {**state, "qd": np.full(6, np.nan), "velocity_missing": True}

    rig.run(0.2, holding(ROBOT, Q), states=positions)
    rig.run(HOLD, states=positions)
    assert rig.mode is STOPPING
    np.testing.assert_allclose(rig.simulator.state.q, Q, atol=2e-3)


# -- runaway ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("joint", [1, 2])
def test_an_arm_with_a_reversed_motor_is_let_go_of(joint):
    """The gate's own gravity torque drives such an arm on: the effort is zero within 0.1 s of the overspeed."""
    rig, _ = passing(stop=StopPlan(policy="hold", hold_time=HOLD, ramp_time=RAMP), friction=False)
    sign = np.ones(6)
    sign[joint] = -1.0
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


@pytest.mark.parametrize("after", [0.2, 1.0])
def test_recovery_without_being_asked_takes_enough_good_efforts_in_a_row(after):
    rig, controller = passing(recover_automatically=True, recover_after=50)
    rig.run(after)
    assert rig.mode is (STOPPING if after < HOLD else FAULT)
    turn = iter(range(10**6))
    rig.run(0.08, lambda q, qd: np.full(6, np.nan) if next(turn) % 20 == 19 else controller(q, qd))
    assert rig.mode is not PASSING
    rig.run(0.04, controller)
    assert rig.mode is not PASSING
    rig.run(0.03, controller)
    assert rig.mode is PASSING
    rig.check()


def test_a_requested_stop_wins_over_automatic_recovery_and_over_a_recovery_before_it():
    rig, controller = passing(recover_automatically=True, recover_after=50)
    rig.gate.stop(rig.now, "~/stop was called")
    rig.run(1.5, controller)
    assert rig.mode is RELEASED
    rig.gate.recover(rig.now)
    rig.gate.stop(rig.now, "~/stop was called")
    rig.run(0.2, controller)
    assert rig.mode is RELEASED
    rig, controller = passing(recover_automatically=True, recover_after=50)
    rig.run(1.0)
    assert rig.mode is FAULT
    rig.gate.stop(rig.now, "~/stop was called")
    rig.run(0.5, controller)
    assert rig.mode is RELEASED


# -- ends -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["ramp", "hold", "release"])
def test_the_end_of_the_gate_is_a_stop_that_ends(policy):
    rig, controller = passing(stop=StopPlan(policy=policy, hold_time=HOLD, ramp_time=RAMP))
    rig.gate.stop(rig.now, "deactivated", ending=True)
    rig.run(HOLD + RAMP + SLACK, controller)
    assert rig.mode is INACTIVE
    assert not rig.sent[-1].command.any()
    rig.check()


@pytest.mark.parametrize("when", ["passing", "taken over"])
def test_letting_go_takes_no_longer_than_the_rate_allows(when):
    rig, controller = passing(stop=StopPlan(policy="hold"))
    if when == "taken over":
        rig.run(0.2)
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
        robot, recover_automatically=bool(rng.integers(2)), recover_after=20,
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


def episodes(seeds: range) -> None:
    for seed in seeds:
        try:
            episode(seed)
        except BaseException as error:
            error.add_note(f"episode({seed})") if hasattr(error, "add_note") else print(f"episode({seed})")
            raise


def test_random_misbehaviour_breaks_no_promise():
    episodes(range(12))


@pytest.mark.soak
def test_much_random_misbehaviour_breaks_no_promise():
    episodes(range(12, 1500))


# -- settings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("changes", "said"), [
    ({"command_timeout": 0.0}, "command_timeout"), ({"command_timeout": np.nan}, "command_timeout"),
    ({"hand_back_time": -1.0}, "hand_back_time"), ({"recover_after": 0}, "recover_after"),
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
    robot = rne.load_model("five_bar")
    effort = np.where((robot.effort_limit > 0.0) & np.isfinite(robot.effort_limit), robot.effort_limit, 50.0)
    limits = EffortLimits(
        effort=effort, rate=100.0 * effort, velocity=np.full(robot.n, 10.0), lower=robot.lower, upper=robot.upper,
        margin=np.zeros(robot.n), joints=robot.joint_names,
    )
    states = StateLimits(limits.velocity, np.zeros(robot.n, dtype=bool), 0.1, 50.0, robot.joint_names)
    settings = GateSettings(robot, limits, states, StopPlan(hold_time=HOLD, ramp_time=RAMP))
    start = np.array(robot.neutral)
    rig = GateRig(robot, start, settings)
    law = GravityCompensation(robot, np.zeros(robot.n))
    rig.run(0.1, lambda q, qd: law.law(q, qd).gravity)
    rig.run(HOLD)
    assert rig.mode is STOPPING
    assert not rig.gate.counters.failure
    np.testing.assert_allclose(rig.simulator.state.q, start, atol=2e-3)
    rig.run(RAMP + SLACK)
    assert rig.mode is FAULT
    rig.check()
