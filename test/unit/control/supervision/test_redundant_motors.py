"""More motors than freedoms under supervision: held, led along the loops, and stopped where a part fails."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.supervised import Rig, settings

import rne_dynamics as rne
from rne_dynamics.closed_chain.assembly import assemble
from rne_dynamics.control.felt_inertia import fastest_decay, joint_inertia
from rne_dynamics.control.gate_parts import GateHold
from rne_dynamics.control.motion.limited_path import leading_joints, leading_path
from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.control.motion.motion import Motion
from rne_dynamics.control.supervision.settings import StartCheck
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.control.thresholds import CALM
from rne_dynamics.control.trajectory import SampledTrajectory
from rne_dynamics.errors import TrajectoryError

EXAMPLES = Path(__file__).parents[4] / "examples"
ARM = rne.load_model(EXAMPLES / "five_bar_redundant.yaml").with_effort_limit([20.0, 20.0, 5.0])
TWO = rne.load_model("five_bar")
PERIOD = 0.004


def rig(arm=ARM, **changes) -> Rig:
    return Rig(arm, np.array(arm.neutral), settings(arm, **changes), period=PERIOD)


def placed(left: float, right: float) -> np.ndarray:
    return assemble(TWO, [left, right])[ARM.actuated]


def test_it_is_held_with_the_preload_and_the_start_up_check_agrees():
    arm = rig(check=StartCheck(duration=0.2, required=True))
    arm.run(0.5)
    assert arm.mode is Mode.HOLDING
    assert arm.supervisor.gate.open
    np.testing.assert_allclose(arm.simulator.state.q, ARM.neutral, atol=1e-4)
    np.testing.assert_allclose(arm.check()[-1], rne.gravity_torque(ARM, ARM.neutral), atol=1e-2)
    plain = replace(ARM, preload={})
    assert np.abs(rne.gravity_torque(ARM, ARM.neutral) - rne.gravity_torque(plain, ARM.neutral)).max() > 0.05


def test_a_path_of_the_leading_joints_takes_the_others_along():
    goal = placed(-1.9, -0.9)
    points = np.stack([ARM.neutral, goal])
    rest = np.zeros((2, 3))
    asked = SampledTrajectory(np.array([0.0, 0.5]), points, rest, rest, ARM.joint_names).path
    along, leading = leading_path(ARM, ARM.posture), list(leading_joints(ARM, range(3)))
    assert along is not None
    path = along(asked, np.arange(3), 0.0)
    h = 1e-5
    for t in np.linspace(0.02, 0.48, 24):
        now, behind, ahead = (path.sample(t + way) for way in (0.0, -h, h))
        np.testing.assert_allclose(now.q[leading], asked.sample(t).q[leading], atol=1e-14)
        np.testing.assert_allclose(now.q, placed(*now.q[:2]), atol=1e-9)
        np.testing.assert_allclose(now.qd, (ahead.q - behind.q) / (2 * h), atol=1e-6)
    np.testing.assert_allclose(path.sample(0.5).q, goal, atol=1e-9)
    points[1, 2] += 0.1
    wrong = SampledTrajectory(np.array([0.0, 0.5]), points, rest, rest, ARM.joint_names).path
    with pytest.raises(TrajectoryError, match=r"is to be at .* the loops put it at .* leave it out"):
        along(wrong, np.arange(3), 0.0)
    np.testing.assert_allclose(along(wrong, np.arange(2), 0.0).sample(0.5).q, goal, atol=1e-9)  # it follows, not named
    assert leading_path(TWO, TWO.posture) is None


@pytest.mark.slow
def test_it_follows_a_path_and_stops_on_it():
    arm = rig()
    arm.run(0.2)
    goal = placed(-1.9, -0.9)
    rest = np.zeros((2, 3))
    asked = SampledTrajectory(np.array([0.0, 0.5]), np.stack([ARM.neutral, goal]), rest, rest, ARM.joint_names).path
    path = leading_path(ARM, arm.supervisor.machine.torques.posture)(asked, np.arange(3), 0.0)
    tolerances = Tolerances(ARM.joint_names, path=0.01, goal=0.005, goal_time=0.2)
    arm.supervisor.follow(Motion(path, arm.supervisor.stamp, tolerances, blend_time=0.2),
                          lambda ending, text: arm.endings.append((ending, text)))  # fmt: skip
    arm.run(0.3)
    arm.supervisor.stop(arm.now, "a test")
    arm.run(1.0)
    arm.check()
    assert arm.mode is Mode.RELEASED
    speeds = np.abs(arm.speeds)
    assert speeds[: round(0.5 / PERIOD)].max() > 0.5
    # held still after the deceleration, before it is released
    assert speeds[round(0.72 / PERIOD) : round(0.78 / PERIOD)].max() < 0.05


def test_encoders_that_contradict_the_loops_are_a_fault():
    arm = rig()
    arm.run(0.1)

    def slipped(state):
        state["q"][2] += 0.03
        return state

    arm.run(1.0, corrupt=slipped)
    assert arm.mode is Mode.FAULT
    assert "loop 'tip'" in arm.supervisor.cause
    arm.check()


def test_a_motor_that_turns_the_wrong_way_does_not_pass_the_start_up_check():
    signs = np.array([1.0, 1.0, -1.0])
    arm = rig(check=StartCheck(duration=0.2, required=True))
    arm.motors = lambda command: signs * command
    arm.run(0.5, corrupt=lambda state: state | {"reported": signs * state["reported"]})
    assert arm.mode is not Mode.TRACKING
    assert not arm.supervisor.gate.open
    arm.check()


def test_walls_and_dampers_are_stable_for_all_motors_together():
    rng = np.random.default_rng(0)
    for _ in range(10):
        posture = assemble(TWO, TWO.neutral + rng.uniform(-0.2, 0.2, 2))
        inertia = joint_inertia(ARM, posture[ARM.actuated], posture)
        alone = joint_inertia(TWO, posture[TWO.actuated], posture)
        assert (inertia.felt >= 1.0 / np.diag(inertia.inverse) * (1.0 - 1e-12)).all()
        np.testing.assert_allclose(np.diag(inertia.inverse)[:2], np.diag(alone.inverse), rtol=1e-9)
    arm = rig()
    arm.run(0.01)
    walls = arm.supervisor.machine.torques.update_inertia(np.array(ARM.neutral))
    frequency = 2.0 * arm.settings.limits.stop_frequency
    inverse = joint_inertia(ARM, ARM.neutral, ARM.posture).inverse
    assert fastest_decay(inverse, frequency * walls) <= 1.0 / (CALM * PERIOD) * (1.0 + 1e-9)


@pytest.mark.slow
def test_a_joint_is_held_back_at_its_limit():
    upper = np.array(ARM.robot.upper)
    third = ARM.robot.joint_index("left_elbow")
    upper[third] = ARM.posture[third] + 0.1
    narrow = replace(ARM, robot=replace(ARM.robot, upper=upper))
    plain = settings(narrow, tracking=False)
    limits = replace(plain.limits, margin=np.full(3, 0.05))
    arm = rig(narrow, tracking=False, limits=limits)
    arm.simulator.plant = replace(arm.simulator.plant, stops=False)
    arm.run(0.1)
    arm.run(1.5, wrenches={"right_forearm": [-6.0, 0.0, 0.0, 0.0, 0.0, 0.0]})
    sent = arm.check()
    assert arm.simulator.state.q[2] > ARM.posture[third] + 0.05, "it was pushed into the wall"
    assert arm.simulator.state.q[2] < upper[third] + 0.02
    assert np.abs(arm.speeds[-50:]).max() < 0.05, "it rests there"
    assert np.abs(np.diff(sent[-50:], axis=0)).max() < 0.1


def test_the_effort_gate_holds_it_with_stable_damping():
    delay, hold = 0.004, GateHold(ARM, 100.0, weightless=False)
    q = ARM.neutral + np.array([1e-3, 0.0, 0.0])  # as encoders read it
    hold.follow(q, np.zeros(3))
    hold.update_inertia(q, delay)
    inverse = joint_inertia(ARM, ARM.neutral, ARM.posture).inverse
    assert (hold.damping > 0.0).all()
    assert float(fastest_decay(inverse, hold.damping)) * delay <= 1.01 / CALM
    gravity, damping = hold.torque(q, np.array([1.0, 0.0, 0.0]))
    np.testing.assert_allclose(gravity, rne.gravity_torque(ARM, ARM.neutral), atol=0.01)
    np.testing.assert_allclose(damping, [-hold.damping[0], 0.0, 0.0])
